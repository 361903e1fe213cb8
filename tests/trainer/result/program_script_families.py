"""In the engine: for each plan given, its script's model beside the one that the trainer builds, with the same weights.

Nothing is trained and no data is read: weights are drawn here, and starter weights are taken for there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tpu_studio.trainer import models
from tpu_studio.trainer.models import efficientnet, encoder, initial
from tpu_studio.trainer.script import checking, writing
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.starters import Starter


def seen(name: str, folder: Path) -> dict[str, Any]:
    plan = plans.loads((folder / f"{name}.json").read_bytes())
    card = json.loads((folder / f"{name}-card.json").read_text())
    with initial.without_weights():
        built = models.build(plan, card["data"])
    card["output"] = {"shape": list(built.outputs[0].shape)}
    script = folder / f"{name}.py"
    script.write_text(writing.written(folder, folder, plan, card), encoding="utf-8")
    keras.config.set_dtype_policy("float32")
    module = checking.module_of(script)
    model, dice = checking.built(module, built.count_params()), np.random.default_rng(0)
    for weight in built.weights:
        positive = weight.path.endswith(("gamma", "variance"))
        drawn = dice.uniform(0.5, 1.5, weight.shape) if positive else dice.normal(size=weight.shape) * 0.1
        weight.assign(drawn.astype(np.float32))
    checking.fill(model, built)
    kind = built.inputs[0].dtype
    x = dice.integers(0, 200, (2, *built.inputs[0].shape[1:])).astype(kind)
    answers = [np.asarray(one(x, training=False), np.float32) for one in (model, built)]
    starters = getattr(module, "starter_names", list)
    maker = {"efficientnet-lite0": efficientnet, "all-minilm-l6-v2": encoder}.get(plan.job.model.id)
    return {
        "difference": float(np.abs(answers[0] - answers[1]).max()),
        "spread": float(answers[1].std()),
        "learn": [sorted(w.path.split("/")[-2] for w in one.trainable_weights) for one in (model, built)],
        "too_large": why_not(lambda: checking.built(module, model.count_params() - 1)),
        "starters": [list(map(list, starters())), list(map(list, maker.starters())) if maker else []],
    }


def why_not(make: Callable[[], object]) -> str:
    try:
        make()
    except RunError as error:
        return str(error.facts["raw"])
    return ""


if __name__ == "__main__":
    Starter.problem = lambda self: ""  # type: ignore[method-assign]
    print(json.dumps({name: seen(name, Path(sys.argv[1])) for name in sys.argv[2:]}))
