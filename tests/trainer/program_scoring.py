"""Run in the engine with 8 processors: the loss of a few tokens at a time against that of all, and trainings by both.

With `few` or `more` of the variants. Prints how far sums and gradients are apart, the losses of 20 steps, and the
largest array of each program.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=8"

import jax
import numpy as np
from jax.sharding import Mesh

sys.path.insert(0, str(Path(__file__).parent / "models"))
from programs_plans import TEXT, plan

from tpu_studio.trainer import maths, recipe, state
from tpu_studio.trainer.models import build, scoring, splash
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.step_jax import JaxSteps
from tpu_studio.trainer.work.walk import alive, inner

TOKENS, WIDTH, ROWS, VOCABULARY = 320, 16, 384, 300
STEPS, BATCH, LENGTH, SCORED = 20, 8, 128, 48


def apart(smoothing: float, at_once: int, mesh: Mesh | None, *, narrow: bool = False) -> dict[str, float]:
    """From loss and gradients by `maths`, in parts of their size."""
    numbers = np.random.default_rng(0)
    x, table = (numbers.normal(size=(rows, WIDTH)).astype(np.float32) for rows in (TOKENS, ROWS))
    y = numbers.integers(0, VOCABULARY, TOKENS).astype(np.int32)
    weight = numbers.random(TOKENS).astype(np.float32) * (numbers.random(TOKENS) > 0.3)
    taken = Recipe("language-model", label_smoothing=smoothing)
    how = scoring.Scores(at_once, VOCABULARY, smoothing, True, mesh)

    def plain(x: Any, table: Any) -> Any:
        scores = splash.scored(x, table) if narrow else x @ table.T
        loss, _, right = maths.loss_terms(taken, scores[:, :VOCABULARY], y, weight, training=True)
        return 2.0 * loss, right

    def few(x: Any, table: Any) -> Any:
        loss, right = how.summed(scoring.Unscored(x, table, narrow), y, weight)
        return 2.0 * loss, right

    (loss, right), wanted = jax.value_and_grad(plain, (0, 1), has_aux=True)(x, table)
    (found, answers), gradients = jax.jit(jax.value_and_grad(few, (0, 1), has_aux=True))(x, table)
    alone, _ = jax.jit(few)(x, table)  # without gradients
    told = {"loss": abs(found / loss - 1.0), "alone": abs(alone / loss - 1.0), "right": abs(answers - right)}
    for name, one, other in zip(("x", "table"), gradients, wanted, strict=True):
        told[name] = np.abs(np.asarray(one) - np.asarray(other)).max() / np.abs(np.asarray(other)).max()
    return {name: float(value) for name, value in told.items()}


def largest(jaxpr: Any) -> int:
    """Numbers of the largest array that a program works with."""
    most = 0
    for equation in alive(jaxpr).eqns:
        most = max(most, *(math.prod(one.aval.shape) for one in equation.outvars), 0)
        most = max([most, *(largest(one) for one in inner(equation))])
    return most


def interpreted(mesh: Mesh) -> splash.Splash:
    return splash.Splash(mesh, most=128, interpret=True)


SETTINGS = {"optimizer": "adamw", "weight_decay": 0.1, "clip_norm": 1.0, "label_smoothing": 0.1}


def trained(devices: int, at_once: int, **training: Any) -> dict[str, Any]:
    options = {"layers": 1, "width": 32, "heads": 2, "vocabulary": VOCABULARY}
    planned = plan("gpt-nano", TEXT, options=options, data={"sequence_length": LENGTH}, **SETTINGS, **training)
    model = build(replace(planned, table_rows=ROWS), TEXT)
    constants = replace(recipe.from_plan(planned), scored_at_once=at_once)
    steps = JaxSteps(model, constants, state.layout(model, constants), devices=devices, kernel=interpreted)
    text = np.random.default_rng(0).integers(0, 64, (STEPS, BATCH, LENGTH + 1)).astype(np.int32)
    stack = {"x": text[..., :-1], "y": text[..., 1:]}
    told = steps.fetch(steps.train(stack, np.full(STEPS, 1e-3, np.float32), 0, STEPS))
    unseen = {"x": stack["x"][0], "y": stack["y"][0], "weight": np.array([1.0] * 6 + [0.0] * 2, np.float32)}
    evaluated = steps.fetch_evaluation(steps.evaluate(unseen))
    held = steps._state[: -2 * len(model.trainable_variables)]
    ids = np.zeros((BATCH, LENGTH), np.int32)
    programs = (
        jax.make_jaxpr(steps._one)(steps._state, {"x": ids, "y": ids}, 1e-3, 1.0),
        jax.make_jaxpr(steps.run_evaluate)(held, {"x": ids, "y": ids, "weight": unseen["weight"]}),
    )
    return {
        **{name: [float(value) for value in told[name]] for name in ("loss", "grad_norm")},
        "evaluated": {name: float(value) for name, value in evaluated.items()},
        "largest": [largest(one) for one in programs],
    }


chips = Mesh(np.array(jax.devices()), ("batch",))
FEW = ((0.0, 7, None), (0.1, 32, chips), (0.1, 10**6, None))
MORE = [one for one in itertools.product((0.0, 0.1), (7, 32, 10**6), (None, chips)) if one not in FEW]
answer: dict[str, Any] = {
    "apart": {
        f"{smoothing}, {at_once} at once, {'eight chips' if mesh else 'one chip'}": apart(smoothing, at_once, mesh)
        for smoothing, at_once, mesh in (FEW if sys.argv[1] == "few" else MORE)
    },
    "scores": BATCH * LENGTH * ROWS,
    "all": trained(1, 0),
}
if sys.argv[1] == "few":
    answer["narrow"] = apart(0.0, 32, chips, narrow=True)
    answer |= {"one chip": trained(1, SCORED), "eight chips": trained(8, SCORED)}
else:
    answer["two chips, four parts"] = trained(2, SCORED, accumulate=4)
json.dump(answer, sys.stdout)
print()
