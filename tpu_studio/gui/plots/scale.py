"""Axes: where ticks stand (3 to 5 of them, at round places) and how values are spelled, unit included."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tpu_studio.domain import figures


@dataclass(frozen=True)
class Scale:
    """*tick* spells a place on the axis given the distance of ticks; *value* a measured value."""

    name: str
    steps: Sequence[float]  # distances a reader finds round; beyond the ends they continue in decades
    tick: Callable[[float, float], str]
    value: Callable[[float], str]
    smallest: float = 0.0  # the axis is never shorter than this

    def step_for(self, span: float, most: int = 4) -> float:
        """The smallest round distance of which at most *most* fit into *span*."""
        if span <= 0 or not math.isfinite(span):
            return 1.0
        if span / self.steps[0] >= 1.5:
            for step in self.steps:
                if span / step <= most + 1e-9:
                    return step
        decade = 10.0 ** math.floor(math.log10(span / most))
        for factor in (1, 2, 5, 10):
            if span / (factor * decade) <= most + 1e-9:
                return factor * decade
        return 20 * decade

    def ticks(self, low: float, high: float, most: int = 4) -> list[float]:
        step = self.step_for(high - low, most)
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]

    def spelled(self, ticks: Sequence[float]) -> list[str]:
        distance = ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) if ticks else 1.0
        return [self.tick(tick, distance or 1.0) for tick in ticks]


def log_ticks(low: float, high: float) -> list[float]:
    """Round values for an axis of logarithms from *low* to *high* (both log10): decades, or 1-2-5 in a short range."""
    span = high - low
    if span > 4:
        stride = math.ceil(span / 4)
        return [10.0**power for power in range(math.ceil(low), math.floor(high) + 1, stride)]
    factors = (
        (1,) if span > 2.2 else (1, 3) if span > 1.2 else (1, 2, 5) if span > 0.5 else (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
    )
    values = [factor * 10.0**power for power in range(math.floor(low) - 1, math.ceil(high) + 1) for factor in factors]
    values = [value for value in values if low - 1e-9 <= math.log10(value) <= high + 1e-9]
    return values[:: max(math.ceil(len(values) / 5), 1)]


def _decades(lowest: int, highest: int, factors: Sequence[float] = (1, 2, 5)) -> tuple[float, ...]:
    return tuple(factor * 10.0**power for power in range(lowest, highest) for factor in factors)


def _decimals(distance: float) -> int:
    if distance >= 1:
        return 0
    if distance < 1e-12:
        return 12
    places = -math.floor(math.log10(distance))
    return places + (0 if math.isclose(distance * 10**places, round(distance * 10**places)) else 1)


def _plain(value: float, distance: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or distance < 1e-5:
        return f"{value:.3g}"
    return f"{value:,.{_decimals(distance)}f}"


def _count(value: float, distance: float) -> str:
    for size, unit in ((1e9, "bn"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.{_decimals(distance / size)}f}{unit}"
    return f"{value:,.{_decimals(distance)}f}" if value else "0"


def _steps(value: float, distance: float) -> str:
    return f"{_count(value, distance)} steps" if value else "0"


def _epochs(value: float, distance: float) -> str:
    count = _count(value, distance)
    return f"{count} epoch{'' if count == '1' else 's'}" if value else "0"


def _examples(value: float, distance: float) -> str:
    return f"{_count(value, distance)} examples" if value else "0"


def _percent(value: float, distance: float) -> str:
    return f"{value * 100:.{_decimals(round(distance * 100, 9))}f}%"


def _money(value: float, distance: float) -> str:
    return f"${value:,.0f}" if distance >= 1 else f"${value:,.2f}"


def _time(value: float, distance: float) -> str:
    if value == 0:
        return "0"
    if distance < 1:
        return f"{value:.{_decimals(distance)}f} s"
    seconds = round(value)
    if distance < 60:
        minutes, rest = divmod(seconds, 60)
        if not minutes:
            return f"{rest} s"
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    minutes = round(seconds / 60)
    if distance < 3600:
        hours, minutes = divmod(minutes, 60)
        if not hours:
            return f"{minutes} min"
        return f"{hours} h {minutes:02d}" if minutes else f"{hours} h"
    hours = round(seconds / 3600)
    if distance < 86_400:
        return f"{hours} h"
    return f"{round(seconds / 86_400)} days" if seconds > 86_400 else "1 day"


def _figure(value: float) -> str:
    return figures.figure(value)


_TIME_STEPS: Final = (
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    300,
    600,
    900,
    1200,
    1800,
    3600,
    7200,
    10_800,
    14_400,
    21_600,
    43_200,
    86_400,
    172_800,
    432_000,
    864_000,
)

TIME: Final = Scale("time", _TIME_STEPS, _time, figures.duration, smallest=10)
STEPS: Final = Scale("step", _decades(0, 12), _steps, lambda value: f"step {value:,.0f}", smallest=10)
EPOCHS: Final = Scale("epoch", _decades(-2, 8), _epochs, lambda value: f"epoch {figures.figure(value)}", smallest=1)
EXAMPLES: Final = Scale("examples", _decades(0, 15), _examples, lambda value: f"{value:,.0f} examples", smallest=10)
PLAIN: Final = Scale("value", _decades(-9, 12), _plain, _figure)
COUNT: Final = Scale("count", _decades(-3, 12), _count, _figure)
PERCENT: Final = Scale("share", (*_decades(-6, -1), 0.1, 0.25, 0.5, 1.0), _percent, figures.share)
_CENTS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
MONEY: Final = Scale("cost", (*_CENTS, *_decades(0, 6)), _money, figures.money, smallest=0.04)
