"""The file that the profilers of JAX and TensorFlow write, `*.xplane.pb`: as much of it as shares of time need.

It is a protocol buffer of type XSpace (tsl/profiler/protobuf/xplane.proto): planes (a device, the host) of lines (a
thread, a queue of the device) of events with a begin and a duration. JAX has a reader of its own
(``jax.profiler.ProfileData``), which leaves out what stands beside an operation's name, its category among it, and
TensorFlow has none; so the wire format is read here, with the standard library alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

OURS = "tpu-studio "  # with this begin the names of what the loop marks
STEPS, WAIT = f"{OURS}steps", f"{OURS}wait"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types; the others are not in use
# Numbers of the fields, as tests/trainer/test_profile.py compares them with TensorFlow's own description.
XSPACE = {"planes": 1}
XPLANE = {"name": 2, "lines": 3, "event_metadata": 4, "stat_metadata": 5}
XLINE = {"name": 2, "timestamp_ns": 3, "events": 4}
XEVENT = {"metadata_id": 1, "offset_ps": 2, "duration_ps": 3, "stats": 4}
XEVENTMETADATA = {"id": 1, "name": 2, "display_name": 4, "stats": 5}
XSTATMETADATA = {"id": 1, "name": 2}
XSTAT = {"metadata_id": 1, "uint64_value": 3, "int64_value": 4, "str_value": 5, "ref_value": 7}
_MAP_KEY, _MAP_VALUE = 1, 2


@dataclass(frozen=True)
class Operation:
    """What is said of each kind of event once.

    Attributes:
        shown: Its short name where *name* is longer, as a whole line of HLO.
        category: XLA's, only on devices.
        compiled: It is an operation of XLA's.
    """

    name: str
    shown: str = ""
    category: str = ""
    compiled: bool = False


@dataclass(frozen=True)
class Mark:
    """An event: picoseconds since the trace's beginning. *device*: which one, of those that are processors."""

    begin: int
    end: int
    operation: Operation
    device: int = 0


@dataclass
class Line:
    name: str
    marks: list[Mark] = field(default_factory=list)


@dataclass
class Plane:
    name: str
    lines: list[Line] = field(default_factory=list)


def read(data: bytes) -> list[Plane]:
    """Raises ValueError when *data* is no XSpace or is cut short."""
    try:
        return [_plane(value) for number, value in _fields(data) if number == XSPACE["planes"]]
    except (LookupError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"no trace: {type(error).__name__}: {error}") from error


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field of a message; of fixed sizes the bytes."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        value: int | bytes
        if kind == _VARINT:
            value, at = _varint(data, at)
        else:
            if kind == _BYTES:
                size, at = _varint(data, at)
            elif kind in (_FIXED64, _FIXED32):
                size = 8 if kind == _FIXED64 else 4
            else:
                raise ValueError(f"wire type {kind}")
            if at + size > end:
                raise ValueError("it is cut short")
            value, at = data[at : at + size], at + size
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:  # most of them
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7


def _plane(data: int | bytes) -> Plane:
    plane, lines, metadata, names = Plane(""), [], [], {}
    for number, value in _fields(data):  # type: ignore[arg-type]
        if number == XPLANE["name"]:
            plane.name = _text(value)
        elif number == XPLANE["lines"]:
            lines.append(value)
        elif number == XPLANE["event_metadata"]:
            metadata.append(value)
        elif number == XPLANE["stat_metadata"]:
            inner = dict(_fields(dict(_fields(value))[_MAP_VALUE]))  # type: ignore[arg-type]
            names[inner.get(XSTATMETADATA["id"], 0)] = _text(inner.get(XSTATMETADATA["name"], b""))
    operations = dict(_operation(value, names) for value in metadata)
    ids = {name: id for id, name in names.items()}
    plane.lines = [_line(value, operations, ids) for value in lines]
    return plane


def _operation(data: int | bytes, names: dict[int | bytes, str]) -> tuple[int, Operation]:
    told: dict[str, str] = {}
    id, category = 0, ""
    for number, value in _fields(dict(_fields(data))[_MAP_VALUE]):  # type: ignore[arg-type]
        if number == XEVENTMETADATA["id"]:
            id = int(value)
        elif number in (XEVENTMETADATA["name"], XEVENTMETADATA["display_name"]):
            told["shown" if number == XEVENTMETADATA["display_name"] else "name"] = _text(value)
        elif number == XEVENTMETADATA["stats"]:
            stat = dict(_fields(value))  # type: ignore[arg-type]
            if names.get(stat.get(XSTAT["metadata_id"], 0)) == "hlo_category":
                category = _string(stat, names)
    name = told.get("name", "")
    return id, Operation(name, told.get("shown") or name, category, bool(category))


def _string(stat: dict[int, int | bytes], names: dict[int | bytes, str]) -> str:
    """Its value, which may stand among the names."""
    given = stat.get(XSTAT["str_value"])
    return _text(given) if given is not None else names.get(stat.get(XSTAT["ref_value"], 0), "")


def _line(data: int | bytes, operations: dict[int, Operation], ids: dict[str, int | bytes]) -> Line:
    line, events, begun = Line(""), [], 0
    for number, value in _fields(data):  # type: ignore[arg-type]
        if number == XLINE["events"]:
            events.append(value)
        elif number == XLINE["name"]:
            line.name = _text(value)
        elif number == XLINE["timestamp_ns"]:
            begun = int(value) * 1000
    compiled, device = ids.get("hlo_op"), ids.get("device_ordinal")
    known: dict[int, Operation] = {}
    for event in events:
        id = offset = lasted = which = 0
        is_compiled = False
        for number, value in _fields(event):  # type: ignore[arg-type]
            if number == XEVENT["metadata_id"]:
                id = int(value)
            elif number == XEVENT["offset_ps"]:
                offset = int(value)
            elif number == XEVENT["duration_ps"]:
                lasted = int(value)
            elif number == XEVENT["stats"] and (compiled is not None):
                stat = dict(_fields(value))  # type: ignore[arg-type]
                about = stat.get(XSTAT["metadata_id"])
                is_compiled = is_compiled or about == compiled
                if about == device:
                    which = int(stat.get(XSTAT["uint64_value"], stat.get(XSTAT["int64_value"], 0)))
        operation = operations.get(id, Operation(""))
        if is_compiled and not operation.compiled:
            operation = known.setdefault(id, replace(operation, compiled=True))
        line.marks.append(Mark(begun + offset, begun + offset + lasted, operation, which))
    return line


def _text(value: int | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
