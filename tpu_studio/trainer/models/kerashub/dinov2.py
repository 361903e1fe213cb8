"""DINOv2 (Oquab et al. 2023), with registers or without (Darcet et al. 2024), as KerasHub's `DINOV2Backbone` has it.

It sees pictures of any size that is a multiple of its patches. Its layer scale is a number for each channel of what
attention and the layers after it add: here it is in their last table. What it masks while it learns from pictures
without labels is not needed, and its weights for that are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from tpu_studio.trainer.models.kerashub import stored, transformer
from tpu_studio.trainer.models.kerashub.stored import block


def body(x: Any, config: Mapping[str, Any]) -> Any:
    size = _size(config, x.shape[1])
    return transformer.body(x, size, _swiglu(size) if config.get("use_swiglu_ffn") else None)


def weights(model: keras.Model, config: Mapping[str, Any], read: stored.Read) -> stored.Weights:
    size, start = _size(config, model.input_shape[1]), "layers/dinov2_embedding"
    masks, registers = bool(config.get("use_mask_token", True)), config.get("num_register_tokens", 0)
    front = [read(start, 0), *([read(start, 1 + masks)] if registers else [])]
    learned = 2 + masks + bool(registers)  # behind what KerasHub made of these for pictures of another size
    yield from transformer.dense_weights("patch_embedding", f"{start}/patch_embeddings/projection", read)
    yield "places/embeddings", transformer.places(_fitted(read(start, learned)[0], size, config), *front)
    for number in range(size.layers):
        name, group = f"block_{number}", f"layers/dinov2_encoder/layers/{block('dinov2_layer', number)}"
        scales = [read(f"{group}/layer_scale{which}", 0) for which in (1, 2)]
        yield from transformer.norm_weights(f"{name}_norm1", f"{group}/norm1", read)
        yield from transformer.attention_weights(name, f"{group}/attention/attention", size, read, scales[0])
        yield from transformer.norm_weights(f"{name}_norm2", f"{group}/norm2", read)
        first, last = ("weights_in", "weights_out") if config.get("use_swiglu_ffn") else ("fc1", "fc2")
        yield from transformer.dense_weights(f"{name}_mlp_in", f"{group}/mlp/{first}", read)
        yield from transformer.dense_weights(f"{name}_mlp_out", f"{group}/mlp/{last}", read, scale=scales[1])
    yield from transformer.norm_weights("norm", "layers/layer_normalization", read)


def _fitted(table_TxW: stored.Array, size: transformer.Size, config: Mapping[str, Any]) -> stored.Array:
    """The places that it learned with, for pictures of another size: between them, as KerasHub does."""
    patch, (height, width, *_) = config["patch_size"], config["position_embedding_shape"]
    if (height, width) == size.side:
        return table_TxW
    grid = table_TxW[1:].reshape(1, height // patch, width // patch, size.width)
    new = (size.side[0] // patch, size.side[1] // patch)
    how: dict[str, Any] = {"antialias": bool(config.get("antialias_in_interpolation")), "data_format": "channels_last"}
    between = np.asarray(ops.image.resize(grid, new, interpolation="bicubic", **how))
    return np.concatenate([table_TxW[:1], between.reshape(-1, size.width)])


def _size(config: Mapping[str, Any], side: int) -> transformer.Size:
    patch = config["patch_size"]
    return transformer.Size(
        config["num_layers"],
        config["hidden_dim"],
        config["num_heads"],
        config["intermediate_dim"],
        (patch, patch),
        (side, side),
        1 + config.get("num_register_tokens", 0),
    )


def _swiglu(size: transformer.Size) -> transformer.Within:
    """Shazeer 2020, two thirds as wide, to a multiple of 8."""
    inside = (int(size.inside * 2 / 3) + 7) // 8 * 8

    def within(x_NxW: Any, name: str) -> Any:
        gate, risen = ops.split(layers.Dense(2 * inside, name=f"{name}_mlp_in")(x_NxW), 2, axis=-1)
        return layers.Dense(size.width, name=f"{name}_mlp_out")(ops.silu(gate) * risen)

    return within
