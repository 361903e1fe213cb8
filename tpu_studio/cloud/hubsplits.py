"""Which files of a data set on the Hugging Face Hub are which split of which subset; and what its card says of them.

The Hub's conversion lies at `SUBSET/SPLIT/0000.parquet`, `SUBSET/partial-SPLIT/…` where it is of the first 5 GB only,
and `SPLIT-partN` beyond 10,000 files (huggingface/dataset-viewer: `parquet_and_info.py`). Its owner's own files are
split by the words in their names, as the Hub's guide has them ("File names and splits").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from tpu_studio.wire.hub import Listed
from tpu_studio.wire.hubdata import TABULAR, Part, Split, Subset
from tpu_studio.wire.visible import one_line

_PARTIAL = "partial-"
_PART = re.compile(r"-part\d$")
_SPLIT = re.compile(r"(?a)\w+(?:\.\w+)*")
_ENDINGS = (TABULAR, ".jsonl", ".csv", ".json", ".tsv")  # one kind is taken, the first that there is
_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_MOST, _LETTERS, _LONGEST_PATH = 1_000, 100, 300
_MOST_ROWS = 10**15
_SUBSETS, _FEATURES, _DEEPEST = 1_000, 50_000, 20  # that a card tells of, all together; folders in folders


@dataclass(frozen=True)
class Card:
    """*columns*: by subset, name and kind; *rows*: by subset and split."""

    licence: str = ""
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rows: Mapping[tuple[str, str], int] = field(default_factory=dict)


def card(said: Any) -> Card:
    """Of the card's own words. What is there otherwise than its readers write it counts as not said."""
    if not isinstance(said, dict):
        return Card()
    infos = said.get("dataset_info")
    columns: dict[str, dict[str, str]] = {}
    rows: dict[tuple[str, str], int] = {}
    left = _FEATURES
    for info in infos[:_SUBSETS] if isinstance(infos, list) else [infos]:
        if not isinstance(info, dict):
            continue
        if isinstance(features := info.get("features"), list):
            left -= len(features)
        if left < 0:  # it counts as not said from here on
            break
        name = str(info.get("config_name") or "default")
        columns[name] = dict(_columns(info.get("features")))
        for split in _records(info.get("splits")):
            if type(split.get("num_examples")) is int and 0 <= split["num_examples"] < _MOST_ROWS:
                rows[name, str(split.get("name"))] = split["num_examples"]
    licences = said.get("license")
    words = [one for one in (licences if isinstance(licences, list) else [licences]) if isinstance(one, str)]
    return Card(one_line(", ".join(words))[:80], columns, rows)


def is_plain(file: str) -> bool:
    """Whether its path can be shown, and is no longer than paths are: what else somebody listed is no data."""
    return len(file) <= _LONGEST_PATH and file.count("/") <= _DEEPEST and file.isprintable()


def converted(files: Mapping[str, Listed], card: Card) -> tuple[Subset, ...]:
    """Of the files on the branch of the Hub's conversion."""
    found: dict[tuple[str, str], list[str]] = {}
    partial: set[tuple[str, str]] = set()
    for file in sorted(files):
        folders = PurePosixPath(file).parts
        if len(folders) != 3 or not file.endswith(TABULAR):
            continue
        split = _PART.sub("", folders[1].removeprefix(_PARTIAL))
        if _SPLIT.fullmatch(split) and len(split) < _LETTERS:
            found.setdefault((folders[0], split), []).append(file)
            if folders[1].startswith(_PARTIAL):
                partial.add((folders[0], split))
    return _subsets(found, partial, files, card)


def own(files: Mapping[str, Listed], card: Card) -> tuple[Subset, ...]:
    """Of its owner's own files; () where none are data that is read."""
    endings = [end for end in _ENDINGS if any(_is_data(file, end) for file in files)]
    found: dict[tuple[str, str], list[str]] = {}
    for file in sorted(files):
        if endings and _is_data(file, endings[0]):
            found.setdefault((_subset_in(file), _split_in(file)), []).append(file)
    if endings and endings[0] != TABULAR:  # several such files of a split are not one table here
        found = {key: named for key, named in found.items() if len(named) == 1}
    return _subsets(found, set(), files, card)


def _subsets(
    found: Mapping[tuple[str, str], list[str]],
    partial: Iterable[tuple[str, str]],
    files: Mapping[str, Listed],
    card: Card,
) -> tuple[Subset, ...]:
    splits: dict[str, list[Split]] = {}
    for (subset, split), named in found.items():
        parts = tuple(
            Part(file, f"{split}-{number:05d}-of-{len(named):05d}{PurePosixPath(file).suffix}", files[file])
            for number, file in enumerate(named)
        )
        rows = card.rows.get((subset, split))
        splits.setdefault(subset, []).append(Split(split, parts, rows, (subset, split) in partial))
    return tuple(
        Subset(name, tuple(sorted(some, key=_place)), card.columns.get(name, {})) for name, some in splits.items()
    )


def _place(split: Split) -> int:
    """Those to learn from first, as cards have it."""
    return next((place for place, name in enumerate(_WORDS) if split.name.startswith(name)), len(_WORDS))


def _is_data(file: str, ending: str) -> bool:
    path = PurePosixPath(file)
    hidden = any(one.startswith((".", "_")) for one in path.parts)
    described = path.name in ("dataset_infos.json", "dataset_info.json", "state.json", "metadata.json")
    return path.suffix.lower() == ending and not hidden and not described


def _words_in(text: str) -> list[str]:
    return [word for word in re.split(r"[\W_\d]+", text.lower()) if word]


def _split_in(file: str) -> str:
    """The split that its name, or a folder above it, says; `train` where none does."""
    path = PurePosixPath(file)
    for text in (path.stem, *reversed(path.parts[:-1])):
        for word in _words_in(text):
            if split := next((name for name, words in _WORDS.items() if word in words), ""):
                return split
    return "train"


def _subset_in(file: str) -> str:
    folders = [one for one in PurePosixPath(file).parts[:-1] if one.lower() not in ("data", "default")]
    named = [one for one in folders if not set(_words_in(one)) & {word for some in _WORDS.values() for word in some}]
    return "_".join(named)[:_LETTERS] or "default"


def _columns(features: Any) -> Iterable[tuple[str, str]]:
    for one in _records(features):
        yield _shown(str(one.get("name"))), _shown(_kind(one))


def _shown(text: str) -> str:
    """In a line, without halves of letters."""
    return "".join(sign if sign.isprintable() else " " for sign in one_line(text))[:_LETTERS]


def _kind(feature: Mapping[str, Any]) -> str:
    """`string`, `class_label`, `image`, `list`, as the card has it."""
    kind = feature.get("dtype")
    if isinstance(kind, str):
        return kind[:_LETTERS]
    if isinstance(kind, dict):
        return str(next(iter(kind), "struct"))[:_LETTERS]
    return "list" if {"sequence", "list"} & set(feature) else "struct"


def _records(trees: Any) -> list[dict[str, Any]]:
    return [one for one in trees[:_MOST] if isinstance(one, dict)] if isinstance(trees, list) else []
