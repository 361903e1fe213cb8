"""`mlp`: layers of plain neurons, for rows of a table, and for small pictures laid out flat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tpu_studio.trainer.models import initial
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire.plan import Plan


def build(shapes: Shapes, options: Mapping[str, object], seed: int, plan: Plan) -> keras.Model:
    return mlp(shapes, options, seed)


def mlp(shapes: Shapes, options: Mapping[str, Any], seed: int) -> keras.Model:
    inputs = keras.Input(shapes.input, dtype=shapes.dtype, name="input")
    x = inputs
    if shapes.dtype == "uint8":
        x = keras.layers.Rescaling(2.0 / shapes.white, offset=-1.0, name="scale")(x)
    if len(shapes.input) > 1:
        x = keras.layers.Flatten(name="flatten")(x)
    for number in range(int(options["layers"])):
        name = f"hidden_{number}"
        x = keras.layers.Dense(int(options["width"]), activation="relu", kernel_initializer="he_normal", name=name)(x)
        if options["dropout"]:
            drop = f"{name}_dropout"
            x = keras.layers.Dropout(options["dropout"], seed=initial.seed_of(seed, drop), name=drop)(x)
    outputs = keras.layers.Dense(shapes.outputs, dtype="float32", name="answer")(x)
    model = keras.Model(inputs, outputs, name="mlp")
    initial.fill(model, seed, _scale)
    return model


def _scale(path: str, shape: Sequence[int]) -> float:
    return initial.glorot(shape) if path.startswith("answer/") else initial.he(shape)
