"""Text encoders: what each token of a text means among the others (BERT's shape), and one answer for all of it.

Devlin et al. 2019, with the exact GELU; the meaning of a text is the mean of its tokens' (Reimers and Gurevych 2019,
Sentence-BERT), brought to one length. Plain Keras layers, so the finished file opens anywhere Keras does. Starter
weights are those of a published Hugging Face folder; `starters` says what its tensors are called here.
B examples, T tokens, W width, H heads, D = W/H, N = B·T. Token 0 stands for nothing and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import keras
from keras import layers, ops

from tpu_studio.trainer.models import initial, plain
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire.plan import Plan

EPSILON = 1e-12
UNSEEN = -1e9  # added to the score of a token that stands for nothing
Tensor = Any


class Size(NamedTuple):
    """*places*: tokens of the longest text, at least."""

    layers: int
    width: int
    heads: int
    places: int = 0


MINILM = Size(6, 384, 12, 512)
_NORM = {"gamma": "weight", "beta": "bias"}


def build(shapes: Shapes, options: Mapping[str, Any], seed: int, plan: Plan) -> keras.Model:
    size = MINILM
    if "width" in options:
        size = Size(int(options["layers"]), int(options["width"]), int(options["heads"]))
    with initial.to_fill():
        model = _built(shapes, size, float(options["dropout"]), seed)
    initial.fill(model, seed, _scale)
    return model


def _built(shapes: Shapes, size: Size, drop: float, seed: int) -> keras.Model:
    (tokens,), width = shapes.input, size.width

    def dropped(x: Tensor, place: str) -> Tensor:
        return plain.dropout(drop, seed, f"{place}_dropout")(x)

    ids_BxT = keras.Input((tokens,), dtype="int32", name="input")
    seen_BxT = ops.cast(ids_BxT > 0, "float32")
    bias_Bx1x1xT = ops.expand_dims(ops.expand_dims((1.0 - seen_BxT) * UNSEEN, 1), 1)
    x_BxTxW = _embedded(ids_BxT, shapes.vocabulary, tokens, size)
    x_NxW = dropped(_normed(ops.reshape(x_BxTxW, (-1, width)), "embedding"), "embedding")
    for number in range(size.layers):
        name = f"block_{number}"
        attended = _attention(x_NxW, bias_Bx1x1xT, name, tokens, size)
        x_NxW = _normed(x_NxW + dropped(attended, f"{name}_attention"), f"{name}_attention")
        risen = ops.gelu(layers.Dense(4 * width, name=f"{name}_mlp_in")(x_NxW), approximate=False)
        fallen = layers.Dense(width, name=f"{name}_mlp_out")(risen)
        x_NxW = _normed(x_NxW + dropped(fallen, f"{name}_mlp"), f"{name}_mlp")
    x_BxTxW = ops.cast(ops.reshape(x_NxW, (-1, tokens, width)), "float32") * ops.expand_dims(seen_BxT, -1)
    mean_BxW = ops.sum(x_BxTxW, axis=1) / ops.maximum(ops.sum(seen_BxT, axis=1, keepdims=True), 1.0)
    features = layers.UnitNormalization(dtype="float32", name="features")(mean_BxW)
    x_BxW = layers.Rescaling(math.sqrt(width), dtype="float32", name="scale")(features)  # numbers of size one again
    outputs = layers.Dense(shapes.outputs, dtype="float32", name="answer")(dropped(x_BxW, "answer"))
    return plain.model(ids_BxT, outputs, "encoder")


def _embedded(ids_BxT: Tensor, vocabulary: int, tokens: int, size: Size) -> Tensor:
    """What each token means by itself and by its place."""
    places = layers.Embedding(max(tokens, size.places), size.width, name="places")
    place_1xT = ops.expand_dims(ops.cumsum(ops.ones_like(ids_BxT[0]), axis=0) - 1, 0)
    x_BxTxW = layers.Embedding(vocabulary, size.width, name="tokens")(ids_BxT) + places(place_1xT)
    if size.places:  # published ones tell a pair's first text from its second: ours are all first
        x_BxTxW = x_BxTxW + layers.Embedding(2, size.width, name="parts")(ops.zeros_like(ids_BxT))
    return x_BxTxW


def _attention(x_NxW: Tensor, bias_Bx1x1xT: Tensor, name: str, tokens: int, size: Size) -> Tensor:
    """Scaled dot-product attention (Vaswani et al. 2017, equation 1) with softmax in float32."""
    each = size.width // size.heads

    def heads(part: str) -> Tensor:
        found = layers.Dense(size.width, name=f"{name}_{part}")(x_NxW)
        return ops.transpose(ops.reshape(found, (-1, tokens, size.heads, each)), (0, 2, 1, 3))

    q, k, v = heads("query"), heads("key"), heads("value")  # each BxHxTxD
    scores = ops.matmul(q * (1.0 / math.sqrt(each)), ops.transpose(k, (0, 1, 3, 2)))
    shares = ops.cast(ops.softmax(ops.cast(scores, "float32") + bias_Bx1x1xT, axis=-1), v.dtype)
    mixed_NxW = ops.reshape(ops.transpose(ops.matmul(shares, v), (0, 2, 1, 3)), (-1, size.width))
    return layers.Dense(size.width, name=f"{name}_attention_out")(mixed_NxW)


def starters() -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Of each weight but the answer's: its path here, its name in the published file, and how its axes are turned."""
    for here, there in (("tokens", "word"), ("places", "position"), ("parts", "token_type")):
        yield f"{here}/embeddings", f"embeddings.{there}_embeddings.weight", (0, 1)
    norms = [("embedding_norm", "embeddings.LayerNorm")]
    dense = []
    for number in range(MINILM.layers):
        block, there = f"block_{number}", f"encoder.layer.{number}"
        dense += [(f"{block}_{part}", f"{there}.attention.self.{part}") for part in ("query", "key", "value")]
        dense += [
            (f"{block}_attention_out", f"{there}.attention.output.dense"),
            (f"{block}_mlp_in", f"{there}.intermediate.dense"),
            (f"{block}_mlp_out", f"{there}.output.dense"),
        ]
        norms += [
            (f"{block}_attention_norm", f"{there}.attention.output.LayerNorm"),
            (f"{block}_mlp_norm", f"{there}.output.LayerNorm"),
        ]
    for here, there in dense:
        yield f"{here}/kernel", f"{there}.weight", (1, 0)  # output × input there
        yield f"{here}/bias", f"{there}.bias", (0,)
    for here, there in norms:
        for mine, theirs in _NORM.items():
            yield f"{here}/{mine}", f"{there}.{theirs}", (0,)


def _normed(x: Tensor, name: str) -> Tensor:
    return layers.LayerNormalization(epsilon=EPSILON, name=f"{name}_norm")(x)


def _scale(path: str, shape: Sequence[int]) -> float:
    """BERT's 0.02 for tables; kernels by their size, which suits narrow ones as well."""
    return 0.02 if path.endswith("embeddings") else initial.glorot(shape)
