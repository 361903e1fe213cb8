"""How a script builds the models of ``trainer.models``: the same layers under the same names, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.trainer.script.refusing import refusal
from tpu_studio.trainer.script.starters import ENCODER_WEIGHTS, PICTURE_WEIGHTS
from tpu_studio.wire import models, presets
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole

Card = Mapping[str, Any]


def network(plan: Plan, card: Card) -> Part:
    """``build_model()``, and ``load_starter_weights(model)`` where it begins from such.

    Raises:
        RunError: Of `refusal`.
        ModelError: ``starter-missing``, ``starter-damaged``.
    """
    if plan.job.model.is_own:
        raise refusal("own-model")
    if presets.is_folder(plan.job.model.starts_from) or models.spec(plan.job.model.id).from_folder:
        raise refusal("kerashub")
    return _BUILDERS[models.spec(plan.job.model.id).family](plan, card)


def _outputs(card: Card) -> int:
    return int(card["output"]["shape"][-1])


def _options(plan: Plan, *names: str) -> tuple[Constant, ...]:
    """Constants of the model's options; *dropout* among them only where there is some."""
    known, about = plan.options, {one.name: one.help for one in models.spec(plan.job.model.id).options}
    given = [name for name in names if name != "dropout" or known[name]]
    return tuple(
        Constant(name.upper(), known[name], about[name][:1].lower() + about[name][1:].rstrip(".")) for name in given
    )


def _input(card: Card) -> tuple[Constant, ...]:
    """What goes in, and the largest value of a pixel."""
    shape = Constant("INPUT", tuple(int(size) for size in card["input"]["shape"][1:]), "shape of one example")
    white = card["input"].get("largest")
    return (shape, Constant("WHITE", float(white), "the largest value of a pixel")) if white else (shape,)


def _mlp(plan: Plan, card: Card) -> Part:
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
        f"    {_ANSWER}",
        "    return keras.Model(inputs, outputs)",
    ]
    constants = (*_input(card), *_options(plan, "layers", "width", "dropout"), Constant("OUTPUTS", _outputs(card)))
    return Part(constants, _function(lines))


def _cnn(plan: Plan, card: Card) -> Part:
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
        f"    {_ANSWER}",
        "    return keras.Model(inputs, outputs)",
    ]
    constants = (
        *_input(card),
        Constant("BLOCKS", blocks, "of convolution; each halves the picture"),
        *_options(plan, "width", "dropout"),
    )
    return Part((*constants, Constant("OUTPUTS", _outputs(card))), _function(lines))


def _efficientnet(plan: Plan, card: Card) -> Part:
    begins = bool(plan.job.model.starts_from)
    code = _EFFICIENTNET if plan.options["dropout"] else _EFFICIENTNET.replace(_DROP_LINE, "")
    if int(card["input"]["shape"][-1]) != 1:
        code = code.replace(_COLOURS_LINE, "")
    if not begins:
        code = code.replace(_FROZEN_LINE, "")
    constants = (*_input(card), *_options(plan, "dropout"), Constant("OUTPUTS", _outputs(card)))
    return _starting(plan, Part(constants, code), PICTURE_WEIGHTS)


def _gpt(plan: Plan, card: Card) -> Part:
    drops = bool(plan.options["dropout"])
    rows = max(plan.table_rows, _outputs(card))
    code = _GPT.replace(*_DROPPED) if drops else _GPT
    if rows > _outputs(card):
        code = code.replace("    logits = table(x, reverse=True)\n", _SHORTENED)
    constants = _options(plan, "layers", "width", "heads", "dropout")
    if rows > _outputs(card):
        constants += (Constant("ROWS", rows, "of the token table; those beyond VOCABULARY only fill tiles of a TPU"),)
    else:
        code = code.replace("ROWS", "VOCABULARY")
    return Part(constants, code, frozenset({"math", "from keras import ops"}))


