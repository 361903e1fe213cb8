"""BERT's shape, in a script (``trainer.models.encoder``)."""

from __future__ import annotations

from tpu_studio.trainer.script.networks.common import DROPPED, LOAD_WEIGHTS, Card, options, outputs, starting
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.wire.plan import Plan


def part(plan: Plan, card: Card) -> Part:
    known = plan.options
    drops, published = bool(known["dropout"]), "width" not in known
    code = _ENCODER.replace(*DROPPED) if drops else _ENCODER
    if published:
        sizes: tuple[Constant, ...] = (
            Constant("LAYERS", 6),
            Constant("WIDTH", 384),
            Constant("HEADS", 12, "of attention in each layer"),
        )
        sizes += (Constant("PLACES", max(512, int(card["data"]["sequence_length"])), "tokens of the longest text"),)
        sizes += options(plan, "dropout")
    else:
        code = code.replace(_PARTS_LINE, "").replace("PLACES", "LENGTH")
        sizes = options(plan, "layers", "width", "heads", "dropout")
    constants = (*sizes, Constant("OUTPUTS", outputs(card)))
    part = Part(constants, code, frozenset({"math", "from keras import ops"}))
    return starting(plan, part, _WEIGHTS + LOAD_WEIGHTS)


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

_WEIGHTS = '''
def starter_names():
    """Of a Hugging Face file, whose kernels are output × input."""
    for here, there in (("tokens", "word"), ("places", "position"), ("parts", "token_type")):
        yield f"{here}/embeddings", f"embeddings.{there}_embeddings.weight", (0, 1)
    dense, norms = [], [("embedding_norm", "embeddings.LayerNorm")]
    for number in range(LAYERS):
        here, there = f"block_{number}", f"encoder.layer.{number}"
        dense += [(f"{here}_{part}", f"{there}.attention.self.{part}") for part in ("query", "key", "value")]
        dense += [(f"{here}_attention_out", f"{there}.attention.output.dense")]
        dense += [(f"{here}_mlp_in", f"{there}.intermediate.dense"), (f"{here}_mlp_out", f"{there}.output.dense")]
        norms += [(f"{here}_attention_norm", f"{there}.attention.output.LayerNorm")]
        norms += [(f"{here}_mlp_norm", f"{there}.output.LayerNorm")]
    for here, there in dense:
        yield f"{here}/kernel", f"{there}.weight", (1, 0)
        yield f"{here}/bias", f"{there}.bias", (0,)
    for here, there in norms:
        yield f"{here}/gamma", f"{there}.weight", (0,)
        yield f"{here}/beta", f"{there}.bias", (0,)

'''
