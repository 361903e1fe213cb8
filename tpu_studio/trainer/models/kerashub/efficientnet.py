"""EfficientNet (Tan and Le 2019) and its "Lite" form, as KerasHub's `EfficientNetBackbone` has them.

Its blocks of 2021 ("fused", "unfused", "cba") are not known here. What it switches off at random while training is left
out: the body mostly stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import keras
from keras import layers

from tpu_studio.trainer.models.kerashub import stored
from tpu_studio.trainer.models.kerashub.convolved import convolution, norm, pooled


class Block(NamedTuple):
    """*goes_by*: What comes in is added to what comes out, where both are alike."""

    name: str
    inside: int
    out: int
    kernel: int
    stride: int
    expand: int
    squeezed: int
    goes_by: bool


def body(x: Any, config: Mapping[str, Any]) -> Any:
    active, epsilon = config.get("activation", "swish"), config.get("batch_norm_epsilon", 1e-5)
    if config.get("include_stem_padding", True):
        x = layers.ZeroPadding2D(1, name="stem_conv_pad")(x)
    stem = _rounded(config["stackwise_input_filters"][0], _coefficients(config, "width")[0], config)
    x = convolution(x, stem, 3, "stem_conv", stride=2, padding=config.get("stem_conv_padding", "valid"))
    x = layers.Activation(active, name="stem_activation")(norm(x, "stem_bn", epsilon))
    for block in _blocks(config):
        x = _made(x, block, active, config.get("projection_activation"), epsilon)
    top = _rounded(config.get("num_features", 1280), _coefficients(config, "width")[-1], config)
    x = norm(convolution(x, top, 1, "top_conv", padding="same"), "top_bn", epsilon)
    return pooled(layers.Activation(active, name="top_activation")(x))


def weights(model: keras.Model, config: Mapping[str, Any], read: stored.Read) -> stored.Weights:
    return stored.in_order(model, read)


def _blocks(config: Mapping[str, Any]) -> Iterator[Block]:
    kinds, widths, depths = (
        config["stackwise_block_types"],
        _coefficients(config, "width"),
        _coefficients(config, "depth"),
    )
    forced = config.get("stackwise_force_input_filters") or [0] * len(kinds)
    for stack, kind in enumerate(kinds):
        if kind != "v1":
            raise ValueError(f"its blocks are of the kind {kind!r}")
        inside = _rounded(config["stackwise_input_filters"][stack], widths[stack], config)
        out = _rounded(config["stackwise_output_filters"][stack], widths[stack], config)
        repeats = math.ceil(depths[stack] * config["stackwise_num_repeats"][stack])
        for number in range(repeats):
            given = inside if number == 0 else out
            given = _rounded(forced[stack], widths[stack], config) if forced[stack] > 0 else given
            stride = config["stackwise_strides"][stack] if number == 0 else 1
            ratio = config["stackwise_squeeze_and_excite_ratios"][stack]
            yield Block(
                f"block{stack + 1}{chr(97 + number)}_",
                given,
                out,
                config["stackwise_kernel_sizes"][stack],
                stride,
                config["stackwise_expansion_ratios"][stack],
                max(1, int(given * ratio)) if 0 < ratio <= 1 else 0,
                stride == 1 and given == out,
            )


def _made(x: Any, block: Block, active: str, projected: str | None, epsilon: float) -> Any:
    name, before = block.name, x
    if block.expand != 1:
        x = convolution(x, block.inside * block.expand, 1, f"{name}expand_conv", padding="same")
        x = layers.Activation(active, name=f"{name}expand_activation")(norm(x, f"{name}expand_bn", epsilon))
    x = layers.ZeroPadding2D(block.kernel // 2, name=f"{name}dwconv_pad")(x)
    x = layers.DepthwiseConv2D(block.kernel, block.stride, use_bias=False, name=f"{name}dwconv")(x)
    x = layers.Activation(active, name=f"{name}dwconv_activation")(norm(x, f"{name}dwconv_bn", epsilon))
    x = _squeezed(x, block, active)
    x = norm(convolution(x, block.out, 1, f"{name}project", padding="same"), f"{name}project_bn", epsilon)
    if projected:
        x = layers.Activation(projected, name=f"{name}projection_activation")(x)
    return layers.Add(name=f"{name}add")([x, before]) if block.goes_by else x


def _squeezed(x: Any, block: Block, active: str) -> Any:
    """Squeeze and excitation (Hu et al. 2018)."""
    if not block.squeezed:
        return x
    name, width = block.name, x.shape[-1]
    seen = layers.GlobalAveragePooling2D(name=f"{name}se_squeeze")(x)
    seen = layers.Reshape((1, 1, width), name=f"{name}se_reshape")(seen)
    how: dict[str, Any] = {"use_bias": True, "padding": "same"}
    seen = convolution(seen, block.squeezed, 1, f"{name}se_reduce", activation=active, **how)
    seen = convolution(seen, width, 1, f"{name}se_expand", activation="sigmoid", **how)
    return layers.Multiply(name=f"{name}se_excite")([x, seen])


def _coefficients(config: Mapping[str, Any], of: str) -> list[float]:
    return list(config[f"stackwise_{of}_coefficients"])


def _rounded(filters: int, coefficient: float, config: Mapping[str, Any]) -> int:
    """To a multiple that chips like."""
    wanted, unit = filters * coefficient, config.get("depth_divisor", 8)
    least = unit if config.get("use_depth_divisor_as_min_depth") else config.get("min_depth", 8)
    found = max(least, int(wanted + unit / 2) // unit * unit)
    if config.get("cap_round_filter_decrease") and found < 0.9 * wanted:
        found += unit
    return int(found)
