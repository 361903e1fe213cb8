"""Time against money of a plan's alternatives as an SVG of its own: both axes logarithmic, free places on a line below.

Ways that nothing beats in both are joined and named; the planned one is a filled ring. Colours come from the page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.wire.visible import visible

WIDTH, HEIGHT = 880, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 40, 16, 72
_FREE_Y = HEIGHT - 52  # the line of what costs nothing, below the axis
_SECONDS = (
    10,
    30,
    60,
    120,
    300,
    600,
    1200,
    1800,
    3600,
    7200,
    14_400,
    28_800,
    86_400,
    3 * 86_400,
    10 * 86_400,
    30 * 86_400,
    100 * 86_400,
    365 * 86_400,
)
_LINE = 15  # pixels that two names keep apart


@dataclass(frozen=True)
class Point:
    """Expected seconds and dollars; *front*: nothing beats it in both; *planned*: what the plan names."""

    name: str
    time_s: float
    usd: float
    front: bool = False
    planned: bool = False


def plot(points: Sequence[Point]) -> str:
    """An SVG element, or "" without points."""
    if not points:
        return ""
    times = [max(1.0, point.time_s) for point in points]
    prices = [point.usd for point in points if point.usd > 0]
    x = _Axis(min(times) / 1.25, max(times) * 1.6, _LEFT, WIDTH - _RIGHT)
    y = _Axis(min(prices) / 1.4, max(prices) * 1.4, HEIGHT - _BOTTOM - 14, _TOP) if prices else None
    placed = [(x.at(max(1.0, p.time_s)), y.at(p.usd) if y and p.usd > 0 else float(_FREE_Y), p) for p in points]
    parts = [*_grid(x, y)]
    front = sorted((px, py) for px, py, point in placed if point.front)
    if len(front) > 1:
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in front)
        parts.append(f'<polyline class="front" fill="none" points="{line}"/>')
    for px, py, point in placed:
        kind = "planned" if point.planned else "best" if point.front else "other"
        told = f"{point.name}: {figures.duration(point.time_s)}, {figures.money(point.usd)}"
        parts.append(
            f'<circle class="{kind}" cx="{px:.1f}" cy="{py:.1f}" r="{7 if point.planned else 4.5}">'
            f"<title>{html.escape(visible(told))}</title></circle>"
        )
    parts += _names([one for one in placed if one[2].front or one[2].planned])
    said = "Time against money: " + "; ".join(
        f"{p.name} {figures.duration(p.time_s)} {figures.money(p.usd)}" for p in points if p.front or p.planned
    )
    label = html.escape(visible(said))
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


class _Axis:
    """A logarithmic axis from *low* to *high* on pixels *start* to *end*."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, max(high, low * 2), start, end

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def _grid(x: _Axis, y: _Axis | None) -> list[str]:
    parts = []
    last = -1e9
    for seconds in _SECONDS:
        if x.low <= seconds <= x.high and x.at(seconds) - last >= 56:
            last = x.at(seconds)
            parts.append(f'<text x="{last:.1f}" y="{HEIGHT - 20}" text-anchor="middle">{_time(seconds)}</text>')
    if y is not None:
        power = math.floor(math.log10(y.low))
        ticks = [digit * 10.0**exponent for exponent in range(power, power + 12) for digit in (1, 2, 5)]
        shown = [usd for usd in ticks if y.low <= usd <= y.high]
        every = max(1, math.ceil(len(shown) / 7))
        for usd in shown[::every]:
            at = f"{y.at(usd):.1f}"
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>')
            money = f"${usd:,.0f}" if usd >= 10 else figures.money(usd) if usd >= 0.01 else f"${usd:g}"
            parts.append(f'<text x="{_LEFT - 10}" y="{y.at(usd) + 4:.1f}" text-anchor="end">{money}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{_FREE_Y}" y2="{_FREE_Y}"/>')
    parts.append(f'<text x="{_LEFT - 10}" y="{_FREE_Y + 4}" text-anchor="end">free</text>')
    parts.append(f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 4}" text-anchor="end">time, set-up included</text>')
    return parts


def _names(placed: Sequence[tuple[float, float, Point]]) -> list[str]:
    """Names beside their points, pushed apart where they would lie on each other; to the left at the right edge."""
    parts: list[str] = []
    taken: list[tuple[float, float, float]] = []
    for px, py, point in sorted(placed, key=lambda one: (one[1], one[0])):
        width = 6.4 * len(point.name)
        left = px + 12 + width > WIDTH - 4
        begin = px - 12 - width if left else px + 12
        at = py - 7
        while any(begin < b + w and b < begin + width and abs(at - y) < _LINE for b, w, y in taken):
            at -= 2
        taken.append((begin, width, at))
        parts.append(
            f'<text class="name" x="{px - 12 if left else px + 12:.1f}" y="{at:.1f}" '
            f'text-anchor="{"end" if left else "start"}">{html.escape(visible(point.name))}</text>'
        )
    return parts


def _time(seconds: float) -> str:
    for limit, size, word in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{seconds // size} {word}"
    days = seconds // 86_400
    return "1 day" if days == 1 else f"{days} days"
