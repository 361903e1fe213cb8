"""tf.train.Example by hand: a record of named lists of bytes, floats or whole numbers, in protocol buffer encoding.

    Example   { Features features = 1; }          Feature { BytesList = 1 | FloatList = 2 | Int64List = 3 }
    Features  { map<string, Feature> feature = 1; }   each list: repeated value = 1 (numbers packed)

(tensorflow/core/example/example.proto and feature.proto.) Keys are written in sorted order, so equal examples are
equal bytes. The reader also takes numbers that are not packed, and skips what it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np

from tpu_studio.data.arrays import Floats, Ints

Value: TypeAlias = "bytes | list[bytes] | Floats | Ints"
T = TypeVar("T")
MOST_FEATURES = 1_000  # of an example: ours have a dozen at most
MOST = 1_000_000  # whole numbers, or strings of bytes, of a feature: a record of ours has some
_BYTES, _FLOATS, _INTS = b"\x0a", b"\x12", b"\x1a"


class BrokenExample(ValueError):
    """The bytes are no Example."""


def encode(features: Mapping[str, Value]) -> bytes:
    """An Example; bytes stand for a list of one. Float arrays become float32, other arrays int64."""
    return of_entries([entry(name, features[name]) for name in sorted(features)])


def of_entries(entries: Sequence[bytes]) -> bytes:
    """An Example of entries that `entry` made, given in the order of their names (or pieces of them, in order)."""
    return b"".join((b"\x0a", _varint(sum(map(len, entries))), *entries))


def entry(name: str, value: Value) -> bytes:
    """One feature as an entry of the map; equal ones can be made once and used for many examples."""
    if isinstance(value, bytes):
        return entry_head(name, len(value)) + value
    if isinstance(value, list):
        body = b"".join(b"\x0a" + _varint(len(item)) + item for item in value)
        return _head(name, _BYTES, len(body)) + body
    if value.dtype.kind == "f":
        packed = value.astype("<f4", copy=False).tobytes()
        kind = _FLOATS
    else:
        packed = b"".join(_varint(int(item) & 0xFFFFFFFFFFFFFFFF) for item in value.ravel().tolist())
        kind = _INTS
    size = _varint(len(packed))
    return b"".join((_head(name, kind, 1 + len(size) + len(packed)), b"\x0a", size, packed))


def entry_head(name: str, length: int) -> bytes:
    """What stands before one value of *length* bytes: `entry_head(name, len(value)) + value` is its entry."""
    size = _varint(length)
    return b"".join((_head(name, _BYTES, 1 + len(size) + length), b"\x0a", size))


def _head(name: str, kind: bytes, length: int) -> bytes:
    """Tags and lengths of an entry, down to its list, which has *length* bytes."""
    key = name.encode("utf-8")
    body = _varint(length)
    feature = 1 + len(body) + length
    feature_size = _varint(feature)
    whole = 1 + len(_varint(len(key))) + len(key) + 1 + len(feature_size) + feature
    return b"".join((b"\x0a", _varint(whole), b"\x0a", _varint(len(key)), key, b"\x12", feature_size, kind, body))


def decode(data: bytes) -> dict[str, list[bytes] | Floats | Ints]:
    """Name → list of bytes, float32 array or int64 array. Raises `BrokenExample`."""
    found: dict[str, list[bytes] | Floats | Ints] = {}
    try:
        for number, features in _fields(memoryview(data)):
            if number != 1 or not isinstance(features, memoryview):
                continue
            _fill(found, features)
    except (IndexError, UnicodeDecodeError, ValueError) as error:
        raise BrokenExample(str(error)) from error
    return found


def decode_start(data: bytes) -> dict[str, list[bytes] | Floats | Ints]:
    """As `decode`, of the beginning of an Example: the features that lie wholly within it."""
    found: dict[str, list[bytes] | Floats | Ints] = {}
    try:
        _, place = _read_varint(memoryview(data), 1)
        _fill(found, memoryview(data)[place:])
    except (IndexError, UnicodeDecodeError, ValueError):
        return found  # here it was cut; what is wrong with it shows when all of it is read
    return found


def _fill(found: dict[str, list[bytes] | Floats | Ints], features: memoryview) -> None:
    """Raises ValueError: they are more than any example of ours has."""
    for number, (inner, entry) in enumerate(_fields(features)):
        if number >= MOST_FEATURES:
            raise ValueError(f"an example of more than {MOST_FEATURES:,} features")
        if inner == 1 and isinstance(entry, memoryview):
            name, value = _entry(entry)
            found[name] = value


def _entry(entry: memoryview) -> tuple[str, list[bytes] | Floats | Ints]:
    name, value = "", memoryview(b"")
    for number, field in _fields(entry):
        if isinstance(field, memoryview):
            if number == 1:
                name = str(field, "utf-8")
            elif number == 2:
                value = field
    for number, body in _fields(value):
        if not isinstance(body, memoryview):
            continue
        if number == 1:
            items = [bytes(item) for _, item in islice(_fields(body), MOST + 1) if isinstance(item, memoryview)]
            return name, _some(items)
        if number == 2:
            # Packed runs and single values alike are whole 4-byte floats.
            packed = b"".join(bytes(item) for _, item in _fields(body, fixed=True) if isinstance(item, memoryview))
            return name, np.frombuffer(packed, dtype="<f4").astype(np.float32)
        if number == 3:
            return name, _ints(body)
    return name, []


def _some(values: list[T]) -> list[T]:
    """*values*, if they are no more than a feature of ours may have. Raises ValueError."""
    if len(values) > MOST:
        raise ValueError(f"a feature of more than {MOST:,} values")
    return values


def _ints(body: memoryview) -> Ints:
    values: list[int] = []
    for _, item in islice(_fields(body), MOST + 1):
        if isinstance(item, memoryview):
            place = 0
            while place < len(item) and len(values) <= MOST:
                value, place = _read_varint(item, place)
                values.append(value)
        else:
            values.append(item)
        _some(values)
    return np.array(values, dtype=np.uint64).astype(np.int64)


def _fields(data: memoryview, *, fixed: bool = False) -> Iterator[tuple[int, memoryview | int]]:
    """(field number, bytes or whole number); fixed-size fields are skipped unless *fixed*."""
    place = 0
    while place < len(data):
        tag, place = _read_varint(data, place)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("field 0")
        if wire == 0:
            value, place = _read_varint(data, place)
            yield number, value
        elif wire in (1, 2, 5):
            length = 8 if wire == 1 else 4
            if wire == 2:
                length, place = _read_varint(data, place)
            if place + length > len(data):
                raise ValueError("a field reaches beyond the end")
            if wire == 2 or (wire == 5 and fixed):
                yield number, data[place : place + length]
            place += length
        else:
            raise ValueError(f"wire type {wire}")


def _read_varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _varint(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


_ONE_BYTE = [bytes((value,)) for value in range(128)]
