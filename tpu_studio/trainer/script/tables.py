"""How a script reads a table: the columns that the run learned from, each as numbers the way the run made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tpu_studio.data import cells, csvfile, csvlines, encodings
from tpu_studio.data.looked import Look
from tpu_studio.data.paths import data_path
from tpu_studio.data.textlayout import RECORDS
from tpu_studio.trainer.script import splitting
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.trainer.script.refusing import MOST_BYTES, refusal
from tpu_studio.wire import tasks
from tpu_studio.wire.plan import Plan

SIGNS = "$€£¥% \u00a0\u202f"  # that may stand around a number
_KEPT = ("decimal", "median", "mean", "std", "categories", "missing")


def table(plan: Plan, card: Mapping[str, Any], look: Look) -> Part:
    """Raises RunError of `refusal`; DataError of the file."""
    data = card["data"]
    if any(column["kind"] == "date" for column in data["columns"]):
        raise refusal("date-columns")
    if look.examples * int(data["input_shape"][0]) * 8 > MOST_BYTES:
        raise refusal("large-data")
    numeric = tasks.by_id(plan.task).has_number
    target, answer = _target(look, data, numeric=numeric)
    file, rows_of_file, module = file_of(data_path(plan.job), [column.name for column in look.columns])
    constants = (*file, *target, Constant("COLUMNS", _columns(look, data)), Constant("SIGNS", SIGNS))
    constants += (Constant("MISSING", sorted(cells.MISSING), "what stands for nothing in a cell"),)
    constants += splitting.constants(plan)
    code = splitting.ROWS + splitting.KEPT + rows_of_file + NUMBER + _ENCODED + answer
    return Part(constants, code, frozenset({module}))


def file_of(path: Path, names: Sequence[str]) -> tuple[tuple[Constant, ...], str, str]:
    """What is known of a table's file, the function that reads its rows, and the module that it takes.

    Args:
        names: Of the columns, in the order of their cells.
    """
    if path.suffix.lower() not in RECORDS:
        return _constants_of_csv(str(path), csvfile.sniff(path)), _ROWS_OF_CSV, "csv"
    constants = (
        Constant("DATA", str(path), "one JSON object a line, or a list a line below one of names"),
        Constant("ENCODING", encodings.detect(path)),
        Constant("NAMES", list(names), "of the columns, in the order of their cells"),
    )
    return constants, _ROWS_OF_LINES, "json"


def _constants_of_csv(path: str, dialect: csvfile.Dialect) -> tuple[Constant, ...]:
    return (
        Constant("DATA", path),
        Constant("ENCODING", dialect.encoding),
        Constant("DELIMITER", dialect.delimiter),
        Constant("QUOTE", dialect.quote),
        Constant("WIDTH_OF_ROW", len(dialect.names), "cells"),
        Constant("LONGEST_CELL", csvlines.LONGEST_CELL, "letters"),
        Constant("ABOVE", dialect.above, "lines above the table"),
        Constant("HEADER", dialect.header, "the first row names the columns"),
        Constant("HEADER_IS_COMMENT", dialect.marked_header, 'it begins with "#"'),
        Constant("TEXTS", dialect.texts, 'the first column is of texts, of which one may begin with "# "'),
    )


def _columns(look: Look, data: Mapping[str, Any]) -> list[dict[str, object]]:
    """Each column as it is encoded; *place*: of its cell in a row."""
    places = {column.name: place for place, column in enumerate(look.columns)}
    return [
        {"name": one["name"], "place": places[one["name"]], "kind": one["kind"]}
        | {name: one[name] for name in _KEPT if name in one}
        for one in data["columns"]
    ]


def _target(look: Look, data: Mapping[str, Any], *, numeric: bool) -> tuple[tuple[Constant, ...], str]:
    """What is predicted, and the functions that read it."""
    names = [column.name for column in look.columns]
    column = look.columns[names.index(data["target"])]
    place = Constant("TARGET", names.index(column.name), "the place of the column that is predicted")
    if not numeric:
        by_value = column.kind == "number"
        code = class_of(by_value=by_value) + _LOAD_CLASSES
        return (place, Constant("CLASSES", list(data["classes"]))), code
    scale = data["target_transform"]
    constants = (
        place,
        Constant("TARGET_DECIMAL", data["target_decimal"], "the decimal mark in it"),
        Constant("TARGET_MEAN", scale["mean"], "of the rows that are learned from"),
        Constant("TARGET_STD", scale["std"], "standard deviation, of the same"),
    )
    code = _LOAD_NUMBERS_BY_LOG if scale["log"] else _LOAD_NUMBERS
    return constants, code


def class_of(*, by_value: bool) -> str:
    """*by_value*: classes are numbers, of which 1.0 and 1 are one."""
    return _CLASS_BY_VALUE if by_value else _CLASS


_ROWS_OF_CSV = '''
def is_comment(row):
    """Whether it begins as a comment does, and is no text that does."""
    begins = row[0] == "#" or row[0].startswith("# ")
    return begins and (not any(cell.strip() for cell in row[1:]) or (row[0] != "#" and not TEXTS))


def read_rows():
    """The rows of DATA; what has another number of cells or a longer one, a comment or a broken row, is left out."""
    csv.field_size_limit(LONGEST_CELL)
    rows, ended = [], False
    with open(DATA, encoding=ENCODING, errors="replace", newline="") as file:
        for _ in range(ABOVE):
            file.readline()
        reader = csv.reader(file, delimiter=DELIMITER, quotechar=QUOTE)
        while not ended:
            try:
                rows.extend(row for row in reader if len(row) >= WIDTH_OF_ROW)
                ended = True
            except csv.Error:
                continue  # behind the longer cell
    rows = [row[:WIDTH_OF_ROW] for row in rows if not any(cell.strip() for cell in row[WIDTH_OF_ROW:])]
    if not HEADER_IS_COMMENT:
        rows = [row for row in rows if not is_comment(row)]
    return [row for row in (rows[1:] if HEADER else rows) if not is_comment(row)]

'''

_ROWS_OF_LINES = '''
def cell(value):
    """As CSV would have it: numbers as they are written, nothing for null."""
    return "" if value is None else str(value)


def read_rows():
    """The rows of DATA; a line that is no row is left out."""
    places = {name: place for place, name in enumerate(NAMES)}
    rows, above = [], True
    with open(DATA, encoding=ENCODING, errors="replace") as file:
        for line in filter(str.strip, file):
            first, above = above, False
            try:
                value = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                row = [""] * len(NAMES)
                for name, one in value.items():
                    if (place := places.get(" ".join(name.split()))) is not None:
                        row[place] = cell(one)
                rows.append(row)
            elif isinstance(value, list) and len(value) == len(NAMES) and not first:
                rows.append([cell(one) for one in value])
    return rows

'''

NUMBER = '''
def number(cell, decimal="."):
    """The number in a cell, without currency signs and marks of thousands; NaN where there is none."""
    cell = cell.strip().strip(SIGNS)
    plain = cell.replace(",", "") if decimal == "." else cell.translate(str.maketrans(",", ".", ". '"))
    try:
        return float(plain)
    except ValueError:
        return np.nan

'''

_ENCODED = '''
def encode(rows):
    """Each row as one vector: numbers standardised by those of the training rows, categories one-hot.

    A missing number becomes the median; of a column where any are missing another place says so.
    """
    parts = []
    for column in COLUMNS:
        cells = [row[column["place"]] for row in rows]
        if column["kind"] == "number":
            values = np.array([number(cell, column["decimal"]) for cell in cells])
            known = np.isfinite(values)
            values = (np.where(known, values, column["median"]) - column["mean"]) / column["std"]
            parts.append(np.clip(values, -10, 10)[:, None])
            if column["missing"]:
                parts.append(~known[:, None])
        else:
            places = {name: place for place, name in enumerate(column["categories"])}
            other = len(places)  # one place for all rare ones, and one behind it for none at all
            codes = [
                other + column["missing"] if cell.strip().lower() in MISSING else places.get(cell.strip(), other)
                for cell in cells
            ]
            parts.append(np.eye(other + 1 + column["missing"])[codes])
    return np.concatenate(parts, axis=1).astype(np.float32)

'''

_CLASS = '''
def class_of(cell):
    """The number of the class that stands in a cell; -1 where there is none."""
    return -1 if cell.strip().lower() in MISSING else CLASSES.index(cell.strip())

'''

_CLASS_BY_VALUE = '''
def class_of(cell):
    """The number of the class that stands in a cell, 1.0 and 1 being one class; -1 where there is none."""
    value = np.nan if cell.strip().lower() in MISSING else number(cell)
    if not np.isfinite(value):
        return -1
    return CLASSES.index(str(int(value)) if value == int(value) else repr(value))

'''

_LOAD_CLASSES = '''
def load_data():
    """All rows that have a class: ((x, y) to learn from, (x, y) kept aside)."""
    rows = read_rows()
    y = np.array([class_of(row[TARGET]) for row in rows], np.int32)
    keys, known = row_keys(len(rows)), np.flatnonzero(y >= 0)
    kept = kept_aside(keys[known], y[known])
    x = encode(rows)
    train, unseen = known[~kept], known[kept]
    return (x[train], y[train]), (x[unseen], y[unseen])

'''

_LOAD_NUMBERS = '''
def load_data():
    """All rows that have an answer, standardised: ((x, y) to learn from, (x, y) kept aside)."""
    rows = read_rows()
    values = np.array([number(row[TARGET], TARGET_DECIMAL) for row in rows])
    keys, known = row_keys(len(rows)), np.flatnonzero(np.isfinite(values))
    kept = kept_aside(keys[known], np.zeros(len(known), int))
    x, y = encode(rows), ((values - TARGET_MEAN) / TARGET_STD).astype(np.float32)
    train, unseen = known[~kept], known[kept]
    return (x[train], y[train]), (x[unseen], y[unseen])


def in_units(y):
    """Standardised numbers in the unit of the column."""
    return np.asarray(y, np.float64) * TARGET_STD + TARGET_MEAN

'''
_LOAD_NUMBERS_BY_LOG = _LOAD_NUMBERS.replace("((values - T", "((np.log(values) - T").replace(
    "return np.asarray(y, np.float64) * TARGET_STD + TARGET_MEAN",
    "# Its logarithm is learned: that takes a long tail away.\n"
    "    return np.exp(np.asarray(y, np.float64) * TARGET_STD + TARGET_MEAN)",
)
