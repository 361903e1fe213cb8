"""JSON from callers: what is no JSON, or nothing that a reply could hold, is refused before anybody looks into it."""

from __future__ import annotations

import json
import math
from typing import Any

DEEPEST = 100
"""Levels: protobuf's own limit (``CodedInputStream::GetDefaultRecursionLimit``), by which Google reads JSON."""


def read(data: bytes) -> Any:
    """Raises ValueError: no JSON in UTF-8, NaN and infinite numbers, half of a surrogate pair, too deep."""
    try:
        value = json.loads(data or b"{}", parse_constant=_no_number, parse_float=_finite)
        if b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _levels(value) > DEEPEST:
        raise ValueError("it is nested too deeply")
    return value


def _levels(value: object) -> int:
    levels, inside = 0, [value]
    while inside:
        nested = [one for one in inside if isinstance(one, (dict, list))]
        inside = [item for one in nested for item in (one.values() if isinstance(one, dict) else one)]
        levels += bool(nested)
    return levels


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    """A number with a point or an exponent; ``1e999`` would be infinite."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large a number")
    return value
