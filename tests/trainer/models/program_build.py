"""Builds every model of the catalogue and prints what is seen: run by test_build in each framework."""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import keras
import numpy as np
from programs_plans import DIGITS, PICTURES, ROWS, TEXT, plan

from tpu_studio.trainer.frameworks import without_tensorflow
from tpu_studio.trainer.models import build, count_params
from tpu_studio.trainer.models.initial import to_fill

TRACED = keras.backend.backend() == "jax"  # whose weights are those of TensorFlow: there they are drawn twice
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "mlp rows": ("mlp", ROWS, {"options": {"dropout": 0.1}}),
    "mlp digits": ("mlp", DIGITS, {}),
    "mlp pictures": ("mlp", PICTURES, {"precision": "bfloat16"}),
    "small-cnn": ("small-cnn", PICTURES, {}),
    "small-cnn bfloat16": ("small-cnn", PICTURES, {"precision": "bfloat16"}),
    "small-cnn digits": ("small-cnn", DIGITS, {"options": {"blocks": 6}}),
    "gpt-nano": ("gpt-nano", TEXT, {}),
    "gpt-nano seed 1": ("gpt-nano", TEXT, {"seed": 1}),
    "gpt-nano bfloat16": ("gpt-nano", TEXT, {"precision": "bfloat16"}),
    "gpt-mini": ("gpt-mini", TEXT, {}),
}


def main() -> None:
    found = {}
    gc.freeze()  # each new model has Keras look through all that the frameworks loaded
    for name, (model_name, description, changes) in CASES.items():
        plan_ = plan(model_name, description, **changes)
        model = build(plan_, description)
        x = example(model.input.shape[1:], str(model.input.dtype))
        before = answers(model, x)
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.keras")
            with to_fill():
                loaded = keras.models.load_model(Path(folder) / "model.keras", compile=False)
        found[name] = {
            "params": count_params(model),
            "sha256": weights_of(model),
            "same_twice": TRACED or weights_of(build(plan_, description)) == weights_of(model),
            "output": list(before.shape[1:]),
            "dtype": str(before.dtype),
            "mean": float(np.abs(before).mean()),
            "reload_difference": float(np.abs(answers(loaded, x) - before).max()),
            "weights_float32": all(str(w.dtype) == "float32" for w in model.trainable_weights),
            "paths": [w.path for w in model.weights],
            "standard": all(type(layer).__module__.startswith("keras.") for layer in model._flatten_layers()),
        }
    print(json.dumps(found))


def weights_of(model: keras.Model) -> str:
    return hashlib.sha256(b"".join(np.asarray(weight).tobytes() for weight in model.trainable_weights)).hexdigest()


def answers(model: keras.Model, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """In the quicker way of each framework: by one program in JAX, operation by operation in TensorFlow."""
    return model.predict_on_batch(x) if TRACED else np.asarray(model(x, training=False))


def example(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    drawn = np.random.default_rng(0).random((3, *shape))
    return (drawn * 200).astype(dtype) if "int" in dtype else drawn.astype(dtype)


with without_tensorflow():
    main()
