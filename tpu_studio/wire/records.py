"""Records and their JSON by the annotations of their dataclass: a field is a key, so no key lives twice.

Used where a record crosses machines: what is frozen in `plan.json`, what a program of ours answers. Within a process
the records themselves go round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tpu_studio.wire.shapes import fits

Json = Mapping[str, object]  # an object of JSON whose values are still to be looked at
T = TypeVar("T")
AT_MOST = 10_000
"""Entries of a list or table within a record: a few hundred places are the most that we write."""
_Reader = Callable[[str, object], object]


def to_json(record: object) -> dict[str, object]:
    """The fields in their order. Those with a default that hold it are left away."""
    tree, kind = {}, _hashable(type(record))
    for name, default in _defaults(kind):
        value = getattr(record, name)
        if default is MISSING or value != default:
            tree[name] = _plain(value)
    return tree


def read(kind: type[T], tree: object, name: str, *, missing: T | None = None) -> T:
    """The record of *kind* in *tree*, the value of *name*; keys that it has no field for are passed over.

    Args:
        missing: What fields are that *tree* has not; without it their defaults, and None where they may be.

    Raises:
        ValueError: *tree* is no object, lacks a field or has one of another type, which is named.
    """
    values = record_of(name, tree)
    found = {}
    for field, may_be_none, default, reader in _readers(_hashable(kind)):
        if field in values:
            found[field] = reader(f"{name}.{field}", values[field])
        elif missing is not None:
            found[field] = getattr(missing, field)
        elif default is MISSING and not may_be_none:
            raise ValueError(f"{name} has no {field}")
        elif default is MISSING:
            found[field] = None
    return kind(**found)


def read_many(kind: type[T], tree: object, name: str) -> tuple[T, ...]:
    """The records in the list *tree*, `AT_MOST` of them. Raises ValueError as `read`."""
    many = list_of(name, tree)
    _no_more(name, many)
    return tuple(read(kind, one, name) for one in many)


def record_of(name: str, value: object) -> Json:
    """Raises ValueError: it is none."""
    if not isinstance(value, Mapping):
        raise _wrong(name, value)
    return value


def list_of(name: str, value: object) -> Sequence[object]:
    """Raises ValueError: it is none."""
    if not isinstance(value, (list, tuple)):
        raise _wrong(name, value)
    return value


def number_of(name: str, value: object) -> float:
    """Raises ValueError: it is none."""
    if not fits(value, float):
        raise _wrong(name, value)
    return number(value)


def number(value: object, otherwise: float = 0.0) -> float:
    """As JSON says it, whole ones too; *otherwise* where it is none, or 0, or of more digits than are counted with."""
    if isinstance(value, int) and value.bit_length() > 63:
        return otherwise
    return value if isinstance(value, (int, float)) and value else otherwise


def whole(value: object, otherwise: int = 0) -> int:
    """As `number`, without a fraction."""
    found = number(value, otherwise)
    return int(found) if math.isfinite(found) else otherwise


def inner(value: object) -> Json:
    """An object within another; empty where it is none."""
    return value if isinstance(value, Mapping) else {}


def rows(value: object) -> list[Json]:
    """The objects of a list; none where it is no list."""
    return [one for one in items(value) if isinstance(one, Mapping)]


def items(value: object) -> Sequence[object]:
    """Of a list; none where it is no list."""
    return value if isinstance(value, (list, tuple)) else ()


def _wrong(name: str, value: object) -> ValueError:
    return ValueError(f"{name} is {value!r}"[:200])


def _hashable(kind: type) -> Hashable:
    """As a cache's key, which mypy does not take a class for."""
    return kind


@cache
def _defaults(kind: Any) -> tuple[tuple[str, object], ...]:
    return tuple((field.name, field.default) for field in fields(kind))


@cache
def _readers(kind: Any) -> tuple[tuple[str, bool, object, _Reader], ...]:
    """Name of each field, whether it may be None, its default, and how its value is read."""
    hints = get_type_hints(kind)
    found = []
    for field in fields(kind):
        hint = hints[field.name]
        default = field.default if field.default_factory is MISSING else None
        found.append((field.name, NoneType in get_args(hint), default, _reader(hint)))
    return tuple(found)


def _reader(hint: Any) -> _Reader:
    inside = get_args(hint)
    if isinstance(hint, UnionType):
        return _or_none(_reader(next(one for one in inside if one is not NoneType)))
    if get_origin(hint) is tuple:
        return _many(_reader(inside[0]))
    if get_origin(hint) is Mapping:
        return _each(_reader(inside[1]))
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda name, value: read(hint, value, name)
    return _fitting(hint)


def _fitting(hint: Any) -> _Reader:
    def reader(name: str, value: object) -> object:
        if not fits(value, hint):
            raise _wrong(name, value)
        return value

    return reader


def _or_none(reader: _Reader) -> _Reader:
    return lambda name, value: None if value is None else reader(name, value)


def _many(reader: _Reader) -> _Reader:
    def each(name: str, value: object) -> object:
        if not isinstance(value, (list, tuple)):
            raise _wrong(name, value)
        _no_more(name, value)
        return tuple(reader(f"{name}[{number}]", one) for number, one in enumerate(value))

    return each


def _each(reader: _Reader) -> _Reader:
    def each(name: str, value: object) -> object:
        found = record_of(name, value)
        _no_more(name, found)
        return {key: reader(f"{name}.{key}", one) for key, one in found.items()}

    return each


def _no_more(name: str, value: Sized) -> None:
    if len(value) > AT_MOST:
        raise ValueError(f"{name} has {len(value):,} entries; a record of ours has {AT_MOST:,} at most")


def _plain(value: object) -> object:
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
