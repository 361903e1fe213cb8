"""Data sets of the Hugging Face Hub by their name, `hf:owner/name`, and the folders that hold what was fetched of them.

    datasets/owner--name/hub.json                               what the Hub said of it: subsets, splits, files, sums
    datasets/owner--name/fetched.json                           which files are here, by their sums
    datasets/owner--name/SUBSET/train-00000-of-00001.parquet    the data, which a job names by its folder
    datasets/owner--name/SUBSET_test-SUM/…                      the same subset's test split, chosen alone

Each choice of splits has a folder of its own: what a folder holds is what is learned, now and when it is read again.
A job names the folder as any other data: it says nothing of the Hub, and fetches nothing. Only `cloud.hubdata` writes
there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tpu_studio.wire import homes, hub
from tpu_studio.wire.hub import PREFIX, Listed
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.sizes import DATASET_BYTES

FILE, FETCHED = "hub.json", "fetched.json"
FORMAT = 1
TABULAR = ".parquet"
MOST_FILES, MOST_BYTES = 1_000, 20 * 10**9
"""Of a subset that is fetched."""
MOST_LISTED = 20_000
"""Files of all subsets."""
MOST_SUBSETS, MOST_SPLITS = 1_000, 100
PICTURES = ("image", "audio", "video", "pdf")  # kinds of columns that no table has cells for
_LEARNED = ("train", "training")
_SAFE = re.compile(r"(?a)\w(?:[\w.-]{0,78}\w)?")
_LETTERS = 200


@dataclass(frozen=True)
class Part:
    """A file of a split. *file*: its path in the repository; *name*: here."""

    file: str
    name: str
    listed: Listed

    @property
    def checksum(self) -> str:
        return self.listed.sha256 or self.listed.sha1


@dataclass(frozen=True)
class Split:
    """*rows*: as its card says them, None where it does not; *partial*: the Hub converted its first 5 GB only."""

    name: str
    parts: tuple[Part, ...]
    rows: int | None = None
    partial: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(one.listed.size for one in self.parts)


@dataclass(frozen=True)
class Subset:
    """*columns*: name and kind, as its card says them; {} where it does not."""

    name: str
    splits: tuple[Split, ...]
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(one.size for one in self.splits)

    @property
    def learned(self) -> tuple[str, ...]:
        """The splits to learn from, which are fetched where none was chosen: the others would be left aside, or mixed
        in. Where none is called so all, or the largest of which one alone is read."""
        names = [one.name for one in self.splits]
        exact = [one for one in names if one.lower() in _LEARNED]
        begun = [one for one in names if one.lower().startswith(_LEARNED)]
        others = names if self.mixes else [one.name for one in sorted(self.splits, key=lambda one: -one.size)[:1]]
        return tuple(exact[:1] or begun[:1] or others)

    @property
    def mixes(self) -> bool:
        """Whether several splits can be one table: those that are Parquet."""
        return all(part.name.endswith(TABULAR) for split in self.splits for part in split.parts)

    @property
    def unread(self) -> tuple[str, ...]:
        """Columns of pictures, sound and the like."""
        return tuple(name for name, kind in self.columns.items() if kind in PICTURES)

    def chosen(self, splits: Iterable[str] = ()) -> tuple[Split, ...]:
        """Those named, in the data set's order; of none those to learn from."""
        wanted = tuple(splits) or self.learned
        return tuple(one for one in self.splits if one.name in wanted)


@dataclass(frozen=True)
class Dataset:
    """A data set of the Hub as it was looked up.

    Attributes:
        name: `owner/name`, or `name` alone of a few old ones.
        revision: The commit that the files are of, 40 hexadecimal digits.
        converted: The files are the Hub's conversion to Parquet (branch `refs/convert/parquet`), not its owner's.
        licence, gated, looked_up: as of `hub.Entry`.
    """

    name: str
    revision: str
    converted: bool
    licence: str
    gated: bool
    looked_up: float
    subsets: tuple[Subset, ...] = ()

    def subset(self, name: str) -> Subset | None:
        return next((one for one in self.subsets if one.name == name), None)

    def folder(self, subset: Subset, splits: Iterable[str] = ()) -> Path:
        names = [one.name for one in subset.chosen(splits)]
        other = "" if tuple(names) == subset.learned else "\n".join(["", *names])  # a line end is in no name
        return folder(PREFIX + self.name) / folder_name(subset.name + other)

    def path(self, subset: Subset, splits: Iterable[str] = ()) -> Path:
        """What a job names: the folder; of data that is no Parquet its file."""
        base, parts = self.folder(subset, splits), [part for one in subset.chosen(splits) for part in one.parts]
        return base / parts[0].name if parts and not subset.mixes else base

    def is_here(self, subset: Subset, splits: Iterable[str] = ()) -> bool:
        """Whether this choice of splits was fetched, of this revision."""
        return bool(subset.chosen(splits)) and not self.missing(subset, splits)

    def missing(self, subset: Subset, splits: Iterable[str] = ()) -> list[Part]:
        base, came = self.folder(subset, splits), fetched(folder(PREFIX + self.name))
        parts = [part for split in subset.chosen(splits) for part in split.parts]
        return [part for part in parts if not _is_here(base / part.name, part, came)]

    def copies(self) -> dict[str, Path]:
        """Files that were fetched into any of the data set's folders, by their sums."""
        base = folder(PREFIX + self.name)
        return {value: base / key for key, value in fetched(base).items() if is_key(key)}

    def has(self, split: Split, copies: Mapping[str, Path]) -> bool:
        """Whether it was fetched, of this revision, alone or beside others. *copies*: as of the method."""
        return all(is_copy(copies.get(part.checksum), part) for part in split.parts)

    def dumps(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}).encode()


