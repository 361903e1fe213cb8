"""A folder of pictures or texts, one sub-folder a class: which files, of which class, on which side of the split.

Knows names and sizes only; no file is opened here. Folders named train and val (or valid, validation, test) at the
top hold classes and fix the split. Links are followed, but never in a circle, nor out of the folder.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from tpu_studio.data.arrays import Bools, Bytes, Ints
from tpu_studio.data.imaging import SUFFIXES
from tpu_studio.data.links import OUTSIDE, is_outside
from tpu_studio.data.looked import Broken, Finding
from tpu_studio.data.split import keys_of_names, validation_mask
from tpu_studio.data.watching import Watch
from tpu_studio.wire import presets
from tpu_studio.wire.errors import DataError

TRAIN_NAMES = ("train", "training")
VALIDATION_NAMES = ("validation", "valid", "val", "test", "testing")
NO_LABEL = "no label"
_MOST_DEPTH = 12
_BOTH, _TRAIN, _VALIDATION = -1, 0, 1


@dataclass
class Listing:
    """All pictures of a folder, sorted by name: parallel lists, since there may be a million.

    Attributes:
        names: Paths relative to *root*, with forward slashes.
        labels: Class indices; parts: -1 to be split, 0 training, 1 validation by its folder.
        problems: Folders that could not be read, links in a circle or out of it, and pipes or devices
            with a picture's name.
        others: Files that are no pictures by their name; loose: pictures beside the class folders.
        unused: Folders left aside (a test folder when there is also a validation folder).
        empty: Classes whose folder holds no picture; not those whose folder could not be read.
        marks: Where a table tells the labels (`data.labelfile`): pictures times *classes*, which are then the labels,
            1 where a picture has one; *labels* only groups the pictures for the split. None: folders tell the class.
        table, table_sum: That table's name in the folder, and the sha256 of what stands in it.
        unnamed: Broken rows of it beyond those in *problems*.
        told: What else was met in it.
    """

    root: Path
    names: list[str]
    sizes: Ints
    labels: Ints
    parts: Ints
    classes: list[str]
    problems: list[Broken] = field(default_factory=list)
    others: int = 0
    loose: int = 0
    unused: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    marks: Bytes | None = None
    table: str = ""
    table_sum: str = ""
    unnamed: int = 0
    told: list[Finding] = field(default_factory=list)

    @property
    def closed(self) -> list[str]:
        """Folders that could not be read."""
        return [item.item for item in self.problems if item.why == "unreadable-folder"]

    @property
    def fixed_split(self) -> bool:
        return bool((self.parts == _VALIDATION).any())

    def path(self, index: int) -> str:
        return os.path.join(self.root, self.names[index])

    def counts(self, chosen: Bools) -> Ints:
        """Of each class, or label, among the *chosen* pictures."""
        if self.marks is not None:
            return np.asarray(self.marks[chosen].sum(axis=0, dtype=np.int64))
        return np.bincount(self.labels[chosen], minlength=len(self.classes))

    def answer(self, index: int) -> tuple[int, ...]:
        """The class of a picture, or its labels: places in *classes*."""
        if self.marks is None:
            return (int(self.labels[index]),)
        return tuple(np.flatnonzero(self.marks[index]).tolist())

    def words(self, index: int) -> str:
        """The same for people."""
        return ", ".join(self.classes[label] for label in self.answer(index)) or NO_LABEL

    def validation(self, seed: int, share: float) -> Bools:
        """True where a picture is kept aside."""
        if self.fixed_split:
            return np.asarray(self.parts == _VALIDATION)
        return validation_mask(keys_of_names(self.names, seed), share, self.labels)

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name, size in zip(self.names, self.sizes.tolist(), strict=True):
            digest.update(os.fsencode(name) + b"\0" + str(size).encode() + b"\n")
        digest.update(self.table_sum.encode())
        return digest.hexdigest()


def list_images(root: Path, watch: Watch, suffixes: Sequence[str] = tuple(SUFFIXES), noun: str = "pictures") -> Listing:
    """Find the pictures below *root*, or the files with other *suffixes*, which errors call *noun*.

    Raises:
        DataError: data-missing, data-not-a-folder, data-unreadable, data-loop, data-empty, data-no-classes,
            data-one-class, data-link-outside.
    """
    walker = _Walker(root, watch, frozenset(suffixes))
    groups, loose = walker.classes()
    others, problems = walker.others, walker.problems
    names_of: dict[str, list[tuple[str, int, int]]] = {}
    for label, part, found in groups:
        names_of.setdefault(_readable(label), []).extend((name, size, part) for name, size in found)
    filled = sorted((label for label, found in names_of.items() if found), key=natural_key)
    closed = [item.item for item in problems if item.why == "unreadable-folder"]
    shut = {_readable(Path(folder).name) for folder in closed}
    empty = sorted(label for label, found in names_of.items() if not found and label not in shut)
    outside = [item.item for item in problems if item.why == OUTSIDE]
    if len(filled) < 2 and outside:
        raise DataError("data-link-outside", path=str(root / outside[0]))
    if not filled:
        if loose:
            raise DataError("data-no-classes", path=str(root), pictures=loose, noun=noun)
        if walker.problems:
            first = walker.problems[0]
            broken_id = "data-loop" if first.why == "link-loop" else "data-unreadable"
            raise DataError(broken_id, path=str(root / first.item), raw=first.why)
        raise DataError("data-empty", path=str(root), others=walker.others, weights=presets.lies_in(root))
    if len(filled) == 1 and closed:
        raise DataError("data-unreadable", path=str(root / closed[0]), raw="unreadable-folder")
    if len(filled) == 1:
        raise DataError("data-one-class", path=str(root), name=filled[0], count=len(names_of[filled[0]]), noun=noun)
    rows = sorted(
        (name, size, part, index) for index, label in enumerate(filled) for name, size, part in names_of[label]
    )
    names, sizes, parts, labels = (list(column) for column in zip(*rows, strict=True))
    return Listing(
        root,
        names,
        np.array(sizes, dtype=np.int64),
        np.array(labels, dtype=np.int64),
        np.array(parts, dtype=np.int64),
        filled,
        problems,
        others,
        loose,
        walker.unused,
        empty,
    )


@dataclass(frozen=True)
class Walked:
    """All pictures below a folder, wherever they lie, as (name, size) sorted by name; and what could not be read."""

    pictures: list[tuple[str, int]]
    problems: list[Broken]


def list_all(root: Path, watch: Watch) -> Walked:
    """Raises DataError: data-missing, data-not-a-folder, data-unreadable, data-loop, data-empty."""
    walker = _Walker(root, watch, frozenset(SUFFIXES))
    pictures = walker.all_pictures()
    if not pictures:
        raise DataError("data-empty", path=str(root), others=walker.others, weights=presets.lies_in(root))
    return Walked(sorted(pictures), walker.problems)


def natural_key(name: str) -> tuple[int, int, str]:
    """Sorts 2 before 10, and numbers before words."""
    return (0, int(name), name) if name.isdecimal() and len(name) < 18 else (1, 0, name)


def _readable(name: str) -> str:
    """A folder's name as the name of a class, which is written into files: old archives have names in Latin-1."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode("latin-1")
    return name


