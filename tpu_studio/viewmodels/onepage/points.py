"""The curves of a page: few enough points for a small file, and no spike is lost.

Of each stretch of a curve its lowest and its highest value are kept, as the window draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpu_studio.wire import metrics, tasks
from tpu_studio.workflow.ports import Curve

STRETCHES = 1_500
"""Of each curve, at most; two points each."""
ALL_STRETCHES = 30_000
"""Of a page: the more curves there are, the fewer for each, so that it stays below 3 MB."""
SMOOTH = 150
"""Points of the smoothed line over a noisy curve, at most."""
TONES = 6
FEW = 100  # points: no line is smoothed over so few
_DIGITS = 6
Series = tuple[tuple[float, float | None], ...]
"""(step, value) in the order of steps; None is a gap: a value that is no figure."""


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        tone: Number of its colour, 1 to 6.
        count: Points of the run; *points* are those that are drawn, *smooth* a line over them, () for none.
        last: Its last value as it is drawn, None where that is no figure.
    """

    name: str
    tone: int
    count: int
    points: Series
    smooth: Series = ()

    @property
    def last(self) -> float | None:
        return self.points[-1][1]


@dataclass(frozen=True)
class Plot:
    """*percent*: values are shares of one."""

    title: str
    lines: tuple[Line, ...]
    percent: bool = False

    @property
    def count(self) -> int:
        return sum(line.count for line in self.lines)

    @property
    def drawn(self) -> int:
        return sum(len(line.points) for line in self.lines)


@dataclass(frozen=True)
class Shown:
    """How a curve is shown: *stretches* at most."""

    name: str
    tone: int
    stretches: int = STRETCHES


def plots_of(task: str, noun: str, curve: Callable[[str], Curve | None]) -> tuple[Plot, ...]:
    """Loss, what people look at, what stands beside it, learning rate and speed, as far as there are points."""
    known = tasks.by_id(task)
    loss, rate = metrics.training_loss(), metrics.learning_rate()
    wanted: list[tuple[str, tuple[str, ...]]] = [(loss.title, (loss.id, known.loss))]
    wanted += [(metrics.by_id(ids[-1]).title, ids) for ids in (known.quality, *((one,) for one in known.others))]
    wanted += [(rate.title, (rate.id,)), (f"Speed, {noun} a second", ("examples_per_s",))]
    found = []
    for title, ids in wanted:
        unit = metrics.by_id(ids[-1]).unit
        as_read = metrics.perplexity if unit == "nats" and title != loss.title else _same
        lines = []
        for each in ids:
            unseen = metrics.by_id(each).unseen
            shown = Shown("unseen data" if unseen else "training", 2 if unseen else 1)
            if (line := _line(each, curve(each), shown, as_read)) is not None:
                lines.append(line)
        if lines:
            found.append(Plot(title, tuple(lines), unit in ("share", "score")))
    return tuple(found)


def compared(
    wanted: Sequence[str], curves: Mapping[str, Callable[[str], Curve | None]], tones: Sequence[int]
) -> tuple[Plot, ...]:
    """A plot for each metric *wanted* that a run has, with a line for each run. *curves*: by the name of the line;
    *tones*: from 0, in their order."""
    stretches = min(STRETCHES, ALL_STRETCHES // max(1, len(wanted) * len(curves)))
    found = []
    for metric in wanted:
        known = metrics.by_id(metric)
        as_read = metrics.perplexity if known.unit == "nats" else _same
        lines = []
        for tone, (name, curve) in zip(tones, curves.items(), strict=True):
            shown = Shown(name, tone % TONES + 1, stretches)
            if (line := _line(metric, curve(metric), shown, as_read)) is not None:
                lines.append(line)
        if lines:
            found.append(Plot(known.sided, tuple(lines), known.percent))
    return tuple(found)


def _same(value: float) -> float:
    return value


def _line(metric: str, curve: Curve | None, shown: Shown, as_read: Callable[[float], float]) -> Line | None:
    bounds = curve.bounds() if curve is not None else None
    if curve is None or bounds is None:
        return None
    known = metrics.by_id(metric)
    points = _series(*curve.window(*bounds, shown.stretches), as_read)
    smooth: Series = ()
    if known.noisy and not known.unseen and len(curve) > FEW:
        x, mean = curve.trend(*bounds, SMOOTH)
        smooth = _series(x, mean, mean, as_read)
    return Line(shown.name, shown.tone, len(curve), _ended(points, curve, as_read), smooth)


def _ended(points: Series, curve: Curve, as_read: Callable[[float], float]) -> Series:
    """*points* with the curve's latest behind the ends of its last stretch, so that a line ends where its run did."""
    end = curve.last()
    if end is None or not metrics.is_figure(end[2]):
        return points
    last = (_short(end[0]), _short(as_read(end[2])))
    return points if points and points[-1] == last else (*points, last)


def _series(
    steps: npt.NDArray[np.float64],
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    as_read: Callable[[float], float],
) -> Series:
    """Both ends of each stretch; of gaps that follow one another the first."""
    made: list[tuple[float, float | None]] = []
    for step, least, most in zip(steps.tolist(), low.tolist(), high.tolist(), strict=True):
        ends = {as_read(value): None for value in (least, most) if metrics.is_figure(value)}
        if ends:
            made += [(_short(step), _short(value)) for value in ends]
        elif not made or made[-1][1] is not None:
            made.append((_short(step), None))
    return tuple(made)


def _short(value: float) -> float:
    """*value* with as many digits as a page can show."""
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.{_DIGITS}g}")


def span(lines: Sequence[Line]) -> tuple[float, float, float, float] | None:
    """First and last step, lowest and highest value; a few wild values do not press the rest flat. None: no figure."""
    steps = [step for line in lines for step, _ in line.points]
    values = sorted(value for line in lines for _, value in line.points if value is not None)
    if not values:
        return None
    high = values[-1] if len(values) <= 200 else values[min(len(values) - 1, math.ceil(0.995 * len(values)))]
    return min(steps), max(steps), values[0], max(high, values[0])
