"""`small-cnn`: blocks of convolution, batch normalisation and ReLU, each half the size and twice the width of the last.

Ends in the mean over the picture rather than in a long flat vector: fewer weights, and it does not mind where in the
picture a thing is (Lin et al. 2013, Network in Network, section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tpu_studio.trainer.models import initial
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire.families import halvings
from tpu_studio.wire.plan import Plan

MOMENTUM = 0.9  # of the running means: small data sets make few steps, and 0.99 would still remember the start


def build(shapes: Shapes, options: Mapping[str, object], seed: int, plan: Plan) -> keras.Model:
    return small_cnn(shapes, options, seed)


def small_cnn(shapes: Shapes, options: Mapping[str, Any], seed: int) -> keras.Model:
    height, width, _ = shapes.input
    inputs = keras.Input(shapes.input, dtype=shapes.dtype, name="input")
    x = keras.layers.Rescaling(2.0 / shapes.white, offset=-1.0, name="scale")(inputs)
    for block in range(halvings(int(options["blocks"]), min(height, width))):
        channels = int(options["width"]) * 2**block
        x = keras.layers.Conv2D(
            channels,
            3,
            padding="same",
            use_bias=False,
            kernel_initializer="he_normal",
            name=f"block_{block}_convolution",
        )(x)
        x = keras.layers.BatchNormalization(momentum=MOMENTUM, name=f"block_{block}_norm")(x)
        x = keras.layers.Activation("relu", name=f"block_{block}_relu")(x)
        x = keras.layers.MaxPooling2D(2, name=f"block_{block}_pool")(x)
    x = keras.layers.GlobalAveragePooling2D(name="mean")(x)
    if options["dropout"]:
        x = keras.layers.Dropout(options["dropout"], seed=initial.seed_of(seed, "dropout"), name="dropout")(x)
    outputs = keras.layers.Dense(shapes.outputs, dtype="float32", name="answer")(x)
    model = keras.Model(inputs, outputs, name="small_cnn")
    initial.fill(model, seed, _scale)
    return model


def _scale(path: str, shape: Sequence[int]) -> float:
    return initial.glorot(shape) if path.startswith("answer/") else initial.he(shape)
