"""A table in a folder of pictures that says which labels each of them has: `labels.csv`, or the only CSV or TSV there.

    file,beach,dog          file,labels
    a.jpg,1,0               a.jpg,beach|dog
    b.jpg,yes,no            b.jpg,

The column of files is the one whose cells name the folder's pictures, with or without their folder and ending. Pictures
are found by the walk through the folder alone: what a cell says is looked up in it and never opened, so that nothing
outside is touched, whoever wrote the table. Everything else that a table can be is refused or counted by name.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from tpu_studio.data import csvfile, csvlines, encodings
from tpu_studio.data.arrays import Bytes, Ints
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.csvfile import Dialect
from tpu_studio.data.folders import Listing, list_all, natural_key
from tpu_studio.data.imaging import SUFFIXES
from tpu_studio.data.links import is_outside
from tpu_studio.data.looked import Finding
from tpu_studio.data.paths import leads_outside, path_error
from tpu_studio.data.rows import RowTally, unique_names
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import plainly

STEM, ENDINGS = "labels", (".csv", ".tsv")
MOST_BYTES = 64 * 2**20
MOST_LABELS = 1_000
MOST_MARKS = 200_000_000  # pictures times labels, a byte each
LONGEST_LABEL = 100
SEPARATORS = ("|", ";", ",")
_FILES = ("file", "filename", "file_name", "image", "picture", "photo", "path")  # what a column of files is called
_LONGEST_NAME = 4_096  # letters of a path
_MOST_ON_A_LETTER = 30  # marks, as Unicode's stream-safe texts have
NO_SIGN = "\x1f"  # a cell is one label, with its blanks
LISTS = ("labels", "label", "tags", "tag", "classes", "class", "categories", "category")
"""What a column of labels is called, where there are others beside it."""

_YES, _NO = ("1", "1.0", "true", "t", "yes", "y"), ("", "0", "0.0", "-1", "-1.0", "false", "f", "no", "n")
_MARKS = dict.fromkeys(_YES, 1) | dict.fromkeys(_NO, 0)
_LOOKED_AT = 200  # names beside a table that was dropped
_JUDGED = 2_000  # rows that columns are judged by
_JUDGED_LETTERS = 1_000  # of a cell
_MOSTLY = 0.9  # of a column's cells are yes or no, where it is one of a label
_HEAD = 4 * 2**20  # bytes that the delimiter is judged by
_HERE = re.compile(r"(?:\./)+")
_AWAY = re.compile(r"/|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*:/")
_WIDEST = MOST_LABELS + 20  # columns
_SHOWN = 200  # letters of a cell that is told


@dataclass(frozen=True)
class Table:
    """The table of a folder. *named*: it is called so; else it is merely the only one."""

    file: Path
    named: bool


def table_in(root: Path) -> Table | None:
    """Names only; None where there is none, or several of which none is called `labels.csv`.

    Raises:
        DataError: data-missing, data-unreadable.
    """
    try:
        with os.scandir(root) as entries:
            found = sorted(
                one.name
                for one in entries
                if one.name.lower().endswith(ENDINGS) and not one.name.startswith(".") and _is_file(root, one)
            )
    except NotADirectoryError:
        return None
    except OSError as error:
        raise path_error(root, error) from error
    named = [name for name in found if name.lower().rpartition(".")[0] == STEM]
    chosen = named or found
    return Table(root / chosen[0], bool(named)) if len(chosen) == 1 else None


def _is_file(root: Path, entry: os.DirEntry[str]) -> bool:
    """A link out of the folder counts, and is refused later."""
    return is_outside(root, entry) or entry.is_file()


def beside_pictures(path: Path) -> bool:
    """Whether *path* is a table called `labels.csv` with pictures in its folder, or in the folders there: whoever drops
    it means them."""
    if path.name.lower() not in [STEM + ending for ending in ENDINGS]:
        return False
    here = list(islice(_entries(path.parent), _LOOKED_AT))
    inside = (entry for one in here if one.is_dir(follow_symlinks=False) for entry in _entries(Path(one.path)))
    return any(_names_a_picture(one.name) for one in chain(here, islice(inside, _LOOKED_AT)))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(PermissionError), os.scandir(folder) as entries:  # what is shut holds nothing for us
        yield from entries


def read(root: Path, table: Path, allowed: float, watch: Watch) -> Listing:
    """The pictures of *root* that *table* lists, with the labels that each has.

    Args:
        allowed: Share of broken rows that the job puts up with.

    Raises:
        DataError: data-link-outside, data-labels-too-large, data-labels-too-many, data-labels-outside,
            data-labels-no-pictures, data-labels-ambiguous, data-labels-unclear, data-labels-no-header,
            data-labels-none, data-labels-everywhere, data-too-broken, data-not-text, data-empty, data-one-column; of
            the folder as `folders.list_all`.
    """
    if leads_outside(root, table):
        raise DataError("data-link-outside", path=str(table))
    try:
        size = table.stat().st_size
        if size > MOST_BYTES:
            raise DataError("data-labels-too-large", path=str(table), bytes=size, allowed_bytes=MOST_BYTES)
        with open(table, "rb", opener=plainly) as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise path_error(table, error) from error
    walked = list_all(root, watch)
    known = _Known([name for name, _ in walked.pictures], {item.item: item.why for item in walked.problems})
    made = _Reading(table, known, allowed, watch).made()
    order = sorted(range(len(made.pictures)), key=lambda at: walked.pictures[made.pictures[at]][0])
    chosen = [walked.pictures[made.pictures[at]] for at in order]
    marks, met = made.marks[order], {one.item for one in made.tally.broken}
    listing = Listing(
        root,
        [name for name, _ in chosen],
        np.array([size for _, size in chosen], dtype=np.int64),
        _rarest(marks),
        np.full(len(chosen), -1, dtype=np.int64),
        made.labels,
        [*(one for one in walked.problems if one.item not in met), *made.tally.broken],
        marks=marks,
        table=table.name,
        table_sum=digest,
        unnamed=made.tally.broken_count - len(made.tally.broken),
    )
    listing.told += made.findings(table.name, len(walked.pictures))
    return listing


class _Known:
    """The folder's pictures by what a table may call them."""

    def __init__(self, names: Sequence[str], problems: dict[str, str]) -> None:
        self.names, self._problems = names, problems
        self._whole = {_composed(name): at for at, name in enumerate(names)}
        self._short: dict[str, int] = {}
        self._twice: dict[str, int] = {}
        for name, at in self._whole.items():
            base = name.rpartition("/")[2]
            for short in {base, base.rpartition(".")[0]}:
                if self._short.setdefault(short, at) != at:
                    self._twice.setdefault(short, at)

    def find(self, cell: str) -> int | str:
        """Its number, or why there is none. *cell*: not one that `leads_away`.

        Raises:
            KeyError: it may be either of two, whose numbers are its arguments.
        """
        name = _composed(_path(cell))
        if (at := self._whole.get(name)) is not None:
            return at
        if "/" not in name and name in self._short:
            if name in self._twice:
                raise KeyError(self._short[name], self._twice[name])
            return self._short[name]
        return self._problems.get(name, "file-missing")

    def has(self, cell: str) -> bool:
        try:
            return isinstance(self.find(cell), int)
        except KeyError:
            return True


