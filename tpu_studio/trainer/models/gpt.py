"""The GPT family: GPT-2's shape at any size (Radford et al. 2019; initial weights as in its released code).

Pre-norm blocks, causal attention, learned positions, GELU, and an output that shares the token table. Only Keras's
layers and operations, so XLA sees plain matrix products and the saved file needs no code of ours. Normalisation,
softmax and logits stay float32 under bfloat16. B examples, T tokens, W width, H heads, D = W/H, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import layers, ops

from tpu_studio.trainer.models import attention, initial, plain, remat
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire.plan import Plan

EPSILON = 1e-5
NOT_SEEN = -1e9  # added to the score of a later token; finite, so that bfloat16 and float32 behave the same


def build(shapes: Shapes, options: Mapping[str, object], seed: int, plan: Plan) -> keras.Model:
    recompute = plan.job.training.rematerialize is True
    return gpt(shapes, options, seed, rematerialize=recompute, table_rows=plan.table_rows)


def gpt(
    shapes: Shapes, options: Mapping[str, Any], seed: int, *, rematerialize: bool, table_rows: int = 0
) -> keras.Model:
    """The model.

    Args:
        rematerialize: Each block recomputes its inside in the backward pass instead of keeping it.
        table_rows: Of the token table, at least; those beyond the vocabulary stand for no token and are never scored.
    """
    (tokens,) = shapes.input
    width, heads, drop = int(options["width"]), int(options["heads"]), float(options["dropout"])
    compute = keras.config.dtype_policy().compute_dtype
    ids_BxT = keras.Input((tokens,), dtype="int32", name="input")
    positions_1xT = ops.expand_dims(ops.cumsum(ops.ones_like(ids_BxT[0]), axis=0) - 1, 0)
    later_1x1xTxT = ops.expand_dims(ops.expand_dims(positions_1xT, 1) > ops.expand_dims(positions_1xT, 2), 1)
    bias_1x1xTxT = ops.cast(later_1x1xTxT, "float32") * NOT_SEEN
    table = layers.ReversibleEmbedding(
        max(shapes.outputs, table_rows),
        width,
        embeddings_initializer=_normal(0.02),
        reverse_dtype="float32",
        name="tokens",
    )
    places = layers.Embedding(tokens, width, embeddings_initializer=_normal(0.01), name="positions")
    attention.let_score(table)
    x_BxTxW = plain.dropout(drop, seed, "embedding_dropout")(table(ids_BxT) + places(positions_1xT))
    for number in range(int(options["layers"])):
        block = _block(f"block_{number}", tokens, width, heads, drop, seed, compute)
        if rematerialize:
            block = remat.rematerialize(block)
        x_BxTxW = block([x_BxTxW, bias_1x1xTxT])
    x_BxTxW = layers.LayerNormalization(epsilon=EPSILON, name="norm")(x_BxTxW)
    logits_NxV = ops.cast(table(ops.reshape(x_BxTxW, (-1, width)), reverse=True), "float32")
    if table_rows > shapes.outputs:
        logits_NxV = logits_NxV[:, : shapes.outputs]
    logits_BxTxV = ops.reshape(logits_NxV, (-1, tokens, shapes.outputs))
    model = plain.model(ids_BxT, logits_BxTxV, "gpt")
    initial.fill(model, seed, _scale(int(options["layers"])))
    return model


def _block(name: str, tokens: int, width: int, heads: int, drop: float, seed: int, compute: str) -> keras.Model:
    """Attention and two plain layers, each added to what came in.

    All tokens stand in one long list, N = B·T: the gradients of matrix products over two axes take XLA on a
    processor twice as long.
    """
    norm, mlp_norm = (
        layers.LayerNormalization(epsilon=EPSILON, name=f"{name}_{which}_norm") for which in ("attention", "mlp")
    )
    enter, leave, rise, fall = (
        layers.Dense(size, kernel_initializer=_normal(0.02), name=f"{name}_{which}")
        for which, size in (
            ("attention_in", 3 * width),
            ("attention_out", width),
            ("mlp_in", 4 * width),
            ("mlp_out", width),
        )
    )
    drop_attended, drop_mlp = (
        plain.dropout(drop, seed, f"{name}_{which}_dropout") for which in ("attention_out", "mlp")
    )

    def inside(input_BxTxW: object, attend: Callable[[object], object]) -> object:
        start_NxW = ops.reshape(ops.cast(input_BxTxW, compute), (-1, width))
        x_NxW = start_NxW + drop_attended(leave(attend(enter(norm(start_NxW)))))
        h = ops.gelu(rise(mlp_norm(x_NxW)), approximate=True)
        return ops.reshape(x_NxW + drop_mlp(fall(h)), (-1, tokens, width))

    input_BxTxW = keras.Input((tokens, width), name=f"{name}_input")
    bias = keras.Input((1, tokens, tokens), name=f"{name}_bias")
    shares = plain.dropout(drop, seed, f"{name}_attention_dropout")
    outputs = inside(input_BxTxW, lambda qkv: _attend(qkv, bias, tokens, width, heads, shares))
    block = plain.model([input_BxTxW, bias], outputs, name)
    if not drop:  # which the kernel does not know
        attention.let_kernel(block, inside, tokens, heads)
    return block


def _attend(
    qkv_Nx3W: Any, bias: object, tokens: int, width: int, heads: int, drop: Callable[[object], object]
) -> object:
    """Scaled dot-product attention (Vaswani et al. 2017, equation 1) with softmax in float32."""
    size = width // heads
    split = ops.reshape(qkv_Nx3W, (-1, tokens, 3, heads, size))
    q, k, v = (ops.transpose(split[:, :, part], (0, 2, 1, 3)) for part in range(3))  # each BxHxTxD
    scores_BxHxTxT = ops.matmul(q * (1.0 / math.sqrt(size)), ops.transpose(k, (0, 1, 3, 2)))
    shares = ops.softmax(ops.cast(scores_BxHxTxT, "float32") + bias, axis=-1)
    mixed_BxHxTxD = ops.matmul(drop(ops.cast(shares, qkv_Nx3W.dtype)), v)
    return ops.reshape(ops.transpose(mixed_BxHxTxD, (0, 2, 1, 3)), (-1, width))


def _normal(deviation: float) -> keras.initializers.Initializer:
    return keras.initializers.RandomNormal(stddev=deviation)


def _scale(blocks: int) -> initial.Scale:
    """GPT-2's initial weights: 0.02, positions 0.01, and layers that add to the stream by 1/sqrt(additions) smaller."""

    def scale(path: str, shape: Sequence[int]) -> float:
        layer = path.rsplit("/", 2)[-2]
        if layer == "positions":
            return 0.01
        return 0.02 / math.sqrt(2 * blocks) if layer.endswith(("attention_out", "mlp_out")) else 0.02

    return scale
