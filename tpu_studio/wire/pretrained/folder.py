"""The folder of a KerasHub preset as files: what lies in it, which of them are read, and whether they are whole.

`description` reads what its descriptions say. A folder may be a stranger's: no link out of it is followed, and no more
is read of it than `MOST_READ`.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePath
from typing import NoReturn

from tpu_studio.wire import hdf5, owncode
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import open_below, plainly
from tpu_studio.wire.presets import INDEX, WEIGHTS
from tpu_studio.wire.records import inner, number

CONFIG, CONVERTER, PREPROCESSOR, TASK = "config.json", "image_converter.json", "preprocessor.json", "task.json"
FIRST_SHARD = "model_00000.weights.h5"
"""What Keras opens beside `INDEX`, whatever that names (`ShardedH5IOStore` of Keras 3.15)."""
MOST_READ = 8_589_934_592
"""Bytes of weights (8 GiB: four billion in bfloat16): the largest network of KerasHub's that is known here has
4.6 billion (DINOv2 giant, in float32)."""

Signature = tuple[tuple[str, int, int, int], ...]
"""Name, bytes, time of change in ns and number of each file."""

_LFS = b"version https://git-lfs"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_CHUNK = 1 << 20
_SHARDS = 1000
_LONGEST_NAME = 255  # of a file


@dataclass(frozen=True)
class Folder:
    """*given*: as the person named it; *whole*: where that is."""

    given: Path
    whole: Path

    def refuse(self, id: str, file: str, why: str) -> NoReturn:
        raise ModelError(id, path=str(self.given), file=file, why=why)

    def refuse_network(self, file: str, kind: str) -> NoReturn:
        raise ModelError("preset-other-network", path=str(self.given), file=file, network=kind[:60])

    def signature(self) -> Signature:
        """Another one when a file was changed. No link is followed: what one leads to in the folder is here, too."""
        with os.scandir(self.whole) as entries:
            seen = [(one.name, one.stat(follow_symlinks=False)) for one in entries if _is_file(one)]
        return tuple(sorted((name, file.st_size, file.st_mtime_ns, file.st_ino) for name, file in seen))

    def json(self, name: str) -> dict[str, object] | None:
        """None where there is no such file."""
        if not self.has(name):
            return None
        self.check_inside(name)
        try:
            tree = read_json(self.whole / name)
        except ValueError as error:
            self.refuse("preset-unreadable", name, str(error))
        if not isinstance(tree, dict):
            self.refuse("preset-unreadable", name, f"{name} holds no object.")
        return tree

    def has(self, name: str) -> bool:
        if Path(name).name != name:
            self.refuse("preset-links-out", name, "It is a path to somewhere else.")
        return os.path.lexists(self.whole / name)

    def bytes_of(self, names: Iterable[str]) -> int:
        return sum((self.whole / name).stat().st_size for name in names)

    def check_inside(self, name: str) -> None:
        if not stat.S_ISREG(self._located(name).lstat().st_mode):
            self.refuse("preset-unreadable", name, "It is no plain file.")

    def open(self, name: str) -> BufferedReader:
        """To read; whatever takes its place just then, no file outside. Raises ModelError ``preset-links-out``;
        OSError."""
        return open_below(self.whole, PurePath(self._located(name).name))

    def _located(self, name: str) -> Path:
        at = owncode.located(self.whole / name)
        if at is None or at.parent != self.whole:
            self.refuse("preset-links-out", name, "It is a link to somewhere else.")
        return at


def shards_of(folder: Folder, whole: str, index: str) -> tuple[str, ...]:
    """Names of its weights' files: the *whole* one, or their *index* and those that it names."""
    if folder.has(whole):
        return (whole,)
    tree = folder.json(index)
    if tree is None:
        folder.refuse("preset-in-part", whole, f"There is no {whole}.")
    places = tree.get("weight_map")
    names = sorted(set(_named(places.values()))) if isinstance(places, dict) else []
    if not names or len(names) > _SHARDS or not all(_is_name(one, PurePath(whole).suffix) for one in names):
        folder.refuse("preset-unreadable", index, "It names no files.")
    return (index, *names)


