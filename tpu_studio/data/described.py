"""Reads `dataset.json` of a converted data set, whatever an editor or a failing disk has made of it.

The one door for all who open it (``data.shards``, ``data.fingerprints``, ``cloud.bundle``): what comes out has every
field that they use, of the kind and within the bounds that they count on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tpu_studio.data.labelfile import MOST_LABELS
from tpu_studio.data.links import check_inside
from tpu_studio.data.looked import Look
from tpu_studio.data.paths import path_error
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.schema import BY_PATH
from tpu_studio.wire.shapes import LARGEST, fits
from tpu_studio.wire.sizes import DATASET_BYTES

FORMAT = (
    3  # 2 where pictures have one class each, 1 where they are stored as files are (`converting.Converting.format`)
)
NAME = "dataset.json"
SPLITS = ("train", "validation")
_WIDEST = 10_000_000  # numbers of one example
_NO_LETTERS = re.compile("[\0\ud800-\udfff]")  # nor half of one: no file is called so
_SHARDS, _PREVIEWS = 10_000, 1_000


def read_dataset(path: Path) -> dict[str, Any]:
    """The parsed `dataset.json` of a folder (or that file itself).

    Raises:
        DataError: data-not-a-dataset, data-dataset-newer, data-missing, data-unreadable, data-link-outside.
    """
    file = path / NAME if path.is_dir() else path
    if file != path:
        check_inside(path, [file])
    try:
        tree = read_json(file, DATASET_BYTES)
        version = tree["format"]
        if not isinstance(version, int) or version > FORMAT:
            raise DataError("data-dataset-newer", path=str(file), format=version, known=FORMAT)
        names = _check(tree)
    except OSError as error:
        if path.is_dir() and not file.exists():
            raise DataError("data-not-a-dataset", path=str(path), raw=f"no {NAME}") from error
        raise path_error(file, error) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError("data-not-a-dataset", path=str(file), raw=str(error)[:200]) from error
    check_inside(file.parent, [file.parent / name for name in names])
    return dict(tree)


def _check(tree: Mapping[str, Any]) -> list[str]:
    """The names of its files.

    Raises ValueError, KeyError, TypeError or AttributeError unless *tree* is what `data.convert` writes.
    """
    kind, task, told = tree["kind"], tree["task"], tree["description"]
    known = kinds.find(kind)
    _demand(known is not None and not known.is_converted and task in tasks.IDS, f"kind {kind!r} with task {task!r}")
    _demand(told["kind"] == kind and told["task"] == task, "the description is another data set's")
    _demand(fits(tree.get("target"), str | None), "the target is no name")
    names = [_shard(shard) for split in SPLITS for shard in _splits(tree, split)]
    pictures = tree["look"]["preview"].get("pictures", ())
    _demand(len(names) <= _SHARDS and len(pictures) <= _PREVIEWS, "more files than any data set of ours has")
    _demand(len(set(names)) == len(names), "one file twice")
    names += [item["path"] for item in pictures]
    _demand(all(map(_inside, names)), "a file outside the data set's folder")
    _demand(all(fits(item.get("class"), str | None) for item in pictures), "a picture of no class")
    look = Look.from_json(tree["look"])
    _demand((look.kind, look.task) == (kind, task), "the look is another data set's")
    _sizes(look.input_shape, look.outputs)
    _demand(len(look.input_shape) == (3 if kinds.by_id(kind).has_pictures else 1), "the shape is no shape")
    _within("data.image_size", look.image_size)
    _within("data.sequence_length", look.sequence_length)
    _describe(told)
    return names


def _splits(tree: Mapping[str, Any], split: str) -> list[Any]:
    side = tree["splits"][split]
    _demand(isinstance(side["shards"], list), "the shards are no list")
    _demand(
        not kinds.by_id(tree["kind"]).has_text or (fits(side["bytes_of_text"], int) and side["bytes_of_text"] > 1),
        "no text",
    )
    return list(side["shards"])


def _shard(shard: Mapping[str, Any]) -> str:
    """Its name."""
    sum_of_it = fits(shard["sha256"], str) and re.fullmatch(r"[0-9a-f]{64}", shard["sha256"])
    _demand(fits(shard["name"], str) and _counts(shard["bytes"]) and bool(sum_of_it), "a shard is no shard")
    return str(shard["name"])


def _describe(told: Mapping[str, Any]) -> None:
    """What training and predicting take from the description, by kind of data."""
    shape = told["input_shape"]
    _demand(fits(shape, tuple[int, ...]), "the shape is no shape")
    _sizes(shape, told["outputs"])
    learns = tasks.by_id(told["task"])
    _demand(not learns.has_labels or kinds.by_id(told["kind"]).has_picture_files, "labels of no pictures")
    if learns.has_names:
        _demand(fits(told["classes"], tuple[str, ...]), "the classes are no names")
        _demand(not learns.has_labels or len(told["classes"]) == told["outputs"], "labels of another number")
        _demand(not learns.has_labels or len(told["classes"]) <= MOST_LABELS, f"more than {MOST_LABELS:,} labels")
    match kinds.by_id(told["kind"]).example:
        case "picture":
            _within("data.image_size", told["image_size"])
            _demand(told["image_size"] is not None and told["channels"] in (1, 3), "no picture's size")
            _demand(0 < told.get("value_max", 255) < 256, "no picture's values")
        case "row":
            widths = [_encoder(encoder) for encoder in told["columns"]]
            _demand(list(shape) == [sum(widths)], "the columns do not come to the shape")
            if tasks.by_id(told["task"]).has_number:
                scale = told["target_transform"]
                _demand(isinstance(scale["log"], bool) and isinstance(told["target"], str), "no target")
                _scale(scale)
        case _:
            _demand(told["sequence_length"] is not None, "no length")
            _within("data.sequence_length", told["sequence_length"])


def _encoder(encoder: Mapping[str, Any]) -> int:
    """How many numbers a column of the table becomes."""
    width, missing = encoder["width"], encoder["missing"]
    _demand(fits(encoder["name"], str) and _counts(width) and isinstance(missing, bool), "a column is no column")
    match encoder["kind"]:
        case "category":
            _demand(fits(encoder["categories"], tuple[str, ...]), "a category is no name")
            needed = len(encoder["categories"]) + 1
        case "number":
            _demand(encoder["decimal"] in (".", ","), "no decimal sign")
            _scale(encoder)
            needed = 1
        case "date":
            _demand(fits(encoder["form"], str) and isinstance(encoder["parts"], dict), "no form of a date")
            for scale in encoder["parts"].values():
                _scale(scale)
            needed = len(encoder["parts"])
        case other:
            raise ValueError(f"columns of kind {other!r} are not known")
    _demand(encoder["kind"] == "category" or fits(encoder["median"], float), "a median is no number")
    _demand(width == needed + missing, "a column's width is another's")
    return int(width)


def _scale(told: Mapping[str, Any]) -> None:
    _demand(fits(told["mean"], float) and fits(told["std"], float) and told["std"] > 0, "a scale is none")


def _sizes(shape: Any, outputs: Any) -> None:
    numbers = 1
    for side in shape:
        numbers *= side
        _demand(side > 0 and numbers <= _WIDEST, "the shape is no shape")
    _demand(_counts(outputs) and 0 < outputs <= _WIDEST, "the outputs are no number of them")


def _within(key: str, value: Any) -> None:
    """None, or what a job may ask for under *key*."""
    bounds = BY_PATH[key]
    low, high = bounds.minimum or 0, bounds.maximum or LARGEST
    _demand(value is None or (fits(value, int) and low <= value <= high), f"{key} is {value!r}")


def _counts(value: Any) -> bool:
    return fits(value, int) and value >= 0


def _inside(name: object) -> bool:
    return (
        isinstance(name, str)
        and bool(name)
        and not _NO_LETTERS.search(name)
        and "\\" not in name
        and ":" not in name
        and not PurePosixPath(name).is_absolute()
        and ".." not in PurePosixPath(name).parts
    )


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