def is_name(value: str) -> bool:
    """Whether *value* is `hf:owner/name`, or `hf:name`, as the Hub allows them for data sets."""
    given = value.removeprefix(PREFIX)
    return hub.is_name(value if "/" in given else f"{PREFIX}owner/{given}") and value.startswith(PREFIX)


def folder(value: str) -> Path:
    """Where the data set of that name is, or will be. *value*: for which `is_name`."""
    return homes.datasets() / value.removeprefix(PREFIX).replace("/", "--")


def folder_name(subset: str) -> str:
    """Subsets are called as their owner likes; a folder is not."""
    if _SAFE.fullmatch(subset) and subset not in (FILE, FETCHED, "lock"):
        return subset
    letters = re.sub(r"(?a)[^\w.-]", "_", subset).strip("._")[:60]
    return f"{letters}-{hashlib.sha256(subset.encode()).hexdigest()[:8]}"


def sum_key(path: Path) -> str:
    """Of a file in `FETCHED`."""
    return f"{path.parent.name}/{path.name}"


def is_key(key: str) -> bool:
    """Whether *key* names a file in a folder of the data set's, and leads nowhere else."""
    folder, _, name = key.partition("/")
    return all(re.fullmatch(r"(?a)\w[\w.-]{0,120}", one) for one in (folder, name))


def fetched(folder: Path) -> dict[str, str]:
    """Sums of what was fetched into *folder*, by `sum_key`; {} where that cannot be told."""
    try:
        tree = read_json(folder / FETCHED)
    except (OSError, ValueError):
        return {}
    if not isinstance(tree, dict):
        return {}
    return {str(key): value for key, value in tree.items() if isinstance(value, str)}


def entry(value: str) -> Dataset | None:
    """What the Hub said of that data set; None where it was not looked up. *value*: for which `is_name`."""
    try:
        found = _dataset(read_json(folder(value) / FILE, DATASET_BYTES))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if PREFIX + found.name == value else None


def entries() -> list[Dataset]:
    """All that were looked up, by name."""
    try:
        names = sorted(one.name for one in homes.datasets().iterdir() if one.is_dir())
    except OSError:
        return []
    values = [PREFIX + name.replace("--", "/", 1) for name in names]
    return [found for one in values if is_name(one) and (found := entry(one)) is not None]


def is_copy(path: Path | None, part: Part) -> bool:
    """*path*: where a file of the part's sum was put."""
    try:
        return path is not None and path.lstat().st_size == part.listed.size
    except OSError:
        return False


def _is_here(path: Path, part: Part, came: Mapping[str, str]) -> bool:
    return is_copy(path, part) and came.get(sum_key(path)) == part.checksum


def _dataset(tree: Any) -> Dataset:
    if tree["format"] != FORMAT or len(tree["subsets"]) > MOST_LISTED:
        raise ValueError("It is of another version.")
    name, revision, licence = (tree[key] for key in ("name", "revision", "licence"))
    texts = all(isinstance(one, str) and len(one) < _LETTERS for one in (name, revision, licence))
    if not texts or not hub.is_commit(revision):
        raise ValueError("It does not say what it is of.")
    subsets = tuple(_subset(one) for one in tree["subsets"][:MOST_SUBSETS])
    looked_up = float(tree["looked_up"])
    return Dataset(name, revision, tree["converted"] is True, licence, tree["gated"] is True, looked_up, subsets)


def _subset(tree: Any) -> Subset:
    columns = {_text(name): _text(kind) for name, kind in tree["columns"].items()}
    return Subset(_text(tree["name"]), tuple(_splits(tree["splits"][:MOST_SPLITS])), columns)


def _splits(trees: Any) -> Iterator[Split]:
    for tree in trees:
        parts = tuple(
            Part(_text(one["file"]), one["name"], hub.listed(one["name"], one["listed"])) for one in tree["parts"]
        )
        rows = tree["rows"] if type(tree["rows"]) is int else None
        yield Split(_text(tree["name"]), parts, rows, tree["partial"] is True)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LETTERS * 5 or not value.isprintable():
        raise ValueError("It names another kind of thing.")
    return value
