"""In the engine: each run given by its name, its model as LiteRT and as safetensors; what was said of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import keras
import numpy as np

from tpu_studio.trainer.result import exporting
from tpu_studio.wire import exports
from tpu_studio.wire.errors import StudioError


def said(run: Path, form: str, to: Path, consent: str) -> dict[str, object]:
    try:
        return exporting.write(run, exports.by_id(form), to, consent).to_json()
    except StudioError as error:
        return {"error": error.id}


def main(folder: Path, runs: Path, consent: str) -> None:
    assert keras.backend.backend() == "tensorflow"  # chosen before the first export, and for all of them
    told = {}
    for name in ("pictures", "rows", "text", "own"):
        for form in ("safetensors", "litert"):  # `test_script` and `test_onnx` have the others
            (folder / f"{name}-{form}").mkdir()
            agreed = consent if name == "own" and form == "litert" else ""
            told[f"{name} {form}"] = said(runs / name, form, folder / f"{name}-{form}" / "model", agreed)
    from safetensors import safe_open

    with safe_open(folder / "pictures-safetensors" / "model", "np") as file:
        told["metadata"] = file.metadata()
        names = file.keys()
        told["tensors"] = {name: list(file.get_tensor(name).shape) for name in names}
    card = {"input": {"shape": [None, 4], "dtype": "float32"}}

    def model(x: object, training: bool) -> object:
        return np.asarray(x).sum(keepdims=True)

    for name, error in (("near", 0.5e-3), ("off", 3e-2)):
        try:
            checked = exporting._compared("litert", model, lambda x, e=error: model(x, False) + e, card, folder)
            told[name] = checked.to_json()
        except StudioError as refused:
            told[name] = {"error": refused.id, "difference": refused.facts["difference"]}
    told["wide"] = of_a_chip(folder)
    print(json.dumps(told))


def of_a_chip(folder: Path) -> dict[str, object]:
    """A network of ours as a TPU trains it, as LiteRT."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    inputs = keras.Input((8, 8, 1), dtype="uint8", name="input")
    adapted = keras.layers.Normalization(axis=None)
    adapted.adapt(np.linspace(0, 250, 64, dtype="float32"))
    x = keras.layers.Rescaling(1 / 255)(adapted(inputs))
    x = keras.layers.Flatten()(keras.layers.Conv2D(4, 3, activation="relu")(x))
    model = keras.Model(inputs, keras.layers.Dense(3, dtype="float32")(x))
    keras.config.set_dtype_policy("float32")
    card = {"input": {"shape": [None, 8, 8, 1], "dtype": "uint8"}}
    (folder / "wide").mkdir()
    checked = exporting._litert(lambda: model, card, folder, folder / "wide" / "model").to_json()
    wide = exporting.in_float32(model)
    x = np.full((1, 8, 8, 1), 200, "uint8")
    return checked | {"off": float(np.max(np.abs(np.asarray(model(x)) - np.asarray(wide(x)))))}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
