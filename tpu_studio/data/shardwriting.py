"""Writes one shard: the part of a conversion that runs in several processes.

A `ShardTask` carries all that a fresh process needs (nothing is inherited), `write_shard` does the work and returns
what `dataset.json` says about the shard. A shard appears under its name only when all of it is written; it is not
synced to the disk, since resuming and reading verify its checksums.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from tpu_studio.data import example, links
from tpu_studio.data.arrays import Array
from tpu_studio.data.imagecost import MOST_PIXELS
from tpu_studio.data.imaging import DECODED, BrokenImage, as_png, decode, open_image, png_of
from tpu_studio.data.quickheader import quick_header
from tpu_studio.data.tfrecord import RecordWriter
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.heldfolder import HeldFolder

MOST_BYTES = 16 * 2**20
"""A picture whose file is larger is stored at the size the model sees: many records must fit in memory."""
STOP_NAME = ".stop"
MOST_READ = 512 * 2**20  # of a picture's file; what is cut off there is broken
_STORED_AS_IS = {"JPEG": b"jpeg", "PNG": b"png"}


@dataclass(frozen=True)
class ShardTask:
    """One shard to write.

    Attributes:
        split, number, of: Make its name.
        weight: Bytes of its source, for progress.
        files: (path, name, indices of its class, or of its labels) of pictures below *root*; or
        arrays: "x" and "y" of encoded rows; or pixels and labels of digits; or "text" tokens.
        decoded: Pictures are stored as pixels, as they are trained with.
        same: `HeldFolder.identity` of the folder that is filled: no other that takes its name meanwhile is.
    """

    folder: str
    split: str
    number: int
    of: int
    kind: str
    classes: tuple[str, ...]
    weight: int
    shape: tuple[int, ...] = ()
    files: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    arrays: dict[str, Array] = field(default_factory=dict)
    decoded: bool = False
    same: tuple[int, int] | None = None
    root: str = ""

    @property
    def name(self) -> str:
        return f"{self.split}-{self.number:05d}-of-{self.of:05d}.tfrecord"


def ready() -> None:
    """Nothing: a first task, for which a process starts and imports what the others need."""


def write_shard(task: ShardTask, cancelled: Callable[[], bool] | None = None) -> dict[str, object]:
    """Write the shard and tell: name, split, examples, bytes, sha256, classes, broken, reencoded.

    Raises:
        DataError: data-disk-full, data-destination-unwritable.
        Cancelled: *cancelled* said so, or (from another process) a file named `STOP_NAME` appeared in the folder.
    """
    stop = Path(task.folder, STOP_NAME)
    watch = Watch(None, lambda: stop.exists() or (cancelled is not None and cancelled()))
    folder, part = Path(task.folder), PurePath(f"{task.name}.part")
    told: dict[str, object] = {"name": task.name, "split": task.split, "broken": [], "reencoded": 0, "shrunk": 0}
    classes: Counter[str] = Counter()
    try:
        with HeldFolder(folder, task.same) as held:
            held.remove(part)  # of a conversion that was killed
            try:
                with held.create(part) as file:
                    writer = RecordWriter(file)
                    _write(task, writer, told, classes, watch)
                    writer.flush()
                held.replace(part, task.name)
            except BaseException:
                held.remove(part)
                raise
    except OSError as error:
        raise destination_error(folder, error) from error
    return told | {
        "examples": writer.records,
        "bytes": writer.bytes,
        "sha256": writer.sha256,
        "classes": dict(sorted(classes.items())),
    }


def _write(task: ShardTask, writer: RecordWriter, told: dict[str, Any], classes: Counter[str], watch: Watch) -> None:
    kind = kinds.by_id(task.kind)
    if kind.has_picture_files:
        _write_images(task, writer, told, classes, watch)
    elif kind.has_pictures:
        _write_digits(task, writer, classes)
    elif kind.has_rows:
        _write_rows(task, writer, classes, watch)
    else:
        _write_text(task, writer)


def destination_error(folder: Path, error: OSError) -> DataError:
    """What a failed write into *folder* means."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DataError("data-disk-full", path=str(folder), raw=str(error))
    return DataError("data-destination-unwritable", path=str(folder), raw=str(error))


