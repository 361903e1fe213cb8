"""Run in the engine: what a step learns from examples of classes that are not as frequent as each other.

`measured PLAN…` prints, of drawn scores, for each plan: the loss of training and of a check, how many count and how
many are right, each beside the same in numpy.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tpu_studio.trainer import backend, recipe
from tpu_studio.wire import plan as plans
from tpu_studio.wire.plan import Plan


def measured(*files: str) -> list[dict[str, object]]:
    asked = [plans.loads(Path(file).read_bytes()) for file in files]
    backend.begin(asked[0])  # all are of one framework
    return [_measured(plan) for plan in asked]


def _measured(plan: Plan) -> dict[str, object]:
    from tpu_studio.trainer import maths

    taken = recipe.from_plan(plan)
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(32, 3)).astype(np.float32), rng.integers(0, 3, 32).astype(np.int32)
    found = {
        side: [float(one) for one in maths.loss_terms(taken, scores, y, None, training=side == "training")]
        for side in ("training", "check")
    }

    chances = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    smoothing, rows = taken.label_smoothing, np.arange(32)
    plain = -np.log(chances[rows, y])
    smooth = (1 - smoothing) * plain - smoothing * np.log(chances).mean(1)
    weights = np.asarray(taken.class_weights or (1.0, 1.0, 1.0))
    right = float((scores.argmax(1) == y).sum())
    wanted = {"training": [float((smooth * weights[y]).sum()), 32.0, right], "check": [float(plain.sum()), 32.0, right]}
    return {"weights": list(taken.class_weights), "found": found, "wanted": wanted}


if __name__ == "__main__":
    print(json.dumps({"measured": measured}[sys.argv[1]](*sys.argv[2:])))
