"""A multilayer perceptron, in a script (``trainer.models.dense``)."""

from __future__ import annotations

from tpu_studio.trainer.script.networks.common import ANSWER, Card, function, options, outputs, taken
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.wire.plan import Plan


def part(plan: Plan, card: Card) -> Part:
    kind = "uint8" if card["input"].get("largest") else "float32"
    lines = [
        "def build_model():",
        '    """Layers of plain neurons (a multilayer perceptron, MLP)."""',
        f'    inputs = keras.Input(INPUT, dtype="{kind}", name="input")',
        "    x = inputs",
    ]
    if card["input"].get("largest"):
        lines.append('    x = keras.layers.Rescaling(2 / WHITE, offset=-1, name="scale")(x)  # from -1 to 1')
    if len(card["input"]["shape"]) > 2:
        lines.append('    x = keras.layers.Flatten(name="flatten")(x)')
    lines += [
        "    for number in range(LAYERS):",
        '        name = f"hidden_{number}"',
        '        x = keras.layers.Dense(WIDTH, activation="relu", kernel_initializer="he_normal", name=name)(x)',
        *(["        x = keras.layers.Dropout(DROPOUT)(x)"] if plan.options["dropout"] else []),
        f"    {ANSWER}",
        "    return keras.Model(inputs, outputs)",
    ]
    constants = (*taken(card), *options(plan, "layers", "width", "dropout"), Constant("OUTPUTS", outputs(card)))
    return Part(constants, function(lines))