class _Walker:
    def __init__(self, root: Path, watch: Watch, suffixes: frozenset[str]) -> None:
        self.root, self.watch, self.suffixes = root, watch, suffixes
        self.problems: list[Broken] = []
        self.unused: list[str] = []
        self.others = self.seen = 0

    def classes(self) -> tuple[list[tuple[str, int, list[tuple[str, int]]]], int]:
        """(class, part, files) for each class folder, and the number of pictures beside them."""
        folders, pictures = self._top()
        lower = {folder.lower(): folder for folder in folders}
        train = next((lower[name] for name in TRAIN_NAMES if name in lower), None)
        kept = [lower[name] for name in VALIDATION_NAMES if name in lower]
        beside = [folder for folder in folders if folder not in (train, *kept) and self._has_files(folder)]
        if train is None or (beside and not self._share_classes(train, kept)):
            return [(folder, _BOTH, list(self._files(folder))) for folder in folders], pictures
        self.unused = kept[1:] + beside
        sides = [(train, _TRAIN if kept else _BOTH)] + [(folder, _VALIDATION) for folder in kept[:1]]
        groups = []
        for side, part in sides:
            inner, more = self._folder(side)
            pictures += len(more)
            groups += [(Path(folder).name, part, list(self._files(folder))) for folder in inner]
        if kept and not any(found for _, part, found in groups if part == _VALIDATION):
            groups = [(label, _BOTH, found) for label, _, found in groups]
        return groups, pictures

    def _has_files(self, folder: str) -> bool:
        """Whether anything in it, or below, would be learned from; nothing is told of it."""
        probe = _Walker(self.root, self.watch, self.suffixes)
        return next(probe._files(folder), None) is not None

    def _share_classes(self, train: str, kept: Sequence[str]) -> bool:
        """Whether both sides hold folders of the same names: these are the classes, whatever lies beside them."""
        probe = _Walker(self.root, self.watch, self.suffixes)
        named = [{Path(inner).name for inner in probe._folder(side)[0]} for side in (train, *kept[:1])]
        return len(named) == 2 and len(named[0] & named[1]) > 1

    def all_pictures(self) -> list[tuple[str, int]]:
        folders, pictures = self._beginning()
        return [*pictures, *(found for folder in folders for found in self._files(folder))]

    def _top(self) -> tuple[list[str], int]:
        folders, pictures = self._beginning()
        return folders, len(pictures)

    def _beginning(self) -> tuple[list[str], list[tuple[str, int]]]:
        """Folders and pictures of the root. Raises DataError where it is none, or cannot be read."""
        try:
            if not self.root.is_dir():
                raise DataError("data-not-a-folder" if self.root.exists() else "data-missing", path=str(self.root))
            with os.scandir(self.root):
                pass
        except OSError as error:
            loop = error.errno == errno.ELOOP
            raise DataError("data-loop" if loop else "data-unreadable", path=str(self.root), raw=str(error)) from error
        except RuntimeError as error:
            raise DataError("data-loop", path=str(self.root), raw=str(error)) from error
        return self._folder("")

    def _files(self, folder: str) -> Iterator[tuple[str, int]]:
        """Pictures at any depth below a class folder; a folder that links lead to again is read once."""
        waiting: deque[tuple[str, tuple[tuple[int, int], ...]]] = deque([(folder, ())])  # the shortest way first
        been: set[tuple[int, int]] = set()
        while waiting:
            current, above = waiting.popleft()
            here = self._identity(current)
            if here in above or here in self.outside:
                self.problems.append(Broken(current, "link-loop"))
            elif here in been:
                self.problems.append(Broken(current, "read-already"))
            elif len(above) >= _MOST_DEPTH:
                self.problems.append(Broken(current, "too-deep"))
            else:
                been.add(here)
                inner, pictures = self._folder(current)
                yield from pictures
                waiting.extend((name, (*above, here)) for name in inner)

    @cached_property
    def outside(self) -> frozenset[tuple[int, int]]:
        """The root and what it lies in: a link to one of them leads back to the root."""
        real = Path(os.path.realpath(self.root))
        return frozenset(self._identity(str(folder)) for folder in (real, *real.parents))

    def _identity(self, folder: str) -> tuple[int, int]:
        """Of a folder relative to the root, or of any by its whole path."""
        try:
            status = os.stat(self.root / folder)
        except OSError:
            return (-1, -1 - len(folder))
        if status.st_ino == 0:  # a file system without numbers
            return (-2, hash(os.path.realpath(self.root / folder)))
        return (status.st_dev, status.st_ino)

    def _folder(self, folder: str) -> tuple[list[str], list[tuple[str, int]]]:
        """Sub-folders and (picture, size) directly in *folder*, names relative to the root, sorted."""
        folders: list[str] = []
        pictures: list[tuple[str, int]] = []
        prefix = folder + "/" if folder else ""
        self._tell()  # of folders without anything in them there may be hundreds of thousands
        try:
            with os.scandir(self.root / folder) as entries:
                for entry in entries:
                    self._tell()
                    name = entry.name
                    if name.startswith((".", "__MACOSX")):
                        continue
                    try:
                        if is_outside(self.root, entry):
                            self._refuse(prefix + name)
                        elif entry.is_dir():
                            folders.append(prefix + name)
                        elif name[name.rfind(".") :].lower() not in self.suffixes:
                            self.others += bool(folder)  # not beside the class folders: a licence, a note
                        elif stat.S_ISREG((status := entry.stat()).st_mode):
                            pictures.append((prefix + name, status.st_size))
                        else:  # a pipe or a device, of which reading might never end
                            self.problems.append(Broken(prefix + name, "special-file"))
                    except OSError as error:
                        why = "link-loop" if error.errno == errno.ELOOP else "unreadable"
                        self.problems.append(Broken(prefix + name, why))
        except OSError as error:
            self.problems.append(Broken(folder, "link-loop" if error.errno == errno.ELOOP else "unreadable-folder"))
        return sorted(folders), sorted(pictures)

    def _refuse(self, name: str) -> None:
        """Of a link out of the root: told, where by its name it may lead to data, a picture or a folder."""
        ending = os.path.splitext(name)[1].lower()
        if not ending or ending in self.suffixes:
            self.problems.append(Broken(name, OUTSIDE))

    def _tell(self) -> None:
        self.seen += 1
        if self.seen % 1000 == 0:
            self.watch.check()
