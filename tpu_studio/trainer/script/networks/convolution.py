"""A small CNN, in a script (``trainer.models.convolution``)."""

from __future__ import annotations

from tpu_studio.trainer.script.networks.common import ANSWER, Card, function, options, outputs, taken
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole


def part(plan: Plan, card: Card) -> Part:
    from_size = min(int(size) for size in card["input"]["shape"][1:3])
    blocks = max(1, min(whole(plan.options["blocks"], 1), from_size.bit_length() - 1))
    lines = [
        "def build_model():",
        '    """Blocks of convolution, each half the size and twice the width of the last, then the mean (a CNN)."""',
        '    inputs = keras.Input(INPUT, dtype="uint8", name="input")',
        '    x = keras.layers.Rescaling(2 / WHITE, offset=-1, name="scale")(inputs)  # from -1 to 1',
        "    for number in range(BLOCKS):",
        '        name = f"block_{number}"',
        "        x = keras.layers.Conv2D(",
        '            WIDTH * 2**number, 3, padding="same", use_bias=False, kernel_initializer="he_normal",',
        '            name=f"{name}_convolution",',
        "        )(x)",
        '        x = keras.layers.BatchNormalization(momentum=0.9, name=f"{name}_norm")(x)',
        '        x = keras.layers.Activation("relu")(x)',
        "        x = keras.layers.MaxPooling2D(2)(x)",
        '    x = keras.layers.GlobalAveragePooling2D(name="mean")(x)',
        *(["    x = keras.layers.Dropout(DROPOUT)(x)"] if plan.options["dropout"] else []),
        f"    {ANSWER}",
        "    return keras.Model(inputs, outputs)",
    ]
    constants = (
        *taken(card),
        Constant("BLOCKS", blocks, "of convolution; each halves the picture"),
        *options(plan, "width", "dropout"),
    )
    return Part((*constants, Constant("OUTPUTS", outputs(card))), function(lines))
