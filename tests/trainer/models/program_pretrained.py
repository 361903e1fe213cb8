"""Run in the engine: models from KerasHub's folders.

`seen FOLDER` prints how far from KerasHub's own features each network's are; `unfit FOLDER` why each damaged one of
FOLDER is refused; `counted PLAN` what is counted in the model of PLAN, and that none of its weights were read.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.fakes.presets import names, unpacked
from tests.fakes.weights import unlooked
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.pretrained import reading


def seen(root: Path) -> dict[str, Any]:
    return {name: _difference(unpacked(name, root)) for name in names()}


def _difference(folder: Path) -> dict[str, Any]:
    import keras

    from tpu_studio.trainer.frameworks import running, without_tensorflow
    from tpu_studio.trainer.models.initial import to_fill

    compiled = running().compiled  # else each operation is a program of its own
    model = _model(folder)
    recorded = np.load(folder / "seen.npz")
    wanted = recorded["seen"]
    if wanted.ndim == 3:  # tokens: of the picture, or all
        wanted = wanted.mean(1) if "without-token" in folder.name else wanted[:, 0]

    def features_and_answer(model: Any) -> list[Any]:
        both = [model.get_layer("features").output, model.output]
        return [np.asarray(one) for one in compiled(keras.Model(model.inputs[0], both))(recorded["pictures"])]

    found, answer = features_and_answer(model)
    before = {weight.path for weight in model.weights if weight.path.startswith("answer/")}
    file = folder / "model.keras"
    with without_tensorflow():
        model.save(file)
    with to_fill():
        again = keras.saving.load_model(file, safe_mode=True)
    same = all(map(functools.partial(np.allclose, atol=1e-5), features_and_answer(again), (found, answer)))
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
        "zero": {"patch_size": 0},
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
    found["blocks"] = _refusal(other)
    tree["config"] |= {"depth_divisor": 0}
    (other / "config.json").write_text(json.dumps(tree))
    return found | {"divisor": _refusal(other)}


def _refusal(folder: Path) -> dict[str, Any]:
    try:
        _model(folder)
    except ModelError as error:
        return {"id": error.id, "file": error.facts["file"], "why": str(error.facts.get("why"))}
    return {}


def hostile(root: Path) -> dict[str, Any]:
    """Why each is refused, and by how many MB this process has grown then; the first three are taken."""
    from keras import activations

    from tpu_studio.wire.pretrained.description import ACTIVATIONS

    for word in ACTIVATIONS:
        activations.get(word)
    found = {"small": _grown(lambda: _refusal(unpacked("vit", root)))}
    found["shards"] = _grown(lambda: _refusal(unpacked("sharded", root)))
    _halve(halves := _copy("vit", root, "halves"))
    found["halves"] = _grown(lambda: _refusal(halves))
    for name, network, change in (
        ("kernel", "resnet", {"input_conv_kernel_sizes": [20_001]}),
        ("wide", "vit", {"hidden_dim": 96_000, "num_heads": 1}),
        ("places", "dinov2", {"patch_size": 1, "num_register_tokens": 90_000, "hidden_dim": 2_000}),
    ):
        tree = json.loads(((folder := _copy(network, root, name)) / "config.json").read_text())
        tree["config"] |= change
        (folder / "config.json").write_text(json.dumps(tree))
        found[name] = _grown(lambda folder=folder: _refusal(folder))
    for name, change in _TABLES.items():
        _change_table(folder := _copy("vit", root, name), **change)
        found[f"{name} at once"] = _grown(lambda folder=folder: _refusal(folder))
        with unlooked():
            found[name] = _grown(lambda folder=folder: _refusal(folder))
    index = (folder := _copy("sharded", root, "unnamed")) / "model.weights.json"
    tree = json.loads(index.read_text())
    del tree["weight_map"]["/layers/conv2d/vars"]
    index.write_text(json.dumps(tree))
    return found | {"unnamed": _grown(lambda: _refusal(folder)), "memory": _grown(lambda: _without_memory(root))}


_TABLES: dict[str, dict[str, Any]] = {
    "claims": {"shape": (1_000_000_000,), "dtype": "float16"},
    "packed": {"shape": (8, 8, 3, 16), "chunks": (8, 8, 3, 16), "compression": "gzip", "dtype": "float32"},
    "chunk": {"shape": (16,), "maxshape": (None,), "chunks": (1 << 28,), "dtype": "float32"},
    "holes": {"shape": (8, 8, 3, 16), "dtype": "float32"},
    "texts": {"shape": (8, 8, 3, 16), "dtype": "S1000"},
}


def _copy(network: str, root: Path, name: str) -> Path:
    return Path(shutil.copytree(unpacked(network, root / "whole"), root / name))


def _change_table(folder: Path, **wanted: Any) -> None:
    import h5py

    with h5py.File(folder / "model.weights.h5", "r+") as file:
        group = file["layers/vi_t_patching_and_embedding/patch_embedding/vars"]
        del group["0"]
        group.create_dataset("0", **wanted)


def _halve(folder: Path) -> None:
    """Each table in half the bytes, as Keras's own writer does it."""
    import h5py
    import ml_dtypes
    from keras.src.saving.saving_lib import H5IOStore

    groups: list[str] = []
    with h5py.File(folder / "model.weights.h5") as file:
        file.visit(lambda name: groups.append(name.removesuffix("/vars")) if name.endswith("/vars") else None)
    whole = H5IOStore(folder / "model.weights.h5", mode="r")
    half = H5IOStore(folder / "half.h5", mode="w")
    for group in sorted(groups, key=len):  # Keras makes a layer's own before those inside it
        read, written = whole.get(group), half.make(group)
        for key in list(read.keys()):
            written[key] = read[key].astype(ml_dtypes.bfloat16)
    whole.close()
    half.close()
    (folder / "half.h5").replace(folder / "model.weights.h5")


def _without_memory(root: Path) -> dict[str, Any]:
    from tpu_studio.trainer.models.kerashub import vit

    def body(*_: Any) -> None:
        np.zeros((1 << 60,), "float32")

    vit.body, whole = body, vit.body
    try:
        return _refusal(_copy("vit", root, "memory"))
    finally:
        vit.body = whole


def _grown(refuse: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    import resource

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak()
    return refuse() | {"mb": (peak() - before) // 1024}


def _model(folder: Path) -> Any:
    from types import SimpleNamespace

    from tpu_studio.trainer.models import pretrained
    from tpu_studio.trainer.models.shapes import Shapes

    preset = replace(reading.read(folder), scale=(1 / 127.5,), offset=(-1.0,))
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
        from tpu_studio.trainer.models.kerashub import tables  # once its backend is chosen

        tables.opened = refuse

    backend.begin = beginning
    return timing.described(plans.loads(plan_file.read_bytes()), 1)


if __name__ == "__main__":
    what = {"seen": seen, "unfit": unfit, "hostile": hostile, "counted": counted}
    print(json.dumps(what[sys.argv[1]](Path(sys.argv[2]))))
