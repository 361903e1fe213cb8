"""A delimited text file as rows: encoding, delimiter, quotes, header, comments, and which rows are broken.

Built on the csv module with our own sniffing (its `Sniffer` is fooled by commas in text). Nothing here knows what a
column means. Big files are sampled for that by `sample_rows`: a fixed set of stretches, so that the same file gives
the same answer.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from tpu_studio.data import cells, csvlines, encodings, stretches
from tpu_studio.data.paths import path_error
from tpu_studio.data.rows import RowTally, Sample, TableFile, unique_names
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError

DELIMITERS = (",", ";", "\t", "|")
SMALL = 8 * 2**20  # files up to this size are read as a whole in a look
_LONGEST_LINE = 4 * csvlines.LONGEST_ROW  # bytes that are looked at of one; no letter has more than four
_SWALLOWED = 20  # lines in one row from which on a quotation mark must be missing


@dataclass(frozen=True)
class Dialect:
    """How to read one file. *names* are the columns', made unique; *header* tells whether they stand in the file."""

    encoding: str
    delimiter: str
    quote: str
    names: tuple[str, ...]
    header: bool
    marked_header: bool = False  # the header line starts with "#"

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "names": list(self.names)}


def opened(path: Path, first: int | None = None) -> TableFile:
    """*first*: only so many rows from the begin are looked at. Raises as `sniff`."""
    dialect = sniff(path)

    def read(tally: RowTally, watch: Watch) -> Iterator[list[str]]:
        return read_rows(path, dialect, tally, watch)

    def sample(watch: Watch) -> Sample:
        tally = RowTally()
        if first is None:
            return Sample(*sample_rows(path, dialect, tally, watch), tally)
        _, begin = next(_stretches(path, dialect, tally, watch, 1))
        rows = list(islice(begin, first))
        return Sample(rows, len(rows), True, tally)

    return TableFile(dialect.names, dialect.header, read, sample, above=int(dialect.header))


def sniff(path: Path) -> Dialect:
    """Find out how *path* is written.

    Raises:
        DataError: data-empty, data-not-text, data-one-column, data-missing, data-unreadable.
    """
    encoding = encodings.detect(path)
    try:
        with open(path, encoding=encoding, errors="replace", newline="") as file:
            head = file.read(256 * 1024)
    except OSError as error:
        raise path_error(path, error) from error
    complete = head if len(head) < 256 * 1024 else head[: head.rfind("\n") + 1 or len(head)]
    lines = complete.splitlines(keepends=True)[:2000]
    text = [line for line in lines if line.strip() and not line.startswith("#")]
    if not text:
        raise DataError("data-empty", path=str(path))
    delimiter, quote = _delimiter("".join(text[:500]))
    rows = [row for row in _rows_of("".join(text), delimiter, quote) if any(row)][:500]
    if not rows:  # nothing but delimiters, as an empty sheet is saved
        raise DataError("data-empty", path=str(path))
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < 2:
        raise DataError("data-one-column", path=str(path), first=lines[0].strip()[:80])
    hashed = _marked_header(lines, delimiter, quote, width)
    if hashed is not None:
        return Dialect(encoding, delimiter, quote, unique_names(hashed), True, True)
    if len(rows[0]) == width - 1 and not any(row[-1].strip() for row in rows if len(row) == width):
        width -= 1  # every row but the header ends in a delimiter
    first, rest = rows[0], [row for row in rows[1:] if len(row) >= width]
    if len(first) == width - 1 and _is_header(first, [row[1:] for row in rest]):
        return Dialect(encoding, delimiter, quote, unique_names(["", *first]), True)  # R writes no name for row names
    if len(first) == width and _is_header(first, rest):
        return Dialect(encoding, delimiter, quote, unique_names(first), True)
    return Dialect(encoding, delimiter, quote, unique_names([""] * width), False)


def read_rows(path: Path, dialect: Dialect, tally: RowTally, watch: Watch) -> Iterator[list[str]]:
    """All good rows below the header, each as long as *dialect.names*; the others go to *tally*."""
    try:
        size = os.stat(path).st_size
        with open(path, encoding=dialect.encoding, errors="replace", newline="") as file:
            yield from _good_rows(file, dialect, tally, watch, size, dialect.header)
    except OSError as error:
        raise path_error(path, error) from error


