"""`efficientnet-lite0`: a picture network that can begin from what it learned on 1.3 million photographs.

Tan and Le 2019, EfficientNet, in Google's "Lite" form for processors: no squeeze-and-excitation, ReLU6, stem and top of
one size. Plain Keras layers, so the finished file opens anywhere Keras does. Starter weights are those of a published
PyTorch file; `starters` says what its tensors are called here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import keras

from tpu_studio.trainer.models import initial
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire.plan import Plan

CENTRE, SPREAD = 127.0, 128.0  # of a pixel from 0 to 255, as it was trained
EPSILON = 1e-3  # of batch normalisation, as in Google's TensorFlow
MOMENTUM = 0.9  # of the running means, where it learns from nothing
STEM, TOP = 32, 1280  # channels


_NORM = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}


class Stage(NamedTuple):
    """Blocks alike: how many, the side of their kernel, the stride of the first, and what they widen inside."""

    blocks: int
    kernel: int
    stride: int
    expand: int
    channels: int


STAGES: tuple[Stage, ...] = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)


def build(shapes: Shapes, options: Mapping[str, Any], seed: int, plan: Plan) -> keras.Model:
    with initial.to_fill():
        model = _built(shapes, options, seed, learns=not plan.job.model.starts_from)
    initial.fill(model, seed, _scale)
    return model


def _built(shapes: Shapes, options: Mapping[str, Any], seed: int, *, learns: bool) -> keras.Model:
    """*learns*: normalisation does."""
    inputs = keras.Input(shapes.input, dtype=shapes.dtype, name="input")
    x = keras.layers.Rescaling(255.0 / shapes.white / SPREAD, offset=-CENTRE / SPREAD, name="scale")(inputs)
    if shapes.input[-1] == 1:
        x = keras.layers.Concatenate(name="colours")([x, x, x])
    x = _convolved(x, "stem", STEM, 3, 2, learns)
    number = 0
    for stage in STAGES:
        for place in range(stage.blocks):
            x = _block(x, f"block_{number}", stage, stage.stride if place == 0 else 1, learns)
            number += 1
    x = _convolved(x, "top", TOP, 1, 1, learns)
    x = keras.layers.GlobalAveragePooling2D(name="features")(x)
    if options["dropout"]:
        x = keras.layers.Dropout(options["dropout"], seed=initial.seed_of(seed, "dropout"), name="dropout")(x)
    outputs = keras.layers.Dense(shapes.outputs, dtype="float32", name="answer")(x)
    return keras.Model(inputs, outputs, name="efficientnet_lite0")


def starters() -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Of each weight but the answer's: its path here, its name in the published file, and how its axes are turned."""
    layers = [("stem", "_conv_stem", "_bn0"), ("top", "_conv_head", "_bn1")]
    number = 0
    for stage in STAGES:
        for _ in range(stage.blocks):
            block, there = f"block_{number}", f"_blocks.{number}"
            if stage.expand != 1:
                layers.append((f"{block}_expand", f"{there}._expand_conv", f"{there}._bn0"))
            layers.append((f"{block}_depthwise", f"{there}._depthwise_conv", f"{there}._bn1"))
            layers.append((f"{block}_project", f"{there}._project_conv", f"{there}._bn2"))
            number += 1
    for here, convolution, norm in layers:
        turned = (2, 3, 0, 1) if here.endswith("_depthwise") else (2, 3, 1, 0)  # output × input × height × width there
        yield f"{here}_convolution/kernel", f"{convolution}.weight", turned
        for mine, theirs in _NORM.items():
            yield f"{here}_norm/{mine}", f"{norm}.{theirs}", (0,)


def _block(x: Any, name: str, stage: Stage, stride: int, learns: bool) -> Any:
    """An inverted residual (Sandler et al. 2018, MobileNetV2, figure 4)."""
    before, inside = x, x.shape[-1] * stage.expand
    if stage.expand != 1:
        x = _convolved(x, f"{name}_expand", inside, 1, 1, learns)
    x = keras.layers.DepthwiseConv2D(
        stage.kernel, stride, padding="same", use_bias=False, name=f"{name}_depthwise_convolution"
    )(x)
    x = _normed(x, f"{name}_depthwise", learns)
    x = keras.layers.ReLU(6.0, name=f"{name}_depthwise_relu")(x)
    x = keras.layers.Conv2D(stage.channels, 1, use_bias=False, name=f"{name}_project_convolution")(x)
    x = _normed(x, f"{name}_project", learns)
    return keras.layers.Add(name=f"{name}_add")([before, x]) if x.shape == before.shape else x


def _convolved(x: Any, name: str, channels: int, kernel: int, stride: int, learns: bool) -> Any:
    x = keras.layers.Conv2D(channels, kernel, stride, padding="same", use_bias=False, name=f"{name}_convolution")(x)
    return keras.layers.ReLU(6.0, name=f"{name}_relu")(_normed(x, name, learns))


def _normed(x: Any, name: str, learns: bool) -> Any:
    """*learns*: else it stays as its starter weights have it; a few pictures tell means worse than a million did."""
    norm = keras.layers.BatchNormalization(momentum=MOMENTUM, epsilon=EPSILON, name=f"{name}_norm")
    norm.trainable = learns
    return norm(x)


def _scale(path: str, shape: Sequence[int]) -> float:
    if path.startswith("answer/"):
        return initial.glorot(shape)
    # The kernel of a depthwise convolution has one input a channel, and its shape says so last but one.
    return initial.he((*shape[:-2], 1, shape[-2]) if "depthwise" in path else shape)
