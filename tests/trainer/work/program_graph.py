"""Run in the engine under TensorFlow: what is counted in layers whose work is known, and in the models named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
from grid import COUNTED, GRID, built

from tpu_studio.trainer import recipe
from tpu_studio.trainer.work.graph import count_model

layers = keras.layers


def of_layers(outputs: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Of a model of *shape* to 2 classes."""
    inputs = keras.Input(shape)
    model = keras.Model(inputs, layers.Dense(2)(outputs(inputs)))
    example = {"x": (shape, np.dtype(np.float32)), "y": ((), np.dtype(np.int32))}
    return count_model(model, recipe.Recipe("classification"), example, 4)


class Halting(layers.Layer):
    """A loop that ends when its numbers say so."""

    def call(self, x: Any) -> Any:
        return keras.ops.while_loop(lambda x: keras.ops.sum(x) < 9, lambda x: (x @ keras.ops.ones((3, 3)),), (x,))[0]


OWN = {
    "SimpleRNN": (lambda x: layers.SimpleRNN(6)(x), (5, 3)),
    "LSTM": (lambda x: layers.LSTM(6)(x), (5, 3)),
    "attention": (lambda x: layers.GlobalAveragePooling1D()(layers.MultiHeadAttention(2, 8)(x, x)), (16, 8)),
    "convolutions": (
        lambda x: layers.GlobalAveragePooling2D()(
            layers.DepthwiseConv2D(3, padding="same")(layers.Conv2D(4, 3, strides=2, padding="same")(x))
        ),
        (8, 8, 3),
    ),
    "halting": (lambda x: Halting()(x), (3,)),
}
own = {name: of_layers(*one) for name, one in OWN.items()}
models = {}
for name in sys.argv[1:]:
    point = {**GRID, **COUNTED}[name]
    model, constants, example = built(point)
    models[name] = count_model(model, constants, example, point.batch)
json.dump({"own": own, "models": models}, sys.stdout)
print()