def sample_rows(path: Path, dialect: Dialect, tally: RowTally, watch: Watch) -> tuple[list[list[str]], int, bool]:
    """Rows to judge columns by, how many rows the file has (about, when sampled), and whether it was sampled.

    Files up to `SMALL` are read as a whole. Of larger ones some stretches are read (`stretches`), and the rest is
    counted from their bytes a row.
    """
    size = os.stat(path).st_size
    if size <= SMALL:
        rows = list(read_rows(path, dialect, tally, watch))
        return rows, len(rows), False
    rows, seen = [], 0
    for taken, some in _stretches(path, dialect, tally, watch, stretches.COUNT):
        seen += taken
        rows += some
    return rows, round(len(rows) * size / max(1, seen)), True


def _stretches(
    path: Path, dialect: Dialect, tally: RowTally, watch: Watch, count: int
) -> Iterator[tuple[int, Iterator[list[str]]]]:
    """The bytes of each stretch, and its good rows."""
    quiet = Watch(cancelled=watch.cancelled)
    try:
        size = os.stat(path).st_size
        for stretch in stretches.read(path, dialect.encoding, size, _LONGEST_LINE, watch, count):
            tally.origin = stretch.at
            text = io.TextIOWrapper(io.BytesIO(stretch.data), encoding=stretch.encoding, errors="replace", newline="")
            header = dialect.header and stretch.at == 0
            yield len(stretch.data), _good_rows(text, dialect, tally, quiet, 0, header)
    except OSError as error:
        raise path_error(path, error) from error


def _good_rows(
    file: TextIO, dialect: Dialect, tally: RowTally, watch: Watch, size: int, header_due: bool
) -> Iterator[list[str]]:
    """*size*: bytes of which the watch is told; 0: it is not."""
    width = len(dialect.names)
    previous = 0  # the line that the last row ended in
    lines_read = csvlines.lines_of(file, lambda: previous, watch, size)
    reader = csvlines.reader(lines_read, dialect.delimiter, dialect.quote)
    while True:
        try:
            for row in reader:
                line, lines = previous + 1, reader.line_num - previous
                previous = reader.line_num
                if header_due or len(row) != width or row[0][:1] == "#":
                    kind = _odd_row(row, dialect, header_due)
                    if kind == "header":
                        header_due = False
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
            tally.breaks(previous + 1, "quote-not-closed" if swallowed else "cell-too-long", max(1, lines))
            previous = reader.line_num


def _odd_row(row: list[str], dialect: Dialect, header_due: bool) -> str:
    """What a row is that may be something else than data: blank, comment, header, data or broken."""
    width = len(dialect.names)
    if not row or (len(row) == 1 and not row[0].strip()):
        return "blank"
    if row[0].startswith("#"):
        if header_due and dialect.marked_header and _plain_names(row) == dialect.names:
            return "header"
        if len(row) != width or row[0] == "#" or row[0].startswith("# "):
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


def _delimiter(text: str) -> tuple[str, str]:
    """The delimiter (and quote) under which most rows have one and the same number of fields, more than one."""
    best, score = (",", '"'), -1.0
    for quote in ('"', "'"):
        if quote == "'" and not any(f"{mark}'" in text for mark in DELIMITERS):
            continue
        for delimiter in DELIMITERS:
            try:
                lengths = Counter(len(row) for row in _rows_of(text, delimiter, quote) if row)
            except csv.Error:
                continue
            width, rows = max(lengths.items(), key=lambda item: (item[1], item[0]))
            share = rows / sum(lengths.values())
            value = 0.0 if width < 2 else share + 0.001 * min(width, 50) - (0.1 if quote == "'" else 0.0)
            if quote == "'" and text.count(delimiter + "'") < 0.5 * text.count("\n"):
                continue
            if value > score:
                best, score = (delimiter, quote), value
    return best


def _marked_header(lines: list[str], delimiter: str, quote: str, width: int) -> list[str] | None:
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
