"""Where Keras keeps the weights of a layer: `group/vars/0`, `group/vars/1`, … in the order in which it made them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

Array = np.ndarray[Any, Any]
Read = Callable[[str, int], Array]
"""Group and number of a variable → its values."""
Weights = Iterator[tuple[str, Array]]

NORM = ("gamma", "beta", "moving_mean", "moving_variance")
OURS = ("input", "scale", "colours", "features", "dropout", "answer")  # layers that no backbone has


def in_order(model: keras.Model, read: Read) -> Weights:
    """Of a body that has KerasHub's very layers: the groups are called by their classes, in the model's order."""
    seen: Counter[str] = Counter()
    for layer in model.layers:
        if layer.name in OURS:
            continue
        kind = _snake(type(layer).__name__)
        group = f"layers/{kind}" + (f"_{seen[kind]}" if seen[kind] else "")
        seen[kind] += 1
        yield from of_layer(layer, group, read)


def of_layer(layer: keras.Layer, group: str, read: Read) -> Weights:
    """Of one plain layer, whose group is *group*."""
    if isinstance(layer, keras.layers.BatchNormalization):
        names: tuple[str, ...] = NORM
    else:
        names = tuple(weight.path.rpartition("/")[2] for weight in layer.weights)
    for number, name in enumerate(names):
        yield f"{layer.name}/{name}", read(group, number)


def block(kind: str, number: int) -> str:
    """The group of the block of that class and *number* among the layers of a model."""
    return f"{kind}_{number}" if number else kind


def _snake(name: str) -> str:
    """As Keras calls a class in its files: "Conv2D" → "conv2d", "MaxPooling2D" → "max_pooling2d"."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
