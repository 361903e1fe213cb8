"""Lines of an events file to metric points and events, fast: a million steps of five metrics in a second or two.

Metric lines go into arrays without becoming `Event` objects one by one; the fold gets the latest of each five
seconds, which is all that it keeps. Everything else becomes an `Event` with its meaning from ``wire.events``. Pure.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from tpu_studio.domain.run import HISTORY_EVERY_S, RunView
from tpu_studio.store.columns import ROW, Rows
from tpu_studio.wire.events import Event, from_record, is_modest, is_spelled

METRICS_AT_MOST = 256
_MARK = secrets.token_hex(8)  # between lines parsed at once: a record in two does not make up for two in one
_BETWEEN = f',"{_MARK}",'.encode()
_FURTHEST = 2**53  # steps: numbers beyond are not told apart
SPEED_METRICS = ("examples_per_s", "waiting_share", "device_share")
COST_METRIC = "usd"
MFU_METRIC = "mfu"  # only of runs that tell it: chips have a peak, processors none that counts


@dataclass(frozen=True)
class Money:
    """What a money event said: dollars spent by time *t*, and how fast they go."""

    t: float
    usd: float
    usd_per_hour: float

    def at(self, t: float) -> float:
        """Dollars spent by *t*: the guardian counts by the hour, so between two of its events they grow evenly."""
        return self.usd + max(0.0, t - self.t) * self.usd_per_hour / 3600


@dataclass
class Points:
    """Points of metrics that were reported together, in order."""

    names: tuple[str, ...]
    is_validation: bool = False
    steps: list[Any] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.columns = {name: [] for name in self.names}

    def take(self, record: dict[str, Any]) -> bool:
        """Add the points of a metric line; False, and nothing added, when its lists are no lists or of several
        lengths."""
        steps, t = record.get("step"), record.get("t")
        if type(steps) is not list or not (type(t) is float or type(t) is int):
            return False
        count = len(steps)
        for name in self.names:
            values = record[name]
            if type(values) is not list or len(values) != count:
                return False
        self.steps += steps
        self.counts.append(count)
        self.times.append(t)
        for name, known in self.columns.items():
            known += record[name]
        return True

    def add(self, t: float, step: float, values: Mapping[str, float]) -> None:
        """Add one point of each metric."""
        self.steps.append(step)
        self.counts.append(1)
        self.times.append(t)
        for name, known in self.columns.items():
            known.append(values[name])

    def rows(self) -> Iterator[tuple[str, Rows]]:
        """Rows for each metric; points whose step or value is no number are left out."""
        times = np.repeat(np.array(self.times), self.counts)
        try:
            steps = np.array(self.steps, dtype=np.float64)
            tables = [
                np.array(column, dtype=np.float64) for column in self.columns.values()
            ]  # "nan" and "inf" are read as such
            if any(one.ndim != 1 for one in (steps, *tables)):
                raise ValueError("lists in a list")
        except (ValueError, TypeError, OverflowError):
            steps = _numbers(self.steps)
            tables = [_numbers(column) for column in self.columns.values()]
        good = np.isfinite(steps) & (np.abs(steps) < _FURTHEST)
        for name, table in zip(self.names, tables, strict=True):
            rows = np.empty(int(good.sum()), ROW)
            rows["step"], rows["t"], rows["value"] = steps[good], times[good], table[good]
            yield name, rows


@dataclass(frozen=True)
class Resume:
    """Points after *step* are dropped: what follows replaces them."""

    step: int


@dataclass
class Batch:
    """What some lines say.

    Attributes:
        parts: Points and resumes, in their order.
        fold: Events for the fold, in their order; of frequent metric lines the latest of each 5 s.
        events: Events that are no metric points.
    """

    parts: list[Points | Resume] = field(default_factory=list)
    fold: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


class Reader:
    """Turns records into a `Batch`; remembers across batches what the fold has been given, and the latest money."""

    def __init__(self, view: RunView | None = None) -> None:
        """*view*: the fold of what other readers read before."""
        self._fed_at = float("-inf")
        self._money: Money | None = None
        if view is not None and view.end is None and view.usd_per_hour is not None:
            self._money = Money(view.usd_at, view.usd, view.usd_per_hour)

    def read(self, records: Iterable[object]) -> Batch:
        batch, open_points = Batch(), dict[tuple[str, ...], Points]()
        waiting: dict[str, object] | None = None  # latest metric line that the fold has not been given
        fed_at = self._fed_at

        def feed(record: dict[str, object]) -> None:
            nonlocal fed_at
            event = from_record(record)
            if event is not None:
                batch.fold.append(event)
                fed_at = self._fed_at = event.t

        for record in records:
            if isinstance(record, dict) and record.get("kind") == "metric":
                names = tuple(record)
                points = open_points.get(names)
                if points is None:
                    points = _points(record, batch)
                    if points is None:
                        continue
                    open_points[names] = points
                if not points.take(record):
                    continue
                since = record["t"] - fed_at
                if since >= HISTORY_EVERY_S or since < 0 or points.is_validation:
                    if waiting is not None and points.is_validation:
                        feed(waiting)
                    feed(record)
                    waiting = None
                else:
                    waiting = record
                continue
            event = from_record(record)
            if event is None:
                continue
            if waiting is not None:
                feed(waiting)
                waiting = None
            batch.fold.append(event)
            batch.events.append(event)
            if event.kind == "resume":
                open_points.clear()
                _add_resume(event, batch)
            elif event.kind == "money":
                self._money = _money(event)
            elif event.kind == "end":
                self._money = None  # nothing is spent until the next attempt says so
            elif event.kind == "speed":
                _add_speed(event, open_points, batch)
                if self._money is not None:
                    _add_cost(event, self._money, open_points, batch)
        if waiting is not None:
            feed(waiting)
        return batch


def records(lines: list[bytes]) -> list[Any]:
    """Parsed lines; what is no JSON by itself, or hides its kind (`events.is_spelled`), is left out: the same lines are
    events here as for who reads them one by one."""
    lines = [line for line in lines if is_modest(line)]
    joined = b"[" + _BETWEEN.join(lines) + b"]"
    try:
        found: list[object] = orjson.loads(joined)
        if len(found) == 2 * len(lines) - 1 and all(one == _MARK for one in found[1::2]):
            found = found[::2]
            hidden = b"\\u" in joined
            return [one for line, one in zip(lines, found, strict=True) if is_spelled(line, one)] if hidden else found
    except orjson.JSONDecodeError:
        lines = [line for line in lines if line.lstrip()[:1] == b"{"]  # an exception each costs seconds a megabyte
    found = []
    for line in lines:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if is_spelled(line, record):
            found.append(record)
    return found


def _points(record: dict[str, object], batch: Batch) -> Points | None:
    """A place for the points of lines like *record*; None when it is no metric line."""
    names = tuple(
        name for name, value in record.items() if name not in ("t", "kind", "step") and isinstance(value, list)
    )
    if not names:
        return None
    points = Points(names, is_validation=any(name.startswith("val_") for name in names))
    batch.parts.append(points)
    return points


def _add_resume(event: Event, batch: Batch) -> None:
    """Of resumes in a row the lowest."""
    step = event.get("step")
    known = isinstance(step, (int, float)) and step == step
    resume = Resume(int(max(-_FURTHEST, min(step, _FURTHEST))) if known else 0)
    if batch.parts and isinstance(last := batch.parts[-1], Resume):
        batch.parts[-1] = min(last, resume, key=lambda one: one.step)
    else:
        batch.parts.append(resume)


def _add_speed(event: Event, open_points: dict[tuple[str, ...], Points], batch: Batch) -> None:
    """The speed of a report as points of its own, so that it is drawn like any metric."""
    step, seconds, examples = (event.get(name) for name in ("step", "seconds", "examples"))
    numbers = [one for one in (step, seconds, examples) if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if len(numbers) != 3 or not seconds > 0:
        return
    shares = [event.get(name) for name in ("waiting_for_data_s", "device_s")]
    points = _points_of(SPEED_METRICS, open_points, batch)
    waiting, device = (one / seconds if isinstance(one, (int, float)) else np.nan for one in shares)
    points.add(event.t, step, {"examples_per_s": examples / seconds, "waiting_share": waiting, "device_share": device})
    mfu = event.get(MFU_METRIC)
    if isinstance(mfu, (int, float)) and not isinstance(mfu, bool):
        _points_of((MFU_METRIC,), open_points, batch).add(event.t, step, {MFU_METRIC: mfu})


def _money(event: Event) -> Money | None:
    usd, rate = event.get("usd"), event.get("usd_per_hour")
    known = isinstance(usd, (int, float)) and isinstance(rate, (int, float))
    return Money(event.t, float(usd), float(rate)) if known else None


def _add_cost(event: Event, money: Money, open_points: dict[tuple[str, ...], Points], batch: Batch) -> None:
    """What was spent by the time of a report: money events are half a minute apart and know no steps."""
    step = event.get("step")
    if isinstance(step, (int, float)) and not isinstance(step, bool):
        _points_of((COST_METRIC,), open_points, batch).add(event.t, step, {COST_METRIC: money.at(event.t)})


def _points_of(names: tuple[str, ...], open_points: dict[tuple[str, ...], Points], batch: Batch) -> Points:
    """The open points of metrics of our own."""
    points = open_points.get(names)
    if points is None:
        points = open_points[names] = Points(names)
        batch.parts.append(points)
    return points


def _numbers(values: list[Any]) -> npt.NDArray[np.float64]:
    found = np.full(len(values), np.nan)
    for index, value in enumerate(values):
        try:
            found[index] = float(value)
        except (ValueError, TypeError, OverflowError):
            continue
    return found
