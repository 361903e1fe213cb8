"""Run in the engine: models that make, or work, far more than their size allows are not built."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import keras
from keras import layers, ops

from tpu_studio.trainer.models.bounded import Budget, within


def outer(x: Any) -> Any:
    return layers.Reshape((64, 1))(x) * layers.Reshape((1, 64))(x)


def many(x: Any) -> Any:
    for _ in range(200):
        x = layers.ReLU()(x)
    return x


def products(x: Any) -> Any:
    x = layers.Reshape((8, 8))(x)
    for _ in range(120):
        x = ops.matmul(x, x)
    return x


def kernels(x: Any) -> Any:
    return layers.Conv2D(1, 31, padding="same")(layers.Reshape((8, 8, 1))(x))


def pools(x: Any) -> Any:
    return layers.AveragePooling2D(400, strides=1, padding="same")(layers.Reshape((8, 8, 1))(x))


def usual(x: Any) -> Any:
    return layers.Dense(10)(layers.ReLU()(layers.Dense(64)(x)))


def built(make: Callable[[Any], Any]) -> str:
    """Why it is not; "" where it is."""
    try:
        with within(Budget(2_000, 8_000, 50_000)):
            x = keras.Input((64,))
            keras.Model(x, make(x))
    except ValueError as error:
        return str(error)
    return ""


print(json.dumps({make.__name__: built(make) for make in (outer, many, products, kernels, pools, usual)}))
