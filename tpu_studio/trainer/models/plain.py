"""Models of plain Keras layers, as their saved file can say all of them."""

from __future__ import annotations

import keras


def model(inputs: object, outputs: object, name: str) -> keras.Model:
    """A model that casts nothing by itself: the saved file does not say how a model's own inputs are to be cast."""
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        return keras.Model(inputs, outputs, name=name)
    finally:
        keras.config.set_dtype_policy(policy)