def _encoder(plan: Plan, card: Card) -> Part:
    known = plan.options
    drops, published = bool(known["dropout"]), "width" not in known
    code = _ENCODER.replace(*_DROPPED) if drops else _ENCODER
    if published:
        sizes: tuple[Constant, ...] = (
            Constant("LAYERS", 6),
            Constant("WIDTH", 384),
            Constant("HEADS", 12, "of attention in each layer"),
        )
        sizes += (Constant("PLACES", max(512, int(card["data"]["sequence_length"])), "tokens of the longest text"),)
        sizes += _options(plan, "dropout")
    else:
        code = code.replace(_PARTS_LINE, "").replace("PLACES", "LENGTH")
        sizes = _options(plan, "layers", "width", "heads", "dropout")
    constants = (*sizes, Constant("OUTPUTS", _outputs(card)))
    part = Part(constants, code, frozenset({"math", "from keras import ops"}))
    return _starting(plan, part, ENCODER_WEIGHTS)


def _starting(plan: Plan, part: Part, code: str) -> Part:
    """*part*, with what it has learned before where it begins from starter weights.

    Raises:
        ModelError: ``starter-missing``, ``starter-damaged``.
    """
    preset = plan.job.model.starts_from
    if not preset:
        return part
    starter = models.starter(preset)
    if problem := starter.problem():
        raise ModelError(problem, preset=preset, path=str(starter.path))
    where = Constant("STARTER_WEIGHTS", str(starter.path), "what it has learned before, as published")
    imports = part.imports | {"from safetensors.numpy import load_file"}
    return Part((*part.constants, where), part.code + code, imports)


def _function(lines: list[str]) -> str:
    return "\n" + "\n".join(lines) + "\n\n"


_ANSWER = 'outputs = keras.layers.Dense(OUTPUTS, dtype="float32", name="answer")(x)'
_DROPPED = ("    return x  # nothing is switched off\n", "    return keras.layers.Dropout(DROPOUT)(x)\n")

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

_SHORTENED = "    logits = table(x, reverse=True)[..., :VOCABULARY]\n"

_GPT = '''
def normal(deviation):
    return keras.initializers.RandomNormal(stddev=deviation)


def dropped(x):
    return x  # nothing is switched off


def dense(x, size, name, deviation=0.02):
    return keras.layers.Dense(size, kernel_initializer=normal(deviation), name=name)(x)


def attention(x, name):
    """Causal self-attention (Vaswani et al. 2017, equation 1): each token looks at those before it."""
    split = ops.reshape(dense(x, 3 * WIDTH, f"{name}_attention_in"), (-1, LENGTH, 3, HEADS, WIDTH // HEADS))
    queries, keys, values = (ops.transpose(split[:, :, part], (0, 2, 1, 3)) for part in range(3))
    scores = ops.matmul(queries * (WIDTH // HEADS) ** -0.5, ops.transpose(keys, (0, 1, 3, 2)))
    later = np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1)  # added to the score of a token that comes later
    shares = ops.cast(ops.softmax(ops.cast(scores, "float32") + later, axis=-1), values.dtype)
    mixed = ops.transpose(ops.matmul(dropped(shares), values), (0, 2, 1, 3))
    mixed = ops.reshape(mixed, (-1, LENGTH, WIDTH))
    return dense(mixed, WIDTH, f"{name}_attention_out", 0.02 / math.sqrt(2 * LAYERS))


def build_model():
    """The shape of GPT-2 (Radford et al. 2019), of which each token's answer is the next one."""
    inputs = keras.Input((LENGTH,), dtype="int32", name="input")
    table = keras.layers.ReversibleEmbedding(
        ROWS, WIDTH, embeddings_initializer=normal(0.02), reverse_dtype="float32", name="tokens"
    )
    positions = keras.layers.Embedding(LENGTH, WIDTH, embeddings_initializer=normal(0.01), name="positions")
    x = dropped(table(inputs) + positions(ops.cumsum(ops.ones_like(inputs), axis=1) - 1))
    for number in range(LAYERS):
        name = f"block_{number}"
        norm = keras.layers.LayerNormalization(epsilon=1e-5, name=f"{name}_attention_norm")
        x = x + dropped(attention(norm(x), name))
        norm = keras.layers.LayerNormalization(epsilon=1e-5, name=f"{name}_mlp_norm")
        wide = ops.gelu(dense(norm(x), 4 * WIDTH, f"{name}_mlp_in"), approximate=True)
        x = x + dropped(dense(wide, WIDTH, f"{name}_mlp_out", 0.02 / math.sqrt(2 * LAYERS)))
    x = keras.layers.LayerNormalization(epsilon=1e-5, name="norm")(x)
    logits = table(x, reverse=True)
    return keras.Model(inputs, ops.cast(logits, "float32"))

'''

