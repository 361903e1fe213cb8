"""Tables, however their files are written: the quick look, and the opened data set.

The look judges columns on all rows of a small file and on a fixed sample of a large one. Opening reads the file once,
block by block, keeps numbers and codes, and writes one float32 matrix for each side of the split: into memory, or into
an unnamed file when it is larger than the budget.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data import based, cells, letters, tablefile
from tpu_studio.data import table_encoding as encoding
from tpu_studio.data.arrays import Array, Floats, Ints
from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.columnar import Rows
from tpu_studio.data.columns import Column, Judged, check_classes, judge, target_class
from tpu_studio.data.looked import NAMED_BROKEN, Finding, Look, alike_findings, broken_finding
from tpu_studio.data.opened import ArraySource, Opened
from tpu_studio.data.paths import data_path, path_error
from tpu_studio.data.rows import RowTally, TableFile
from tpu_studio.data.split import keys_of_rows, validation_count, validation_mask
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.plainfiles import plainly

LEAST_ROWS = 10
_BLOCK, _BLOCK_CELLS = 20_000, 4_000_000  # rows that are held as text at a time; cells of them
_PREVIEW_ROWS = 20


@dataclass(frozen=True)
class Sampled:
    table: TableFile
    rows: list[list[str]]
    count: int
    sampled: bool
    tally: RowTally
    judged: Judged


def look(job: Job, watch: Watch) -> Look:
    rows = tablefile.found(given := data_path(job), watch)
    path = rows.file
    sample = examine(path, job, watch)
    judged = sample.judged
    labels = _labels([row[judged.target.place] for row in sample.rows], judged)
    labelled = sum(label is not None for label in labels)
    scale = sample.count / max(1, len(sample.rows))
    examples = round(labelled * scale)
    check_enough(path, examples)
    counted = Counter(labels)
    classes = tuple((name, round(counted[name] * scale)) for name in judged.classes)
    kept = validation_count(examples, job.data.validation, max(1, len(classes)))
    rows_seen = [tuple(row) for row in sample.rows]
    duplicates = len(rows_seen) - len(set(rows_seen))
    width = based.width(judged.columns, job) or _width(
        judged, [row for row, label in zip(sample.rows, labels, strict=True) if label is not None]
    )
    tally = sample.tally
    return Look(
        kind=job.data.kind,
        task=judged.task,
        target=judged.target.name,
        examples=examples,
        train=examples - kept,
        validation=kept,
        sampled=sample.sampled,
        classes=classes,
        columns=tuple(column.to_look(target=column.name == judged.target.name) for column in judged.columns),
        numbers={
            "rows": sample.count,
            "comments": tally.comments,
            "columns": len(judged.columns),
            "without_target": sample.count - examples,
        },
        broken=tuple(tally.broken),
        broken_count=tally.broken_count,
        duplicates=duplicates,
        findings=(*_findings(sample, job, labelled, classes, duplicates), *file_findings(given, rows)),
        preview={
            "columns": list(sample.table.names),
            "rows": [[cell[:200] for cell in row] for row in sample.rows[:_PREVIEW_ROWS]],
        },
        bytes_on_disk=path.stat().st_size,
        fingerprint=fingerprint(path),
        input_shape=(width,),
        outputs=len(judged.classes) or 1,
        rows_file=str(path) if path != given else "",
    )


def open_table(job: Job, *, budget: int, watch: Watch) -> Opened:
    path = tablefile.found(data_path(job), watch).file
    sample = examine(path, job, Watch(cancelled=watch.cancelled))
    judged, table = sample.judged, sample.table
    preset = based.preset_of(job)
    given = based.encoders(preset) if preset else []
    inputs = based.inputs(given, judged.columns, preset) if preset else judged.inputs
    lanes = [_lane(column) for column in inputs]
    target = _lane(judged.target if tasks.by_id(judged.task).has_number else _as_category(judged.target))
    tally = RowTally()
    rows: Iterator[list[str]] = iter(sample.rows)
    if sample.sampled:
        rows = table.read(tally, watch)
    else:
        tally = sample.tally
    most = max(1, min(_BLOCK, _BLOCK_CELLS // len(table.names)))
    while block := list(islice(rows, most)):
        columns = list(zip(*block, strict=True))
        for lane, column in zip(lanes, inputs, strict=True):
            lane.add(columns[column.place])
        answers = columns[judged.target.place]
        target.add([label or "" for label in _labels(answers, judged)] if judged.classes else answers)
        for lane in (*lanes, target):
            if isinstance(lane, encoding.NumberLane) and lane.beyond:
                raise _beyond(path, table, lane.column, watch)
        watch.check()
    check_broken(tally.broken_count, tally.rows + tally.broken_count, job.data.max_broken_share, tally.broken)
    y, known, description = _targets(target, judged, path)
    check_enough(path, int(known.sum()))
    seed, share = job.training.seed, job.data.validation
    chosen = np.flatnonzero(known)
    mask = validation_mask(
        keys_of_rows(len(known), seed)[chosen], share, y[chosen] if tasks.by_id(judged.task).has_classes else None
    )
    sides = (chosen[~mask], chosen[mask])
    if tasks.by_id(judged.task).has_number:
        description["target_transform"] = based.transform(y[sides[0]], judged, preset)
        y = encoding.transform(np.where(known, y, 1.0), description["target_transform"])
    encoders = given or [_fit(lane, column, chosen, sides[0]) for lane, column in zip(lanes, inputs, strict=True)]
    encoders = [based.as_written(encoder, column) for encoder, column in zip(encoders, inputs, strict=True)]
    width = sum(encoder["width"] for encoder in encoders)
    in_memory = len(known) * (width + 1) * 4 <= budget
    matrices = [_matrix(len(side), width, in_memory) for side in sides]
    start = 0
    for lane, encoder in zip(lanes, encoders, strict=True):
        _write(lane, encoder, sides, [matrix[:, start : start + encoder["width"]] for matrix in matrices])
        start += encoder["width"]
        watch.check()
    description |= {
        "columns": encoders,
        "input_shape": [width],
        "header": table.header,
        "ignored": [column.name for column in judged.columns if not column.used],
    }
    train, kept = (
        ArraySource({"x": matrix, "y": y[side]}, in_memory=in_memory)
        for matrix, side in zip(matrices, sides, strict=True)
    )
    return Opened(judged.task, train, kept, description, tally.broken[:NAMED_BROKEN], tally.broken_count)


def examine(path: Path, job: Job, watch: Watch) -> Sampled:
    """The file, a sample of it and judged columns: the part that look and open share."""
    if path.is_dir():
        raise DataError("data-not-a-file", path=str(path))
    table = tablefile.opened(path, watch)
    if len(table.names) < 2 and not table.nested:
        raise DataError("data-one-column", path=str(path), first=table.names[0][:80])
    sample = table.sample(watch)
    rows, tally = sample.rows, sample.tally
    check_broken(tally.broken_count, tally.rows + tally.broken_count, job.data.max_broken_share, tally.broken)
    job = based.with_kinds(job, table.names)
    judged = judge(table.names, rows, job, str(path), header=table.header, nested=table.nested, commas=table.commas)
    for column in (*judged.inputs, *([judged.target] if tasks.by_id(judged.task).has_number else ())):
        if column.kind == "number" and column.beyond:
            raise _beyond(path, table, column, watch)
    return Sampled(table, rows, sample.about, sample.sampled, tally, judged)


def file_findings(path: Path, rows: Rows) -> list[Finding]:
    """How it is written, and that a data set has splits beside the one that is read."""
    splits = [Finding("other-splits", "info", {"splits": list(rows.left_out)})] if rows.left_out else []
    return [*splits, *letters.findings_of(path)]


def check_enough(path: Path, examples: int) -> None:
    if examples < LEAST_ROWS:
        raise DataError("data-too-few", path=str(path), count=examples, needed=LEAST_ROWS)


def fingerprint(path: Path) -> str:
    """Of one file: its name, size, and first and last 64 KiB. Raises DataError."""
    try:
        size = path.stat().st_size
        digest = hashlib.sha256(f"{path.name}\0{size}\n".encode("utf-8", "surrogateescape"))
        with open(path, "rb", opener=plainly) as file:
            digest.update(file.read(65_536))
            if size > 65_536:
                file.seek(max(65_536, size - 65_536))
                digest.update(file.read(65_536))
    except OSError as error:
        raise path_error(path, error) from error
    return digest.hexdigest()


def _labels(lane: Sequence[str], judged: Judged) -> list[str | None]:
    """`_label` of each cell."""
    known = {cell: _label(cell, judged) for cell in set(lane)}
    return [known[cell] for cell in lane]


def _label(cell: str, judged: Judged) -> str | None:
    """The class (or for regression any text) of a target cell, None when it has none."""
    if cells.is_missing(cell):
        return None
    if judged.target.kind == "number" and np.isnan(cells.number(cell, judged.target.decimal)):
        return None
    return target_class(cell, judged.target) if tasks.by_id(judged.task).has_classes else "known"


def _as_category(column: Column) -> Column:
    return Column(column.name, column.place, "category")


def _lane(column: Column) -> encoding.NumberLane | encoding.CategoryLane:
    return encoding.CategoryLane() if column.kind == "category" else encoding.NumberLane(column)


def _fit(lane: encoding.NumberLane | encoding.CategoryLane, column: Column, every: Ints, train: Ints) -> dict[str, Any]:
    """The encoder: its width by every row that has a target, its statistics by the training rows."""
    if isinstance(lane, encoding.CategoryLane):
        return encoding.fit_category(column.name, lane.codes()[every], lane.names)
    values = lane.values()
    missing = not bool(np.isfinite(values[every]).all())
    if column.kind == "date":
        whole = values[every]
        hours = bool((whole[np.isfinite(whole)] % 1 > 0).any())
        return encoding.fit_date(column.name, values[train], column.form, missing=missing, hours=hours)
    return encoding.fit_number(column.name, values[train], column.decimal, missing=missing)


def _write(
    lane: encoding.NumberLane | encoding.CategoryLane,
    encoder: dict[str, object],
    sides: tuple[Ints, Ints],
    into: list[Floats],
) -> None:
    if isinstance(lane, encoding.CategoryLane):
        codes = lane.codes()
        for side, part in zip(sides, into, strict=True):
            encoding.write_categories(encoder, codes[side], lane.names, part)
        return
    values = lane.values()
    for side, part in zip(sides, into, strict=True):
        encoding.write_numbers(encoder, values[side], part)


def _targets(
    target: encoding.NumberLane | encoding.CategoryLane, judged: Judged, path: Path
) -> tuple[Array, Array, dict[str, Any]]:
    """Targets of all rows, which rows have one, and the description so far."""
    description: dict[str, object] = {"kind": "table", "task": judged.task, "target": judged.target.name}
    if isinstance(target, encoding.NumberLane):
        values = target.values()
        return values, np.isfinite(values), description | {"outputs": 1, "target_decimal": judged.target.decimal}
    classes = list(judged.classes)
    classes += sorted(set(target.names) - set(classes))  # met beyond the sample of a large file
    check_classes(classes, path, judged.target.name, len(target.codes()))
    numbers = {name: number for number, name in enumerate(classes)}
    lookup = np.array([numbers[name] for name in target.names] + [-1])
    y = lookup[target.codes()].astype(np.int32)
    return y, y >= 0, description | {"classes": classes, "outputs": len(classes)}


def _matrix(rows: int, width: int, in_memory: bool) -> Floats:
    if in_memory or rows * width == 0:
        return np.zeros((rows, width), dtype=np.float32)
    try:
        with tempfile.TemporaryFile(prefix="tpu-studio-table-") as file:
            file.truncate(rows * width * 4)
            if hasattr(os, "posix_fallocate"):  # a disk that fills up later ends the process where it writes
                os.posix_fallocate(file.fileno(), 0, rows * width * 4)
            return np.memmap(file, dtype=np.float32, mode="r+", shape=(rows, width))
    except OSError as error:
        needed = rows * width * 4
        raise DataError("data-disk-full", path=tempfile.gettempdir(), needed=needed, raw=str(error)) from error


def _width(judged: Judged, rows: list[list[str]]) -> int:
    """Numbers in one encoded example (as the sample has it)."""
    width = 0
    every = np.arange(len(rows))
    for column in judged.inputs:
        lane = _lane(column)
        lane.add([row[column.place] for row in rows])
        width += _fit(lane, column, every, every)["width"]
    return width


def _beyond(path: Path, table: TableFile, column: Column, watch: Watch) -> DataError:
    """That a cell of *column* holds a number that is too large to count with: the first one, found by reading again."""
    facts: dict[str, object] = {"path": str(path), "column": column.name, "largest": f"{cells.WIDEST:.2g}"}
    tally = RowTally()
    for row in table.read(tally, Watch(cancelled=watch.cancelled)):
        if cells.beyond(row[column.place], column.decimal):
            return DataError("data-number-too-large", **facts, line=tally.line, cell=row[column.place].strip()[:40])
        if tally.rows % _BLOCK == 0:
            watch.check()
    return DataError("data-number-too-large", **facts)


def _first_unreadable(column: Column, sample: Sampled) -> dict[str, object]:
    """What stands in the first cell that cannot be read, and in which row, where no row before it was left out."""
    if column.first_unreadable is None:
        return {}
    row, cell = column.first_unreadable
    counted = not (sample.sampled or sample.tally.broken_count or sample.tally.comments)
    return {"cell": cell, **({"row": row + 1} if counted else {})}


def _findings(
    sample: Sampled, job: Job, labelled: int, classes: tuple[tuple[str, int], ...], duplicates: int
) -> list[Finding]:
    judged, found = sample.judged, []
    for column in judged.columns:
        facts: dict[str, object] = {"column": column.name}
        answer = column.name == judged.target.name
        if column.unreadable and (answer or column.used):
            found.append(
                Finding(
                    "unreadable-cells",
                    "warning",
                    facts
                    | _first_unreadable(column, sample)
                    | {"count": column.unreadable, "kind": column.kind, "answer": answer},
                )
            )
        if answer:
            continue
        if column.leak:
            found.append(Finding(f"leak-{column.leak}", "warning", facts | {"target": judged.target.name}))
        elif column.why == "constant":
            found.append(Finding("constant-column", "info", facts | {"value": column.examples[0]}))
        elif column.why == "nested":
            found.append(Finding("nested-column", "warning", facts | {"line": sample.table.nested[column.name]}))
        elif column.why == "empty":
            found.append(Finding("empty-column", "info", facts))
        elif column.why == "text":
            found.append(Finding("text-column", "info", facts | {"distinct": column.distinct}))
        elif column.kind == "date":
            found.append(Finding("date-column", "info", facts | {"form": column.form}))
        if column.used and column.missing > 0.5 * len(sample.rows):
            found.append(Finding("mostly-missing", "info", facts | {"count": column.missing}))
    if not sample.table.header:
        found.append(Finding("no-header", "info", {"names": list(sample.table.names)[:10]}))
    if labelled < len(sample.rows):
        found.append(
            Finding(
                "rows-without-target", "warning", {"count": len(sample.rows) - labelled, "target": judged.target.name}
            )
        )
    if sample.tally.broken_count:
        found.append(broken_finding(sample.tally.broken_count, sample.tally.broken))
    if labelled < 200:
        found.append(Finding("tiny-data", "warning", {"examples": labelled}))
    if duplicates:
        found.append(Finding("duplicate-rows", "info", {"count": duplicates}))
    counts = [count for _, count in classes]
    if counts and max(counts) >= 3 * max(1, min(counts)):
        names = [name for name, _ in classes]
        most, least = counts.index(max(counts)), counts.index(min(counts))
        found.append(
            Finding(
                "class-imbalance",
                "warning",
                {"most": names[most], "most_count": counts[most], "least": names[least], "least_count": counts[least]},
            )
        )
    few = [[name, count] for name, count in classes if count < 10]
    if few:
        found.append(Finding("near-empty-class", "warning", {"classes": few[:20], "count": len(few)}))
    found += alike_findings([name for name, _ in classes])
    if job.data.target in (None, "auto"):
        found.append(Finding("target-proposed", "info", {"target": judged.target.name, "task": judged.task}))
    return found


def guess(path: Path) -> dict[str, object]:
    """What the table at *path* seems to be for. Raises DataError."""
    kind = kinds.by_id("table")
    job = parse({"model": {"name": kind.model}, "data": {"kind": kind.id, "path": str(path)}})
    judged = examine(tablefile.found(path, Watch()).file, job, Watch()).judged
    return {"data.target": judged.target.name, "data.task": judged.task}
