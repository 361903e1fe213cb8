"""Run in the engine: models that make, or work, far more than their size allows are not built."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
from keras import layers, ops

from tpu_studio.trainer.linkless import Linkless
from tpu_studio.trainer.models.bounded import Budget, check, within


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


def folded(x: Any) -> Any:
    """Each number of an example as a row of its own, of which no more than one was counted."""
    x = ops.reshape(x, (-1, 1))
    for _ in range(3):
        x = layers.Dense(80)(layers.Dense(1)(x))
    return ops.reshape(x, (-1, 64 * 80))


def turned(x: Any) -> Any:
    return ops.transpose(ops.reshape(x, (-1, 1)))


def doubled(x: Any) -> Any:
    for _ in range(30):
        x = layers.Concatenate(axis=0)([x, x])
    return x


def padded(x: Any) -> Any:
    return ops.pad(x, ((0, 900), (0, 0)))


def unsized(x: Any) -> Any:
    inner = keras.Input((None, None, 1))
    return keras.Model(inner, layers.AveragePooling2D(2)(inner))(layers.Reshape((8, 8, 1))(x))


def nested(x: Any) -> Any:
    inner = keras.Input((1,))
    x = keras.Model(inner, layers.Dense(1)(inner))(ops.reshape(x, (-1, 1)))
    return ops.reshape(x, (-1, 64))


def fixed(x: Any) -> Any:
    inner = keras.Input((1,))
    return keras.Model(inner, layers.Dense(1)(inner))(ops.reshape(x, (64, 1)))


def inner_folds(x: Any) -> Any:
    inner = keras.Input((64,))
    x = keras.Model(inner, ops.reshape(inner, (-1, 1)))(x)
    for _ in range(3):
        x = layers.Dense(80)(layers.Dense(1)(x))
    return ops.reshape(x, (-1, 64 * 80))


def flattened(x: Any) -> Any:
    x = ops.expand_dims(ops.cumsum(x), 1)
    for _ in range(3):
        x = layers.Dense(80)(layers.Dense(1)(x))
    return ops.reshape(x, (-1, 64 * 80))


def beneath(x: Any) -> Any:
    """Work in a model within it, of many rows of one example."""
    inner = keras.Input((1,))
    y = inner
    for _ in range(20):
        y = layers.Dense(1)(layers.Dense(60)(y))
    return ops.reshape(keras.Model(inner, y)(ops.reshape(x, (-1, 1))), (-1, 64))


def again(x: Any) -> Any:
    """A layer that, called again, says another size than it gives."""
    norm = layers.RMSNormalization()
    y, grown = norm(x), norm(ops.reshape(x, (-1, 64, 1))[:, :1, :])  # of 64 numbers, by its word of 1
    grown = ops.matmul(ops.transpose(grown, (0, 2, 1)), grown)
    return y + ops.expand_dims(ops.sum(grown, axis=(1, 2)), 1)


def rows(x: Any) -> Any:
    """As language models do it: a token a row."""
    return ops.reshape(layers.Dense(8)(ops.reshape(x, (-1, 8))), (-1, 8, 8))


def usual(x: Any) -> Any:
    return layers.Dense(10)(layers.ReLU()(layers.Dense(64)(x)))


def built(make: Callable[[Any], Any]) -> str:
    """Why it is not; "" where it is."""
    try:
        with within(Budget(2_000, 8_000, 50_000)):
            x = keras.Input((64,))
            model = keras.Model(x, make(x))
        check(model, Budget(2_000, 8_000, 50_000))
    except ValueError as error:
        return str(error)
    return ""


def table(path: Path, change: Callable[[Any], None]) -> str:
    """Why a table of weights is not read; "" where it is."""
    with h5py.File(path, "w") as file:
        group = file.create_group("layers/dense/vars")
        group.create_dataset("0", data=np.zeros((4, 4), np.float32))
        change(group)
    store = type("Bounded", (Linkless,), {"most": 100})(path, mode="r")
    try:
        store.get("layers/dense")["0"]
    except ValueError as error:
        return str(error)
    finally:
        store.close()
    return ""


def words(group: Any) -> None:
    group["0"].attrs.create("dtype", ["x"] * 3000, dtype=h5py.string_dtype())


def packed(group: Any) -> None:
    del group["0"]
    group.create_dataset("0", shape=(10, 10), dtype="f4", chunks=(5, 5))


def large(group: Any) -> None:
    del group["0"]
    group.create_dataset("0", data=np.zeros((11, 11), np.float32))


FOLDED = (folded, turned, doubled, padded, unsized, nested, fixed, inner_folds, flattened, beneath, again)

with tempfile.TemporaryDirectory() as folder:
    read = {
        change.__name__: table(Path(folder) / "w.h5", change) for change in (lambda group: None, words, packed, large)
    }
print(
    json.dumps(
        {"tables": read}
        | {make.__name__: built(make) for make in (outer, many, products, kernels, pools, usual, rows)}
        | {"folded": {make.__name__: built(make) for make in FOLDED}}
    )
)
