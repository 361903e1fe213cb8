"""A delimited text file as rows: encoding, delimiter, quotes, header, comments, and which rows are broken.

Built on the csv module with our own sniffing (its `Sniffer` is fooled by commas in text). Nothing here knows what a
column means. Big files are sampled for that by `sample_rows`: a fixed set of stretches, so that the same file gives
the same answer.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from tpu_studio.data import cells, csvlines, encodings, stretches
from tpu_studio.data.paths import path_error
from tpu_studio.data.rows import RowTally, Sample, TableFile, unique_names
from tpu_studio.data.stretches import Stretch
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import plainly

DELIMITERS = (",", ";", "\t", "|")
SMALL = 8 * 2**20  # files up to this size are read as a whole in a look
WHOLE = 32 * 2**20  # those that are where a sample has something broken: about a second
_KEPT = stretches.COUNT * stretches.SIZE  # letters of the rows that are then judged
_MARKED = 2**30  # bytes of a file whose quotation marks are counted, which a second does
_MOST_ROWS = 3_000_000
_COUNTED = 1_000_000  # broken rows, from which on a sample is enough to tell how many
_EACH = 2**32
_GOLDEN = 2_654_435_769  # that, divided by the golden ratio: multiples lie evenly, whatever recurs in a file
_END = "\x04"  # a row of these stands behind a stretch that the file goes on after
_LONGEST_LINE = 4 * csvlines.LONGEST_ROW  # bytes that are looked at of one; no letter has more than four
_SEP = re.compile(r'"?sep=([,;|\t])"?', re.IGNORECASE)
_TITLES = 20  # lines in which the names of the columns are looked for
_SWALLOWED = 20  # lines in one row from which on a quotation mark must be missing


@dataclass(frozen=True)
class Dialect:
    """How to read one file. *names* are the columns', made unique; *header* tells whether they stand in the file.
    *texts*: its first column is of texts, of which one may begin as a comment does. *above*: lines that no table begins
    with: titles, and Excel's `sep=;`."""

    encoding: str
    delimiter: str
    quote: str
    names: tuple[str, ...]
    header: bool
    marked_header: bool = False  # the header line starts with "#"
    texts: bool = False
    above: int = 0

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "names": list(self.names)}


def opened(path: Path, first: int | None = None) -> TableFile:
    """*first*: only so many rows from the begin are looked at. Raises as `sniff`."""
    dialect = sniff(path)

    def read(tally: RowTally, watch: Watch) -> Iterator[list[str]]:
        return read_rows(path, dialect, tally, watch)

    def sample(watch: Watch) -> Sample:
        if first is None:
            return sample_rows(path, dialect, watch)
        begin = _of_stretches(path, dialect, watch, 1)
        rows = begin.rows[:first]
        return Sample(rows, len(rows), True, begin.tally)

    commas = dialect.delimiter == ";"
    return TableFile(
        dialect.names, dialect.header, read, sample, above=dialect.above + int(dialect.header), commas=commas
    )


def sniff(path: Path) -> Dialect:
    """Find out how *path* is written.

    Raises:
        DataError: data-empty, data-not-text, data-one-column, data-missing, data-unreadable.
    """
    encoding = encodings.detect(path)
    try:
        with open(path, encoding=encoding, errors="replace", newline="", opener=plainly) as file:
            head = file.read(256 * 1024)
    except OSError as error:
        raise path_error(path, error) from error
    complete = head if len(head) < 256 * 1024 else head[: head.rfind("\n") + 1 or len(head)]
    lines = list(islice(io.StringIO(complete, newline=""), 2000))  # as the csv module has them
    named = _SEP.fullmatch(lines[0].strip()) if lines else None
    said, first = (named[1], 1) if named else ("", 0)
    dialect = _sniffed(path, encoding, lines[first:], said)
    above = first + _titles(lines[first:], dialect)
    return replace(_sniffed(path, encoding, lines[above:], said), above=above) if above else dialect


def _sniffed(path: Path, encoding: str, lines: Sequence[str], said: str = "") -> Dialect:
    """*said*: the delimiter, where the file itself names it."""
    text, delimiter, quote = _without_comments(lines)
    if not text:
        raise DataError("data-empty", path=str(path))
    delimiter = said or delimiter
    rows = [row for row in _rows_of("".join(text), delimiter, quote) if any(row)][:500]
    if not rows:  # nothing but delimiters, as an empty sheet is saved
        raise DataError("data-empty", path=str(path))
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < 2:
        raise DataError("data-one-column", path=str(path), first=lines[0].strip()[:80])
    hashed = _marked_header(lines, delimiter, quote, width)
    texts = sum(len(row[0].split()) > 2 for row in rows if len(row) >= width) * 2 >= len(rows)
    if hashed is not None:
        return Dialect(encoding, delimiter, quote, unique_names(hashed), True, True, texts)
    if len(rows[0]) == width - 1 and not any(row[-1].strip() for row in rows if len(row) == width):
        width -= 1  # every row but the header ends in a delimiter
    first, rest = rows[0], [row for row in rows[1:] if len(row) >= width]
    if len(first) == width - 1 and _is_header(first, [row[1:] for row in rest]):
        return Dialect(encoding, delimiter, quote, unique_names(["", *first]), True)  # R writes no name for row names
    if len(first) == width and _is_header(first, rest):
        return Dialect(encoding, delimiter, quote, unique_names(first), True, texts=texts)
    return Dialect(encoding, delimiter, quote, unique_names([""] * width), False, texts=texts)


