"""Run in the engine with 8 processors: GPTs that attend by the kernel, interpreted, against those as they are written.

Prints the losses of 20 steps and how far the weights end apart, how many kernels are in each program, and whether the
model is still written down the same.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=8"

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
from programs_plans import TEXT, plan

from tpu_studio.trainer import recipe, state
from tpu_studio.trainer.frameworks import without_tensorflow
from tpu_studio.trainer.models import build, splash
from tpu_studio.trainer.step_jax import JaxSteps
from tpu_studio.trainer.work.walk import count, inner

STEPS, BATCH, TOKENS = 20, 8, 256
SMALL = {"layers": 1, "width": 32, "heads": 2}
TRAINING = {"optimizer": "adamw", "weight_decay": 0.1, "clip_norm": 1.0, "label_smoothing": 0.0}


def interpreted(mesh: jax.sharding.Mesh) -> splash.Splash:
    return splash.Splash(mesh, most=128, interpret=True)


def made(
    devices: int,
    kernel: Any,
    *,
    tokens: int = TOKENS,
    options: dict[str, Any] | None = None,
    table_rows: int = 0,
    **training: Any,
) -> JaxSteps:
    options, length = SMALL | (options or {}), {"sequence_length": tokens}
    planned = plan("gpt-nano", TEXT, options=options, data=length, **TRAINING, **training)
    model = build(replace(planned, table_rows=table_rows), TEXT)
    constants = recipe.from_plan(planned)
    return JaxSteps(model, constants, state.layout(model, constants), devices=devices, kernel=kernel)


def kernels(steps: JaxSteps, tokens: int = TOKENS) -> list[int]:
    """In the program that trains, in the one that evaluates."""
    ids = np.zeros((BATCH, tokens), np.int32)
    held = steps._state[: -2 * len(steps._model.trainable_variables)]
    programs = (
        jax.make_jaxpr(steps._one)(steps._state, {"x": ids, "y": ids}, 1e-3, 1.0),
        jax.make_jaxpr(steps.run_evaluate)(held, {"x": ids, "y": ids, "weight": np.ones(BATCH, np.float32)}),
    )
    return [count(one).kernels / steps._everywhere.mesh.size for one in programs]


def trained(steps: JaxSteps) -> dict[str, Any]:
    written = steps._model.to_json()
    text = np.random.default_rng(0).integers(0, 64, (STEPS, BATCH, TOKENS + 1)).astype(np.int32)
    stack = {"x": text[..., :-1], "y": text[..., 1:]}
    told = steps.fetch(steps.train(stack, np.full(STEPS, 1e-3, np.float32), 0, STEPS))
    unseen = {"x": stack["x"][0], "y": stack["y"][0], "weight": np.ones(BATCH, np.float32)}
    evaluated = steps.fetch_evaluation(steps.evaluate(unseen))
    return {
        "loss": [float(value) for value in told["loss"]],
        "grad_norm": [float(value) for value in told["grad_norm"]],
        "val_loss": float(evaluated["loss"] / evaluated["total"]),
        "kernels": kernels(steps),
        "written": steps._model.to_json() == written and "splash" not in written,
    }


def counted() -> dict[str, list[float]]:
    """Work and traffic of attention over 4 examples, 2 heads, 1,024 tokens, 64 numbers, and with its gradient."""
    numbers = jax.ShapeDtypeStruct((4 * 1024, 3 * 2 * 64), jax.numpy.bfloat16)
    attend = functools.partial(splash.Splash().attend, tokens=1024, heads=2)
    forward, both = (
        count(jax.make_jaxpr(function)(numbers)) for function in (attend, jax.grad(lambda given: attend(given).sum()))
    )
    return {"forward": [forward.hidden, forward.carried], "both": [both.hidden, both.carried]}


def together() -> list[list[int]]:
    """Sizes of what must be there before anything goes on, in attention with its gradient."""

    def barriers(program: Any) -> list[list[int]]:
        found = []
        for one in program.eqns:
            here = one.primitive.name == "optimization_barrier"
            found += [list(operand.aval.shape) for operand in one.invars] if here else []
            found += [size for inside in inner(one) for size in barriers(inside)]
        return found

    numbers = jax.ShapeDtypeStruct((4 * 1024, 3 * 2 * 64), jax.numpy.bfloat16)
    attend = functools.partial(splash.Splash().attend, tokens=1024, heads=2)
    return barriers(jax.make_jaxpr(jax.grad(lambda given: attend(given).sum()))(numbers).jaxpr)


def filled() -> dict[str, Any]:
    """The same training with a table of 300 rows, and of 384 of which 300 stand for tokens."""
    found: dict[str, Any] = {}
    tables = {}
    for rows in (0, 384):
        steps = made(1, splash.over, tokens=64, options={"vocabulary": 300}, table_rows=rows)
        begun = steps.snapshot()["weights/tokens/embeddings"]
        text = np.random.default_rng(0).integers(0, 16, (STEPS, BATCH, 65)).astype(np.int32)
        stack = {"x": text[..., :-1], "y": text[..., 1:]}
        told = steps.fetch(steps.train(stack, np.full(STEPS, 1e-3, np.float32), 0, STEPS))
        tables[rows] = steps.snapshot()["weights/tokens/embeddings"]
        found[f"loss of {len(begun)}"] = [float(value) for value in told["loss"]]
        found[f"outputs of {len(begun)}"] = steps._model.output.shape[-1]
    found["apart"] = float(np.abs(tables[0] - tables[384][:300]).max())
    return found | {"unused changed": bool((tables[384][300:] != begun[300:]).any())}


def scored() -> dict[str, float]:
    """How far scores in bfloat16 and their gradients are from products, in float32, of what was rounded before."""
    numbers = np.random.default_rng(0)
    x, table, wanted = (numbers.normal(size=size).astype(np.float32) for size in ((24, 32), (48, 32), (24, 48)))
    scores, backward = jax.vjp(splash.scored, x, table)
    x, table, rounded = (
        np.asarray(one.astype(jax.numpy.bfloat16), np.float32)
        for one in (jax.numpy.asarray(each) for each in (x, table, wanted))
    )
    right = (x @ table.T, rounded @ table, rounded.T @ x)
    found = (scores, *backward(jax.numpy.asarray(wanted)))
    return {
        name: float(np.abs(np.asarray(one) - other).max())
        for name, one, other in zip(("scores", "x", "table"), found, right, strict=True)
    }


with without_tensorflow():
    answer = {
        "scored": scored(),
        "filled": filled(),
        "counted": counted(),
        "together": together(),
        "off a TPU": trained(made(1, splash.over)),
        "one chip": trained(made(1, interpreted)),
        "eight chips, recomputing": trained(made(8, interpreted, rematerialize=True)),
        "dropout": {"kernels": kernels(made(1, interpreted, options={"dropout": 0.1}))},
        "a length that 128 does not divide": {"kernels": kernels(made(1, interpreted, tokens=64), 64)},
    }
json.dump(answer, sys.stdout)
print()
