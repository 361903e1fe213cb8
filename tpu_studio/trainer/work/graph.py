"""What a person's own model works under TensorFlow, counted in the graphs of its programs; nothing runs.

As `model` does of JAX, for a model that may only work in TensorFlow. Products, convolutions and the trips of loops
that name them; what is recomputed to save memory cannot be told apart there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tpu_studio.trainer import recipe, state
from tpu_studio.trainer.check.lowering import Graph, function_graph, function_names
from tpu_studio.trainer.frameworks import Example
from tpu_studio.trainer.models.widest import widest
from tpu_studio.trainer.step_tf import TfFormulas
from tpu_studio.trainer.work.walk import Count

_NUMBER_BYTES = 4
_FOREIGN = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


def count_model(model: Any, constants: recipe.Recipe, example: Example, batch: int) -> dict[str, object]:
    """As `model.count_model`; memory from the outputs of its layers alone."""
    shape = state.layout(model, constants)
    formulas = TfFormulas(model, replace(constants, accumulate=1), shape)
    weights, others = _specs(model.trainable_variables), _specs(model.non_trainable_variables)
    named = [(f"others/{path}", one) for path, one in zip(shape.others, others, strict=True)]
    examples = {name: tf.TensorSpec((batch, *shape), kind) for name, (shape, kind) in example.items()}
    weighed = {"weight": tf.TensorSpec((batch,), np.dtype(np.float32)), **examples}
    training = count(Graph(formulas._gradients, (weights, others, examples)).trace().graph)
    forward = count(Graph(formulas.run_evaluate, ([*weights, *others], weighed)).trace().graph)
    wide = widest(model)
    return {
        "params": sum(math.prod(one.shape) for one in weights),
        "frozen": sum(math.prod(one.shape) for name, one in named if name in shape.frozen),
        "flops": training.work / batch,
        "model_flops": training.work / batch,
        "forward_flops": forward.work / batch,
        "convolutions": 2 * training.convolved > training.products,
        "activation_bytes": _NUMBER_BYTES * sum(_outputs(layer) for layer in model.layers),
        "evaluation_bytes": 2 * _NUMBER_BYTES * (wide or 0),
        "widest": wide,
        "unclear": sorted(training.unclear | forward.unclear),
    }


def count(graph: Any) -> Count:
    """Of what leads to an output of *graph*."""
    total, seen = Count(), set[str]()
    todo = [one.op for one in graph.outputs] + list(getattr(graph, "control_outputs", ()))
    while todo:
        operation = todo.pop()
        if operation.name not in seen:
            seen.add(operation.name)
            todo += [one.op for one in operation.inputs] + list(operation.control_inputs)
            total += _of(graph, operation)
    return total


def _of(graph: object, operation: Any) -> Count:
    kind = operation.type
    if kind in _PRODUCTS:
        return Count(products=_PRODUCTS[kind](operation))
    if kind in _CONVOLUTIONS:
        flops = _CONVOLUTIONS[kind](operation)
        return Count(products=flops, convolved=flops)
    if kind in _FOREIGN:
        return Count(unclear=frozenset({kind}))
    found = (function_graph(graph, name) for name in function_names(operation))
    inside = [count(one) for one in found if one is not None]
    if kind in ("If", "StatelessIf", "Case", "StatelessCase"):
        return max(inside, key=lambda one: one.work)
    whole = sum(inside, Count())
    if kind in ("While", "StatelessWhile"):
        trips = _value(operation.inputs[1])  # after its counter: how often it turns at most, or -1
        return whole + Count(unclear=frozenset({"while"})) if trips is None or trips < 0 else whole.times(trips)
    return whole


def _value(tensor: Any) -> int | None:
    """A whole number that the graph names; None where it is worked out, or none."""
    if tensor.op.type in ("Identity", "Max") and tensor.op.inputs[0].shape.rank == 0:  # as Keras hands it to its loops
        return _value(tensor.op.inputs[0])
    value = tf.get_static_value(tensor)
    return int(value) if value is not None and np.ndim(value) == 0 else None


def _size(tensor: Any) -> int:
    """Sides that are not known count as one."""
    return math.prod(side or 1 for side in tensor.shape)


def _of_product(operation: Any) -> float:
    left, turned = operation.inputs[0].shape, "transpose_a" if operation.type == "MatMul" else "adj_x"
    return 2.0 * _size(operation.outputs[0]) * int(left[-2 if operation.get_attr(turned) else -1] or 1)


def _of_einsum(operation: Any) -> float:
    """As many multiply-adds as all its letters span together."""
    terms = operation.get_attr("equation").decode().split("->")[0].split(",")
    sides: dict[str, int] = {}
    spread = 1
    for term, given in zip(terms, operation.inputs, strict=True):
        head, _, tail = term.partition("...")
        shape = [side or 1 for side in given.shape]
        ends = len(shape) - len(tail) if "..." in term else len(shape)
        sides |= dict(zip(head, shape, strict=False)) | dict(zip(tail, shape[ends:], strict=False))
        spread = max(spread, math.prod(shape[len(head) : ends])) if "..." in term else spread
    return (2.0 if len(terms) > 1 else 1.0) * spread * math.prod(sides.values())


def _of_convolution(at: int, window: Callable[[Any], Any]) -> Callable[[object], float]:
    """Args:
    at: The input that has the numbers of the forward result; -1: the result itself.
    window: The operation → its kernel, [places…, incoming, outgoing].
    """

    def flops(operation: Any) -> float:
        result = operation.outputs[0] if at < 0 else operation.inputs[at]
        shape = window(operation).shape
        incoming = 1 if operation.type.startswith("Depthwise") else int(shape[-2] or 1)
        return 2.0 * _size(result) * math.prod(int(side or 1) for side in shape[:-2]) * incoming

    return flops


def _given(operation: Any) -> object:
    return operation.inputs[1]


def _made(operation: Any) -> object:
    return operation.outputs[0]


_PRODUCTS = {
    "MatMul": _of_product,
    "BatchMatMulV2": _of_product,
    "BatchMatMulV3": _of_product,
    "Einsum": _of_einsum,
}
_CONVOLUTIONS = {
    "Conv2D": _of_convolution(-1, _given),
    "Conv3D": _of_convolution(-1, _given),
    "DepthwiseConv2dNative": _of_convolution(-1, _given),
    "Conv2DBackpropInput": _of_convolution(2, _given),
    "Conv3DBackpropInputV2": _of_convolution(2, _given),
    "DepthwiseConv2dNativeBackpropInput": _of_convolution(2, _given),
    "Conv2DBackpropFilter": _of_convolution(2, _made),
    "Conv3DBackpropFilterV2": _of_convolution(2, _made),
    "DepthwiseConv2dNativeBackpropFilter": _of_convolution(2, _made),
}


def _outputs(layer: object) -> int:
    """Numbers that a layer gives for one example; unknown sizes count as one."""
    given = getattr(layer, "output", None)
    tensors = given if isinstance(given, (list, tuple)) else [given]
    return sum(math.prod(int(side or 1) for side in (getattr(one, "shape", None) or ())[1:]) for one in tensors)


def _specs(variables: Any) -> list[Any]:
    return [tf.TensorSpec(tuple(one.shape), np.dtype(one.dtype)) for one in variables]