def _composed(name: str) -> str:
    """As it is written nearly everywhere. Not where more marks stand on one letter than any language has: they are put
    in order by comparing each with each."""
    if name.isascii() or len(name) > _LONGEST_NAME:
        return name
    apart = "".join(map(_apart, name))  # a letter of class 0 may stand for two marks
    marks = bytes(map(unicodedata.combining, apart)).split(b"\0")
    return unicodedata.normalize("NFC", name) if max(map(len, marks)) <= _MOST_ON_A_LETTER else name


def _apart(letter: str) -> str:
    return unicodedata.normalize("NFD", letter)


def leads_away(cell: str) -> bool:
    """Whether it names a file by a whole path, on another computer, or above the folder."""
    name = _path(cell)
    return bool(_AWAY.match(name)) or ".." in name.split("/") or "\0" in name or name.startswith("~")


def _path(cell: str) -> str:
    name = cell.strip().replace("\\", "/")
    here = _HERE.match(name)
    return name[here.end() :] if here else name


def _names_a_picture(cell: str) -> bool:
    return cell[cell.rfind(".") :].strip().lower() in SUFFIXES


@dataclass
class _Made:
    """What the table says: numbers of the pictures in its order, and one row of *marks* for each of them."""

    pictures: list[int]
    labels: list[str]
    marks: Bytes
    tally: RowTally
    files: str = ""  # the column that names the pictures
    lists: str = (
        ""  # the one that lists their labels, where not each has its own; *sign* stands between them; "": each is one
    )
    sign: str = ""
    unused: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def findings(self, table: str, pictures: int) -> Iterator[Finding]:
        read = {"table": table, "labels": self.labels[:20], "count": len(self.labels)}
        yield Finding("labels-read", "info", {**read, "files": self.files, "lists": self.lists, "sign": self.sign})
        if self.left_out:
            yield Finding("labels-constant", "warning", {"labels": self.left_out[:20], "count": len(self.left_out)})
        if self.unused:
            yield Finding("labels-unused-columns", "info", {"columns": self.unused[:20], "count": len(self.unused)})
        if unlisted := pictures - len(self.pictures):
            yield Finding("labels-unlisted", "info", {"count": unlisted})
        if len(self.labels) > 1 and bool((self.marks.sum(axis=1) == 1).all()):
            yield Finding("labels-one-each", "info", {})


