"""TensorBoard event files, written by hand: TFRecord framing around ``tensorflow.Event`` messages.

Formats: tensorflow/core/lib/io/record_writer.h (length, masked CRC32C of the length, bytes, masked CRC32C of the bytes)
and tensorflow/core/util/event.proto. All records that hold the same metrics are equally long, because the step's varint
is padded to five bytes, which every protobuf reader takes; so a million of them are columns of one numpy array.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tpu_studio.trainer.result.points import Points

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

VERSION = b"brain.Event:2"
BYTES_AT_ONCE = 16 << 20
MOST_BYTES = 256 << 20  # of records with the same metrics; TensorBoard itself draws a thousand points of each
RECORD_BYTES, VALUE_BYTES = 40, 13  # besides names, about
STEP_BYTES = 5
_SETS = 32  # of metrics that are reported together
_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_MASK_DELTA = 0xA282EAD8


def write_events(folder: Path, points: Points) -> Path:
    """One events file in *folder*; each metric keeps its own name as its tag."""
    folder.mkdir(parents=True, exist_ok=True)
    began = float(points.times[0]) if len(points.times) else time.time()
    path = folder / f"events.out.tfevents.{int(began):010d}.tpu-studio"
    names = list(points.columns)
    with open(path, "wb") as file:
        file.write(framed(_rows([struct.pack("<Bd", 0x09, began) + bytes([0x1A, len(VERSION)]) + VERSION])))
        for there, rows in _alike(points) if names else []:
            each = sum(len(name.encode()) + VALUE_BYTES for name in there) + RECORD_BYTES
            rows = rows[:: -1 - len(rows) * each // MOST_BYTES][::-1]  # the last is among them
            at_once = max(1, BYTES_AT_ONCE // each)
            for start in range(0, len(rows), at_once):
                file.write(framed(events(points, there, rows[start : start + at_once])))
    return path


def _alike(points: Points) -> Iterator[tuple[list[str], Rows]]:
    """Names of metrics, and the rows whose records hold those: each row's all in one, or one metric in each where
    there are more sets of them than metrics, as a file of somebody else's may have."""
    names = list(points.columns)
    pattern = np.packbits(np.stack([points.present[name] for name in names], axis=1), axis=1)
    kinds, kind_of = np.unique(pattern, axis=0, return_inverse=True)
    if len(kinds) > max(_SETS, len(names)):
        yield from (([name], np.flatnonzero(points.present[name])) for name in names)
        return
    for kind in range(len(kinds)):
        rows = np.flatnonzero(kind_of.ravel() == kind)
        yield [name for name in names if points.present[name][rows[0]]], rows


def events(points: Points, names: list[str], rows: Rows) -> Bytes:
    """``Event{wall_time=1, step=2, summary=5{value=1{tag=1, simple_value=2}}}`` for each row: one message a row."""
    parts: list[Any] = [b"\x09", _bytes_of(points.times[rows], "<f8"), b"\x10", _varints(points.steps[rows])]
    values: list[Any] = []
    for name in names:
        tag = name.encode()
        head = b"\x0a" + _varint(len(tag)) + tag + b"\x15"
        values += [b"\x0a" + _varint(len(head) + 4) + head, _bytes_of(points.columns[name][rows], "<f4")]
    length = sum(len(value) if isinstance(value, bytes) else value.shape[1] for value in values)
    parts += [b"\x2a" + _varint(length), *values]
    columns = [
        np.broadcast_to(np.frombuffer(part, np.uint8), (len(rows), len(part))) if isinstance(part, bytes) else part
        for part in parts
    ]
    return np.concatenate(columns, axis=1)


def framed(records: Bytes) -> bytes:
    """Equally long records, N × L, as they stand in a TFRecord file."""
    count, size = records.shape
    length = struct.pack("<Q", size)
    head = np.frombuffer(length + struct.pack("<I", int(_masked(crc32c(_rows([length])))[0])), np.uint8)
    tail = _bytes_of(_masked(crc32c(records)), "<u4")
    return np.concatenate([np.broadcast_to(head, (count, 12)), records, tail], axis=1).tobytes()


def crc32c(records: Bytes) -> npt.NDArray[np.uint32]:
    """CRC-32C of each row, all rows at once, byte by byte through the usual table."""
    crc = np.full(len(records), 0xFFFFFFFF, np.uint32)
    for byte in records.T:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def _masked(crc: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    wide = crc.astype(np.uint64)
    turned = ((wide >> np.uint64(15)) | (wide << np.uint64(17))) & np.uint64(0xFFFFFFFF)
    return ((turned + np.uint64(_MASK_DELTA)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _table() -> npt.NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> np.uint32(1)) ^ np.uint32(_POLYNOMIAL), table >> np.uint32(1)).astype(
            np.uint32
        )
    return table


_TABLE = _table()


def _rows(records: list[bytes]) -> Bytes:
    return np.stack([np.frombuffer(record, np.uint8) for record in records])


def _bytes_of(values: npt.NDArray[Any], kind: str) -> Bytes:
    with np.errstate(over="ignore"):  # a loss beyond float32 is shown as infinite
        return np.ascontiguousarray(values.astype(kind)).view(np.uint8).reshape(len(values), -1)


def _varints(steps: npt.NDArray[np.int64]) -> Bytes:
    """Steps below 2³⁵ as five bytes, seven bits each, lowest first, the upper bit set on all but the last."""
    groups = (steps[:, None] >> (7 * np.arange(STEP_BYTES))) & 0x7F
    groups[:, :-1] |= 0x80
    return groups.astype(np.uint8)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
