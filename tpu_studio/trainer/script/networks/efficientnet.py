"""EfficientNet-Lite0, in a script (``trainer.models.efficientnet``)."""

from __future__ import annotations

from tpu_studio.trainer.script.networks.common import LOAD_WEIGHTS, Card, options, outputs, starting, taken
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.wire.plan import Plan


def part(plan: Plan, card: Card) -> Part:
    begins = bool(plan.job.model.starts_from)
    code = _EFFICIENTNET if plan.options["dropout"] else _EFFICIENTNET.replace(_DROP_LINE, "")
    if int(card["input"]["shape"][-1]) != 1:
        code = code.replace(_COLOURS_LINE, "")
    if not begins:
        code = code.replace(_FROZEN_LINE, "")
    constants = (*taken(card), *options(plan, "dropout"), Constant("OUTPUTS", outputs(card)))
    return starting(plan, Part(constants, code), _WEIGHTS + LOAD_WEIGHTS)


_DROP_LINE = "    x = keras.layers.Dropout(DROPOUT)(x)\n"

_COLOURS_LINE = "    x = keras.layers.Concatenate()([x, x, x])  # gray as red, green and blue\n"

_FROZEN_LINE = "    norm.trainable = False  # a few pictures tell means worse than a million did\n"

_EFFICIENTNET = '''
# The stages of EfficientNet-Lite0: blocks, side of their kernel, stride of the first, what they widen inside, channels.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


def normalised(x, name):
    norm = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-3, name=f"{name}_norm")
    norm.trainable = False  # a few pictures tell means worse than a million did
    return norm(x)


def convolved(x, name, channels, kernel, stride):
    layer = keras.layers.Conv2D(
        channels, kernel, stride, padding="same", use_bias=False, kernel_initializer="he_normal",
        name=f"{name}_convolution",
    )
    return keras.layers.ReLU(6)(normalised(layer(x), name))


def block(x, name, kernel, stride, expand, channels):
    """An inverted residual (Sandler et al. 2018, MobileNetV2)."""
    before = x
    if expand != 1:
        x = convolved(x, f"{name}_expand", before.shape[-1] * expand, 1, 1)
    x = keras.layers.DepthwiseConv2D(
        kernel, stride, padding="same", use_bias=False, name=f"{name}_depthwise_convolution"
    )(x)
    x = keras.layers.ReLU(6)(normalised(x, f"{name}_depthwise"))
    x = keras.layers.Conv2D(channels, 1, use_bias=False, name=f"{name}_project_convolution")(x)
    x = normalised(x, f"{name}_project")
    return keras.layers.Add()([before, x]) if x.shape == before.shape else x


def build_model():
    """EfficientNet-Lite0 (Tan and Le 2019), with an answer of our own behind it."""
    inputs = keras.Input(INPUT, dtype="uint8", name="input")
    x = keras.layers.Rescaling(255 / WHITE / 128, offset=-127 / 128, name="scale")(inputs)
    x = keras.layers.Concatenate()([x, x, x])  # gray as red, green and blue
    x = convolved(x, "stem", 32, 3, 2)
    number = 0
    for blocks, kernel, stride, expand, channels in STAGES:
        for place in range(blocks):
            x = block(x, f"block_{number}", kernel, stride if place == 0 else 1, expand, channels)
            number += 1
    x = convolved(x, "top", 1280, 1, 1)
    x = keras.layers.GlobalAveragePooling2D(name="features")(x)
    x = keras.layers.Dropout(DROPOUT)(x)
    outputs = keras.layers.Dense(OUTPUTS, dtype="float32", name="answer")(x)
    return keras.Model(inputs, outputs)

'''

_WEIGHTS = '''
def starter_names():
    """Of a PyTorch file, whose kernels are output × input × height × width."""
    layers = [("stem", "_conv_stem", "_bn0"), ("top", "_conv_head", "_bn1")]
    number = 0
    for blocks, _, _, expand, _ in STAGES:
        for _ in range(blocks):
            here, there = f"block_{number}", f"_blocks.{number}"
            if expand != 1:
                layers.append((f"{here}_expand", f"{there}._expand_conv", f"{there}._bn0"))
            layers.append((f"{here}_depthwise", f"{there}._depthwise_conv", f"{there}._bn1"))
            layers.append((f"{here}_project", f"{there}._project_conv", f"{there}._bn2"))
            number += 1
    norms = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}
    for here, convolution, norm in layers:
        axes = (2, 3, 0, 1) if here.endswith("_depthwise") else (2, 3, 1, 0)
        yield f"{here}_convolution/kernel", f"{convolution}.weight", axes
        for mine, theirs in norms.items():
            yield f"{here}_norm/{mine}", f"{norm}.{theirs}", (0,)

'''
