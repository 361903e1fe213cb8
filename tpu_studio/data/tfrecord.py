"""TFRecord files: framing of records with masked CRC32C, written and read without TensorFlow.

A record is its length (8 bytes, little endian), the masked CRC of these 8 bytes, the bytes, and their masked CRC
(tensorflow/core/lib/io/record_writer.cc). What is in a record is `data.example`'s business.
"""

from __future__ import annotations

import hashlib
import os
import struct
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import google_crc32c
import numpy as np

from tpu_studio.data.arrays import Ints
from tpu_studio.data.paths import path_error
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import plainly

FRAME_BYTES = 16
_MASK_DELTA = 0xA282EAD8
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_FLUSH_AT = 100_000  # larger pieces come from fresh pages each time, which costs more than the calls saved


def masked_crc(data: bytes) -> int:
    crc = int(google_crc32c.value(data))
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def frame(record: bytes) -> bytes:
    """One record as it stands in a file."""
    length = _LENGTH.pack(len(record))
    return b"".join((length, _CRC.pack(masked_crc(length)), record, _CRC.pack(masked_crc(record))))


class RecordWriter:
    """Writes records to an open file in large pieces and keeps their sha256."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._sha256 = hashlib.sha256()
        self.records = self.bytes = 0

    def write(self, record: bytes) -> None:
        length = _LENGTH.pack(len(record))
        self._waiting += (length, _CRC.pack(masked_crc(length)), record, _CRC.pack(masked_crc(record)))
        self._waiting_bytes += FRAME_BYTES + len(record)
        self.records += 1
        if self._waiting_bytes >= _FLUSH_AT:
            self.flush()

    def flush(self) -> None:
        piece = b"".join(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        self._sha256.update(piece)
        self._file.write(piece)
        self.bytes += len(piece)

    @property
    def sha256(self) -> str:
        """Of all that was flushed."""
        return self._sha256.hexdigest()


def read_records(path: Path) -> Iterator[bytes]:
    """All records of a file, checked.

    Raises:
        DataError: data-shard-damaged with path, offset and why; data-missing, data-unreadable.
    """
    try:
        file = open(path, "rb", opener=plainly)  # noqa: SIM115 - closed below
    except OSError as error:
        raise path_error(path, error) from error
    with file:
        for offset, length in _frames(file, path):
            file.seek(offset)
            yield _checked(file.read(length + 4), path, offset, length)


def index_records(path: Path) -> Ints:
    """(offset of the bytes, length) of each record, (records, 2); only headers are read. Raises as `read_records`."""
    found = array("q")
    try:
        with open(path, "rb", opener=plainly) as file:
            for place in _frames(file, path):
                found.extend(place)
            return np.array(found, dtype=np.int64).reshape(-1, 2)
    except OSError as error:
        raise path_error(path, error) from error


def read_record(path: Path, offset: int, length: int) -> bytes:
    """The record at *offset*, checked. Raises as `read_records`."""
    try:
        with open(path, "rb", opener=plainly) as file:
            file.seek(offset)
            return _checked(file.read(length + 4), path, offset, length)
    except OSError as error:
        raise path_error(path, error) from error


def sha256_of(path: Path) -> str:
    with open(path, "rb", opener=plainly) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _frames(file: BinaryIO, path: Path) -> Iterator[tuple[int, int]]:
    size = os.fstat(file.fileno()).st_size
    place = 0
    while place < size:
        file.seek(place)
        head = file.read(12)
        if len(head) < 12:
            raise DataError("data-shard-damaged", path=str(path), offset=place, why="cut-off")
        (length,) = _LENGTH.unpack_from(head)
        if _CRC.unpack_from(head, 8)[0] != masked_crc(head[:8]):
            raise DataError("data-shard-damaged", path=str(path), offset=place, why="length")
        if place + FRAME_BYTES + length > size:
            raise DataError("data-shard-damaged", path=str(path), offset=place, why="cut-off")
        yield place + 12, length
        place += FRAME_BYTES + length


def _checked(data: bytes, path: Path, offset: int, length: int) -> bytes:
    record = data[:length]
    if len(data) != length + 4 or _CRC.unpack_from(data, length)[0] != masked_crc(record):
        raise DataError("data-shard-damaged", path=str(path), offset=offset, why="content")
    return record
