"""Events: one JSON object a line, appended and never changed; their codec and how a file of them is read.

Used by the trainer and the guardian, which write them, and by whoever watches a run. Kinds and fields are
listed in the blueprint (`phase metric speed device checkpoint notice log money intent end`, and `outcome`, the
trainer's last word to its guardian). Unknown kinds and fields are kept. Non-finite numbers travel as the
strings "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from tpu_studio.wire.brief import brief_fields
from tpu_studio.wire.jsonfile import counts

SEAL = "seal"
"""Of a line: whose it is (`workflow.seals`). No reader of events has to do with it."""
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
LINE_BYTES = 16 << 20  # no longer line is read as an event; a guardian writes half of it at most
DEEPEST = 16  # levels of lists and objects in an event; ours have three
_LISTS, _VALUES = 20_000, 2_000_000  # of an event; of a million steps at once there are as many values
_ITEMS = 20_000  # of one list or object, but where points are told many at once; ours have thirty
_MANY_AT_ONCE = ("metric", "speed")
_ODD = re.compile(r"\\u[dD][89a-fA-F]|\d[eE]\+?\d{2}|(?<!\d)\d{300}")  # half a letter, a number beyond all
_LATEST = 1e11  # seconds since 1970: no time is beyond it, whatever a file says


@dataclass(frozen=True)
class Event:
    """One event: ``t`` in seconds since 1970 (UTC), its kind, and its other fields with numbers restored."""

    t: float
    kind: str
    fields: Mapping[str, object]

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)


def event(kind: str, *, t: float | None = None, **fields: object) -> dict[str, object]:
    """A new event as a plain dict; *t* is now unless given."""
    return {"t": round(time.time() if t is None else t, 3), "kind": kind, **fields}


def encode(record: Mapping[str, object]) -> bytes:
    """One line with its newline, non-finite numbers as words. Raises TypeError on what JSON cannot hold."""
    try:
        text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_to_words(record), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def decode(line: bytes | str) -> Event | None:
    """The event in *line*, or None when it is no event (torn, empty, not an object, not `is_modest`).

    The JSON of RFC 8259 and no more, as quick parsers have it: who acts on an event and who shows it read the same.
    """
    if not is_modest(line):
        return None
    try:
        text = line if isinstance(line, str) else line.decode()
        odd = _ODD.search(text) is not None
        numbers: dict[str, Any] = {"parse_int": _whole, "parse_float": _finite} if odd else {}
        record = json.loads(text, parse_constant=_refuse, **numbers)
        if odd:
            json.dumps(record, ensure_ascii=False).encode()  # half a surrogate is no letter
    except (ValueError, RecursionError):
        return None
    return from_record(record) if is_spelled(line, record) else None


def is_modest(line: bytes | str) -> bool:
    """Whether *line* has no more lists, objects and values than any event: sixteen megabytes of empty lists take a
    gigabyte to be read, and whoever shares a run may have written them."""
    if len(line) < 2 * _LISTS:
        return True
    lists, values = counts(line)
    return lists <= _LISTS and values <= _VALUES


def lines_in(file: BinaryIO) -> Iterator[bytes]:
    """The lines of *file*; what is longer than any event is passed over."""
    while line := file.readline(LINE_BYTES):
        if len(line) < LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while (rest := file.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
            pass


def _refuse(constant: str) -> object:
    """NaN is no JSON: `encode` writes it as a word."""
    raise ValueError(constant)


def _whole(digits: str) -> int:
    _finite(digits)
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(digits)
    return value


def is_spelled(line: bytes | str, record: object) -> bool:
    """Whether the kind of *record*, which was parsed from *line*, stands there in plain letters, as we write it. Who
    looks for the letters and who parses all then find the same events: ``"\\u0065nd"`` is none."""
    line = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    if b"\\u" not in line or not isinstance(record, dict):
        return True
    return b'"kind"' in line and f'"{record.get("kind")}"'.encode("utf-8", "surrogatepass") in line


def is_time(value: object) -> bool:
    """Whether *value* is a time in seconds since 1970 that a clock can show; a file may say anything."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LATEST < value < _LATEST


def from_record(record: object) -> Event | None:
    """The event in an already parsed JSON value; None when it is no event (its time must be one, and its fields nested
    no deeper than `DEEPEST`, and no list but of points longer than any of ours). Texts in it are cut to
    `TEXT_LETTERS`: whoever wrote them, they are shown."""
    if not isinstance(record, dict):
        return None
    kind, t = record.get("kind"), record.get("t", "")
    if not isinstance(kind, str) or not is_time(t):
        return None
    fields = {key: value for key, value in record.items() if key not in ("t", "kind", SEAL)}
    if not _is_within(fields, DEEPEST, _VALUES if kind in _MANY_AT_ONCE else _ITEMS):
        return None
    fields = brief_fields(fields)
    if kind in ("metric", "speed", "end", "outcome", "notice"):
        fields = {key: _from_words(value) for key, value in fields.items()}
    return Event(float(t), kind, fields)


def _is_within(value: object, levels: int, items: int) -> bool:
    """Whether *value* is nested at most so deep, with at most so many *items* in each list: who reads events walks them
    by recursion, and who shows them puts lists into words."""
    if not isinstance(value, (dict, list)):
        return True
    inside = value.values() if isinstance(value, dict) else value
    return (
        levels > 0
        and len(value) <= items
        and all(_is_within(inner, levels - 1, items) for inner in inside if isinstance(inner, (dict, list)))
    )


def complete_lines(chunk: bytes) -> tuple[list[bytes], int]:
    """The complete lines in *chunk* and how many bytes they take; a torn last line is left for later."""
    end = chunk.rfind(b"\n") + 1
    return chunk[:end].split(b"\n")[:-1], end


def _to_words(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {key: _to_words(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_words(inner) for inner in value]
    return value


def _from_words(value: object) -> object:
    if isinstance(value, str):
        return _WORDS.get(value, value)
    if isinstance(value, list):
        return [_WORDS.get(inner, inner) if isinstance(inner, str) else inner for inner in value]
    if isinstance(value, dict):
        return {key: _from_words(inner) for key, inner in value.items()}
    return value