def _titles(lines: Sequence[str], dialect: Dialect) -> int:
    """How many lines stand above the one that names the columns, where some of them fill fewer than half of them."""
    met, width = False, len(dialect.names)
    for number, line in enumerate(lines[:_TITLES]):
        if not line.strip() or line.startswith("#"):
            continue
        if line.count(dialect.quote) % 2:
            return 0
        row: list[str] = next(csvlines.reader([line], dialect.delimiter, dialect.quote), [])
        if 2 * sum(map(bool, map(str.strip, row))) > width:
            below = list(_rows_of("".join(lines[number + 1 :]), dialect.delimiter, dialect.quote))
            rest = [one for one in below if len(one) >= width]
            recurs = any(word.strip() == one[place].strip() for one in rest for place, word in enumerate(row[:width]))
            return number if met and len(row) == width and _is_header(row, rest) and not recurs else 0
        met = True
    return 0


def _without_comments(lines: Sequence[str]) -> tuple[list[str], str, str]:
    """Without lines that begin with "#" and empty ones, but for those within a cell in quotation marks; the delimiter
    and the quotation mark of what is left."""
    text, within, whole = list[str](), False, 0
    for line in lines:
        if within or (line.strip() and not line.startswith("#")):
            text.append(line)
            within ^= line.count('"') % 2 == 1
            whole = whole if within else len(text)
    delimiter, quote, best = _delimiter("".join(text[:whole][:500]))
    if whole < len(text):  # cut within a cell; or they are no quotation marks, or one is missing
        plain = [line for line in lines if line.strip() and not line.startswith("#")]
        other = _delimiter("".join(plain[:500]))
        if other[2] > best or 2 * whole < len(text):
            return plain, *other[:2]
    return text[:whole], delimiter, quote


def read_rows(path: Path, dialect: Dialect, tally: RowTally, watch: Watch) -> Iterator[list[str]]:
    """All good rows below the header, each as long as *dialect.names*; the others go to *tally*."""
    try:
        size = os.stat(path).st_size
        with open(path, encoding=dialect.encoding, errors="replace", newline="", opener=plainly) as file:
            yield from _good_rows(file, dialect, tally, watch, size, begins=True)
    except OSError as error:
        raise path_error(path, error) from error


def sample_rows(path: Path, dialect: Dialect, watch: Watch) -> Sample:
    """Rows to judge columns by. Files up to `SMALL` are read as a whole; of larger ones some stretches (`stretches`),
    and the rest is counted from their bytes a row. Where anything in these is broken, or they hold no whole row, a file
    up to `WHOLE` is read once more from its begin to its end: what is told of it is then so.
    """
    size = os.stat(path).st_size
    if size <= SMALL:
        tally = RowTally()
        rows = list(read_rows(path, dialect, tally, watch))
        return Sample(rows, len(rows), False, tally)
    sample = _of_stretches(path, dialect, watch)
    if size > WHOLE or (sample.rows and not sample.tally.broken_count):
        return sample
    try:
        return _of_all(path, dialect, watch)
    except _TooMany:
        return sample


class _TooMany(Exception):
    """There are more rows, or more of them are broken, than somebody waits for."""


class _Counted(RowTally):
    def breaks(self, line: int, why: str, count: int = 1) -> None:
        super().breaks(line, why, count)
        if self.broken_count > _COUNTED:
            raise _TooMany


def _of_all(path: Path, dialect: Dialect, watch: Watch) -> Sample:
    """Every row, or of all of it those that have about `_KEPT` letters. Raises _TooMany."""
    tally, kept, letters, share = _Counted(), list[tuple[int, list[str]]](), 0, _EACH
    for number, row in enumerate(read_rows(path, dialect, tally, watch)):
        if number > _MOST_ROWS:
            raise _TooMany
        place = number * _GOLDEN % _EACH
        if place < share:
            kept.append((place, row))
            letters += _letters(row)
        if letters > _KEPT:
            share //= 2
            kept = [one for one in kept if one[0] < share]
            letters = sum(_letters(row) for _, row in kept)
    return Sample([row for _, row in kept], tally.rows, share < _EACH, tally)


