"""What a model works and holds for one example, counted in its own programs as they are traced; nothing runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.extend import core

from tpu_studio.trainer import recipe, state
from tpu_studio.trainer.frameworks import Example
from tpu_studio.trainer.models.widest import widest
from tpu_studio.trainer.step_jax import JaxFormulas
from tpu_studio.trainer.work.live import live_bytes
from tpu_studio.trainer.work.walk import count, inner

_RECOMPUTED = "remat2"


def count_model(model: Any, constants: recipe.Recipe, example: Example, batch: int) -> dict[str, object]:
    """Of one example, of text one sequence.

    Returns:
        ``params`` that learn, ``frozen`` ones beside which they do; ``flops`` of training, forward and backward;
        ``model_flops``, the same without what is worked out again to save memory; ``forward_flops`` of evaluation;
        ``convolutions``: whether these are most of it; ``activation_bytes`` and ``evaluation_bytes``, held at a time
        (`live`); ``widest`` (`models.widest`); ``unclear``: what was not counted.
    """
    shape = state.layout(model, constants)
    formulas = JaxFormulas(model, replace(constants, accumulate=1), shape)
    weights, others = _shapes(model.trainable_variables), _shapes(model.non_trainable_variables)
    named = [(f"others/{path}", one) for path, one in zip(shape.others, others, strict=True)]
    examples = {name: jax.ShapeDtypeStruct((batch, *shape), kind) for name, (shape, kind) in example.items()}
    weighed = {"weight": jax.ShapeDtypeStruct((batch,), np.dtype(np.float32)), **examples}
    training = jax.make_jaxpr(formulas._gradients)(weights, others, examples)
    evaluation = jax.make_jaxpr(formulas.run_evaluate)([*weights, *others], weighed)
    counted, forward = count(training), count(evaluation)
    model_flops = counted.work
    if _recomputes(training.jaxpr):
        loss = _without_recomputing(lambda *given: formulas._summed_loss(*given)[0])
        model_flops = count(jax.make_jaxpr(jax.grad(loss))(weights, others, examples)).work
    return {
        "params": sum(math.prod(one.shape) for one in weights),
        "frozen": sum(math.prod(one.shape) for name, one in named if name in shape.frozen),
        "flops": counted.work / batch,
        "model_flops": model_flops / batch,
        "forward_flops": forward.work / batch,
        "convolutions": 2 * counted.convolved > counted.products,
        "activation_bytes": live_bytes(training) / batch,
        "evaluation_bytes": live_bytes(evaluation) / batch,
        "widest": widest(model),
        "unclear": sorted(counted.unclear | forward.unclear),
    }


def _shapes(variables: Sequence[Any]) -> list[Any]:
    return [jax.ShapeDtypeStruct(tuple(one.shape), np.dtype(one.dtype)) for one in variables]


def _recomputes(jaxpr: Any) -> bool:
    return any(
        equation.primitive.name == _RECOMPUTED or any(_recomputes(one) for one in inner(equation))
        for equation in jaxpr.eqns
    )


def _without_recomputing(function: Callable[..., object]) -> Callable[..., object]:
    """*function*, of whose gradient nothing is worked out again."""

    def plain(*given: object) -> Any:
        closed = _plain(jax.make_jaxpr(function)(*given))
        return core.jaxpr_as_fun(closed)(*jax.tree.leaves(given))[0]

    return plain


def _plain(program: Any) -> object:
    """*program*, a jaxpr, closed or not, with calls in the place of its recomputed parts, at any depth."""
    if hasattr(program, "jaxpr"):
        return program.replace(jaxpr=_plain(program.jaxpr))
    return program.replace(eqns=[_plain_equation(one) for one in program.eqns])


def _plain_equation(equation: Any) -> object:
    params = {name: _plain_value(value) for name, value in equation.params.items()}
    if equation.primitive.name == _RECOMPUTED:
        closed = core.ClosedJaxpr(params["jaxpr"], ())
        return equation.replace(primitive=core.primitives.closed_call_p, params={"call_jaxpr": closed})
    return equation.replace(params=params)


def _plain_value(value: object) -> object:
    if isinstance(value, (list, tuple)) and any(isinstance(one, core.ClosedJaxpr) for one in value):
        return type(value)(_plain(one) for one in value)
    return _plain(value) if isinstance(value, (core.Jaxpr, core.ClosedJaxpr)) else value