@dataclass(frozen=True)
class _Way:
    """How a table may be written.

    Attributes:
        width: Columns that most rows have; *column*: the one that names most pictures, *named* of them in the rows
            looked at, beside *away*, those that lead out of the folder.
        first: The first cell of all.
    """

    delimiter: str
    width: int
    column: int
    named: int
    away: tuple[str, ...]
    first: str


class _Reading:
    """One pass through a table."""

    def __init__(self, file: Path, known: _Known, allowed: float, watch: Watch) -> None:
        self._file, self._known, self._allowed, self._watch = file, known, allowed, watch
        self._tally = RowTally()
        self._listed: dict[int, int] = {}  # of each picture its line

    def made(self) -> _Made:
        dialect, place = self._dialect()
        rows = csvfile.read_rows(self._file, dialect, self._tally, self._watch)
        numbered = ((self._tally.line, row) for row in rows)
        line, first = next(numbered, (0, [""] * len(dialect.names)))
        while 2 * sum(map(bool, map(str.strip, first))) <= len(first) and not self._names(first[place]):
            line, first = next(numbered, (0, ["?"] * len(first)))  # a title above the names
        header = not self._names(first[place])
        names = unique_names(first if header else [""] * len(first))
        below = numbered if header else chain([(line, first)], numbered)
        judged = list(islice(below, _JUDGED))
        others = [column for column in range(len(names)) if column != place]
        columns, lists = self._judge(names, [row for _, row in judged], others)
        if not lists and not header:
            raise DataError("data-labels-no-header", path=str(self._file))
        every = self._pictures(chain(judged, below), place)
        made = self._by_list(every, columns[0], judged) if lists else self._by_column(every, columns, names)
        made.files, made.lists = names[place], names[columns[0]] if lists else ""
        made.unused = [names[column] for column in others if column not in columns]
        rows_met = len(made.pictures) + self._tally.broken_count
        check_broken(self._tally.broken_count, rows_met, self._allowed, self._tally.broken)
        return self._without_constants(made)

    def _names(self, cell: str) -> bool:
        """Whether it is a picture's name, there or not."""
        return self._known.has(cell) or leads_away(cell) or _names_a_picture(cell)

    def _dialect(self) -> tuple[Dialect, int]:
        """How the table is written, and its column of files: under that delimiter most cells name pictures.

        Raises:
            DataError: data-labels-no-pictures, data-labels-outside, data-labels-too-many, data-one-column, data-empty.
        """
        encoding = encodings.detect(self._file)
        try:
            with open(self._file, encoding=encoding, errors="replace", newline="", opener=plainly) as file:
                text = file.read(_HEAD)
        except OSError as error:
            raise path_error(self._file, error) from error
        ways = [way for delimiter in csvfile.DELIMITERS if (way := self._under(text, delimiter)) is not None]
        if not ways:
            raise DataError("data-empty", path=str(self._file))
        way = max(ways, key=lambda one: (one.named, len(one.away), one.width > 1))  # of equals the first
        if not way.named and (widest := max(one.width for one in ways)) > _WIDEST:
            raise DataError("data-labels-too-many", path=str(self._file), count=widest - 1, allowed=MOST_LABELS)
        if way.width < 2:
            raise DataError("data-one-column", path=str(self._file), first=way.first[:80])
        if not way.named and way.away:
            raise DataError("data-labels-outside", path=str(self._file), item=way.away[0].strip()[:_SHOWN])
        if not way.named:
            known = len(self._known.names)
            raise DataError("data-labels-no-pictures", path=str(self._file), first=way.first[:_SHOWN], pictures=known)
        return Dialect(encoding, way.delimiter, '"', ("",) * way.width, header=False), way.column

    def _under(self, text: str, delimiter: str) -> _Way | None:
        """As it would be written under that delimiter; None where nothing stands in it."""
        parsed = csvlines.parsed(io.StringIO(text, newline=""), delimiter)
        rows = [row for row in islice(parsed, _JUDGED) if any(cell.strip() for cell in row)]
        if not rows:
            return None
        width = Counter(map(len, rows)).most_common(1)[0][0]
        named: Counter[int] = Counter()
        by_ending: Counter[int] = Counter()
        pictures: dict[int, set[str]] = {column: set() for column in range(width)}
        away: dict[int, list[str]] = {}
        for row in rows if 1 < width <= _WIDEST else ():
            for column, cell in enumerate(row[:width]):
                if leads_away(cell):
                    away.setdefault(column, []).extend([cell] if _names_a_picture(cell) else [])
                elif cell.strip() and self._known.has(cell):
                    named[column] += 1
                    by_ending[column] += _names_a_picture(cell)
                    pictures[column].add(cell.strip())

        def rank(one: int) -> tuple[bool, int, bool, int, int]:
            """A column of numbers or of labels may name the pictures too, where these are called 0.jpg."""
            whole, called = 2 * by_ending[one] > len(rows), rows[0][one : one + 1]
            of_files = bool(called) and called[0].strip().lower() in _FILES
            return whole, len(pictures[one]), of_files, len(away.get(one, ())), -one

        column = max(range(width), key=rank)
        return _Way(delimiter, width, column, named[column], tuple(away.get(column, ())), rows[0][0].strip())

    def _judge(self, names: Sequence[str], rows: Sequence[list[str]], others: Sequence[int]) -> tuple[list[int], bool]:
        """The columns of labels, and whether it is one that lists them."""
        marks = [column for column in others if len(names[column]) <= LONGEST_LABEL and _is_marks(rows, column)]
        called = [column for column in others if names[column].lower() in LISTS and column not in marks]
        if called:
            return called[:1], True
        if marks:
            if len(marks) > MOST_LABELS:
                raise DataError("data-labels-too-many", path=str(self._file), count=len(marks), allowed=MOST_LABELS)
            return marks, False
        if len(others) == 1:
            return [others[0]], True
        told = [names[column][:LONGEST_LABEL] for column in others[:20]]
        raise DataError("data-labels-unclear", path=str(self._file), columns=told, count=len(others))

    def _pictures(self, rows: Iterator[tuple[int, list[str]]], place: int) -> Iterator[tuple[int, int, list[str]]]:
        """(line, number of the picture, cells) of the rows whose picture is there, once each."""
        for line, row in rows:
            cell = row[place]
            if leads_away(cell):
                raise DataError("data-labels-outside", path=str(self._file), item=cell.strip()[:_SHOWN], line=line)
            try:
                at = self._known.find(cell)
            except KeyError as error:
                one, other = (self._known.names[number] for number in error.args)
                raise DataError(
                    "data-labels-ambiguous",
                    path=str(self._file),
                    item=cell.strip()[:_SHOWN],
                    line=line,
                    either=[one, other],
                ) from error
            if isinstance(at, str):
                self._breaks(line, cell, at)
            elif at in self._listed:
                self._breaks(line, cell, "listed-twice")
            else:
                self._listed[at] = line
                yield line, at, row

    def _breaks(self, line: int, cell: str, why: str) -> None:
        self._tally.breaks(line, why)
        if self._tally.broken_count == len(self._tally.broken):  # it was named: by its picture, not by its line
            shown = " ".join(cell.split())[:_SHOWN] or f"line {line}"
            self._tally.broken[-1] = type(self._tally.broken[-1])(shown, why)

    def _by_column(
        self, rows: Iterator[tuple[int, int, list[str]]], columns: Sequence[int], names: Sequence[str]
    ) -> _Made:
        pictures, marks = [], bytearray()
        for line, at, row in rows:
            told = [_mark(row[column]) for column in columns]
            read = [mark for mark in told if mark is not None]
            if len(read) < len(told):
                self._tally.breaks(line, "not-yes-or-no")
                continue
            pictures.append(at)
            marks += bytes(read)
            self._bound(len(pictures) * len(columns))
        table = np.frombuffer(bytes(marks), dtype=np.uint8).reshape(len(pictures), len(columns))
        return _Made(pictures, [names[column] for column in columns], table, self._tally)

    def _by_list(
        self, rows: Iterator[tuple[int, int, list[str]]], column: int, judged: Sequence[tuple[int, list[str]]]
    ) -> _Made:
        sign = _sign([row[column] for _, row in judged])
        numbers: dict[str, int] = {}
        pictures: list[int] = []
        of_row, of_label = array("q"), array("q")
        for line, at, row in rows:
            labels = _split(row[column], sign)
            if any(len(label) > LONGEST_LABEL for label in labels):
                self._tally.breaks(line, "label-too-long")
                continue
            for label in labels:
                of_row.append(len(pictures))
                of_label.append(numbers.setdefault(label, len(numbers)))
            if len(numbers) > MOST_LABELS:
                raise DataError(
                    "data-labels-too-many", path=str(self._file), count=len(numbers), allowed=MOST_LABELS, more=True
                )
            pictures.append(at)
            self._bound(len(pictures) * len(numbers))
        labels = sorted(numbers, key=natural_key)
        turned = np.empty(len(labels), dtype=np.int64)
        turned[[numbers[label] for label in labels]] = np.arange(len(labels))
        marks = np.zeros((len(pictures), len(labels)), dtype=np.uint8)
        marks[np.array(of_row, dtype=np.int64), turned[np.array(of_label, dtype=np.int64)]] = 1
        return _Made(pictures, labels, marks, self._tally, sign=" " if sign is None else sign.strip(NO_SIGN))

    def _bound(self, marks: int) -> None:
        if marks > MOST_MARKS:
            raise DataError("data-labels-too-large", path=str(self._file), marks=marks, allowed=MOST_MARKS)

    def _without_constants(self, made: _Made) -> _Made:
        """A label that no picture has, or each, tells nothing: it is left out and told."""
        counts = made.marks.sum(axis=0, dtype=np.int64)
        keeps = (counts > 0) & (counts < len(made.pictures))
        if not keeps.any():
            everywhere = bool((counts > 0).any())
            name = "data-labels-everywhere" if everywhere else "data-labels-none"
            raise DataError(name, path=str(self._file), count=len(made.pictures), labels=made.labels[:5])
        made.left_out = [label for label, kept in zip(made.labels, keeps.tolist(), strict=True) if not kept]
        made.labels = [label for label, kept in zip(made.labels, keeps.tolist(), strict=True) if kept]
        made.marks = np.ascontiguousarray(made.marks[:, keeps])
        return made


