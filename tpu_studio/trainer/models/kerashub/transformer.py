"""What the transformers among the backbones share: a picture in patches, each a token, and blocks of attention.

Dosovitskiy et al. 2021, with normalisation first. B pictures, T tokens, W width, H heads, D = W/H, N = B·T.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from keras import layers, ops

from tpu_studio.trainer.models.kerashub import stored

Tensor = Any


class Size(NamedTuple):
    """*front*: Tokens before those of the patches: the one that stands for the picture, and registers."""

    layers: int
    width: int
    heads: int
    inside: int
    patch: tuple[int, int]
    side: tuple[int, int]
    front: int
    epsilon: float = 1e-6
    attention_bias: bool = True
    mlp_bias: bool = True
    patch_bias: bool = True

    def checked(self) -> Size:
        """Raises ValueError: heads or patches do not share out what there is."""
        uneven = self.width % self.heads or any(side % patch for side, patch in zip(self.side, self.patch, strict=True))
        if uneven:
            raise ValueError(f"{self.heads} heads of {self.width}, patches {self.patch} of {self.side}")
        return self

    @property
    def tokens(self) -> int:
        return self.front + (self.side[0] // self.patch[0]) * (self.side[1] // self.patch[1])


Within = Callable[[Tensor, str], Tensor]


def body(x: Tensor, size: Size, within: Within | None = None) -> Tensor:
    """What the token in front sees; the mean of all, where there is none.

    Args:
        within: What stands in each block after attention, by its name; None: two layers with a GELU.
    """
    size.checked()
    patches = layers.Conv2D(
        size.width, size.patch, strides=size.patch, use_bias=size.patch_bias, name="patch_embedding"
    )(x)
    x_BxTxW = layers.Reshape((size.tokens - size.front, size.width), name="patches")(patches)
    if size.front:
        x_BxTxW = layers.ZeroPadding1D((size.front, 0), name="front")(x_BxTxW)
    # Each picture has the same tokens in front: they stand in the table of places.
    places = layers.Embedding(size.tokens, size.width, name="places")
    place_1xT = ops.expand_dims(ops.cumsum(ops.ones_like(x_BxTxW[0, :, 0], dtype="int32"), axis=0) - 1, 0)
    x_NxW = ops.reshape(x_BxTxW + places(place_1xT), (-1, size.width))
    for number in range(size.layers):
        name = f"block_{number}"
        x_NxW = x_NxW + _attention(_normed(x_NxW, f"{name}_norm1", size), name, size)
        seen = _normed(x_NxW, f"{name}_norm2", size)
        x_NxW = x_NxW + (within(seen, name) if within else _mlp(seen, name, size))
    x_BxTxW = layers.Reshape((size.tokens, size.width), name="tokens")(
        ops.reshape(_normed(x_NxW, "norm", size), (-1, size.tokens, size.width))
    )
    if not size.front:
        return layers.GlobalAveragePooling1D(name="features")(x_BxTxW)
    return layers.Flatten(name="features")(layers.Cropping1D((0, size.tokens - 1), name="foremost")(x_BxTxW))


def attention_weights(name: str, group: str, size: Size, read: stored.Read, scale: Any = 1.0) -> stored.Weights:
    """Of Keras's multi-head attention, whose tables are W × H × D. *scale*: of what it adds, a number for each of W."""
    for part in ("query", "key", "value"):
        yield f"{name}_{part}/kernel", read(f"{group}/{part}_dense", 0).reshape(size.width, size.width)
        if size.attention_bias:
            yield f"{name}_{part}/bias", read(f"{group}/{part}_dense", 1).reshape(size.width)
    yield f"{name}_attention_out/kernel", read(f"{group}/output_dense", 0).reshape(size.width, size.width) * scale
    if size.attention_bias:
        yield f"{name}_attention_out/bias", read(f"{group}/output_dense", 1) * scale


def dense_weights(name: str, group: str, read: stored.Read, *, bias: bool = True, scale: Any = 1.0) -> stored.Weights:
    yield f"{name}/kernel", read(group, 0) * scale
    if bias:
        yield f"{name}/bias", read(group, 1) * scale


def norm_weights(name: str, group: str, read: stored.Read) -> stored.Weights:
    yield f"{name}/gamma", read(group, 0)
    yield f"{name}/beta", read(group, 1)


def places(table_TxW: stored.Array, *front: stored.Array) -> stored.Array:
    """The table of places with the tokens in *front*: the first is added to the first place, the others have none."""
    if not front:
        return table_TxW
    first, *others = (one.reshape(-1, table_TxW.shape[-1]) for one in front)
    return np.concatenate([first + table_TxW[:1], *others, table_TxW[1:]])


def _normed(x: Tensor, name: str, size: Size) -> Tensor:
    return layers.LayerNormalization(epsilon=size.epsilon, name=name)(x)


def _mlp(x_NxW: Tensor, name: str, size: Size) -> Tensor:
    risen = layers.Dense(size.inside, use_bias=size.mlp_bias, activation="gelu", name=f"{name}_mlp_in")(x_NxW)
    return layers.Dense(size.width, use_bias=size.mlp_bias, name=f"{name}_mlp_out")(risen)


def _attention(x_NxW: Tensor, name: str, size: Size) -> Tensor:
    """Scaled dot-product attention (Vaswani et al. 2017, equation 1) with softmax in float32."""
    each = size.width // size.heads

    def heads(part: str) -> Tensor:
        made = layers.Dense(size.width, use_bias=size.attention_bias, name=f"{name}_{part}")(x_NxW)
        return ops.transpose(ops.reshape(made, (-1, size.tokens, size.heads, each)), (0, 2, 1, 3))

    q, k, v = heads("query"), heads("key"), heads("value")  # each BxHxTxD
    scores = ops.matmul(q * (1.0 / math.sqrt(each)), ops.transpose(k, (0, 1, 3, 2)))
    shares = ops.cast(ops.softmax(ops.cast(scores, "float32"), axis=-1), v.dtype)
    mixed_NxW = ops.reshape(ops.transpose(ops.matmul(shares, v), (0, 2, 1, 3)), (-1, size.width))
    return layers.Dense(size.width, use_bias=size.attention_bias, name=f"{name}_attention_out")(mixed_NxW)
