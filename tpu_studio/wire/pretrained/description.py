"""What the descriptions in a KerasHub folder say, as far as it is used, and every reason for which one is refused.

Keras would import the module that a description names (3.15: of its own packages), and make whatever object stands
where a word or a number belongs. Here a value is a number or a word (of an activation one of `ACTIVATIONS`), and sizes
are those of a network.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tpu_studio.wire.presets import INDEX, WEIGHTS
from tpu_studio.wire.pretrained.folder import CONFIG, CONVERTER, Folder, flat

ACTIVATIONS = (
    *("elu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "leaky_relu", "linear", "mish", "relu"),
    *("relu6", "selu", "sigmoid", "silu", "softplus", "swish", "tanh"),
)

_MOST = 100_000  # of a number in a description: channels, pixels; and _REPEATS of layers alike
_REPEATS = 400
_PACKAGES = ("keras", "keras_hub", "keras_nlp")
PICKLES = (".bin", ".pth", ".pt", ".ckpt", ".pkl")
_FLOATS = ("float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16")
_WORDS = ("activation", "projection_activation", "input_activation", "output_activation", "stackwise_activation")
_SAID = (*_WORDS, "block_type", "stackwise_block_types")  # words that a network is built by
_LONGEST_WORD = 60
_LISTS = re.compile(r"stackwise_\w+|\w+_shape|patch_size|input_conv_\w+")
"""What KerasHub writes as a list; of "stackwise" also as lists of lists."""


def check_format(folder: Folder, config: Mapping[str, Any] | None) -> None:
    names = {name for name, *_ in folder.signature()}
    pickled = sorted(name for name in names if name.endswith(PICKLES))
    keras = {WEIGHTS, INDEX} & names
    if pickled and not keras and not any(name.endswith(".safetensors") for name in names):
        folder.refuse("preset-pickled", pickled[0], "A pickle runs what it likes when it is opened.")
    if config is None:
        folder.refuse("preset-unreadable", CONFIG, f"There is no {CONFIG}.")
    if "registered_name" not in config:
        known = {"model_type": "Hugging Face Transformers", "architecture": "timm"}
        theirs = next((title for key, title in known.items() if key in config), "")
        folder.refuse("preset-other-format", CONFIG, theirs)


def check_names(folder: Folder, file: str, tree: Mapping[str, Any]) -> None:
    """No other package than Keras's own may be named, whatever a Keras would import. A Lambda is code."""
    for part in _objects(tree):
        named = part.get("module")
        package = str(part.get("registered_name") or "").partition(">")
        module = str(named).partition(".")[0]
        if "Lambda" in str(part.get("class_name")) or part.get("class_name") == "__lambda__":
            folder.refuse("preset-foreign", file, "It has a layer that is code of its own (Lambda).")
        if named is not None and module not in _PACKAGES:
            folder.refuse("preset-foreign", file, f"It names the module “{str(named)[:60]}”.")
        if package[1] and package[0] not in _PACKAGES:
            folder.refuse("preset-foreign", file, f"It names “{package[0][:60]}”, which is not Keras’s.")


