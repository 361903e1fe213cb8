"""A curve as an inline SVG picture: the raw line thin, the smoothed one strong, measured points as dots.

Colours are CSS variables of the page it stands in. However many points there are, the picture stays small: each pixel
column keeps its lowest and highest value, so no spike is lost.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tpu_studio.wire.visible import visible

Column = npt.NDArray[Any]
Scale = Callable[[npt.ArrayLike], Column]

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 14, 30
COLUMNS = 360
SMOOTH_OVER = 40  # the smoothed line looks back over about this share of the curve: 1/40


@dataclass(frozen=True)
class Line:
    """One curve. ``style``: raw (each step, with a smoothed line), dots (measured now and then), plain (a line)."""

    name: str
    steps: Column
    values: Column
    colour: str
    style: str = "raw"

    def finite(self) -> tuple[Column, Column]:
        there = np.isfinite(self.values)
        return self.steps[there], self.values[there]


def picture(title: str, lines: Sequence[Line], show: Callable[[float], str]) -> str:
    """A `<figure>`; "" when there is nothing to draw."""
    drawn = [line for line in lines if len(line.finite()[0])]
    if not drawn:
        return ""
    x_high = max(float(line.finite()[0][-1]) for line in drawn)
    low, high = _range(drawn)
    ticks = nice_ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def x(step: npt.ArrayLike) -> Column:
        return np.asarray(LEFT + (WIDTH - LEFT - RIGHT) * np.asarray(step, float) / max(x_high, 1.0))

    def y(value: npt.ArrayLike) -> Column:
        share = (np.clip(np.asarray(value, float), low, high) - low) / ((high - low) or 1.0)
        return np.asarray(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share)

    parts = [_grid(ticks, y, show), _steps_axis(x_high, x)]
    for line in drawn:
        steps, values = line.finite()
        parts.append(
            _running(line, steps, values, x, y) if line.style == "raw" else _measured(line, x(steps), y(values))
        )
    legend = "".join(
        f'<span><i style="background:var(--{line.colour})"></i>{html.escape(visible(line.name))} '
        f"<b>{html.escape(show(float(line.finite()[1][-1])))}</b></span>"
        for line in drawn
    )
    ends = ", ".join(f"{line.name} ends at {show(float(line.finite()[1][-1]))}" for line in drawn)
    told = html.escape(visible(f"{title}: {ends}"))
    return (
        f'<figure><figcaption><h2>{html.escape(visible(title))}</h2><div class="legend">{legend}</div></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">{"".join(parts)}</svg></figure>'
    )


def thinned(steps: Column, values: Column, columns: int = COLUMNS) -> tuple[Column, Column]:
    """At most two points a column: its lowest and its highest value, in the order in which they came."""
    if len(steps) <= 2 * columns:
        return steps, values
    edges = np.unique(np.linspace(0, len(steps), columns + 1).astype(np.int64))[:-1]
    lowest, highest = (_argument(values, edges, pick) for pick in (np.argmin, np.argmax))
    chosen = np.unique(np.concatenate([[0], lowest, highest, [len(steps) - 1]]))
    return steps[chosen], values[chosen]


def smoothed(values: Column) -> Column:
    """Mean over the last few percent of the curve, at its start over what there is."""
    window = max(1, len(values) // SMOOTH_OVER)
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - window)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About *count* round numbers (1, 2, 2.5, 5 × 10ⁿ) that enclose low…high."""
    if not high > low:
        low, high = low - (abs(low) or 1.0) * 0.1, high + (abs(high) or 1.0) * 0.1
    rough = (high - low) / max(1, count - 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * nice for nice in (1, 2, 2.5, 5, 10) if unit * nice >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _range(lines: Sequence[Line]) -> tuple[float, float]:
    """What to show of the values: all of it, but a few wild ones at the start do not press the rest flat."""
    lows, highs = [], []
    for line in lines:
        _, values = line.finite()
        lows.append(float(values.min()))
        highs.append(float(np.quantile(values, 0.995)) if len(values) > 200 else float(values.max()))
    return min(lows), max(highs)


def _argument(values: Column, edges: Column, pick: Callable[[Column], np.intp]) -> Column:
    ends = [*edges[1:].tolist(), len(values)]
    return np.array([start + int(pick(values[start:end])) for start, end in zip(edges.tolist(), ends, strict=True)])


def _grid(ticks: Sequence[float], y: Scale, show: Callable[[float], str]) -> str:
    return "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{float(y(tick)):.1f}" y2="{float(y(tick)):.1f}" class="grid"/>'
        f'<text x="{LEFT - 8}" y="{float(y(tick)) + 4:.1f}" text-anchor="end">{html.escape(show(tick))}</text>'
        for tick in ticks
    )


def _steps_axis(high: float, x: Scale) -> str:
    ticks = [tick for tick in nice_ticks(0.0, max(high, 1.0)) if tick <= high * 0.86]
    marks = "".join(
        f'<text x="{float(x(tick)):.1f}" y="{HEIGHT - 10}" text-anchor="middle">{tick:,.0f}</text>' for tick in ticks
    )
    return f'{marks}<text x="{WIDTH - RIGHT}" y="{HEIGHT - 10}" text-anchor="end">steps</text>'


def _running(line: Line, steps: Column, values: Column, x: Scale, y: Scale) -> str:
    raw_steps, raw_values = thinned(steps, values)
    smooth_steps, smooth_values = thinned(steps, smoothed(values), COLUMNS // 2)
    return (
        f'<path d="{_path(x(raw_steps), y(raw_values))}" class="raw" stroke="var(--{line.colour})"/>'
        f'<path d="{_path(x(smooth_steps), y(smooth_values))}" class="line" stroke="var(--{line.colour})"/>'
    )


def _measured(line: Line, xs: Column, ys: Column) -> str:
    xs, ys = (xs, ys) if len(xs) <= 200 else thinned(xs, ys, 100)
    marked = line.style == "dots"
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{2.6 if len(xs) <= 60 else 1.6}" fill="var(--{line.colour})"/>'
        for a, b in zip(xs.tolist(), ys.tolist(), strict=True)
        if marked
    )
    return f'<path d="{_path(xs, ys)}" class="line" stroke="var(--{line.colour})"/>{dots}'


def _path(xs: Column, ys: Column) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(xs.tolist(), ys.tolist(), strict=True))
