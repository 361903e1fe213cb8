"""What a plot is fed with: curves by interface, and the marks beside them. No Qt here.

A source is asked only for what is on the screen, at most a few hundred entries at a time; it may hold millions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from tpu_studio.domain.spending import Spending
from tpu_studio.wire import metrics

Floats = npt.NDArray[np.float64]
_EVERYTHING = 1e300


class CurveSource(Protocol):
    def window(self, x_min: float, x_max: float, buckets: int) -> tuple[Floats, Floats, Floats]:
        """x, lowest and highest value of about *buckets* groups from *x_min* to *x_max* and one point beyond each side.

        x never falls; a NaN value is a gap that is not joined.
        """
        ...

    def last(self) -> tuple[float, float] | None:
        """The newest point that is a number, None while there is none."""
        ...


def start_of(source: CurveSource) -> float:
    """x of the first point of a source that has points; asked of one with `start`, found out of any other."""
    start = getattr(source, "start", None)
    return float(start() if start is not None else source.window(-_EVERYTHING, _EVERYTHING, 2)[0][0])


class SteppedCurve(Protocol):
    """A run's curve as the store keeps it: steps and times in one (`workflow.ports.Curve`)."""

    def window(self, x_min: float, x_max: float, buckets: int, axis: str = "step") -> tuple[Floats, Floats, Floats]: ...

    def last(self) -> tuple[int, float, float] | None: ...

    def bounds(self, axis: str = "step") -> tuple[float, float] | None: ...


@dataclass(frozen=True)
class RunCurve:
    """A store's curve seen along one axis.

    Attributes:
        origin: Subtracted from x (the run's start, for time).
        cuts: (from, to), in order, of what is left out of the axis: times in which nothing was trained.
        x_factor: Of a step, so that epochs or examples stand along it.
        spent: US dollars stand along it, as this tells them of each time; *axis* is ``time`` then.
    """

    curve: SteppedCurve
    axis: Literal["step", "time"] = "step"
    origin: float = 0.0
    y_factor: float = 1.0
    cuts: tuple[tuple[float, float], ...] = ()
    x_factor: float = 1.0
    spent: Spending | None = None

    def window(self, x_min: float, x_max: float, buckets: int) -> tuple[Floats, Floats, Floats]:
        if self.spent is not None:
            first, last = self.spent.between(x_min, x_max)
        else:
            first, last = self._outside(x_min), self._outside(x_max)
        x, low, high = self.curve.window(first, last, buckets, self.axis)
        return np.asarray(self.along(x)), _figures(low) * self.y_factor, _figures(high) * self.y_factor

    def along(self, x: Floats | float) -> Floats | float:
        """The place on the axis of the curve's own *x*."""
        if self.spent is not None:
            return self.spent.at(x)
        left_out = sum(np.clip(x - start, 0.0, end - start) for start, end in self.cuts)
        return (x - self.origin - left_out) * self.x_factor

    def _outside(self, x: float) -> float:
        """The curve's own x of a place on the axis."""
        x = x / self.x_factor + self.origin
        for start, end in self.cuts:
            x += end - start if x >= start else 0.0
        return x

    def last(self) -> tuple[float, float] | None:
        found = self.curve.last()
        if found is None:
            return None
        step, t, value = found
        x = float(step) if self.axis == "step" else t
        return (float(self.along(x)), value * self.y_factor) if metrics.is_figure(value) else None

    def start(self) -> float:
        found = self.curve.bounds(self.axis)
        return float(self.along(found[0])) if found is not None else 0.0


def _figures(values: Floats) -> Floats:
    """Gaps where a run diverged beyond what an axis can hold."""
    found: Floats = np.where(np.abs(values) <= metrics.LARGEST, values, np.nan)
    return found


@dataclass(frozen=True)
class Curve:
    """One line.

    Attributes:
        tone: Its data colour; a run keeps its colour everywhere while it is compared.
        kind: ``noisy`` is raw values with a smoothed line over them, ``line`` one line as it is, ``points`` a line
            with a dot at each place that was really measured (evaluations).
        fill: Only for amounts that add up or start at zero (speed, cost).
        end_label: Its name and value stand at its end instead of in the legend (comparisons).
        ended: The run is over: beyond its end the crosshair says "done".
    """

    key: str
    name: str
    source: CurveSource
    tone: str = "s1"
    kind: Literal["noisy", "line", "points"] = "line"
    fill: bool = False
    end_label: bool = False
    ended: bool = False


@dataclass(frozen=True)
class Limit:
    """A dashed level with plain words on it ("stops at $5.00"), below the line if *below*."""

    value: float
    words: str
    tone: str = "text_2"
    below: bool = False


@dataclass(frozen=True)
class Forecast:
    """From the point (x, y) to *x_end*, where the range is *low* to *high*. *words* is that range ("$2.50 – 3.00")."""

    x: float
    y: float
    x_end: float
    low: float
    middle: float
    high: float
    words: str
    tone: str = "s1"


@dataclass(frozen=True)
class Gap:
    """Where values are missing, and why: "restarted after the TPU was taken back"; *words*: short, beside the mark."""

    x: float
    why: str
    words: str = ""