def _objects(tree: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for one in inner:
        yield from _objects(one)


def check_values(folder: Folder, values: Mapping[str, Any]) -> None:
    """Words and sizes that a network can have: the window has it built before any weight is read."""
    _check_dtype(folder, values.get("dtype"))
    inside = {name: value for name, value in values.items() if name != "dtype"}
    for name, value in inside.items():
        deep = 2 if name.startswith("stackwise_") else 1
        if not _is_plain(value, deep if _LISTS.fullmatch(name) else 0):
            folder.refuse("preset-unreadable", CONFIG, f"“{name[:60]}” is neither a number nor a word.")
        if name in _WORDS and any(one not in (None, *ACTIVATIONS) for one in flat(value)):
            folder.refuse("preset-unreadable", CONFIG, f"“{name[:60]}” is no activation that is known, such as “relu”.")
    numbers = [one for one in flat(list(inside.values())) if isinstance(one, (int, float))]
    if any(not -_MOST <= one <= _MOST for one in numbers) or len(numbers) > _MOST:
        folder.refuse("preset-unreadable", CONFIG, "It has sizes that no network has.")
    if _layers(inside) > _REPEATS:
        folder.refuse("preset-unreadable", CONFIG, f"It has more than {_REPEATS} layers.")


def traits(values: Mapping[str, object]) -> dict[str, object]:
    """What of them says the network, its numbers and known words: others write names and paths into theirs."""
    return {
        name: value
        for name, value in values.items()
        if len(name) <= _LONGEST_WORD and name.isascii() and all(_says(name, one) for one in flat(value))
    }


def _says(name: str, value: object) -> bool:
    if isinstance(value, str):
        return name in _SAID and value.isascii() and len(value) <= _LONGEST_WORD
    return value is None or isinstance(value, bool | int | float)


def _check_dtype(folder: Folder, dtype: object) -> None:
    policy = dtype.get("config") if isinstance(dtype, dict) else None
    format = dtype if isinstance(dtype, str) else policy.get("name") if isinstance(policy, dict) else None
    if dtype is not None and format not in _FLOATS:
        folder.refuse("preset-other-format", CONFIG, "quantised weights")


def _is_plain(value: object, deep: int) -> bool:
    if isinstance(value, list):
        return deep > 0 and all(_is_plain(one, deep - 1) for one in value)
    return not isinstance(value, dict)


def _layers(values: Mapping[str, Any]) -> float:
    """How many are repeated alike: EfficientNet multiplies each count. What is below 0 makes up for none above."""

    def of(name: str) -> list[float]:
        return [one for one in flat(values.get(name)) if isinstance(one, (int, float))]

    repeats = zip(of("stackwise_num_repeats"), of("stackwise_depth_coefficients"), strict=False)
    counts = (*of("num_layers"), *of("stackwise_num_blocks"), *(math.ceil(one * deeper) for one, deeper in repeats))
    return sum(one for one in counts if one > 0) + len(of("input_conv_filters"))


def converter_of(preprocessor: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    config = (preprocessor or {}).get("config")
    found = config.get("image_converter") if isinstance(config, dict) else None
    return found if isinstance(found, dict) else None


def seeing(folder: Folder, config: object) -> tuple[tuple[float, ...], tuple[float, ...], int]:
    """Scale, offset and side of a picture, as the folder says them; empty and 0 where it does not."""
    if not isinstance(config, dict):
        return (), (), 0
    scale, offset = (_colours(folder, config.get(name)) for name in ("scale", "offset"))
    size = config.get("image_size")
    side = size[0] if isinstance(size, list) and len(size) == 2 and size[0] == size[1] else 0
    return scale, offset, side if isinstance(side, int) and 0 < side <= 4096 else 0


def _colours(folder: Folder, value: object) -> tuple[float, ...]:
    """One number for all colours, or one each; () where there is none."""
    if value is None:
        return ()
    given = value if isinstance(value, list) else [value]
    numbers = tuple(float(one) for one in given if isinstance(one, (int, float)) and abs(one) < 1e6)
    if len(numbers) not in (1, 3) or len(numbers) != len(given):
        folder.refuse("preset-unreadable", CONVERTER, "It scales pixels by something else than three numbers.")
    return numbers


def only_side(folder: Folder, values: Mapping[str, Any]) -> int:
    shape = values.get("image_shape")
    if not isinstance(shape, list) or len(shape) != 3 or shape[0] != shape[1] or not isinstance(shape[0], int):
        folder.refuse("preset-unreadable", CONFIG, "It does not say the size of its pictures, or they are not square.")
    if shape[0] < 8:
        folder.refuse("preset-unreadable", CONFIG, "Its pictures are too small.")
    return int(shape[0])


def patch_of(folder: Folder, values: Mapping[str, Any]) -> int:
    patch = values.get("patch_size")
    if not isinstance(patch, int) or not 1 <= patch <= 256:
        folder.refuse("preset-unreadable", CONFIG, "It does not say the size of its patches.")
    return patch
