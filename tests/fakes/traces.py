"""Traces as a profiler writes them, in miniature: `*.xplane.pb` of given planes, lines and events.

tests/trainer/test_profile.py holds what is written here to JAX's own reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpu_studio.trainer.profile import xspace


@dataclass(frozen=True)
class Shown:
    """An event, in microseconds. *category*: XLA's, of a device; *device*: it is an operation of that processor."""

    begin: float
    lasted: float
    name: str
    category: str = ""
    device: int | None = None


Planes = Mapping[str, Mapping[str, Sequence[Shown]]]
_CATEGORY, _HLO_OP, _ORDINAL, _PROGRAM, _SYMBOL = range(1, 6)  # ids of stats
_STATS = {
    _CATEGORY: "hlo_category",
    _HLO_OP: "hlo_op",
    _ORDINAL: "device_ordinal",
    _PROGRAM: "program_id",  # these two are xprof's key of an operation
    _SYMBOL: "symbol_id",
}
BEGUN_US = 1_000_000.0


def trace(planes: Planes) -> bytes:
    return b"".join(_bytes(xspace.XSPACE["planes"], _plane(name, lines)) for name, lines in planes.items())


def on_a_tpu(*operations: Shown, host: Sequence[Shown]) -> bytes:
    return trace({"/device:TPU:0": {"XLA Ops": operations}, "/host:CPU": {"python": host}})


def example() -> bytes:
    """Steps of a TPU in 1,000 µs, its program in 740: a loop over a matrix product, a kernel of its own and an
    addition, a copy, and an exchange between chips."""
    operations = (
        Shown(100, 500, "%while.1 = (f32[8]{0}) while(%t)", "while"),
        Shown(100, 240, "%fusion.1 = bf16[8,8]{1,0} fusion(%a), kind=kOutput", "convolution fusion"),
        Shown(340, 160, "%custom-call.3 = bf16[8,8]{1,0} custom-call(%a)", "custom-call"),
        Shown(520, 70, "%fusion.2 = f32[8]{0} fusion(%a), kind=kLoop", "loop fusion"),
        Shown(610, 40, "%copy.4 = f32[8]{0} copy(%a)", "data formatting"),
        Shown(700, 120, "%all-reduce.5 = f32[8]{0} all-reduce(%a)", "all-reduce"),
    )
    modules = (Shown(90, 740, "jit_run_many(77)"),)
    lines = {"XLA Modules": modules, "XLA Ops": operations}
    return trace({"/device:TPU:0": lines, "/host:CPU": {"python": [Shown(0, 1000, xspace.STEPS)]}})


def _plane(name: str, lines: Mapping[str, Sequence[Shown]]) -> bytes:
    shown = [one for events in lines.values() for one in events]
    ids = {key: number for number, key in enumerate(dict.fromkeys((one.name, one.category) for one in shown), 1)}
    data = _bytes(xspace.XPLANE["name"], name.encode())
    for line, events in lines.items():
        data += _bytes(xspace.XPLANE["lines"], _line(line, events, ids))
    for (long, category), number in ids.items():
        data += _bytes(xspace.XPLANE["event_metadata"], _entry(number, _metadata(number, long, category)))
    for number, text in _STATS.items():
        named = _number(xspace.XSTATMETADATA["id"], number) + _bytes(xspace.XSTATMETADATA["name"], text.encode())
        data += _bytes(xspace.XPLANE["stat_metadata"], _entry(number, named))
    return data


def _line(name: str, events: Sequence[Shown], ids: Mapping[tuple[str, str], int]) -> bytes:
    data = _bytes(xspace.XLINE["name"], name.encode()) + _number(xspace.XLINE["timestamp_ns"], int(BEGUN_US * 1000))
    for one in events:
        event = _number(xspace.XEVENT["metadata_id"], ids[one.name, one.category])
        event += _number(xspace.XEVENT["offset_ps"], round(one.begin * 1e6))
        event += _number(xspace.XEVENT["duration_ps"], round(one.lasted * 1e6))
        if one.device is not None:
            op = _number(xspace.XSTAT["metadata_id"], _HLO_OP) + _bytes(xspace.XSTAT["str_value"], one.name.encode())
            which = _number(xspace.XSTAT["metadata_id"], _ORDINAL) + _number(xspace.XSTAT["int64_value"], one.device)
            event += _bytes(xspace.XEVENT["stats"], op) + _bytes(xspace.XEVENT["stats"], which)
        data += _bytes(xspace.XLINE["events"], event)
    return data


def _metadata(number: int, name: str, category: str) -> bytes:
    data = _number(xspace.XEVENTMETADATA["id"], number) + _bytes(xspace.XEVENTMETADATA["name"], name.encode())
    if name.startswith("%"):  # a line of HLO, as a TPU names its operations
        data += _bytes(xspace.XEVENTMETADATA["display_name"], name[1:].split()[0].encode())
    if category:
        stat = _number(xspace.XSTAT["metadata_id"], _CATEGORY)
        data += _bytes(xspace.XEVENTMETADATA["stats"], stat + _bytes(xspace.XSTAT["str_value"], category.encode()))
        for key, value in ((_PROGRAM, 77), (_SYMBOL, number)):
            stat = _number(xspace.XSTAT["metadata_id"], key) + _number(xspace.XSTAT["uint64_value"], value)
            data += _bytes(xspace.XEVENTMETADATA["stats"], stat)
    return data


def _entry(key: int, value: bytes) -> bytes:
    """Of a map."""
    return _number(1, key) + _bytes(2, value)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])
