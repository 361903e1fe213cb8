"""Holds a file of weights to what Keras writes, before the HDF5 library reads it: a C library that believes the file.

The tables of such a file are found by addresses that it gives itself. One that leads in circles takes memory without
end, and others have made the library write where it should not. So every structure is read here first: each lies in
the file, apart from all others, and is of the few kinds that h5py makes of groups and tables in its first format, which
is its default (``libver="earliest"``) and Keras's. What the tables hold is not looked at.

Source: HDF5 File Format Specification 3.0 (The HDF Group), sections II.A, III.A.1, III.B to III.E, IV.A.1.a and, of
each message, IV.A.2; compared with files that h5py 3.8 to 3.16 wrote (HDF5 1.12 to 2.0). Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from struct import Struct
from typing import BinaryIO

START = b"\x89HDF\r\n\x1a\n"
_VERSIONS = bytes((0, 0, 0, 0, 0, 8, 8, 0, 4, 0, 16, 0, 0, 0, 0, 0))
"""Addresses of 8 bytes; 4 links, and 16 trees, a half node."""
_NOWHERE = 2**64 - 1  # an address of nothing
_LINKS, _TREES = 2 * 4, 2 * 16  # of a node, at most
_LINK = 40  # bytes of a symbol table entry
_NO_MORE = 1  # the place in a heap that is none
_HIGHEST, _DEEPEST = 20, 100  # a tree; groups in groups
_RANK, _NAME, _ATTRIBUTE = 32, 1000, 64_000  # dimensions; bytes
_MOST = 500_000  # structures, and parts of them: Keras writes some twenty a table
_Q, _QQ, _TEXT = Struct("<Q"), Struct("<QQ"), Struct("<IQI")

_SPACE, _TYPE, _FILL, _LAYOUT, _ATTRIBUTES, _MORE, _GROUP, _TIME = 0x01, 0x03, 0x05, 0x08, 0x0C, 0x10, 0x11, 0x12
_TABLE = {_SPACE, _TYPE, _LAYOUT}
_LATE = bytes((2, 2, 2, 1, 0, 0, 0, 0))  # how a table that nobody has filled is filled: with nothing
_SCALAR = bytes((1, 0, 0, 0, 0, 0, 0, 0))
_TRUTH = "18020000 01000000 10080000 01000000 00000800 46414c5345000000 5452554500000000 0001"
_TYPES = {
    **{bytes((0x10, sign, 0, 0, size, 0, 0, 0, 0, 0, 8 * size, 0)): size for size in (1, 2, 4, 8) for sign in (0, 8)},
    bytes.fromhex("11200f00 02000000 00001000 0a05000a 0f000000"): 2,
    bytes.fromhex("11201f00 04000000 00002000 17080017 7f000000"): 4,
    bytes.fromhex("11203f00 08000000 00004000 340b0034 ff030000"): 8,
    bytes.fromhex("15000000 02000000"): 2,  # bfloat16, which HDF5 has not: bytes without a name
    bytes.fromhex(_TRUTH): 1,
}
"""What a number may be, as h5py writes it, and its bytes."""
_WORDS = {bytes((0x19, 1, kind, 0, 16, 0, 0, 0, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0)) for kind in (0, 1)}
"""A text of any length, in ASCII or UTF-8: its length, and where it is."""


class Hdf5Error(ValueError):
    """It is not as Keras writes it. Its words tell where."""


class Bound:
    """How many parts files may have together."""

    def __init__(self, most: int = _MOST) -> None:
        self._left = most

    def step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Hdf5Error("it has more parts than any file of weights")


def check(file: BinaryIO, start: int = 0, size: int | None = None, bound: Bound | None = None) -> None:
    """Do nothing for weights as Keras writes them: *size* bytes from *start* on, or all of a *file*.

    Raises:
        Hdf5Error: They are others.
        OSError: It cannot be read.
    """
    whole = file.seek(0, 2)

    def read(at: int, count: int) -> bytes:
        file.seek(start + at)
        return file.read(count)

    _File(read, whole - start if size is None else min(size, whole - start), bound or Bound()).check()


def check_bytes(data: bytes) -> None:
    """The same of what is in memory."""
    _File(lambda at, count: data[at : at + count], len(data), Bound()).check()


class _File:
    def __init__(self, read: Callable[[int, int], bytes], size: int, bound: Bound) -> None:
        self._read, self._size, self._end, self.step = read, size, size, bound.step
        self._starts: set[int] = set()
        self._places: list[tuple[int, int]] = []
        self._texts: dict[int, dict[int, int]] = {}  # of each heap of texts: bytes of each

    def check(self) -> None:
        self._groups()
        before = 0
        for start, end in sorted(self._places):
            if start < before:
                raise Hdf5Error(f"two things lie in one place, at {start:,}")
            before = end

    def _groups(self) -> None:
        if self._end < 96 or self.bytes(0, 24) != START + _VERSIONS:
            raise Hdf5Error("it does not begin as a file of Keras weights (HDF5, in the format that h5py writes)")
        base, free, self._end, driver = (self.number(at) for at in (24, 32, 40, 48))
        if base or free != _NOWHERE or driver != _NOWHERE or self._end > self._size:
            raise Hdf5Error(f"its start tells of {self._end:,} bytes in another order; it has {self._size:,}")
        self.place(0, 96)
        left = [(*self._link(56)[1:], 0)]
        while left:
            header, expected, depth = left.pop()
            group = _Object(self, header).check()
            if depth > _DEEPEST or (expected and expected != group):
                raise Hdf5Error(f"a group that is none, or too deep in others, at {header:,}")
            if group:
                left += [(at, inside, depth + 1) for at, inside in self._members(*group)]

    def _members(self, tree: int, heap: int) -> Iterator[tuple[int, tuple[int, int] | None]]:
        names, size = self._names(heap)
        rows: dict[int, list[int]] = {}  # of the group's tree, by height: where each node is, from left to right
        for name, header, inside in self._tree(tree, None, rows):
            self._name(names, size, name)
            yield header, inside
        for row in rows.values():
            beside = [(self.number(at + 8), self.number(at + 16)) for at in row]
            for at in row:
                for number in range(self.small(at + 6, 2) + 1):  # a key before each child, and one behind the last
                    self._name(names, size, self.number(at + 24 + 16 * number))
            if beside != list(zip([_NOWHERE, *row], [*row[1:], _NOWHERE], strict=False)):
                raise Hdf5Error(f"a list of a group that goes on elsewhere, at {row[0]:,}")

    def _name(self, names: int, size: int, at: int) -> None:
        """That of a link, or one between which a tree's links lie, ends within the heap."""
        self.step()
        if at >= size or b"\0" not in self.bytes(names + at, min(size - at, _NAME)):
            raise Hdf5Error(f"a name without an end, at {names + at:,}")

    def _link(self, at: int) -> tuple[int, int, tuple[int, int] | None]:
        """Where its name is in the heap, where its object is, and of a group its tree and heap."""
        name, header = self.pair(at)
        kind = self.small(at + 16, 4)
        if kind not in (0, 1):
            raise Hdf5Error(f"a link to another place, at {at:,}")
        return name, header, self.pair(at + 24) if kind else None

    def _tree(
        self, at: int, height: int | None, rows: dict[int, list[int]]
    ) -> Iterator[tuple[int, int, tuple[int, int] | None]]:
        self.place(at, 24 + 16 * _TREES + 8)
        here, used = self.small(at + 5, 1), self.small(at + 6, 2)
        if self.bytes(at, 5) != b"TREE\0" or used > _TREES or here > _HIGHEST or height not in (None, here):
            raise Hdf5Error(f"no list of a group, at {at:,}")
        rows.setdefault(here, []).append(at)
        for number in range(used):
            child = self.number(at + 32 + 16 * number)
            yield from self._tree(child, here - 1, rows) if here else self._leaf(child)

    def _leaf(self, at: int) -> Iterator[tuple[int, int, tuple[int, int] | None]]:
        self.place(at, 8 + _LINK * _LINKS)
        count = self.small(at + 6, 2)
        if self.bytes(at, 5) != b"SNOD\1" or count > _LINKS:
            raise Hdf5Error(f"no links of a group, at {at:,}")
        for number in range(count):
            yield self._link(at + 8 + _LINK * number)

    def _names(self, at: int) -> tuple[int, int]:
        """Where the names of a group's links are, and their bytes."""
        self.place(at, 32)
        size, free = self.pair(at + 8)
        names = self.number(at + 24)
        if self.bytes(at, 8) != b"HEAP\0\0\0\0":
            raise Hdf5Error(f"no names of a group, at {at:,}")
        self.place(names, size)
        blocks: set[int] = set()
        while free != _NO_MORE:
            self.step()
            if free in blocks or free + 16 > size:
                raise Hdf5Error(f"free places that go in circles, or out of theirs, at {at:,}")
            blocks.add(free)
            following, length = self.pair(names + free)
            if length < 16 or free + length > size:
                raise Hdf5Error(f"a free place of {length:,} bytes, at {names + free:,}")
            free = following
        return names, size

    def text(self, at: int, number: int) -> int:
        """Bytes of a text: *number* of the heap at *at*."""
        if at not in self._texts:
            self._texts[at] = dict(self._texts_of(at))
        return self._texts[at].get(number, -1)

    def _texts_of(self, at: int) -> Iterator[tuple[int, int]]:
        size = self.number(at + 8)
        if self.bytes(at, 5) != b"GCOL\1" or size < 16:
            raise Hdf5Error(f"no texts, at {at:,}")
        self.place(at, size)
        here, end = at + 16, at + size
        while here + 16 <= end:
            self.step()
            number, length = self.small(here, 2), self.number(here + 8)
            if number == 0 and here + length == end:  # the rest of it
                return
            if number == 0 or here + 16 + length > end:
                raise Hdf5Error(f"a text that has no end, at {here:,}")
            yield number, length
            here += 16 + -(-length // 8) * 8

    # What objects need, too

    def place(self, at: int, size: int) -> None:
        """That of a structure, to which nothing else leads."""
        self.step()
        if at + size > self._end:
            raise Hdf5Error(f"it leads out of the file, to {at + size:,} of {self._end:,} bytes")
        if at in self._starts:
            raise Hdf5Error(f"two ways lead to one place, at {at:,}")
        self._starts.add(at)
        self._places.append((at, at + size))

    def bytes(self, at: int, size: int) -> bytes:
        if at + size > self._end:
            raise Hdf5Error(f"it leads out of the file, to {at + size:,} of {self._end:,} bytes")
        data = self._read(at, size)
        if len(data) < size:
            raise Hdf5Error("it was cut short meanwhile")
        return data

    def small(self, at: int, size: int) -> int:
        return int.from_bytes(self.bytes(at, size), "little")

    def number(self, at: int) -> int:
        return int(_Q.unpack(self.bytes(at, 8))[0])

    def pair(self, at: int) -> tuple[int, int]:
        first, second = _QQ.unpack(self.bytes(at, 16))
        return first, second


class _Object:
    """A group or a table: a list of messages, each of a kind of its own."""

    def __init__(self, file: _File, at: int) -> None:
        self._file, self._at = file, at
        self._group: tuple[int, int] | None = None
        self._numbers, self._each, self._bytes = 0, 0, 0

    def check(self) -> tuple[int, int] | None:
        """Of a group its tree and heap, of a table None."""
        file, at = self._file, self._at
        count, size = file.small(at + 2, 2), file.small(at + 8, 4)
        if file.small(at, 1) != 1:
            raise Hdf5Error(f"no object as Keras writes it, at {at:,}")
        file.place(at, 16 + size)
        blocks, kinds = [(at + 16, size)], list[int]()
        while blocks:
            here, size = blocks.pop()
            if here != at + 16:
                file.place(here, size)
            end = here + size
            while here < end:
                file.step()
                kind, length, flags = file.small(here, 2), file.small(here + 2, 2), file.small(here + 4, 1)
                if length % 8 or here + 8 + length > end or flags & ~1:  # 1: it stays as it is
                    raise Hdf5Error(f"a part that is out of its place, at {here:,}")
                kinds.append(kind)
                if kind == _MORE and length == 16:
                    blocks.append(file.pair(here + 8))
                else:
                    self._part(kind, here + 8, length)
                here += 8 + length
        single = [kind for kind in kinds if kind not in (0, _ATTRIBUTES, _MORE)]
        if len(kinds) != count or len(set(single)) != len(single):
            raise Hdf5Error(f"an object of {count:,} parts that has {len(kinds):,}, at {at:,}")
        if set(single) & (_TABLE | {_GROUP}) != ({_GROUP} if self._group else _TABLE):
            raise Hdf5Error(f"neither a group nor a table, at {at:,}")
        if not self._group and self._bytes != self._numbers * self._each:
            raise Hdf5Error(f"a table of {self._numbers:,} numbers in {self._bytes:,} bytes, at {at:,}")
        return self._group

    def _part(self, kind: int, at: int, size: int) -> None:
        file = self._file
        data = file.bytes(at, size)
        if kind == _SPACE:
            self._numbers = _count(data)
        elif kind == _TYPE:
            self._each = _width(data)
        elif kind == _LAYOUT:
            if size != 24 or data[:2] != b"\3\1":
                raise Hdf5Error(f"a table that is packed, at {at:,}")
            where, self._bytes = file.pair(at + 2)
            if where != _NOWHERE or self._bytes:
                file.place(where, self._bytes)
        elif kind == _ATTRIBUTES:
            self._attribute(at, data)
        elif kind == _GROUP and size == 16:
            self._group = file.pair(at)
        elif not (kind == 0 or (kind == _FILL and data == _LATE) or (kind == _TIME and size == 8)):
            raise Hdf5Error(f"a part of kind {kind} in {size:,} bytes, which weights have not, at {at:,}")

    def _attribute(self, at: int, data: bytes) -> None:
        name, kind, space = (int.from_bytes(data[start : start + 2], "little") for start in (2, 4, 6))
        first, second, third = (-(-size // 8) * 8 for size in (name, kind, space))
        value = 8 + first + second + third
        if data[:2] != b"\1\0" or value > len(data) or b"\0" not in data[8 : 8 + name]:
            raise Hdf5Error(f"a note that is out of its place, at {at:,}")
        kinds, spaces = data[8 + first : 8 + first + kind], data[8 + first + second : value]
        if spaces != _SCALAR:
            raise Hdf5Error(f"a note that is a list, at {at:,}")
        if kinds in _WORDS:
            length, where, number = _TEXT.unpack(data[value : value + 16].ljust(16))
            if len(data) < value + 16 or length > _ATTRIBUTE or self._file.text(where, number) != length:
                raise Hdf5Error(f"a note whose text is not there, at {at:,}")
        elif len(data) < value + _width(kinds):
            raise Hdf5Error(f"a note without its number, at {at:,}")


def _count(space: bytes) -> int:
    """Numbers of a table, of a message about its dimensions."""
    rank, limited = space[1:3] if len(space) >= 8 else (_RANK, 2)
    sizes = [_Q.unpack_from(space, at)[0] for at in range(8, len(space), 8)]
    if space[:1] != b"\1" or rank > _RANK or limited > 1 or len(sizes) != rank * (1 + limited):
        raise Hdf5Error("a table of another shape than numbers have")
    if limited and sizes[:rank] != sizes[rank:]:
        raise Hdf5Error("a table that may grow")
    return math.prod(sizes[:rank])


def _width(kind: bytes) -> int:
    """Bytes of a number of this type, whose message may be filled up with zeros."""
    for known, size in _TYPES.items():
        if kind.startswith(known) and not any(kind[len(known) :]):
            return size
    raise Hdf5Error(f"numbers of a type that weights have not ({kind[:8].hex()})")
