"""What the convolutional backbones share: their normalisation stays as it was learned (decision 45)."""

from __future__ import annotations

from typing import Any

from keras import layers

EPSILON = 1e-5


def norm(x: Any, name: str, epsilon: float = EPSILON) -> Any:
    """Scale, shift, mean and variance never learn: a few pictures tell a mean worse than a million did."""
    made = layers.BatchNormalization(epsilon=epsilon, name=name)
    made.trainable = False
    return made(x)


def convolution(x: Any, channels: int, kernel: int, name: str, *, stride: int = 1, **more: Any) -> Any:
    return layers.Conv2D(channels, kernel, strides=stride, use_bias=more.pop("use_bias", False), name=name, **more)(x)


def pooled(x: Any) -> Any:
    return layers.GlobalAveragePooling2D(name="features")(x)
