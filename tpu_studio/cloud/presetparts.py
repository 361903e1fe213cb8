"""The folder that a model begins from, as it travels to a rented machine: the files that are read of it, and no others.

Each goes in parts that are named by content, as data does, so that what a cut, or another run, has brought is not sent
again. All of a file is read before any of it goes: nothing travels but what was planned with.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from tpu_studio.wire import presets
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import reading

PART_BYTES, SUFFIX = 64_000_000, ".bin"
MOST_FILES = 200  # of which the machine is told in one piece of metadata (256 KiB); models of 8 GB have some twenty
_READ = 1 << 20


@dataclass(frozen=True)
class Part:
    """*size* bytes of *file* from *start* on."""

    preset: Preset
    file: str
    start: int
    size: int
    sha256: str

    @property
    def object(self) -> str:
        return f"data/{self.sha256}{SUFFIX}"

    def write(self, out: BinaryIO) -> str:
        """Its sha256. Raises ModelError ``preset-changed`` (nothing of it may go), ``preset-unreadable``; OSError."""
        found = hashlib.sha256()
        with reading.opened(self.preset, self.file) as file:
            file.seek(self.start)
            for block in _blocks(self.preset, self.file, file, self.size):
                found.update(block)
                out.write(block)
        if found.hexdigest() != self.sha256:
            raise presets.changed(self.preset)
        return self.sha256


@dataclass(frozen=True)
class Whole:
    """A file of the folder."""

    name: str
    sha256: str
    parts: Sequence[Part]

    @property
    def path(self) -> Path:
        return self.parts[0].preset.folder / self.name

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def record(self) -> dict[str, object]:
        """Of ``preset`` in ts-config, where a name is written as in an address: it may have any letters."""
        parts = [{"object": one.object, "sha256": one.sha256, "bytes": one.size} for one in self.parts]
        return {"name": quote(self.name, safe=""), "sha256": self.sha256, "bytes": self.size, "parts": parts}


def files_of(plan: Plan, heard: Callable[[], object] = lambda: None, part_bytes: int = 0) -> list[Whole]:
    """Of the folder that the plan's model begins from; [] where it begins from none. Reads all of it.

    Args:
        heard: Called now and then; whatever it raises ends the reading.

    Raises:
        ModelError: ``preset-changed``: it is not what was planned with; those of `reading.of`.
    """
    if not plan.job.model.folder:
        return []
    preset = reading.of(plan.job.model.folder, plan.job.base)
    presets.check_same(preset, plan.preset_sha256 or "none")  # a plan that somebody wrote may name any folder
    if len(preset.files) > MOST_FILES:
        why = f"It has {len(preset.files):,} files; {MOST_FILES} are brought to a rented machine at most."
        raise ModelError("preset-unreadable", path=str(preset.folder), file=preset.files[-1], why=why)
    return [_whole(preset, name, heard, part_bytes or PART_BYTES) for name in preset.files]


def _whole(preset: Preset, name: str, heard: Callable[[], object], part_bytes: int) -> Whole:
    whole, parts, start = hashlib.sha256(), list[Part](), 0
    with reading.opened(preset, name) as file:
        size = os.fstat(file.fileno()).st_size  # somebody may go on writing it
        while start < size:
            of_part, length = hashlib.sha256(), min(part_bytes, size - start)
            for block in _blocks(preset, name, file, length):
                whole.update(block)
                of_part.update(block)
                heard()
            parts.append(Part(preset, name, start, length, of_part.hexdigest()))
            start += length
    if whole.hexdigest() != preset.sums[name]:
        raise presets.changed(preset)
    return Whole(name, whole.hexdigest(), parts)


def _blocks(preset: Preset, name: str, file: BufferedReader, size: int) -> Iterator[bytes]:
    """The next *size* bytes, or as many as there are."""
    while size:
        try:
            block = file.read(min(_READ, size))
        except OSError as error:
            raise ModelError("preset-unreadable", path=str(preset.folder), file=name, why=error.strerror) from error
        if not block:
            return
        size -= len(block)
        yield block
