"""JSON lines as rows of text cells: an object a line, its names the columns; or a list a line, below one of names.

Cells are what the same table has as CSV: numbers as they are written, ``True`` and ``False``, nothing for null and for
a name that a line does not have. So both are judged and encoded alike. Big files are looked at in stretches, as CSV is:
the columns are the names that are met there.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tpu_studio.data import encodings, stretches
from tpu_studio.data.paths import path_error
from tpu_studio.data.rows import RowTally, Sample, TableFile, unique_names
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import plainly

SMALL = 24 * 2**20  # files up to this size are read as a whole in a look: with their names they are larger than CSV
SAMPLE_CELLS = 1_500_000  # of a look, however few letters they take
LONGEST_LINE = 4_000_000  # letters
MOST_NAMES = 10_000
_MANY_CELLS, _ONE_OF = 50_000_000, 100  # of more cells than these, at least one of so many is filled


class _Object(list[tuple[str, object]]):
    """An object's names and values in their order, also those that stand there twice."""


class _Number(str):
    """As it is written; NaN and Infinity too, which JSON does not have and many write."""


class _Nested(str):
    """A cell with a list or an object in it."""


_READER = json.JSONDecoder(object_pairs_hook=_Object, parse_float=_Number, parse_int=_Number, parse_constant=_Number)


@dataclass(frozen=True)
class _File:
    """*listed*: the names above its lists; None where each line names its own."""

    path: Path
    encoding: str
    size: int
    listed: tuple[str, ...] | None


@dataclass
class _Found:
    """What a look met: rows as cells by name, the place of each name, and the names that hold something nested."""

    records: list[dict[str, str]] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    nested: dict[str, int] = field(default_factory=dict)
    tally: RowTally = field(default_factory=RowTally)
    bytes: float = 0.0


def opened(path: Path, watch: Watch, first: int | None = None) -> TableFile:
    """*first*: only so many rows from the begin are looked at, which is quick.

    Raises:
        DataError: data-empty, data-not-text, data-not-json-lines, data-too-many-names, data-missing, data-unreadable;
            of `TableFile.read`, data-mostly-empty as well.
    """
    encoding = encodings.detect(path)
    try:
        file = _File(path, encoding, os.stat(path).st_size, _listed(path, encoding))
        found, sampled = _look(file, watch, first)
    except OSError as error:
        raise path_error(path, error) from error
    names, places = unique_names(map(_text, found.places)), found.places
    rows = [_spread(record, places) for record in found.records]
    about = round(len(rows) * file.size / max(1.0, found.bytes)) if sampled else len(rows)
    sample = Sample(rows, about, sampled, found.tally)

    def read(tally: RowTally, watch: Watch) -> Iterator[list[str]]:
        return _read(file, places, found.nested, tally, watch)

    nested = {name: found.nested[raw] for raw, name in zip(places, names, strict=True) if raw in found.nested}
    return TableFile(names, True, read, lambda watch: sample, nested, above=int(file.listed is not None))


def objects(
    path: Path, tally: RowTally, watch: Watch, most_bytes: int | None = None
) -> Iterator[tuple[int, int, dict[str, object]]]:
    """Each line's object as it is, lists and objects in it too, with its line and about how many bytes were read; what
    is none goes to *tally*. Lists below a list of names are objects as well.

    Args:
        most_bytes: Where to stop; None: at the end.

    Raises:
        DataError: data-not-text, data-not-json-lines, data-missing, data-unreadable.
    """
    encoding, read = encodings.detect(path), 0
    try:
        size, listed = os.stat(path).st_size, _listed(path, encoding)
        file = _File(path, encoding, size, listed)
        with open(path, encoding=encoding, errors="replace", opener=plainly) as text:
            due = listed is not None
            for number, line in _lines(text, file, tally, watch, told=True):
                read += len(line.encode("utf-8", "replace"))
                if due:
                    due = False
                    continue
                value = _whole(line, listed)
                if isinstance(value, str):
                    tally.breaks(number, value)
                else:
                    tally.rows += 1
                    yield number, read, value
                if most_bytes is not None and read > most_bytes:
                    return
    except OSError as error:
        raise path_error(path, error) from error


def _whole(line: str, listed: tuple[str, ...] | None) -> dict[str, object] | str:
    """The object of a *line*, or why it is none."""
    try:
        value = json.loads(line, object_pairs_hook=_once)
    except _Twice:
        return "name-twice"
    except (ValueError, RecursionError):
        value = None
    if listed is not None:
        if not isinstance(value, list):
            return "not-json-list"
        return dict(zip(listed, value, strict=True)) if len(value) == len(listed) else "fields"
    return value if isinstance(value, dict) else "not-json"