def _of_stretches(path: Path, dialect: Dialect, watch: Watch, count: int = stretches.COUNT) -> Sample:
    """*count*: 1 is the begin alone."""
    tally, quiet = RowTally(), Watch(cancelled=watch.cancelled)
    rows, seen, cut = list[list[str]](), 0, 0
    try:
        size = os.stat(path).st_size
        marks = stretches.Marks(path, dialect.quote) if size <= _MARKED else None
        for stretch in stretches.read(path, dialect.encoding, size, _LONGEST_LINE, watch, count):
            within = marks.before(stretch, watch) % 2 == 1 if marks and dialect.quote else None
            reading = _best_reading(stretch, size, dialect, quiet, within)
            tally.origin = stretch.at
            tally.rows += len(reading.rows)
            tally.comments += reading.comments
            for line, why, lines in reading.met:
                tally.breaks(line, why, lines)
            rows += reading.rows
            seen += len(stretch.data)
            cut += reading.cut
    except OSError as error:
        raise path_error(path, error) from error
    about = (len(rows) + cut / 2) * size / max(1, seen)  # of a row that is cut about a half is there
    return Sample(rows, round(about), True, tally)


class _Met(RowTally):
    """Each that is broken: its line, why, and how many lines it counts for."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[tuple[int, str, int]] = []

    def breaks(self, line: int, why: str, count: int = 1) -> None:
        self.all.append((line, why, count))


@dataclass(frozen=True)
class _Reading:
    """Of one stretch. *met*: as of `_Met`; *cut*: rows at its edges of which a part is there; these do not count."""

    rows: list[list[str]]
    met: list[tuple[int, str, int]]
    comments: int
    cut: int

    @property
    def lost(self) -> int:
        return sum(lines for _, _, lines in self.met)

    @property
    def letters(self) -> int:
        return sum(map(_letters, self.rows))


def _best_reading(stretch: Stretch, size: int, dialect: Dialect, watch: Watch, inside: bool | None) -> _Reading:
    """A stretch begins at any line, also at one within a quoted cell: where the quotation marks before it say so, or
    where something is broken, it is read as if one stood before it as well. That counts if less is broken then (where
    the marks say so, no more), and it does not swallow the rest.

    Args:
        inside: Whether an odd number of quotation marks stand before it; None: not counted.
    """
    plain = _reading(stretch, size, dialect, watch, "")
    if not stretch.at or not (inside or plain.met or plain.cut):
        return plain
    within = _reading(stretch, size, dialect, watch, dialect.quote)
    less = within.lost <= plain.lost if inside else within.lost < plain.lost
    return within if within.rows and less and 2 * within.letters >= plain.letters else plain


def _reading(stretch: Stretch, size: int, dialect: Dialect, watch: Watch, before: str) -> _Reading:
    """*before*: a quotation mark, which is read as if it stood there."""
    text = io.TextIOWrapper(io.BytesIO(stretch.data), encoding=stretch.encoding, errors="replace", newline="")
    ends = stretch.at + len(stretch.data) >= size
    last = [] if ends else [_END] * len(dialect.names)
    tally, end = _Met(), dialect.delimiter.join(last)
    found = _good_rows(text, dialect, tally, watch, 0, before, end, begins=stretch.at == 0)
    rows, cut = list(islice(found, 1)), 0
    if stretch.at and tally.line == 1 and (before or "".join(rows[0]).count(dialect.quote) % 2):
        rows, cut = [], 1  # the end of a quoted cell, and what stands behind it
    rows += found
    met = tally.all
    if stretch.at and met and met[0][0] == 1:
        met, cut = met[1:], 1
    if rows and rows[-1] == last:
        rows.pop()
    elif last:  # it lies within a cell that is not closed
        cut += 1
        if rows and _END in rows[-1][-1]:
            rows.pop()
        else:
            met = met[:-1]
    return _Reading(rows, met, tally.comments, cut)


def _letters(row: list[str]) -> int:
    """With what stands between its cells."""
    return sum(map(len, row)) + len(row)


def _good_rows(
    file: TextIO,
    dialect: Dialect,
    tally: RowTally,
    watch: Watch,
    size: int,
    before: str = "",
    last: str = "",
    *,
    begins: bool,
) -> Iterator[list[str]]:
    """
    Args:
        size: Bytes of which the watch is told; 0: it is not.
        before, last: What is read as if it stood before the first line; as if it were one more.
        begins: *file* is all of it, or its begin.
    """
    width, header_due, headed = len(dialect.names), begins and dialect.header, False
    above = dialect.above if begins else 0
    for _ in range(above):
        file.readline(_LONGEST_LINE)
    tally.comments += above
    previous = 0  # the line that the last row ended in, below these
    lines_read = csvlines.lines_of(file, lambda: previous, watch, size)
    if before:
        lines_read = chain([before + next(lines_read, "")], lines_read)
    if last:
        lines_read = chain(lines_read, [last])
    reader = csvlines.reader(lines_read, dialect.delimiter, dialect.quote)
    while True:
        try:
            for row in reader:
                line, lines = above + previous + 1, reader.line_num - previous
                previous = reader.line_num
                if header_due or len(row) != width or row[0][:1] == "#":
                    kind = _odd_row(row, dialect, header_due, begins and not (headed or tally.rows))
                    if kind == "header":
                        header_due, headed = False, True
                    elif kind == "comment":
                        tally.comments += 1
                    elif kind == "broken":
                        # A quotation mark that is never closed swallows lines: each of them is lost and counts.
                        swallowed = lines > _SWALLOWED and len(row) < width
                        tally.breaks(line, "quote-not-closed" if swallowed else "fields", lines if swallowed else 1)
                    if kind != "data":
                        continue
                    row = row[:width]
                tally.rows += 1
                tally.line = line
                yield row
            return
        except csv.Error:  # a cell or a row is too long (`csvlines`); the reader goes on with the next line
            lines = reader.line_num - previous
            swallowed = lines > _SWALLOWED
            tally.breaks(above + previous + 1, "quote-not-closed" if swallowed else "cell-too-long", max(1, lines))
            previous = reader.line_num


def _odd_row(row: list[str], dialect: Dialect, header_due: bool, first: bool) -> str:
    """What a row is that may be something else than data: blank, comment, header, data or broken. *first*:
    neither names nor data stand above it."""
    width = len(dialect.names)
    if not row or (len(row) == 1 and not row[0].strip()):
        return "blank"
    if row[0].startswith("#"):
        if header_due and dialect.marked_header and _plain_names(row) == dialect.names:
            return "header"
        begins = row[0] == "#" or row[0].startswith("# ")
        if len(row) != width or (begins and not any(map(str.strip, row[1:]))):
            return "comment"
        above = first and not (header_due and unique_names(row) == dialect.names)
        if row[0].startswith("# ") and (above or not dialect.texts):
            return "comment"
    if header_due and not dialect.marked_header:
        return "header"
    if len(row) == width or (len(row) == width + 1 and not row[-1].strip()):
        return "data"
    return "broken"


def _plain_names(row: list[str]) -> tuple[str, ...]:
    return unique_names([row[0].lstrip("#"), *row[1:]])


def _rows_of(text: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    yield from csvlines.reader(io.StringIO(text, newline=""), delimiter, quote)


def _delimiter(text: str) -> tuple[str, str, float]:
    """The delimiter (and quote) under which most rows have one and the same number of fields, more than one; and how
    well they do."""
    best, score = (",", '"'), -1.0
    for quote in ('"', "'"):
        if quote == "'" and not any(f"{mark}'" in text for mark in DELIMITERS):
            continue
        for delimiter in DELIMITERS:
            try:
                lengths = Counter(len(row) for row in _rows_of(text, delimiter, quote) if row)
            except csv.Error:
                continue
            if not lengths:
                continue
            width, rows = max(lengths.items(), key=lambda item: (item[1], item[0]))
            share = rows / sum(lengths.values())
            value = 0.0 if width < 2 else share + 0.001 * min(width, 50) - (0.1 if quote == "'" else 0.0)
            if quote == "'" and text.count(delimiter + "'") < 0.5 * text.count("\n"):
                continue
            if value > score:
                best, score = (delimiter, quote), value
    return *best, score


def _marked_header(lines: Sequence[str], delimiter: str, quote: str, width: int) -> list[str] | None:
    """The names in the last of the leading "#" lines, when it reads as a header of *width* columns."""
    leading = []
    for line in lines:
        if line.startswith("#"):
            leading.append(line)
        elif line.strip():
            break
    if not leading:
        return None
    row: list[str] = next(csvlines.reader([leading[-1].lstrip("#").strip()], delimiter, quote), [])
    names = [name.strip() for name in row]
    return names if len(names) == width and all(map(_is_name, names)) and len(set(names)) == width else None


def _is_header(first: list[str], rest: list[list[str]]) -> bool:
    """Whether the first row names the columns: it holds only words, and no words that recur below them."""
    words = [cell.strip() for cell in first]
    filled = [word for word in words if word]
    if not filled or not all(map(_is_name, filled)) or len(filled) < len(words) - 1:
        return False
    if not rest:
        return True
    recurring = sum(any(row[place].strip() == word for row in rest[:200]) for place, word in enumerate(words) if word)
    return recurring * 2 < len(filled)


def _is_name(word: str) -> bool:
    return (
        bool(word)
        and len(word) <= 200
        and not cells.is_missing(word)
        and cells.decimal_mark([word]) is None
        and cells.date_form([word]) is None
    )
