"""Models of plain Keras layers, as their saved file can say all of them."""

from __future__ import annotations

from collections.abc import Callable

import keras

from tpu_studio.trainer.models import initial


def model(inputs: object, outputs: object, name: str) -> keras.Model:
    """A model that casts nothing by itself: the saved file does not say how a model's own inputs are to be cast."""
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        return keras.Model(inputs, outputs, name=name)
    finally:
        keras.config.set_dtype_policy(policy)


def dropout(share: float, seed: int, name: str) -> Callable[[object], object]:
    """A layer with a seed of its own, by its *name*; nothing at all when the share is 0."""
    if not share:
        return lambda x: x
    layer: Callable[[object], object] = keras.layers.Dropout(share, seed=initial.seed_of(seed, name), name=name)
    return layer
