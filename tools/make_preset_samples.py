"""Makes `tests/fakes/kerashub.zip`: small folders as KerasHub writes them, and what its networks see in two pictures.

    PYTHONPATH=<KerasHub 0.32.0, unpacked> KERAS_BACKEND=jax <the engine's Python> tools/make_preset_samples.py

For whoever adds a network to `trainer.models.kerashub`; nothing else needs KerasHub. Weights are drawn from few
numbers, so that the archive is small.
"""

from __future__ import annotations

import tempfile
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ZIP = Path(__file__).resolve().parents[1] / "tests" / "fakes" / "kerashub.zip"
SIDE = 32
WHEN = (2026, 11, 27, 0, 0, 0)  # in the archive, so that the same folders give the same bytes

_STEM = {"input_conv_filters": [8], "input_conv_kernel_sizes": [7]}
_DEEP = {"input_conv_filters": [8, 8, 12], "input_conv_kernel_sizes": [3, 3, 3]}
_STACKS = {"stackwise_num_filters": [64, 8], "stackwise_num_blocks": [1, 2], "stackwise_num_strides": [1, 2]}
_TRANSFORMER = {"image_shape": (SIDE, SIDE, 3), "num_layers": 2, "num_heads": 2, "hidden_dim": 16}
_DINO = _TRANSFORMER | {"patch_size": 8, "intermediate_dim": 32, "position_embedding_shape": (48, 48, 3)}
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "resnet": ("ResNetBackbone", _STEM | {"input_conv_filters": [64], **_STACKS, "block_type": "basic_block"}),
    "resnet-bottleneck": ("ResNetBackbone", _STEM | _STACKS | {"block_type": "bottleneck_block"}),
    "resnet-v2": ("ResNetBackbone", _STEM | _STACKS | {"block_type": "bottleneck_block", "use_pre_activation": True}),
    "resnet-vd": ("ResNetBackbone", _DEEP | _STACKS | {"block_type": "bottleneck_block_vd"}),
    "resnet-basic-vd": ("ResNetBackbone", _DEEP | _STACKS | {"block_type": "basic_block_vd"}),
    "efficientnet": (
        "EfficientNetBackbone",
        {
            "stackwise_width_coefficients": [1.0] * 3,
            "stackwise_depth_coefficients": [1.0] * 3,
            "stackwise_kernel_sizes": [3, 3, 5],
            "stackwise_num_repeats": [1, 2, 2],
            "stackwise_input_filters": [16, 8, 16],
            "stackwise_output_filters": [8, 16, 24],
            "stackwise_expansion_ratios": [1, 4, 4],
            "stackwise_strides": [1, 2, 2],
            "stackwise_squeeze_and_excite_ratios": [0.25] * 3,
            "stackwise_block_types": ["v1"] * 3,
            "use_depth_divisor_as_min_depth": True,
            "cap_round_filter_decrease": True,
        },
    ),
    "mobilenet": (
        "MobileNetBackbone",
        {
            "stackwise_expansion": [[16, 24], [40, 48]],
            "stackwise_num_blocks": [2, 2],
            "stackwise_num_filters": [[16, 16], [24, 24]],
            "stackwise_kernel_size": [[3, 3], [5, 5]],
            "stackwise_num_strides": [[2, 1], [2, 1]],
            "stackwise_se_ratio": [[None, None], [0.25, 0.25]],
            "stackwise_activation": [["relu", "relu"], ["hard_swish", "hard_swish"]],
            "stackwise_padding": [[1, 1], [2, 2]],
            "output_num_filters": 64,
            "input_num_filters": 16,
            "depthwise_filters": 16,
            "depthwise_stride": 2,
            "depthwise_residual": False,
            "squeeze_and_excite": 0.5,
            "last_layer_filter": 48,
        },
    ),
    "vit": ("ViTBackbone", _TRANSFORMER | {"patch_size": 8, "mlp_dim": 32}),
    "vit-without-token": (
        "ViTBackbone",
        _TRANSFORMER
        | {
            "patch_size": (8, 8),
            "mlp_dim": 32,
            "use_class_token": False,
            "use_mha_bias": False,
            "use_patch_bias": False,
        },
    ),
    "dinov2": ("DINOV2Backbone", _DINO | {"num_register_tokens": 2}),
    "dinov2-swiglu": ("DINOV2Backbone", _DINO | {"use_mask_token": False, "use_swiglu_ffn": True}),
}
TEXT = {"vocabulary_size": 30, "num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16}
SCALE, OFFSET = [1 / 58, 1 / 57, 1 / 56], [-2.125, -2.0, -1.875]


def main() -> None:
    hub, keras = import_module("keras_hub"), import_module("keras")
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (2, SIDE, SIDE, 3)).astype("uint8")
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        for name, (kind, sizes) in NETWORKS.items():
            body = getattr(hub.models, kind)(**sizes)
            _draw(body, rng)
            body.save_to_preset(str(folder / name))
            body = hub.models.Backbone.from_preset(str(folder / name))
            given = pictures / 127.5 - 1.0
            seen = body.predict({"images": given} if isinstance(body.input, dict) else given, verbose=0)
            seen = seen.mean((1, 2)) if seen.ndim == 4 else seen
            np.savez(folder / name / "seen.npz", pictures=pictures, seen=seen)
            if name == "resnet-bottleneck":
                body.save_to_preset(str(folder / "sharded"), max_shard_size=0.0002)
            if name == "resnet-v2":
                _classifier(hub, body).save_to_preset(str(folder / "classifier"))
        hub.models.BertBackbone(**TEXT, max_sequence_length=8).save_to_preset(str(folder / "text"))
        _pack(folder)


def _classifier(hub: Any, body: Any) -> Any:
    converter = hub.layers.ResNetImageConverter(image_size=(96, 96), scale=SCALE, offset=OFFSET)
    preprocessor = hub.models.ResNetImageClassifierPreprocessor(image_converter=converter)
    return hub.models.ResNetImageClassifier(backbone=body, num_classes=4, preprocessor=preprocessor)


def _draw(body: Any, rng: Any) -> None:
    """Each weight anew, as it may be after training: in sixteenths, and normalisations not as they begin."""
    for weight in body.weights:
        if not weight.dtype.startswith("float"):
            continue
        name, values = weight.path.rpartition("/")[2], np.asarray(weight)
        if name in ("gamma", "moving_variance", "lambda1"):
            drawn = rng.integers(8, 25, values.shape)
        else:
            spread = 3 if values.ndim < 2 else max(1, round(16 * np.sqrt(1.5 / np.prod(values.shape[:-1]))))
            drawn = rng.integers(-spread, spread + 1, values.shape)
        weight.assign(drawn / 16)


def _pack(folder: Path) -> None:
    with zipfile.ZipFile(ZIP, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.writestr(
                zipfile.ZipInfo(file.relative_to(folder).as_posix(), WHEN), file.read_bytes(), zipfile.ZIP_DEFLATED
            )


if __name__ == "__main__":
    main()
