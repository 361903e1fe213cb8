"""The ends of a run's columns while one batch is taken in: cut and lengthened in memory, then written once.

A file may hold as many resumes as lines. Each costs a look at the last steps here; a column's file is read where a
point comes behind a cut, and written once a batch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tpu_studio.store import columns
from tpu_studio.store.curve import mapped

_BEFORE_ALL = -(2**62)


@dataclass
class _Tail:
    """The column *number*: the first *length* rows of its file, then *rows*, whose steps grow.

    Attributes:
        last: The step of the last row of both; where *cut*, only that none is above it.
        cut: Of the file's rows those of steps above *last* do not count, and nobody has looked how many these are.
    """

    number: int
    length: int
    last: int
    cut: bool = False
    rows: list[columns.Rows] = field(default_factory=list)


class Tails:
    """Of all columns of a run. Raises OSError where a file cannot be read."""

    def __init__(
        self, folder: Path, lengths: Mapping[str, tuple[int, int]], last_step: Callable[[str, int, int], int]
    ) -> None:
        """*lengths*: number and rows of each metric's column; *last_step*: of these, given by name, number and rows."""
        self._folder, self._lengths, self._last_step = folder, lengths, last_step
        self._tails: dict[str, _Tail] = {}
        self._count = len(lengths)
        self._unseen = lengths  # by resumes
        self._steps: dict[str, columns.Rows] = {}  # of the files that were looked into

    def resume(self, step: int) -> None:
        """Drop the points after *step*."""
        for metric in self._unseen:
            self._tail(metric)
        self._unseen = {}
        for tail in self._tails.values():
            if tail.last > step:
                _cut(tail, step)

    def add(self, metric: str, rows: columns.Rows, metrics_at_most: int) -> None:
        """Add those of *rows* whose step is above all before it, unless the metric is one too many."""
        if self._count >= metrics_at_most and metric not in self._lengths and metric not in self._tails:
            return
        tail = self._tail(metric)
        if tail.cut:
            self._look(metric, tail)
        rows = _increasing(rows, tail.last)
        if len(rows):
            tail.rows.append(rows)
            tail.last = int(rows["step"][-1])

    def write(self) -> dict[str, tuple[int, int]]:
        """Write what was added; number and rows of each column now."""
        lengths = dict(self._lengths)
        for metric, tail in self._tails.items():
            if tail.cut:
                self._look(metric, tail)
            rows = _joined(tail.rows)
            added = rows is not None and columns.append(self._folder, tail.number, tail.length, rows)
            lengths[metric] = (tail.number, added or tail.length)
        return lengths

    def _tail(self, metric: str) -> _Tail:
        if metric not in self._tails:
            number, length = self._lengths.get(metric, (self._count, 0))
            self._count += metric not in self._lengths
            last = self._last_step(metric, number, length) if length else _BEFORE_ALL
            self._tails[metric] = _Tail(number, length, last)
        return self._tails[metric]

    def _look(self, metric: str, tail: _Tail) -> None:
        """How many of the file's rows a cut has left."""
        steps = self._steps.get(metric)
        if steps is None:
            file = columns.rows_file(self._folder, tail.number)
            steps = self._steps[metric] = mapped(file, columns.ROW, tail.length)["step"]
        tail.length, tail.cut = bisect_right(steps, tail.last, hi=tail.length), False
        tail.last = int(steps[tail.length - 1]) if tail.length else _BEFORE_ALL


def _cut(tail: _Tail, step: int) -> None:
    while tail.rows and tail.rows[-1]["step"][0] > step:
        tail.rows.pop()
    if tail.rows:
        steps = tail.rows[-1]["step"]
        kept = bisect_right(steps, step)
        tail.rows[-1], tail.last = tail.rows[-1][:kept], int(steps[kept - 1])
    else:
        tail.last, tail.cut = (step, True) if tail.length else (_BEFORE_ALL, False)


def _joined(parts: Iterable[columns.Rows]) -> columns.Rows | None:
    found = list(parts)
    return np.concatenate(found) if len(found) > 1 else found[0] if found else None


def _increasing(rows: columns.Rows, after: int) -> columns.Rows:
    """*rows* without those whose step is not above all before it: a step has one point."""
    if not len(rows):
        return rows
    highest = np.maximum.accumulate(np.concatenate([[after], rows["step"][:-1]]))
    good = rows["step"] > highest
    return rows if good.all() else rows[good]