def _mark(cell: str) -> int | None:
    """1, 0, or None where it is neither yes nor no."""
    mark = _MARKS.get(cell)
    return _MARKS.get(cell.strip().lower()) if mark is None else mark


def _is_marks(rows: Sequence[list[str]], column: int) -> bool:
    cells = [row[column] for row in rows]
    read = sum(_mark(cell) is not None for cell in cells)
    return read >= _MOSTLY * len(cells) and any(cell.strip() for cell in cells)


def _sign(cells: Sequence[str]) -> str | None:
    """What parts the labels in a cell; None: blanks. Names of several words ("golden retriever") are not parted: few of
    their words stand in other cells, and none alone."""
    if sign := next((one for one in SEPARATORS if any(one in cell for cell in cells)), None):
        return sign
    told = {" ".join(cell[:_JUDGED_LETTERS].split()) for cell in cells if cell.strip()}
    several = [parts for cell in told if len(parts := cell.split()) > 1]
    words = Counter(word for each in several for word in set(each))
    is_named = 3 * sum(count > 1 for count in words.values()) <= len(words) and not told & words.keys()
    return NO_SIGN if several and is_named else None


def _split(cell: str, sign: str | None) -> list[str]:
    """The labels in a cell, each once, in their order; as Python writes lists too: `['beach', 'dog']`."""
    text = cell.strip()
    listed = text.startswith("[") and text.endswith("]")
    parts = (text[1:-1] if listed else text).split(sign)
    labels = [" ".join(part.split()) for part in parts]
    if listed:
        labels = [label.strip("'\"") for label in labels]
    return list(dict.fromkeys(label for label in labels if label))


def _rarest(marks: Bytes) -> Ints:
    """Of each picture its rarest label, one more than there are where it has none: the groups that a split goes by,
    so that a rare label is on both sides (the first step of Sechidis et al. 2011, On the Stratification of
    Multi-Label Data)."""
    order = np.argsort(marks.sum(axis=0, dtype=np.int64), kind="stable")
    found: Ints = order[marks[:, order].argmax(axis=1)].astype(np.int64)
    found[~marks.any(axis=1)] = marks.shape[1]
    return found
