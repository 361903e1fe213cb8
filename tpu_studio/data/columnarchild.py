"""The process that reads Parquet and Arrow files for `columnar`: rows of text cells, as CSV would hold them, to a file.

Its last line on standard output tells how it ended. Its memory is bounded where the system can (Linux): files that
unpack without end, and damaged ones, end it and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tpu_studio.data.chatlayout import fields_of
from tpu_studio.wire.plainfiles import plainly

if TYPE_CHECKING:
    from arro3.core import Array, DataType, RecordBatch

MOST_BYTES = 4 * 2**30  # of memory
FREE_BYTES = 2**30  # of the disk, that are left to others
TIMES, AT_LEAST, AT_MOST = 100, 32 * 2**20, 64 * 2**30  # bytes of rows: so many times the files', within these
ROWS_AT_ONCE = 256
LOOK_BYTES = 16 * 2**20  # between two looks at the disk
BATCH_ROWS = 64
NESTED: list[object] = []  # a cell that holds no plain value, as JSON lines tell it
FILE_MAGIC = b"ARROW1"  # of an Arrow file with a footer; others are streams
INFINITE = (float("inf"), float("-inf"))


def main(out: Path, shards: Sequence[Path]) -> int:
    """Exit code 0 when all is written."""
    told: dict[str, object]
    try:
        bound_memory()
        told = {"rows": write(out, shards)}
    except Refusal as refusal:
        told = {"error": refusal.id, "facts": refusal.facts}
    except ImportError as error:
        told = {"error": "data-parquet", "facts": {"raw": str(error)[:200]}}
    except OSError as error:
        told = {"error": "data-unreadable", "facts": {"raw": str(error)[:200]}}
    except BaseException as error:  # noqa: BLE001  # the boundary of a process: the library's panics are no Exception
        told = {"error": "data-parquet-damaged", "facts": {"raw": f"{type(error).__name__}: {error}"[:200]}}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    return 0 if "rows" in told else 1


class Refusal(Exception):
    """Ends the reading with an error of `DataError`'s ids."""

    def __init__(self, id: str, **facts: object) -> None:
        super().__init__(id)
        self.id, self.facts = id, facts


def bound_memory() -> None:
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MOST_BYTES if hard == resource.RLIM_INFINITY else min(MOST_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def write(out: Path, shards: Sequence[Path]) -> int:
    """How many rows were written. Raises Refusal, ImportError, OSError, and whatever the library does."""
    names: list[str] = []
    rows = 0
    with open(out, "wb") as opened:
        file = Bounded(opened, out, sum(shard.stat().st_size for shard in shards))
        for shard in shards:
            reader = _reader(shard)
            found = list(reader.schema.names)
            if not found:
                raise Refusal("data-empty", others=0)
            if not names:
                names = found
                _put(file, [names])
            elif found != names:
                raise Refusal("data-shards-differ", shard=shard.name, first=shards[0].name)
            for batch in reader:
                for part in _parts(batch):
                    cells = [_cells(column, file.pass_over) for column in part.columns]
                    _put(file, zip(*cells, strict=True))
                rows += batch.num_rows
    return rows


def _parts(batch: RecordBatch) -> Iterator[RecordBatch]:
    """Few rows at a time: an Arrow file may be one batch. Nested columns count their bytes of a whole one."""
    if any(_is("nested", column.type) for column in batch.columns):
        yield batch
        return
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, min(BATCH_ROWS, batch.num_rows - start))


class Bounded:
    """The file of rows: no larger than such a table can be, never the last of the disk, and only while who asked for it
    is there."""

    def __init__(self, file: BinaryIO, out: Path, size: int) -> None:
        """*size*: bytes of the files that are read."""
        self._file, self._folder, self._parent = file, out.parent, os.getppid()
        self._most = min(AT_MOST, max(AT_LEAST, TIMES * size))
        self._bytes = self._looked = 0

    def write(self, data: bytes) -> None:
        """Raises Refusal, OSError."""
        self.pass_over(len(data))
        if self._bytes - self._looked >= LOOK_BYTES or not self._looked:
            self._looked = self._bytes
            if shutil.disk_usage(self._folder).free < FREE_BYTES:
                raise Refusal("data-disk-full", path=str(self._folder), needed=FREE_BYTES)
            if os.getppid() != self._parent:
                raise Refusal("data-unreadable", raw="nobody waits for it")
        self._file.write(data)

    def pass_over(self, size: int) -> None:
        """Counts bytes that were unpacked and are not written. Raises Refusal."""
        self._bytes += size
        if self._bytes > self._most:
            raise Refusal("data-unpacks-large", allowed_bytes=self._most)


