"""ResNet, as KerasHub's `ResNetBackbone` has it, with basic blocks or bottlenecks.

As in He et al. 2015, with normalisation first (He et al. 2016), and the variant "D" of He et al. 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
from keras import layers, ops

from tpu_studio.trainer.models.kerashub import stored
from tpu_studio.trainer.models.kerashub.convolved import convolution, norm, pooled

BLOCKS = ("basic_block", "bottleneck_block", "basic_block_vd", "bottleneck_block_vd")


def body(x: Any, config: Mapping[str, Any]) -> Any:
    first = bool(config.get("use_pre_activation"))
    kernels, filters, kind = config["input_conv_kernel_sizes"], config["input_conv_filters"], config["block_type"]
    if kind not in BLOCKS:
        raise ValueError(f"block_type is {kind!r}")
    x = layers.ZeroPadding2D((kernels[0] - 1) // 2, name="conv1_pad")(x)
    x = convolution(x, filters[0], kernels[0], "conv1_conv", stride=2)
    for number in range(1, len(filters)):
        x = _active(norm(x, f"conv{number}_bn"), f"conv{number}_relu")
        x = convolution(x, filters[number], kernels[number], f"conv{number + 1}_conv", padding="same")
    if first:
        x = ops.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=float("-inf"))
    else:
        x = _active(norm(x, f"conv{len(filters)}_bn"), f"conv{len(filters)}_relu")
        x = layers.ZeroPadding2D(1, name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    stacks = zip(
        config["stackwise_num_filters"], config["stackwise_num_blocks"], config["stackwise_num_strides"], strict=True
    )
    for stack, (channels, blocks, stride) in enumerate(stacks):
        for number in range(blocks):
            shortcut = number == 0 and (kind != "basic_block" or stack > 0)
            name = f"stack{stack}_block{number}"
            x = _block(x, name, channels, stride if number == 0 else 1, kind, shortcut=shortcut, first=first)
    if first:
        x = _active(norm(x, "post_bn"), "post_relu")
    return pooled(x)


def weights(model: keras.Model, config: Mapping[str, Any], read: stored.Read) -> stored.Weights:
    return stored.in_order(model, read)


def _block(x: Any, name: str, channels: int, stride: int, kind: str, *, shortcut: bool, first: bool) -> Any:
    """*first*: normalisation stands before the convolutions; *shortcut*: what is passed by is convolved."""
    narrow = kind.startswith("basic")
    wide = channels if narrow else 4 * channels
    entry = passed = x
    if first:
        entry = _active(norm(x, f"{name}_pre_activation_bn"), f"{name}_pre_activation_relu")
    if shortcut:
        passed = _shortcut(entry, name, wide, stride, pools=kind.endswith("_vd") and not first, first=first)
    sizes = [(channels, 3), (channels, 3)] if narrow else [(channels, 1), (channels, 3), (wide, 1)]
    strided = 0 if narrow else 1
    inside = entry
    for number, (width, kernel) in enumerate(sizes):
        place = f"{name}_{number + 1}"
        inside = _step(inside, place, width, kernel, stride if number == strided else 1)
        if number < len(sizes) - 1:
            inside = _active(norm(inside, f"{place}_bn"), f"{place}_relu")
        elif not first:
            inside = norm(inside, f"{place}_bn")
    if first:
        return layers.Add(name=f"{name}_out")([passed, inside])
    return _active(layers.Add(name=f"{name}_add")([passed, inside]), f"{name}_out")


def _shortcut(x: Any, name: str, wide: int, stride: int, *, pools: bool, first: bool) -> Any:
    if pools and stride > 1:
        x = layers.AveragePooling2D(2, strides=stride, padding="same", name=f"{name}_0_pool")(x)
        stride = 1
    x = convolution(x, wide, 1, f"{name}_0_conv", stride=stride)
    return x if first else norm(x, f"{name}_0_bn")


def _step(x: Any, place: str, width: int, kernel: int, stride: int) -> Any:
    if stride > 1:
        x = layers.ZeroPadding2D((kernel - 1) // 2, name=f"{place}_pad")(x)
    return convolution(x, width, kernel, f"{place}_conv", stride=stride, padding="valid" if stride > 1 else "same")


def _active(x: Any, name: str) -> Any:
    return layers.Activation("relu", name=name)(x)
