"""The line over the noise: a local fit with Gaussian weights that neither lags behind nor runs over gaps.

Its width is a share of the whole curve's length, so zooming in shows the same line, larger.
"""

from __future__ import annotations

import numpy as np

from tpu_studio.gui.plots.source import Floats

MOST_POINTS = 500


def width_for(amount: float, length: float) -> float:
    """Standard deviation in units of x for a slider *amount* from 0 to 1: at 1 a twentieth of the whole curve."""
    return min(max(amount, 0.0), 1.0) ** 2 * 0.05 * max(length, 0.0)


def smoothed(x: Floats, y: Floats, sigma: float, points: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """*y* averaged with weights exp(-d²/2σ²), at no more than about *points* places; NaN splits the line.

    A straight line is fitted at each place (Fan & Gijbels 1996, ch. 2), so a loss that starts steeply keeps its start.
    """
    xs: list[Floats] = []
    ys: list[Floats] = []
    gap = np.array([np.nan])
    for part_x, part_y in pieces(x, y):
        if xs:
            xs.append(part_x[:1])
            ys.append(gap)
        share = (part_x[-1] - part_x[0]) / max(x[-1] - x[0], 1e-300)
        done_x, done_y = _piece(part_x, part_y, sigma, max(int(points * share), 2))
        xs.append(done_x)
        ys.append(done_y)
    if not xs:
        return np.empty(0), np.empty(0)
    return np.concatenate(xs), np.concatenate(ys)


def pieces(x: Floats, y: Floats) -> list[tuple[Floats, Floats]]:
    """The runs of points between gaps."""
    good = np.isfinite(y)
    if good.all():
        return [(x, y)] if len(x) else []
    edges = np.flatnonzero(np.diff(np.concatenate(([0], good.astype(np.int8), [0]))))
    return [(x[a:b], y[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _piece(x: Floats, y: Floats, sigma: float, points: int) -> tuple[Floats, Floats]:
    length = x[-1] - x[0]
    if len(x) < 3 or length <= 0 or sigma <= 0 or sigma < length / len(x) / 2:
        return x, y
    cells = int(min(max(points, 4 * length / sigma), 2000))
    grid = np.linspace(x[0], x[-1], cells)
    level = np.interp(grid, x, y)
    step = float(length) / (cells - 1)
    if not step:
        return x, y
    reach = max(int(min(3 * sigma / step + 1, cells - 1)), 1)  # steps of a stranger's curve may lie on one another
    offsets = np.arange(-reach, reach + 1) * step
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    shifts = -offsets  # distance of a neighbour from the place, as the convolution meets them
    ones = np.ones(cells)
    s0, s1, s2 = (_sum(ones, weights * power, reach) for power in (1.0, shifts, shifts**2))
    t0, t1 = (_sum(level, weights * power, reach) for power in (1.0, shifts))
    bent = s0 * s2 - s1**2
    result = np.where(bent > 1e-9 * s0 * s2, (s2 * t0 - s1 * t1) / np.where(bent == 0, 1, bent), t0 / s0)
    result = np.clip(result, y.min(), y.max())  # a line fitted over a bend leads beyond it: no loss is below zero
    if cells > points:
        pick = np.unique(np.round(np.linspace(0, cells - 1, points)).astype(int))
        return grid[pick], result[pick]
    return grid, result


def _sum(values: Floats, weights: Floats, reach: int) -> Floats:
    return np.convolve(values, weights, mode="full")[reach : reach + len(values)]
