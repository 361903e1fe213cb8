"""How much of the world a plot shows: round ends across, a little room below zero and above the top tick."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tpu_studio.gui.plots.scale import Scale, log_ticks

_LEAST = 1e-100  # what is smaller is nothing: figures close to the smallest of all have no ticks between them
ROOM = 0.045  # beyond the last tick, so that end labels are not lost


@dataclass(frozen=True)
class View:
    """What is shown. *y* bounds are log10 when *log*; ticks are always values."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]
    log: bool = False


def across(
    scale: Scale, start: float, end: float, planned: float | None, *, ended: bool = False
) -> tuple[float, float, list[float]]:
    """Low, high and ticks for data from *start* to *end*: the far end is the next round place, so it moves in steps.
    What has *ended* is not given room to grow."""
    low = 0.0 if 0 <= start <= 0.5 * max(end, 1e-300) or start == end else start
    reach = max(end, planned or end, low + max(0.0 if ended and end > start else scale.smallest, _LEAST))
    step = scale.step_for(reach - low)
    first = math.floor(low / step + 1e-9) * step
    high = math.ceil((reach - first) / step - 1e-9) * step + first
    while (high - first) / step > 4 + 1e-9:
        step = scale.step_for(high - first)
        first = math.floor(low / step + 1e-9) * step
        high = math.ceil((reach - first) / step - 1e-9) * step + first
    count = round((high - first) / step)
    ticks = [first + index * step for index in range(count + 1)]
    return low, high + ROOM * (high - low), [tick for tick in ticks if tick >= low - 1e-9 * step]


def upward(
    scale: Scale, low: float, high: float, *, include_zero: bool, top: float | None
) -> tuple[float, float, list[float]]:
    if include_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if top is not None:
        high = max(high, top)
    if high - low <= 1e-12 * max(abs(high), abs(low), 1e-12):
        room = abs(high) * 0.1 if abs(high) > _LEAST else 1.0
        low, high = (low, high + room) if include_zero else (low - room, high + room)
    high = max(high, low + max(scale.smallest, _LEAST))
    ticks = scale.ticks(low, high)
    if len(ticks) < 3:
        step = scale.step_for(high - low, 5)
        ticks = [index * step for index in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    if len(ticks) < 3:
        ticks = scale.ticks(low, high, 6)
    span = high - low
    return low - ROOM * span, high + ROOM * span, ticks


def upward_log(low: float, high: float) -> tuple[float, float, list[float]]:
    """For positive values only; bounds are log10."""
    low = max(low, _LEAST)
    low, high = math.log10(low), math.log10(max(high, low * 1.0001))
    if high - low < 0.1:
        low, high = low - 0.1, high + 0.1
    span = high - low
    low, high = low - ROOM * span, high + ROOM * span
    return low, high, log_ticks(low, high)