def _write_images(
    task: ShardTask, writer: RecordWriter, told: dict[str, Any], classes: Counter[str], watch: Watch
) -> None:
    for done, (path, name, labels) in enumerate(task.files):
        if done % 256 == 0:
            watch.check()
        try:
            try:
                data = links.content(Path(task.root), Path(path), MOST_READ)
            except OSError as error:
                raise BrokenImage("unreadable") from error
            data, kind, width, height = _stored(data, task, told)
        except BrokenImage as error:
            told["broken"].append([name, error.why])
            continue
        classes.update(task.classes[label] for label in labels)
        writer.write(_image_example(data, kind, width, height, labels, task.classes, name))


def _stored(data: bytes, task: ShardTask, told: dict[str, Any]) -> tuple[bytes, bytes, int, int]:
    """The bytes to store, their format, width and height. Raises `BrokenImage`."""
    if task.decoded:
        return decode(data, task.shape[0], task.shape[2]).tobytes(), DECODED, task.shape[0], task.shape[0]
    quick = quick_header(data, whole=True)
    if quick is not None and len(data) <= MOST_BYTES and quick.width * quick.height <= MOST_PIXELS:
        return data, _STORED_AS_IS[quick.format], quick.width, quick.height
    if not data:
        raise BrokenImage("empty-file")
    pixels = decode(data, task.shape[0], task.shape[2])  # a broken picture shows here
    if len(data) > MOST_BYTES:
        told["shrunk"] += 1
        return png_of(pixels), b"png", task.shape[0], task.shape[0]
    with open_image(data) as image:
        kept = _STORED_AS_IS.get(image.format or "")
        plain = image.mode in ("RGB", "L") and "transparency" not in image.info and not getattr(image, "is_animated", 0)
        if kept and plain:
            return data, kept, image.width, image.height
        size = image.size
    told["reencoded"] += 1
    png = as_png(data)
    if len(png) > MOST_BYTES:
        told["shrunk"] += 1
        return png_of(pixels), b"png", task.shape[0], task.shape[0]
    return png, b"png", size[0], size[1]


def _image_example(
    data: bytes, kind: bytes, width: int, height: int, labels: tuple[int, ...], names: tuple[str, ...], name: str
) -> bytes:
    """`example.encode` of a picture's features, with the parts that recur made once (a fifth of the time)."""
    return example.of_entries(
        (
            _labels_entry(labels),
            _texts_entry(tuple(names[label] for label in labels)),
            example.entry_head("image/encoded", len(data)),
            data,
            example.entry("image/filename", name.encode("utf-8", "surrogateescape")),
            _format_entry(kind),
            _number_entry("image/height", height),
            _number_entry("image/width", width),
        )
    )


@lru_cache(4096)
def _number_entry(name: str, value: int) -> bytes:
    return example.entry(name, np.array([value]))


@lru_cache(4096)
def _labels_entry(labels: tuple[int, ...]) -> bytes:
    return example.entry("image/class/label", np.array(labels, dtype=np.int64))


@lru_cache(4096)
def _texts_entry(names: tuple[str, ...]) -> bytes:
    return example.entry("image/class/text", [name.encode("utf-8", "surrogateescape") for name in names])


@lru_cache(4)
def _format_entry(kind: bytes) -> bytes:
    return example.entry("image/format", kind)


def _write_digits(task: ShardTask, writer: RecordWriter, classes: Counter[str]) -> None:
    for done, (pixels, label) in enumerate(zip(task.arrays["x"], task.arrays["y"].tolist(), strict=True)):
        classes[task.classes[label]] += 1
        side = pixels.shape[0]
        record = _image_example(png_of(pixels), b"png", side, side, (label,), task.classes, f"{task.split}-{done}")
        writer.write(record)


def _write_rows(task: ShardTask, writer: RecordWriter, classes: Counter[str], watch: Watch) -> None:
    targets = task.arrays["y"]
    for done, row in enumerate(task.arrays["x"]):
        if done % 4096 == 0:
            watch.check()
        target = targets[done : done + 1]
        if task.classes:
            classes[task.classes[int(target[0])]] += 1
        writer.write(example.encode({"x": row, "y": target}))


def _write_text(task: ShardTask, writer: RecordWriter) -> None:
    tokens = task.arrays["text"]
    for start in range(0, len(tokens), 65_536):
        writer.write(example.encode({"text": tokens[start : start + 65_536].tobytes()}))
