"""Run in the engine: models from KerasHub's folders.

`seen FOLDER` prints how far from KerasHub's own features each network's are; `unfit FOLDER` why each damaged one of
FOLDER is refused; `counted PLAN` what is counted in the model of PLAN, and that none of its weights were read.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.fakes.presets import names, unpacked
from tpu_studio.wire import presets
from tpu_studio.wire.errors import ModelError


def seen(root: Path) -> dict[str, Any]:
    return {name: _difference(unpacked(name, root)) for name in names()}


def _difference(folder: Path) -> dict[str, Any]:
    import keras

    from tpu_studio.trainer.frameworks import running

    compiled = running().compiled  # else each operation is a program of its own
    model = _model(folder)
    recorded = np.load(folder / "seen.npz")
    wanted = recorded["seen"]
    if wanted.ndim == 3:  # tokens: of the picture, or all
        wanted = wanted.mean(1) if "without-token" in folder.name else wanted[:, 0]
    body = keras.Model(model.inputs[0], model.get_layer("features").output)
    found = np.asarray(compiled(body)(recorded["pictures"]))
    before = {weight.path for weight in model.weights if weight.path.startswith("answer/")}
    file = folder / "model.keras"
    model.save(file)
    again = keras.saving.load_model(file, safe_mode=True)
    same = np.allclose(*(compiled(one)(recorded["pictures"]) for one in (again, model)), atol=1e-5)
    learns = {weight.path.rpartition("/")[2] for weight in model.trainable_weights}
    return {
        "difference": float(np.abs(found - wanted).max()),
        "spread": float(wanted.std()),
        "answer": sorted(before),
        "opens": bool(same),
        "norms_learn": bool(learns & {"moving_mean", "moving_variance"}),
    }


def unfit(root: Path) -> dict[str, Any]:
    whole, found = unpacked("vit", root), {}
    for name, change in {
        "narrow": {"hidden_dim": 8},
        "deep": {"num_layers": 3},
        "heads": {"num_heads": 5},
        "without": {"patch_size": None},
    }.items():
        folder = Path(shutil.copytree(whole, root / name))
        tree = json.loads((folder / "config.json").read_text())
        tree["config"] |= change
        (folder / "config.json").write_text(json.dumps(tree))
        found[name] = _refusal(folder)
    other = unpacked("efficientnet", root)
    tree = json.loads((other / "config.json").read_text())
    tree["config"]["stackwise_block_types"][1] = "fused"
    (other / "config.json").write_text(json.dumps(tree))
    return found | {"blocks": _refusal(other)}


def _refusal(folder: Path) -> dict[str, Any]:
    try:
        _model(folder)
    except ModelError as error:
        return {"id": error.id, "file": error.facts["file"], "why": str(error.facts["why"])}
    return {}


def _model(folder: Path) -> Any:
    from types import SimpleNamespace

    from tpu_studio.trainer.models import pretrained
    from tpu_studio.trainer.models.shapes import Shapes

    preset = replace(presets.read(folder), scale=(1 / 127.5,), offset=(-1.0,))
    job = SimpleNamespace(model=SimpleNamespace(folder=str(folder), id="kerashub-backbone"), base="")
    plan: Any = SimpleNamespace(job=job, preset_sha256="")
    model = pretrained.build(Shapes("images", "classification", (32, 32, 3), "uint8", 2), {"dropout": 0.2}, 0, plan)
    pretrained.fill(model, preset)
    return model


def counted(plan_file: Path) -> dict[str, Any]:
    from tpu_studio.trainer import backend, timing
    from tpu_studio.wire import plan as plans

    def refuse(*_: Any) -> None:
        raise AssertionError("weights were read")

    begin = backend.begin

    def beginning(*given: Any) -> None:
        begin(*given)
        import keras.src.saving.saving_lib as saving  # once its backend is chosen

        saving.H5IOStore = refuse

    backend.begin = beginning
    return timing.described(plans.loads(plan_file.read_bytes()), 1)


if __name__ == "__main__":
    print(json.dumps({"seen": seen, "unfit": unfit, "counted": counted}[sys.argv[1]](Path(sys.argv[2]))))
