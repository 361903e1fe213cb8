"""Whether parsed JSON has the shape that a record declares: another program, or a person's editor, may have written it.

`fits` goes by the annotations that our frozen records have anyway, so nothing is written twice.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

LARGEST = 2**53
"""Whole numbers beyond are no counts of anything: other programs cannot even write them exactly."""


def fits(value: object, declared: Any) -> bool:
    """Whether *value* is what *declared* says: str, int, float, bool, None, tuple, Mapping, a record, one of some."""
    kind, inner = get_origin(declared) or declared, get_args(declared)
    if declared in (Any, object):
        return True
    if kind in (types.UnionType, Union):
        return any(fits(value, one) for one in inner)
    if kind is tuple:
        return _is_tuple(value, inner)
    if kind is Mapping:
        return (
            isinstance(value, dict)
            and all(isinstance(key, str) for key in value)
            and (inner[1] in (Any, object) or all(fits(one, inner[1]) for one in value.values()))
        )
    if is_dataclass(kind):
        return isinstance(value, kind) and all(fits(getattr(value, name), hint) for name, hint in _hints(kind))  # type: ignore[arg-type]
    if kind in (int, float):
        return _is_count(value) or (kind is float and isinstance(value, float))
    if kind is str:
        return isinstance(value, str) and _can_be_written(value)
    return value is None if kind is types.NoneType else isinstance(value, kind)


def _is_tuple(value: object, items: tuple[object, ...]) -> bool:
    if not isinstance(value, (tuple, list)):
        return False
    if len(items) == 2 and items[1] is Ellipsis:
        return all(fits(one, items[0]) for one in value)
    return len(value) == len(items) and all(fits(one, hint) for one, hint in zip(value, items, strict=True))


def _can_be_written(text: str) -> bool:
    """Half characters that JSON can hold but no file can; the bytes of a file's name that is no UTF-8 are fine."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST


@cache
def _hints(record: Any) -> tuple[tuple[str, object], ...]:
    hints = get_type_hints(record)
    return tuple((item.name, hints[item.name]) for item in fields(record))
