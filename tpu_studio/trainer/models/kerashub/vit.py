"""Vision Transformers (Dosovitskiy et al. 2021), as KerasHub's `ViTBackbone` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from tpu_studio.trainer.models.kerashub import stored, transformer
from tpu_studio.trainer.models.kerashub.stored import block


def body(x: Any, config: Mapping[str, Any]) -> Any:
    return transformer.body(x, _size(config))


def weights(model: keras.Model, config: Mapping[str, Any], read: stored.Read) -> stored.Weights:
    size, start = _size(config), "layers/vi_t_patching_and_embedding"
    yield from transformer.dense_weights("patch_embedding", f"{start}/patch_embedding", read, bias=size.patch_bias)
    front = [read(start, 0)] if size.front else []
    yield "places/embeddings", transformer.places(read(f"{start}/position_embedding", 0), *front)
    for number in range(size.layers):
        name = f"block_{number}"
        group = f"layers/vi_t_encoder/encoder_layers/{block('vi_t_encoder_block', number)}"
        yield from transformer.norm_weights(f"{name}_norm1", f"{group}/layer_norm_1", read)
        yield from transformer.attention_weights(name, f"{group}/mha", size, read)
        yield from transformer.norm_weights(f"{name}_norm2", f"{group}/layer_norm_2", read)
        yield from transformer.dense_weights(f"{name}_mlp_in", f"{group}/mlp/dense_1", read, bias=size.mlp_bias)
        yield from transformer.dense_weights(f"{name}_mlp_out", f"{group}/mlp/dense_2", read, bias=size.mlp_bias)
    yield from transformer.norm_weights("norm", "layers/vi_t_encoder/layer_norm", read)


def _size(config: Mapping[str, Any]) -> transformer.Size:
    patch, (height, width, _) = config["patch_size"], config["image_shape"]
    return transformer.Size(
        config["num_layers"],
        config["hidden_dim"],
        config["num_heads"],
        config["mlp_dim"],
        (patch, patch) if isinstance(patch, int) else tuple(patch),
        (height, width),
        1 if config.get("use_class_token", True) else 0,
        config.get("layer_norm_epsilon", 1e-6),
        config.get("use_mha_bias", True),
        config.get("use_mlp_bias", True),
        config.get("use_patch_bias", True),
    )
