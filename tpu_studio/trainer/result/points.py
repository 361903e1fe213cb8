"""All metric points of a run as columns, read from its events files.

One row a step. Points after a resumed step are dropped as the run continues from there, so that a step has one row.
What is no point is passed over: a folder may be somebody else's, and its files say anything. Numpy and the standard
library only; a million steps of five metrics take a few seconds.
"""

from __future__ import annotations

import bisect
import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tpu_studio.wire import metrics
from tpu_studio.wire.events import is_modest, is_time, lines_in
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import events_names

Column = npt.NDArray[np.float64]

_LAST_STEP = 2**53
_MOST_METRICS, _LONGEST_NAME = 64, 64  # bytes of it: each record of TensorBoard's has all names in it
_LARGEST = 1e200  # of a value: what is beyond counts as infinite, and no sum of the others is
_CELLS, _CELLS_A_VALUE = 1 << 22, 8  # of the table: some metrics come seldom, but all together hardly ever do
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Points:
    """Metric points by step.

    Attributes:
        steps: Whole numbers, rising.
        times: Seconds since 1970 at which each step was reached; between reports evenly spread.
        columns: Metric → one value a step; present: metric → where there is one (a value may be nan and present).
    """

    steps: npt.NDArray[np.int64]
    times: Column
    columns: Mapping[str, Column]
    present: Mapping[str, npt.NDArray[np.bool_]]

    def metric(self, name: str) -> tuple[npt.NDArray[np.int64], Column]:
        """Steps and values of one metric; empty when it was never reported."""
        if name not in self.columns:
            return self.steps[:0], np.empty(0)
        there = self.present[name]
        return self.steps[there], self.columns[name][there]

    @property
    def last(self) -> dict[str, float]:
        """The latest value of each metric."""
        return {name: float(self.columns[name][there][-1]) for name, there in self.present.items() if there.any()}


@dataclass
class _Collected:
    """*clock*: times at the last steps of reports, and None at the step that the run went back to. *behind*: how many
    of `_Returns` each metric has heard of: there may be very many of either."""

    steps: dict[str, array[int]] = field(default_factory=dict)
    values: dict[str, array[float]] = field(default_factory=dict)
    clock: list[tuple[int, float | None]] = field(default_factory=list)
    returns: _Returns = field(default_factory=lambda: _Returns())
    behind: dict[str, int] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        steps = record.get("step")
        if not isinstance(steps, list) or not steps or not _are_steps(steps):
            return
        for name, values in record.items():
            if name in ("t", "kind", "step") or not isinstance(values, list) or len(values) != len(steps):
                continue
            if name not in self.values and not self._may_begin(name):
                continue
            column = self.values.setdefault(name, array("d"))
            rows = self.steps.setdefault(name, array("q"))
            self._catch_up(name)
            if rows and steps[0] <= rows[-1]:
                self._drop(name, steps[0] - 1)
            try:
                column.extend(values)
            except (TypeError, OverflowError):  # "nan" and "inf" travel as words
                del column[len(rows) :]
                column.extend(_number(value) for value in values)
            rows.extend(steps)
        at = record.get("t")
        self.clock.append((int(steps[-1]), float(at) if at is not None and is_time(at) else 0.0))

    def _may_begin(self, name: str) -> bool:
        """Others than those that are known: some, of names that a table can hold."""
        return metrics.is_known(name) or (len(self.values) < _MOST_METRICS and _is_name(name))

    def resume(self, step: int) -> None:
        """The run went back to *step*: what came after it did not happen."""
        self.returns.add(step)
        if self.clock and self.clock[-1][1] is None:
            step = min(step, self.clock.pop()[0])
        self.clock.append((step, None))

    def times(self) -> dict[int, float]:
        """The time at each step, the latest of several, without what was gone back over."""
        found: dict[int, float] = {}
        lowest: float = math.inf
        for step, at in reversed(self.clock):
            if at is None:
                lowest = min(lowest, step)
            elif step <= lowest:
                found.setdefault(step, at)
        return found

    def finish(self) -> None:
        for name in self.steps:
            self._catch_up(name)

    def _catch_up(self, name: str) -> None:
        """Drop what was gone back over since the metric was reported last."""
        lowest = self.returns.lowest_since(self.behind.get(name, 0))
        if lowest is not None:
            self._drop(name, lowest)
        self.behind[name] = self.returns.count

    def _drop(self, name: str, after: int) -> None:
        keep = bisect.bisect_right(self.steps[name], after)
        del self.steps[name][keep:], self.values[name][keep:]


class _Returns:
    """Steps that a run went back to, one after another, and the lowest of the latest of them."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers: list[int] = []  # rising, as are the steps: of a higher one before a lower one nobody asks
        self._steps: list[int] = []

    def add(self, step: int) -> None:
        while self._steps and self._steps[-1] >= step:
            self._steps.pop()
            self._numbers.pop()
        self._steps.append(step)
        self._numbers.append(self.count)
        self.count += 1

    def lowest_since(self, number: int) -> int | None:
        """Of those from *number* on; None without one."""
        at = bisect.bisect_left(self._numbers, number)
        return self._steps[at] if at < len(self._steps) else None


def read(run: Path) -> Points:
    """The points of all attempts of the run in that folder, as far as its events files hold them."""
    collected = _Collected()
    for file in events_names(run):
        with open_to_read(file) as opened:
            for line in lines_in(opened):
                if (b'"metric"' not in line and b'"resume"' not in line) or not is_modest(line):
                    continue
                try:
                    record = parse_json(line, file.name)
                except ValueError:
                    continue  # a torn line: whoever wrote it died; the next attempt says where it went on
                if not isinstance(record, dict):
                    continue
                if record.get("kind") == "metric":
                    collected.add(record)
                elif record.get("kind") == "resume":
                    step = record.get("step")
                    collected.resume(int(step) if step is not None and _are_steps([step]) else 0)
    collected.finish()
    return _columns(collected)


def _columns(collected: _Collected) -> Points:
    known = {name: np.frombuffer(rows, np.int64) for name, rows in collected.steps.items() if len(rows)}
    steps = np.unique(np.concatenate(list(known.values()))) if known else np.empty(0, np.int64)
    columns, present = {}, {}
    room = _CELLS + _CELLS_A_VALUE * sum(map(len, known.values()))
    for name in sorted(known, key=metrics.rank)[: room // max(1, len(steps))]:
        at = np.searchsorted(steps, known[name])
        columns[name], present[name] = np.full(len(steps), np.nan), np.zeros(len(steps), bool)
        values = np.frombuffer(collected.values[name], np.float64)
        columns[name][at] = np.where(np.abs(values) > _LARGEST, np.copysign(np.inf, values), values)
        present[name][at] = True
    return Points(steps, _times(collected.times(), steps), columns, present)


def _times(clock: Mapping[int, float], steps: npt.NDArray[np.int64]) -> Column:
    if not clock:
        return np.zeros(len(steps))
    at = sorted(clock)
    return np.interp(steps, np.array(at, np.float64), np.array([clock[step] for step in at], np.float64))


def _are_steps(values: list[Any]) -> bool:
    """Whole numbers, rising."""
    whole = all(type(value) is int and 0 <= value < _LAST_STEP for value in values)
    return whole and all(one < other for one, other in pairwise(values))


def _is_name(name: str) -> bool:
    return len(name.encode(errors="replace")) <= _LONGEST_NAME and name.isprintable()


def _number(value: object) -> float:
    if isinstance(value, str):
        return _WORDS.get(value, math.nan)
    try:
        return float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        return math.nan