class _Twice(ValueError):
    """A name stands twice in an object."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice
    return found


def _listed(path: Path, encoding: str) -> tuple[str, ...] | None:
    """Raises DataError ``data-not-json-lines``, ``data-too-many-names``; OSError."""
    with open(path, encoding=encoding, errors="replace", opener=plainly) as file:
        head = stretches.first_line(file, LONGEST_LINE)
    if not head.startswith("["):
        return None
    names = _value(head)
    if isinstance(names, list) and len(names) > MOST_NAMES:
        raise DataError("data-too-many-names", path=str(path), line=1, allowed=MOST_NAMES)
    if isinstance(names, list) and names and all(type(name) is str for name in names):
        return unique_names(names)
    raise DataError("data-not-json-lines", path=str(path), list=True)


def _look(file: _File, watch: Watch, first: int | None) -> tuple[_Found, bool]:
    """And whether it is a sample only."""
    found = _Found(places={name: place for place, name in enumerate(file.listed or ())})
    whole = first is None and file.size <= SMALL
    sampled, count = not whole, 1 if whole or first is not None else stretches.COUNT
    pieces = stretches.read(file.path, file.encoding, file.size, LONGEST_LINE, watch, count)
    for number, piece in enumerate([stretches.whole(file.path, file.encoding)] if whole else pieces):
        found.tally.origin = piece.at
        text = io.StringIO(piece.data.decode(piece.encoding, errors="replace"), newline=None)
        most_cells = SAMPLE_CELLS * (number + 1) // count
        sampled |= not _take(text, file, found, watch, most_cells, first)
        ended, length = text.tell(), text.seek(0, os.SEEK_END)
        found.bytes += len(piece.data) * ended / max(1, length)
    if not found.records or not found.places:
        raise DataError(
            "data-not-json-lines" if found.tally.broken_count else "data-empty",
            path=str(file.path),
            **_first_broken(found.tally),
        )
    return found, sampled


def _take(text: TextIO, file: _File, found: _Found, watch: Watch, most_cells: int, first: int | None) -> bool:
    """Whether all of the *text* went into what was *found*."""
    for line, record in _records(text, file, found.tally, watch, above=found.tally.origin == 0):
        new = [name for name in record if name not in found.places]
        width = max(1, len(found.places) + len(new))  # also a line without a name is kept
        if (len(found.records) + 1) * width > most_cells and found.records:
            return False
        found.places |= {name: len(found.places) + at for at, name in enumerate(new)}
        if len(found.places) > MOST_NAMES:
            raise DataError("data-too-many-names", path=str(file.path), line=line, allowed=MOST_NAMES)
        for name, cell in record.items():
            if type(cell) is _Nested:
                found.nested.setdefault(name, line)
        found.records.append(record)
        found.tally.rows += 1
        if first is not None and len(found.records) >= first:
            return False
    return True


def _read(
    file: _File, places: dict[str, int], nested: dict[str, int], tally: RowTally, watch: Watch
) -> Iterator[list[str]]:
    filled = 0
    try:
        with open(file.path, encoding=file.encoding, errors="replace", opener=plainly) as text:
            for line, record in _records(text, file, tally, watch, above=True, told=True):
                if any(
                    type(cell) is _Nested and name in places and name not in nested for name, cell in record.items()
                ):
                    tally.breaks(line, "nested")
                    continue
                tally.rows, tally.line = tally.rows + 1, line
                filled += len(record)
                if tally.rows * len(places) > max(_MANY_CELLS, _ONE_OF * filled):
                    raise DataError("data-mostly-empty", path=str(file.path), names=len(places), lines=tally.rows)
                yield _spread(record, places)
    except OSError as error:
        raise path_error(file.path, error) from error


def _records(
    text: TextIO, file: _File, tally: RowTally, watch: Watch, *, above: bool, told: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row's cells by name, with its line; what is none goes to *tally*.

    *above*: the line of names comes first where there is one; *told*: the watch is told how far it is.
    """
    due = above and file.listed is not None
    for number, line in _lines(text, file, tally, watch, told=told):
        if due:
            due = False
            continue
        record = _record(_value(line), file.listed)
        if isinstance(record, str):
            tally.breaks(number, record)
        else:
            yield number, record


def _lines(text: TextIO, file: _File, tally: RowTally, watch: Watch, *, told: bool) -> Iterator[tuple[int, str]]:
    """Those with anything in them, with their number; longer ones than are read go to *tally*."""
    read = number = 0
    while line := text.readline(LONGEST_LINE):
        number += 1
        read += len(line)
        if number % 1000 == 1:
            watch.at(min(file.size, read), file.size) if told else watch.check()
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            while (rest := text.readline(LONGEST_LINE)) and not rest.endswith("\n"):
                watch.check()
            tally.breaks(number, "cell-too-long")
        elif line.strip():
            yield number, line


def _value(line: str) -> object:
    """What a line holds; None where it is neither list nor object of JSON, or nests without end."""
    line = line.strip()
    if not line.startswith(("{", "[")):
        return None
    try:
        return _READER.decode(line)
    except (ValueError, RecursionError):
        return None


def _record(value: object, listed: tuple[str, ...] | None) -> dict[str, str] | str:
    """Cells by name, or why it is no row."""
    if listed is not None:
        if not isinstance(value, list) or isinstance(value, _Object):
            return "not-json-list"
        return dict(zip(listed, map(_cell, value), strict=True)) if len(value) == len(listed) else "fields"
    if not isinstance(value, _Object):
        return "not-json"
    record = {name: _cell(cell) for name, cell in value}
    return record if len(record) == len(value) else "name-twice"


def _cell(value: object) -> str:
    if type(value) is str:
        return _text(value)
    if isinstance(value, list):
        return _Nested("{…}" if isinstance(value, _Object) else "[…]")
    return "" if value is None else str(value)


def _text(value: str) -> str:
    """As text that can be written: JSON may name half a character."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _spread(record: dict[str, str], places: dict[str, int]) -> list[str]:
    row = [""] * len(places)
    for name, cell in record.items():
        if (place := places.get(name)) is not None:
            row[place] = cell
    return row


def _first_broken(tally: RowTally) -> dict[str, object]:
    return {"item": tally.broken[0].item} if tally.broken else {}
