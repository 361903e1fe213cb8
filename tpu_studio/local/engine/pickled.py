"""Tensors of an old PyTorch file (before 1.6), a row of pickles and then plain numbers, without running any of it.

A pickle is a program that may do anything. Here only the few instructions stand that such a file of tensors needs,
each worked out by ourselves on plain values: no import, no call, no object of a class that it names. Anything else is
refused. `weights` opens one known file with it; the file's hash is checked before.
"""

from __future__ import annotations

import io
import math
import pickletools
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C  # of torch.save's old form
VERSION = 1001
MOST_OPCODES = 1_000_000  # of one pickle: ours has about twelve thousand
MOST_BYTES = 1 << 31
NUMPY = {"F32": "<f4", "I64": "<i8"}
STORAGES = {"torch FloatStorage": ("F32", 4), "torch LongStorage": ("I64", 8)}
DICT, TENSOR = "collections OrderedDict", "torch._utils _rebuild_tensor_v2"
_CONSTANTS: Mapping[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_VALUES = frozenset({"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"})
_MARK = object()


class Refused(ValueError):
    """The file is not one of tensors, or wants something that reading tensors never needs; says what."""


@dataclass(frozen=True)
class Tensor:
    """*kind*: ``F32`` or ``I64``, as safetensors has it; *data*: its numbers, little-endian, row by row."""

    kind: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class _Storage:
    kind: str
    size: int
    key: str
    length: int


@dataclass(frozen=True)
class _View:
    """*lies*: the sides in the order in which the numbers lie, of the axes *order*."""

    storage: _Storage
    offset: int
    lies: tuple[int, ...]
    order: tuple[int, ...]


def read(data: bytes) -> dict[str, Tensor]:
    """Every tensor by its name, in the order of the file.

    Raises:
        Refused: what is in it that may not be, or what is missing.
    """
    stream = io.BytesIO(data)
    if _run(stream) != MAGIC or _run(stream) != VERSION:
        raise Refused("it does not begin as a PyTorch file of that time does")
    _run(stream)  # byte order and sizes of the computer that wrote it
    named, keys = _run(stream), _run(stream)
    if not isinstance(named, dict) or not isinstance(keys, list):
        raise Refused("it holds no table of tensors")
    views = {name: view for name, view in named.items() if isinstance(name, str) and isinstance(view, _View)}
    if len(views) != len(named) or not views:
        raise Refused("its table holds something that is no tensor")
    storages = {view.storage.key: view.storage for view in views.values()}
    if sorted(map(str, keys)) != sorted(storages):
        raise Refused("its numbers are not those of its tensors")
    numbers = {str(key): _numbers(stream, storages[str(key)]) for key in keys}
    if stream.read(1):
        raise Refused("something follows its numbers")
    return {name: _cut(view, numbers[view.storage.key]) for name, view in views.items()}


def _numbers(stream: io.BytesIO, storage: _Storage) -> bytes:
    head = stream.read(8)
    if len(head) != 8 or struct.unpack("<q", head)[0] != storage.length:
        raise Refused("it ends too early, or a length is wrong")
    data = stream.read(storage.length * storage.size)
    if len(data) != storage.length * storage.size:
        raise Refused("it ends too early")
    return data


def _cut(view: _View, data: bytes) -> Tensor:
    count = math.prod(view.lies)
    if view.offset + count > view.storage.length:
        raise Refused("a tensor reaches beyond its numbers")
    numbers = np.frombuffer(data, NUMPY[view.storage.kind], count, view.offset * view.storage.size)
    turned = numbers.reshape(view.lies).transpose(np.argsort(view.order))
    return Tensor(view.storage.kind, turned.shape, turned.tobytes())


def _run(stream: io.BytesIO) -> object:
    """What one pickle comes to."""
    stack: list[object] = []
    memo: dict[int, object] = {}
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if count > MOST_OPCODES:
                raise Refused("it does not come to an end")
            if opcode.name == "STOP":
                (result,) = stack
                return result
            _step(opcode.name, argument, stack, memo)
    except Refused:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError) as error:
        raise Refused(f"it is damaged ({type(error).__name__})") from error
    raise Refused("it ends too early")


def _step(name: str, argument: Any, stack: list[object], memo: dict[int, object]) -> None:
    """One instruction. What is not here is refused."""
    if name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in _VALUES:
        stack.append(argument)
    elif name in ("BINPUT", "LONG_BINPUT"):
        memo[argument] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
        stack.append(memo[argument])
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "TUPLE":
        stack.append(tuple(_since_mark(stack)))
    elif name in ("TUPLE1", "TUPLE2"):
        count = int(name[-1])
        stack[-count:] = [tuple(stack[-count:])]
    elif name == "EMPTY_DICT":
        stack.append({})
    elif name == "EMPTY_LIST":
        stack.append([])
    elif name == "APPENDS":
        items = _since_mark(stack)
        _of(stack[-1], list).extend(items)
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        _of(stack[-1], dict)[key] = value
    elif name == "SETITEMS":
        items = _since_mark(stack)
        _of(stack[-1], dict).update(zip(items[::2], items[1::2], strict=True))
    elif name == "GLOBAL":
        if argument not in (DICT, TENSOR, *STORAGES):
            raise Refused(f"it asks for {argument!r}")
        stack.append(_Name(argument))
    elif name == "REDUCE":
        arguments, called = stack.pop(), stack.pop()
        stack.append(_made(called, arguments))
    elif name == "BINPERSID":
        stack.append(_storage(stack.pop()))
    elif name == "BUILD":  # what PyTorch notes beside the tensors; of a table only, and left out
        stack.pop()
        _of(stack[-1], dict)
    elif name != "PROTO":
        raise Refused(f"it uses {name}")


@dataclass(frozen=True)
class _Name:
    """A name that the pickle asks for; nothing is imported."""

    of: str


def _since_mark(stack: list[Any]) -> list[Any]:
    at = next(place for place in reversed(range(len(stack))) if stack[place] is _MARK)
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _of(value: object, kind: type) -> Any:
    if type(value) is not kind:
        raise Refused(f"it changes a {type(value).__name__}")
    return value


def _made(called: Any, arguments: Any) -> Any:
    if called == _Name(DICT) and arguments == ():
        return {}
    if called == _Name(TENSOR) and isinstance(arguments, tuple) and len(arguments) == 6:
        return _view(*arguments[:4])
    raise Refused("it calls something")


def _view(storage: Any, offset: Any, shape: Any, strides: Any) -> _View:
    """Numbers that lie together, in any order of the axes; with gaps or shared ones none of ours are."""
    sides = isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)
    if not sides or not isinstance(storage, _Storage) or not all(map(_whole, (offset, *shape, *strides))):
        raise Refused("a tensor is described wrongly")
    order = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    lies = tuple(shape[axis] for axis in order)
    for place, axis in enumerate(order):
        if shape[axis] != 1 and strides[axis] != math.prod(lies[place + 1 :]):
            raise Refused("the numbers of a tensor do not lie together")
    return _View(storage, offset, lies, order)


def _storage(told: Any) -> _Storage:
    if not isinstance(told, tuple) or len(told) != 6 or told[0] != "storage" or told[5] is not None:
        raise Refused("it refers to something that is no numbers")
    _, named, key, _, length, _ = told
    kind, size = STORAGES.get(named.of if isinstance(named, _Name) else "", ("", 0))
    if not kind or not isinstance(key, str) or not _whole(length) or length * size > MOST_BYTES:
        raise Refused("its numbers are of no known kind")
    return _Storage(kind, size, key, length)


def _whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= MOST_BYTES
