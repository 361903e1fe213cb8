"""Run in the engine: weights as a published file would have them, drawn by chance, and what becomes of them.

`shortened FOLDER` writes such a file of a short network into FOLDER; `filled PLAN` that of the whole network where it
belongs, builds the model of PLAN from it and prints of the first what it holds, of the other whether each weight is
there and which weights learn; `opened RUN` opens the result of a run as anybody would, with Keras alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tests.fakes.light_engine import shorten_starters, trust_starters


def make(folder: Path) -> dict[str, float]:
    from safetensors.numpy import save_file

    from tpu_studio.trainer.models import efficientnet
    from tpu_studio.wire.models import starter

    model = _untrained()
    shapes = {weight.path: tuple(weight.shape) for weight in model.weights}
    rng, tensors = np.random.default_rng(7), {}
    for path, name, turned in efficientnet.starters():
        shape = shapes[path]
        if path.endswith("kernel"):
            drawn = rng.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[:-1]))
        else:
            drawn = rng.uniform(0.5, 1.5, shape) if path.endswith(("gamma", "variance")) else rng.normal(0, 0.1, shape)
        tensors[name] = np.ascontiguousarray(np.transpose(drawn.astype(np.float32), np.argsort(turned)))
    folder.mkdir(parents=True)
    save_file(tensors, folder / starter("starter:efficientnet-lite0").file)
    learn = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    return {"tensors": len(tensors), "params": learn, "spread": float(np.std(model(_pictures(model))))}


def shortened(folder: Path) -> dict[str, float]:
    shorten_starters()
    return make(folder)


def filled(plan_file: Path) -> tuple[dict[str, float], dict[str, object]]:
    from safetensors.numpy import load_file

    from tpu_studio.trainer import models
    from tpu_studio.trainer.models import efficientnet, starting
    from tpu_studio.trainer.parts import description_of
    from tpu_studio.wire import plan as plans
    from tpu_studio.wire.models import starter

    made = make(starter("starter:efficientnet-lite0").path.parent)
    trust_starters()
    plan = plans.loads(plan_file.read_bytes())
    model = models.build(plan, description_of(plan))
    tensors = load_file(starter("starter:efficientnet-lite0").path)
    weights = {weight.path: np.array(weight) for weight in model.weights}
    from_base = efficientnet.starters()
    same = [np.array_equal(weights.pop(path), tensors[name].transpose(turned)) for path, name, turned in from_base]
    backbone, head = starting.halves(model, plan)
    pictures = _pictures(model)
    whole, cut = np.array(model(pictures, training=False)), np.array(head(backbone(pictures, training=False)))
    return made, {
        "same": all(same),
        "tensors": len(same),
        "left": sorted(weights),
        "learn": sorted({path.rsplit("/", 1)[-1] for path in (one.path for one in model.trainable_weights)}),
        "halves": bool(np.allclose(whole, cut, atol=1e-5)),
    }


def opened(run: Path) -> dict[str, object]:
    import keras

    model = keras.saving.load_model(run / "result" / "model.keras", safe_mode=True)
    return {"input": model.input_shape, "output": model.output_shape, "weights": len(model.weights)}


def _pictures(model):  # type: ignore[no-untyped-def]
    return np.random.default_rng(0).integers(0, 256, (3, *model.input_shape[1:])).astype(np.uint8)


def _untrained():  # type: ignore[no-untyped-def]
    from types import SimpleNamespace

    from tpu_studio.trainer.models import efficientnet
    from tpu_studio.trainer.models.shapes import Shapes

    plan = SimpleNamespace(job=SimpleNamespace(model=SimpleNamespace(starts_from="")))
    return efficientnet.build(Shapes("images", "classification", (32, 32, 3), "uint8", 2), {"dropout": 0.2}, 0, plan)


if __name__ == "__main__":
    print(json.dumps({"shortened": shortened, "filled": filled, "opened": opened}[sys.argv[1]](Path(sys.argv[2]))))