def _named(places: Iterable[object]) -> Iterator[str]:
    """Each tensor lies in a file, or in several; "" for anything else, which is no name."""
    for one in places:
        yield from (each if isinstance(each, str) else "" for each in (one if isinstance(one, list) else (one,)))


def _is_name(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and len(name) <= _LONGEST_NAME and name.isprintable()


def weights_of(folder: Folder) -> tuple[str, ...]:
    """Names of its weights' files, with their index, as KerasHub calls them."""
    found = shards_of(folder, WEIGHTS, INDEX)
    if found[0] == INDEX and FIRST_SHARD not in found:
        folder.refuse("preset-in-part", INDEX, f"It does not name {FIRST_SHARD}, which Keras opens first.")
    return found


def check_whole(folder: Folder, weights: tuple[str, ...]) -> None:
    total = 0
    for name in weights:
        if not folder.has(name):
            folder.refuse("preset-in-part", name, f"{INDEX} names it, and it is not there.")
        folder.check_inside(name)
        if name != INDEX:
            size, told = (folder.whole / name).stat().st_size, _told_size(folder, name)
            total += size
            if size < told:
                folder.refuse("preset-in-part", name, f"It has {size:,} of the {told:,} bytes that its start names.")
    if total > MOST_READ:
        why = f"Its weights have {total:,} bytes; {MOST_READ:,} are read at most."
        folder.refuse("preset-unreadable", weights[-1], why)
    if weights[0] == INDEX:
        named = number(inner((folder.json(INDEX) or {}).get("metadata")).get("total_size"))
        if total < named:
            folder.refuse("preset-in-part", INDEX, f"Its files have {total:,} of the {named:,.0f} bytes that it names.")


def _told_size(folder: Folder, name: str) -> int:
    """Bytes of an HDF5 file, as its superblock says (HDF5 file format 3.0, II.A: "end of file address", where h5py
    writes it). 0: it does not say it there."""
    with folder.open(name) as file:
        start = file.read(64)
    if start.startswith(_LFS):
        folder.refuse("preset-in-part", name, "It is a note of Git LFS about a file that was not fetched.")
    if len(start) < 64 or not start.startswith(_HDF5):
        folder.refuse("preset-in-part", name, "It does not begin as a file of Keras weights (HDF5).")
    version = start[8]
    at, width = {0: (40, start[13]), 1: (44, start[13])}.get(version, (28, start[9]))
    return int.from_bytes(start[at : at + width], "little") if width in (4, 8) else 0


def check_tables(folder: Folder, weights: tuple[str, ...]) -> None:
    """What the HDF5 library would go through is as Keras writes it."""
    bound = hdf5.Bound()
    for name in weights:
        if name != INDEX:
            try:
                with folder.open(name) as file:
                    hdf5.check(file, bound=bound)
            except hdf5.Hdf5Error as error:
                folder.refuse("preset-unreadable", name, f"It is not as Keras writes its weights: {error}.")


def check_sums(folder: Folder, sums: Mapping[str, str]) -> None:
    """What was fetched from Hugging Face says of each large file its sha256, in a file beside the folder's own."""
    notes = folder.whole / ".cache" / "huggingface" / "download"
    for name, sha256 in sums.items():
        note = owncode.located(notes / f"{name}.metadata")
        if note is None or not note.is_relative_to(folder.whole) or not note.is_file() or note.stat().st_size > 4096:
            continue
        with open(note, encoding="utf-8", errors="replace", opener=plainly) as file:
            lines = file.read(4096).split("\n")
        if len(lines) > 1 and re.fullmatch("[0-9a-f]{64}", lines[1].strip()) and lines[1].strip() != sha256:
            folder.refuse("preset-differs", name, "It is not the file that was fetched: its sha256 is another one.")


def sha256_of(folder: Folder, name: str) -> str:
    """Of as many bytes as it has now: somebody may go on writing it."""
    found = hashlib.sha256()
    with folder.open(name) as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (data := file.read(min(left, _CHUNK))):
            found.update(data)
            left -= len(data)
    return found.hexdigest()


def flat(value: object) -> Iterator[object]:
    """Each value within lists in lists, in its order."""
    left = [iter([value])]
    while left:
        for one in left[-1]:
            if isinstance(one, list):
                left.append(iter(one))
                break
            yield one
        else:
            left.pop()


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) or entry.is_symlink()
