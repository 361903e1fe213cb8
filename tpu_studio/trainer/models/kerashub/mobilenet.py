"""MobileNetV3 (Howard et al. 2019), as KerasHub's `MobileNetBackbone` has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import keras
from keras import layers

from tpu_studio.trainer.models.kerashub import stored
from tpu_studio.trainer.models.kerashub.convolved import convolution, norm, pooled


class Block(NamedTuple):
    """An inverted residual (Sandler et al. 2018). *squeezed*: Channels of squeeze and excitation, 0 for none."""

    name: str
    inside: int
    out: int
    kernel: int
    stride: int
    squeezed: int
    active: str
    padding: int


def body(x: Any, config: Mapping[str, Any]) -> Any:
    channels = _rounded(config["input_num_filters"])
    x = layers.ZeroPadding2D(1, name="input_pad")(x)
    x = norm(convolution(x, channels, 3, "input_conv", stride=2), "input_batch_norm")
    x = layers.Activation(config["input_activation"], name="input_activation")(x)
    x = _depthwise(x, channels, config)
    for block in _blocks(config):
        x = _inverted(x, block)
    last = f"block_{len(config['stackwise_num_blocks']) + 1}_0"
    x = norm(convolution(x, _rounded(config["last_layer_filter"]), 1, f"{last}_conv"), f"{last}_bn")
    return pooled(layers.Activation("hard_swish", name=f"{last}_activation")(x))


def weights(model: keras.Model, config: Mapping[str, Any], read: stored.Read) -> stored.Weights:
    """Blocks are layers of KerasHub's own, with the plain ones inside by their attributes' names."""
    last = len(config["stackwise_num_blocks"]) + 1
    groups = {
        "input_conv": "conv2d",
        "input_batch_norm": "batch_normalization",
        f"block_{last}_0_conv": "conv_bn_act_block/conv",
        f"block_{last}_0_bn": "conv_bn_act_block/batch_normalization",
    }
    for part, group in _INSIDE.items():
        groups[f"block_0_0_{part}"] = f"depthwise_conv_block/{group}"
        groups |= {
            f"{block.name}_{part}": f"{stored.block('inverted_residual_block', number)}/{group}"
            for number, block in enumerate(_blocks(config))
        }
    groups["block_0_0_reduce"] = "depthwise_conv_block/se_layer/conv_reduce"
    groups["block_0_0_expand"] = "depthwise_conv_block/se_layer/conv_expand"
    for layer in model.layers:
        if layer.name in groups:
            yield from stored.of_layer(layer, f"layers/{groups[layer.name]}", read)


_INSIDE = {f"conv{number}": f"conv{number}" for number in (1, 2, 3)}
_INSIDE |= {f"bn{number}": f"batch_normalization{number}" for number in (1, 2, 3)}
_INSIDE |= {"reduce": "squeeze_excite/conv_reduce", "expand": "squeeze_excite/conv_expand"}


def _blocks(config: Mapping[str, Any]) -> Iterator[Block]:
    for stack, repeats in enumerate(config["stackwise_num_blocks"]):
        for number in range(repeats):

            def of(key: str, stack: int = stack, number: int = number) -> Any:
                return config[f"stackwise_{key}"][stack][number]

            inside, ratio = _rounded(of("expansion")), of("se_ratio")
            yield Block(
                f"block_{stack + 1}_{number}",
                inside,
                _rounded(of("num_filters")),
                of("kernel_size"),
                of("num_strides"),
                _rounded(inside * ratio) if ratio else 0,
                of("activation"),
                of("padding"),
            )


def _depthwise(x: Any, channels: int, config: Mapping[str, Any]) -> Any:
    name, before, ratio = "block_0_0", x, config.get("squeeze_and_excite")
    x = layers.ZeroPadding2D(1, name=f"{name}_pad")(x)
    x = convolution(x, channels, 3, f"{name}_conv1", stride=config["depthwise_stride"], groups=channels)
    x = layers.ReLU(name=f"{name}_relu")(norm(x, f"{name}_bn1"))
    if ratio:
        x = _squeezed(x, name, _rounded(channels * ratio))
    x = norm(convolution(x, config["depthwise_filters"], 1, f"{name}_conv2"), f"{name}_bn2")
    return layers.Add(name=f"{name}_add")([x, before]) if config["depthwise_residual"] else x


def _inverted(x: Any, block: Block) -> Any:
    name, before = block.name, x
    x = norm(convolution(x, block.inside, 1, f"{name}_conv1"), f"{name}_bn1")
    x = layers.Activation(block.active, name=f"{name}_activation1")(x)
    x = layers.ZeroPadding2D(block.padding, name=f"{name}_pad")(x)
    x = convolution(x, block.inside, block.kernel, f"{name}_conv2", stride=block.stride, groups=block.inside)
    x = layers.Activation(block.active, name=f"{name}_activation2")(norm(x, f"{name}_bn2"))
    if block.squeezed:
        x = _squeezed(x, name, block.squeezed)
    x = norm(convolution(x, block.out, 1, f"{name}_conv3"), f"{name}_bn3")
    return layers.Add(name=f"{name}_add")([before, x]) if block.stride == 1 and before.shape[-1] == block.out else x


def _squeezed(x: Any, name: str, channels: int) -> Any:
    width = x.shape[-1]
    seen = layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}_squeeze")(x)
    seen = convolution(seen, channels, 1, f"{name}_reduce", use_bias=True, activation="relu")
    seen = convolution(seen, width, 1, f"{name}_expand", use_bias=True, activation="hard_sigmoid")
    return layers.Multiply(name=f"{name}_excite")([x, seen])


def _rounded(wanted: float, unit: int = 8) -> int:
    found = max(unit, int(wanted + unit / 2) // unit * unit)
    return found + unit if found < 0.9 * wanted else found
