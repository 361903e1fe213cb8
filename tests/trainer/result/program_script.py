"""In the engine: the trained weights of a run in its script's model, beside the run's own model.

Weights are matched by the names of layer and weight, here and not as the exporter does it.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import keras
import numpy as np


def seen(run: Path, script: Path) -> dict[str, object]:
    trained = keras.models.load_model(run / "result" / "model.keras", compile=False)
    model = runpy.run_path(str(script))["build_model"]()
    weights = {tuple(weight.path.split("/")[-2:]): np.array(weight) for weight in trained.weights}
    for weight in model.weights:
        weight.assign(weights[tuple(weight.path.split("/")[-2:])])
    dice, shape = np.random.default_rng(0), (16, *trained.inputs[0].shape[1:])
    kind = trained.inputs[0].dtype
    x = dice.normal(size=shape) if kind == "float32" else dice.integers(0, 17, shape)
    answers = [np.asarray(one(x.astype(kind), training=False)) for one in (model, trained)]
    return {
        "counts": [one.count_params() for one in (model, trained)],
        "tensors": [len(model.weights), len(trained.weights)],
        "difference": float(np.abs(answers[0] - answers[1]).max()),
        "spread": float(answers[1].std()),
    }


if __name__ == "__main__":
    print(json.dumps(seen(Path(sys.argv[1]), Path(sys.argv[2]))))