def _put(file: Bounded, rows: Iterable[object]) -> None:
    import orjson

    rows = iter(rows)
    while some := list(islice(rows, ROWS_AT_ONCE)):
        file.write(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in some))


def _reader(shard: Path) -> Any:
    import arro3.io

    if shard.suffix.lower() == ".arrow":
        with open(shard, "rb", opener=plainly) as file:
            whole = file.read(len(FILE_MAGIC)) == FILE_MAGIC
        return (arro3.io.read_ipc if whole else arro3.io.read_ipc_stream)(shard)
    return arro3.io.read_parquet(shard, batch_size=BATCH_ROWS)


def _cells(column: Array, pass_over: Callable[[int], None]) -> list[object]:
    """One column of a batch, each cell as the text that CSV would hold, None, `NESTED`, or a chat."""

    if _is("nested", column.type):
        return _chats(column, pass_over)
    values: list[Any] = column.to_pylist()  # type: ignore[assignment]
    if _is_narrow(column.type):
        return [None if value is None else _short(value) for value in values]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {str} or not kinds:
        return values
    if kinds in ({int}, {float}) and not any(value in INFINITE for value in values):
        return _numbers(values)
    if bytes in kinds:
        pass_over(sum(len(value) for value in values if isinstance(value, bytes)))
    return [
        None if value is None else TEXTS[type(value)](value) if type(value) in TEXTS else NESTED for value in values
    ]


def _is(what: str, kind: DataType) -> bool:
    """`DataType.is_nested` and the like, whose types narrow what they do not."""
    from arro3.core import DataType

    return bool(getattr(DataType, f"is_{what}")(kind))


def _is_narrow(kind: DataType) -> bool:
    """Of numbers of less than 64 bits with a point, each by itself or named once."""
    from arro3.core import DataType

    return (kind.value_type if _is("dictionary", kind) else kind) in (DataType.float32(), DataType.float16())


def _numbers(values: list[object]) -> list[object]:
    """Three times as fast as `repr` of each. What is no number is null."""
    import orjson

    return [None if text == "null" else text for text in orjson.dumps(values).decode()[1:-1].split(",")]


def _chats(column: Array, pass_over: Callable[[int], None]) -> list[object]:
    """Of lists of messages, who says each and what is said; of anything else nothing is taken apart: a few bytes of a
    file can stand for lists without end."""
    from arro3.core import list_flatten, list_offsets, struct_field

    pass_over(_unpacked(column))
    nothing: list[object] = [None if column.null_count == len(column) else NESTED] * len(column)
    parts = column.type.value_type
    if not _is("list", column.type) or parts is None or not _is("struct", parts):
        return nothing
    places = {field.name: place for place, field in enumerate(parts.fields)}
    names = [name for name in fields_of(places) if name in places]
    if not names:
        return nothing
    messages = list_flatten(column)
    said = [_said(struct_field(messages, places[name]), pass_over) for name in names]
    flat = [dict(zip(names, one, strict=True)) for one in zip(*said, strict=True)]
    offsets = list_offsets(column)
    empty = None if column.null_count else NESTED
    return [flat[begin:end] or empty for begin, end in pairwise(offsets.to_pylist())]


def _unpacked(column: Array) -> int:
    """Bytes of a nested column, and its values: of nulls each takes none, and is unpacked, too."""
    from arro3.core import list_flatten, struct_field

    if _is("list", column.type):
        inner = list_flatten(column)
        return column.nbytes + len(inner) + _unpacked(inner)
    if _is("struct", column.type):
        parts = (struct_field(column, place) for place in range(column.type.num_fields or 0))
        return column.nbytes + sum(map(_unpacked, parts))
    return column.nbytes


def _said(field: Array, pass_over: Callable[[int], None]) -> list[object]:

    if _is("nested", field.type):
        return [NESTED] * len(field)
    values = field.to_pylist()
    pass_over(sum(len(value) for value in values if isinstance(value, bytes)))
    return [one if isinstance(one, str | int | float | None) else NESTED for one in values]


def _short(value: float) -> str:
    """As few digits as tell it from other numbers of its width."""
    import numpy as np

    return str(np.float32(value))


def _letters(value: bytes) -> object:
    """Old writers keep texts as bytes; others keep pictures so."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return NESTED


TEXTS: dict[type, Callable[[Any], object]] = {
    str: lambda value: value,
    int: str,
    bool: str,
    float: repr,
    Decimal: lambda value: format(value, "f"),
    date: lambda value: value.isoformat(),
    datetime: lambda value: value.isoformat(sep=" "),
    time: lambda value: value.isoformat(),
    timedelta: lambda value: repr(value.total_seconds()),
    bytes: _letters,
}
