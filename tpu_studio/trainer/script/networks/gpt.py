"""GPT-2's shape, in a script (``trainer.models.gpt``)."""

from __future__ import annotations

from tpu_studio.trainer.script.networks.common import DROPPED, Card, options, outputs
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.wire.plan import Plan


def part(plan: Plan, card: Card) -> Part:
    drops = bool(plan.options["dropout"])
    rows = max(plan.table_rows, outputs(card))
    code = _GPT.replace(*DROPPED) if drops else _GPT
    if rows > outputs(card):
        code = code.replace("    logits = table(x, reverse=True)\n", _SHORTENED)
    constants = options(plan, "layers", "width", "heads", "dropout")
    if rows > outputs(card):
        constants += (Constant("ROWS", rows, "of the token table; those beyond VOCABULARY only fill tiles of a TPU"),)
    else:
        code = code.replace("ROWS", "VOCABULARY")
    return Part(constants, code, frozenset({"math", "from keras import ops"}))


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
