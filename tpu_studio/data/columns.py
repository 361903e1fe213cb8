"""What each column of a table is, which one to predict, and which ones would give the answer away.

Judges a sample of rows (`csvfile.sample_rows`), so the look and the opened data set come to the same answer. The job
overrules: ``data.columns`` names a kind, ``data.target`` the column, ``data.task`` the task.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from tpu_studio.data import cells
from tpu_studio.data.looked import ColumnLook
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.sizes import NAME_LETTERS

KINDS = ("number", "category", "date", "ignore")
MOST_CLASSES = 1000
_COMPARED = 20_000  # rows compared with the target
_LIKE, _LIKE_COLUMNS = 100, 500  # letters of a name, and names, among which the nearest is looked for
NOTHING: Mapping[str, int] = {}
TARGET_NAMES = (
    "target",
    "label",
    "labels",
    "class",
    "outcome",
    "species",
    "price",
    "saleprice",
    "sale_price",
    "survived",
    "churn",
    "diagnosis",
    "quality",
    "medv",
    "charges",
    "income",
    "rating",
    "score",
)
_ID_NAME = re.compile(
    r"(.*[_ .-])?(id|uuid|guid|key|index|idx|rowid|rownum|row_number|row|no|num|number)\.?|.*nr\.?|.*nummer"
    r"|[a-z]+Id|[a-z]+ID|unnamed.*"
)


Commas = Literal["", "likely", "certain"]


@dataclass(frozen=True)
class Column:
    """A column as judged. *place* is its number in a row; *decimal* and *form* say how to read its cells."""

    name: str
    place: int
    kind: str
    decimal: str = "."
    form: str = ""
    missing: int = 0
    unreadable: int = 0
    first_unreadable: tuple[int, str] | None = None  # its row, from 0, and what stands there
    beyond: bool = False  # a number larger than those that training counts with is among them
    distinct: int = 0
    examples: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    top: tuple[tuple[str, int], ...] = ()
    proposed: bool = True
    leak: str | None = None
    why: str = (
        ""  # why it is ignored: constant, empty, id, row-number (unless nothing is left), copy, text, nested, asked
    )

    @property
    def used(self) -> bool:
        return self.kind in ("number", "category", "date")

    def to_look(self, *, target: bool) -> ColumnLook:
        return ColumnLook(
            self.name,
            self.kind,
            self.missing,
            self.distinct,
            self.examples,
            self.minimum,
            self.maximum,
            self.mean,
            self.top,
            self.proposed,
            self.leak,
            target,
        )


@dataclass(frozen=True)
class Judged:
    """The columns of a table, its target among them, and the task."""

    columns: tuple[Column, ...]
    target: Column
    task: str
    classes: tuple[str, ...]  # as they stand in the file; () for regression

    @property
    def inputs(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.used and column.name != self.target.name)


def judge(
    names: Sequence[str],
    rows: list[list[str]],
    job: Job,
    path: str,
    *,
    header: bool = True,
    nested: Mapping[str, int] = NOTHING,
    commas: bool = False,
) -> Judged:
    """Judge all columns on *rows*.

    *nested*: those that hold lists or objects, with the first line where one does: left out, unless the job wants them.
    *commas*: as of `TableFile`.

    Raises:
        DataError: data-empty, data-column-unknown, data-column-kind, data-target-missing, data-target-constant,
            data-target-empty, data-target-not-number, data-target-unfit, data-too-many-classes, data-one-class,
            data-no-inputs, data-nested.
    """
    judged = judge_target(names, rows, job, path, header=header, nested=nested, commas=commas)
    columns, target, task, classes = list(judged.columns), judged.target, judged.task, judged.classes
    lanes = list(zip(*rows, strict=True))
    for column in columns:
        if column.used and column.place != target.place and column.proposed:
            columns[column.place] = _without_leak(column, target, task, lanes)
    if not Judged(tuple(columns), target, task, classes).inputs:
        columns = [replace(column, kind="number") if column.why == "row-number" else column for column in columns]
    judged = Judged(tuple(columns), target, task, classes)
    if not judged.inputs:
        raise DataError(
            "data-no-inputs",
            path=path,
            target=target.name,
            left_out=[[column.name, column.why] for column in columns if column.why][:20],
            left_out_count=sum(1 for column in columns if column.why),
        )
    return judged


def judge_target(
    names: Sequence[str],
    rows: list[list[str]],
    job: Job,
    path: str,
    *,
    header: bool = True,
    nested: Mapping[str, int] = NOTHING,
    commas: bool = False,
) -> Judged:
    """As `judge`, whatever is left to predict the target from."""
    if not rows:
        raise DataError("data-empty", path=path)
    asked = _asked(names, job, path)
    lanes = list(zip(*rows, strict=True))
    columns = [_column(name, place, lanes[place], asked.get(name)) for place, name in enumerate(names)]
    if found := _commas(columns, lanes, commas):
        columns = [_column(name, place, lanes[place], asked.get(name), found) for place, name in enumerate(names)]
    for name, line in nested.items():
        if asked.get(name) not in (None, "ignore"):
            raise DataError("data-nested", path=path, column=name, line=line)
        if name not in asked:
            place = names.index(name)
            columns[place] = replace(columns[place], kind="ignore", why="nested", top=(), leak=None)
    if nested and not any(column.kind in ("number", "category") for column in columns):
        raise DataError("data-nested", path=path, column=next(iter(nested)), line=nested[next(iter(nested))])
    target = _target(columns, job, path, header=header)
    if target.name in nested:
        raise DataError("data-nested", path=path, column=target.name, line=nested[target.name])
    if asked.get(target.name) not in (None, "ignore"):
        target = columns[target.place]
    else:  # what makes a poor input (few values, all different) can still be what to predict
        target = _column(target.name, target.place, lanes[target.place], None, found, plain=True)
        target = replace(target, proposed=True)
    task, classes = _task(target, lanes[target.place], job, path)
    columns[target.place] = target
    return Judged(tuple(columns), target, task, classes)


def target_class(cell: str, column: Column) -> str:
    """The class a target cell names: numbers without needless zeros (1.0 and 1 are one class)."""
    if column.kind == "number":
        value = cells.number(cell, column.decimal)
        return str(int(value)) if value == int(value) else repr(value)
    return cell.strip()


def _asked(names: Sequence[str], job: Job, path: str) -> dict[str, str]:
    asked = {str(name): str(kind) for name, kind in job.data.columns.items()}
    for name, kind in asked.items():
        if name not in names:
            raise DataError(
                "data-column-unknown", path=path, column=name, nearest=_nearest(name, names), columns=list(names)[:50]
            )
        if kind not in KINDS:
            raise DataError("data-column-kind", path=path, column=name, value=kind, allowed=list(KINDS))
    return asked


def _nearest(name: str, names: Sequence[str]) -> str:
    """Of *names* the one most like it. Long ones are compared letter by letter with all there are: by their beginnings,
    and of a table with thousands of columns with the first."""
    short = {one[:_LIKE]: one for one in reversed(names[:_LIKE_COLUMNS])}
    return short[difflib.get_close_matches(name[:_LIKE], list(short), n=1, cutoff=0.0)[0]]


def _commas(columns: Sequence[Column], lanes: Sequence[Sequence[str]], likely: bool) -> Commas:
    """Whether decimals of a table are marked by commas: as some column tells, where none has points; else *likely*."""
    numbers = [column for column in columns if column.kind == "number"]
    if any(cells.has_points(lanes[column.place][:5000]) for column in numbers if column.decimal == "."):
        return ""
    return "certain" if any(column.decimal == "," for column in numbers) else "likely" if likely else ""


def _column(
    name: str, place: int, lane: Sequence[str], asked: str | None, commas: Commas = "", *, plain: bool = False
) -> Column:
    """*commas*: numbers that may be thousands or decimals ("1,234") are decimals; where that is certain, those with
    points ("1.234") thousands."""
    counts: Counter[str] = Counter()
    missing = 0
    for cell, count in Counter(lane).items():  # a column has far fewer values than rows
        if cells.is_missing(cell):
            missing += count
        else:
            counts[cell.strip()] += count
    rows = len(lane) - missing
    basis = Column(
        name,
        place,
        "category",
        missing=missing,
        distinct=len(counts),
        examples=tuple(value[:80] for value in islice(counts, 5)),
        proposed=asked is None,
    )
    top = tuple((value[:80], count) for value, count in counts.most_common(12))
    if asked == "ignore":
        return replace(basis, kind="ignore", why="asked", top=top)
    if not rows:
        return replace(basis, kind="ignore", why="empty")
    probe = list(islice(counts, 5000))
    decimal = cells.decimal_mark(probe)
    if decimal == "." and commas:
        turned = cells.may_be_decimals(probe) or (commas == "certain" and cells.may_be_thousands(probe))
        decimal = "," if turned else "."
    form = cells.date_form(probe) if decimal is None or asked == "date" else None
    if asked == "number" or (asked is None and decimal is not None):
        column = _number(replace(basis, kind="number", decimal=decimal or "."), counts, lane)
    elif asked == "date" or (asked is None and form is not None):
        column = replace(basis, kind="date", form=form or "year-month-day")
        bad = [cell for cell in counts if math.isnan(cells.days(cell, column.form))]
        column = _unreadable(column, counts, bad, lane)
    else:
        column = replace(basis, kind="category", top=top)
    if plain or asked is not None:
        return column
    if column.distinct == 1:
        return replace(column, kind="ignore", why="constant")
    leak = _identity(column, lane, rows)
    if leak:
        return replace(column, kind="ignore", why=leak, leak=leak)
    if column.kind == "category":
        longest = sum(map(len, counts)) / len(counts)
        if column.distinct > max(50, 0.5 * rows) or (longest > 40 and column.distinct > 10):
            return replace(column, kind="text", why="text")
    return column


def _unreadable(column: Column, counts: Counter[str], bad: Sequence[str], lane: Sequence[str]) -> Column:
    if not bad:
        return column
    row = next(row for row, cell in enumerate(lane) if cell.strip() == bad[0])  # counted in the order of the rows
    return replace(column, unreadable=sum(counts[cell] for cell in bad), first_unreadable=(row, bad[0][:80]))


def _number(column: Column, counts: Counter[str], lane: Sequence[str]) -> Column:
    values = np.array(cells.numbers(list(counts), column.decimal))
    weights = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    good = np.isfinite(values)
    column = _unreadable(column, counts, [cell for cell, fine in zip(counts, good, strict=True) if not fine], lane)
    large = zip(counts, np.abs(values) <= cells.WIDEST, strict=True)
    column = replace(column, beyond=any(not fits and cells.beyond(cell, column.decimal) for cell, fits in large))
    if not good.any():
        return column
    return replace(
        column,
        minimum=float(values[good].min()),
        maximum=float(values[good].max()),
        mean=float(np.average(values[good], weights=weights[good])),
    )


def _identity(column: Column, lane: Sequence[str], rows: int) -> str | None:
    """ "id" or "row-number" for a column that only names its row."""
    if rows < 10 or column.distinct < 0.98 * rows or column.kind == "date":
        return None
    present = [cell.strip() for cell in lane if not cells.is_missing(cell)]
    named = bool(_ID_NAME.fullmatch(column.name) or _ID_NAME.fullmatch(column.name.lower()))
    if column.kind == "number":
        values = np.array(cells.numbers(present, column.decimal))
        steps = np.diff(values)
        if values[0] in (0, 1) and bool(np.all(steps > 0)) and float((steps == 1).mean()) > 0.95:
            return "row-number"  # not all: between the stretches of a sample it jumps
        return "id" if named and bool(np.all(values == np.rint(values))) else None
    short = max(map(len, present[:1000])) <= 40
    return "id" if named or (short and column.distinct == rows and " " not in "".join(present[:100])) else None


def _target(columns: list[Column], job: Job, path: str, *, header: bool) -> Column:
    names = [column.name for column in columns]
    given = job.data.target
    if given is not None and given != "auto":
        if given not in names:
            near = _nearest(given, names)
            raise DataError("data-target-missing", path=path, column=given, nearest=near, columns=names[:50])
        return columns[names.index(given)]
    able = [
        column
        for column in columns
        if column.kind in ("number", "category") or (column.why in ("constant",) and len(columns) == 2)
    ]
    if not able:
        raise DataError("data-target-missing", path=path, column="", nearest=None, columns=names[:50])
    if header:
        lower = {column.name.strip().lower().replace(" ", "_"): column for column in able}
        for name in TARGET_NAMES + (() if "x" in lower else ("y",)):
            if name in lower:
                return lower[name]
    return able[-1]


def _task(target: Column, lane: Sequence[str], job: Job, path: str) -> tuple[str, tuple[str, ...]]:
    where = {"path": path, "column": target.name}
    present = [cell for cell in lane if not cells.is_missing(cell)]
    task = job.data.task
    if not present:
        raise DataError("data-target-empty", **where)
    wanted = None if task == "auto" else tasks.by_id(task)
    if wanted and (wanted.has_tokens or wanted.has_labels):
        allowed = list(kinds.first(lambda kind: kind.has_rows).tasks)
        raise DataError("data-task-unfit", task=task, kind=job.data.kind, allowed=allowed)
    if target.kind == "date":
        raise DataError("data-target-unfit", **where, kind="date")
    if target.distinct == 1:
        raise DataError("data-target-constant", **where, value=target.examples[0])
    if target.kind == "category" and wanted and wanted.has_number:
        raise DataError("data-target-not-number", **where, examples=list(target.examples))
    if target.kind == "number":
        numbers = np.array(cells.numbers(present, target.decimal))
        numbers = numbers[np.isfinite(numbers)]
        whole = bool(np.all(numbers == np.rint(numbers)))
        few = len(np.unique(numbers)) <= (10 if whole else 2) and len(numbers) >= 5 * target.distinct
        if (wanted and wanted.has_number) or (wanted is None and not few):
            if len(np.unique(numbers)) < 2 and not target.beyond:
                raise DataError("data-target-constant", **where, value=target.examples[0])
            return next(one.id for one in tasks.all_tasks() if one.has_number), ()
        present = [cell for cell in present if not math.isnan(cells.number(cell, target.decimal))]
        if not present:
            raise DataError("data-target-empty", **where)
    classes = sorted({target_class(cell, target) for cell in present}, key=_class_key)
    if len(classes) > MOST_CLASSES or len(classes) > max(20, 0.5 * len(present)):
        raise DataError(
            "data-too-many-classes",
            **where,
            count=len(classes),
            rows=len(present),
            allowed=min(MOST_CLASSES, max(20, len(present) // 2)),
        )
    check_classes(classes, path, target.name, len(present))
    if len(classes) < 2:
        raise DataError("data-target-constant", **where, value=classes[0])
    return next(one.id for one in tasks.all_tasks() if one.has_classes), tuple(classes)


def check_classes(classes: Sequence[str], path: Path | str, column: str, rows: int) -> None:
    """Of a sample, or a whole file, in which more may be met.

    Raises:
        DataError: ``data-too-many-classes``, ``data-class-too-long``.
    """
    longest = max(map(len, classes), default=0)
    if longest > NAME_LETTERS:
        facts = {"letters": longest, "allowed": NAME_LETTERS}
        raise DataError("data-class-too-long", path=str(path), column=column, **facts)
    if len(classes) > MOST_CLASSES:
        facts = {"count": len(classes), "rows": rows, "allowed": MOST_CLASSES}
        raise DataError("data-too-many-classes", path=str(path), column=column, **facts)


def _class_key(name: str) -> tuple[int, float, str]:
    value = cells.number(name)
    return (1, 0.0, name) if math.isnan(value) else (0, value, name)


def _without_leak(column: Column, target: Column, task: str, lanes: Sequence[Sequence[str]]) -> Column:
    """*column*, ignored as a "copy" when it says what the target says, in other words or another unit."""
    mine, answers = lanes[column.place][:_COMPARED], lanes[target.place][:_COMPARED]
    if tasks.by_id(task).has_number and column.kind == "number":
        one = np.array(cells.numbers(mine, column.decimal))
        other = np.array(cells.numbers(answers, target.decimal))
        good = np.isfinite(one) & np.isfinite(other)
        one, other = one[good], other[good]
        if len(one) < 10 or one.std() == 0 or other.std() == 0:
            return column
        copy = abs(float(np.corrcoef(one, other)[0, 1])) > 0.999999
    elif tasks.by_id(task).has_classes and len(mine) >= 10:
        both = {
            (one.strip(), other.strip())
            for one, other in set(zip(mine, answers, strict=True))
            if not cells.is_missing(one) and not cells.is_missing(other)
        }
        copy = len(both) == len({one for one, _ in both}) == len({other for _, other in both}) > 1
    else:
        copy = False
    return replace(column, kind="ignore", why="copy", leak="copy") if copy else column