_PARTS_LINE = (
    '    x = x + keras.layers.Embedding(2, WIDTH, embeddings_initializer=normal(), name="parts")'
    "(ops.zeros_like(inputs))\n"
)

_ENCODER = '''
def normal():
    return keras.initializers.RandomNormal(stddev=0.02)


def dropped(x):
    return x  # nothing is switched off


def dense(x, size, name):
    return keras.layers.Dense(size, kernel_initializer="glorot_normal", name=name)(x)


def normalised(x, name):
    return keras.layers.LayerNormalization(epsilon=1e-12, name=f"{name}_norm")(x)


def attention(x, nothing, name):
    """Scaled dot-product attention (Vaswani et al. 2017, equation 1)."""

    def heads(part):
        split = ops.reshape(dense(x, WIDTH, f"{name}_{part}"), (-1, LENGTH, HEADS, WIDTH // HEADS))
        return ops.transpose(split, (0, 2, 1, 3))

    queries, keys, values = heads("query"), heads("key"), heads("value")
    scores = ops.matmul(queries * (WIDTH // HEADS) ** -0.5, ops.transpose(keys, (0, 1, 3, 2)))
    shares = ops.cast(ops.softmax(ops.cast(scores, "float32") + nothing, axis=-1), values.dtype)
    mixed = ops.reshape(ops.transpose(ops.matmul(shares, values), (0, 2, 1, 3)), (-1, LENGTH, WIDTH))
    return dense(mixed, WIDTH, f"{name}_attention_out")


def build_model():
    """BERT's shape (Devlin et al. 2019); the meaning of a text is the mean of its tokens' (Sentence-BERT, 2019)."""
    inputs = keras.Input((LENGTH,), dtype="int32", name="input")
    seen = ops.cast(inputs > 0, "float32")  # token 0 stands for nothing, and is left out
    nothing = ops.reshape((1.0 - seen) * -1e9, (-1, 1, 1, LENGTH))  # added to its scores
    places = keras.layers.Embedding(PLACES, WIDTH, embeddings_initializer=normal(), name="places")
    x = keras.layers.Embedding(VOCABULARY, WIDTH, embeddings_initializer=normal(), name="tokens")(inputs)
    x = x + places(ops.cumsum(ops.ones_like(inputs), axis=1) - 1)
    x = x + keras.layers.Embedding(2, WIDTH, embeddings_initializer=normal(), name="parts")(ops.zeros_like(inputs))
    x = dropped(normalised(x, "embedding"))
    for number in range(LAYERS):
        name = f"block_{number}"
        x = normalised(x + dropped(attention(x, nothing, name)), f"{name}_attention")
        wide = ops.gelu(dense(x, 4 * WIDTH, f"{name}_mlp_in"), approximate=False)
        x = normalised(x + dropped(dense(wide, WIDTH, f"{name}_mlp_out")), f"{name}_mlp")
    x = ops.cast(x, "float32") * ops.expand_dims(seen, -1)
    mean = ops.sum(x, axis=1) / ops.maximum(ops.sum(seen, axis=1, keepdims=True), 1.0)
    features = keras.layers.UnitNormalization(dtype="float32", name="features")(mean)
    x = keras.layers.Rescaling(math.sqrt(WIDTH), dtype="float32", name="scale")(features)
    outputs = keras.layers.Dense(OUTPUTS, dtype="float32", name="answer")(dropped(x))
    return keras.Model(inputs, outputs)

'''

_BUILDERS: dict[str, Callable[[Plan, Card], Part]] = {
    "mlp": _mlp,
    "cnn": _cnn,
    "efficientnet": _efficientnet,
    "gpt": _gpt,
    "encoder": _encoder,
}
