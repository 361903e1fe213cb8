"""One curve as it is on the screen: its pyqtgraph items, and what the crosshair reads.

Widths are logical pixels times the screen's ratio, because pyqtgraph's pens count device pixels. The raw line is
thin and not antialiased, the line over it short, and drawn in segments when it is restless: a wide antialiased path
through noise takes seconds (Qt's path stroker).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

from tpu_studio.gui.kit.theme import ink
from tpu_studio.gui.plots import smooth
from tpu_studio.gui.plots.source import Curve, Floats

_RAW_OPACITY = 0.28
_NONE = np.empty(0)


class Drawn:
    def __init__(self, curve: Curve, box: Any) -> None:
        self.curve = curve
        self._box = box
        self.x: Floats = _NONE  # the line as shown, gaps NaN, values as measured (never log)
        self.y: Floats = _NONE
        self.low: Floats = _NONE
        self.high: Floats = _NONE
        self.end: tuple[float, float] | None = None
        self._raw_x: Floats = _NONE
        self._averaged = False
        self._raw = self._item() if curve.kind == "noisy" else None
        self._line = self._item()

    @property
    def name(self) -> str:
        """The curve's, for values read off its line: that of many steps is not what a single one had."""
        return f"{self.curve.name}, smoothed" if self._averaged else self.curve.name

    def _item(self) -> Any:
        item = pg.PlotCurveItem(skipFiniteCheck=False)
        self._box.addItem(item, ignoreBounds=True)
        return item

    def remove(self) -> None:
        for item in (self._raw, self._line):
            if item is not None:
                self._box.removeItem(item)

    def read(self, x_min: float, x_max: float, pixels: int, sigma: float) -> None:
        """Take what is visible from the source: at most two values per pixel, and the line's points."""
        source = self.curve.source
        if self.curve.kind == "points":
            self.x, self.low, self.high = source.window(x_min, x_max, max(pixels // 2, 50))
            self.y = (self.low + self.high) / 2
            self.end = source.last()
            return
        margin = 3 * sigma
        most = min(smooth.MOST_POINTS, max(pixels, 100))  # a point a pixel is all that can be seen of a line
        trend = getattr(source, "trend", None)
        if trend is not None:
            x, y = trend(x_min - margin, x_max + margin, 2 * most if sigma else most)
        else:
            x, low, high = source.window(x_min - margin, x_max + margin, most)
            y = (low + high) / 2
        if self.curve.kind == "noisy":
            self._raw_x, self.low, self.high = source.window(x_min, x_max, max(pixels, 50))
            x, y = smooth.smoothed(x, y, sigma, most)
            self._averaged = not (len(y) == len(self.low) and np.array_equal(y, self.low, equal_nan=True))
        else:
            self.low = self.high = y
        self.x, self.y = x, y
        last = source.last()
        numbers = np.flatnonzero(np.isfinite(y))
        self.end = None
        if last is not None and len(numbers):
            ending = self.curve.kind == "noisy" and x[numbers[-1]] >= last[0] - 1e-9 * max(abs(last[0]), 1)
            self.end = (last[0], float(y[numbers[-1]])) if ending else last

    def show(self, log: bool, ratio: float, opacity: float = 1.0) -> None:
        """Hand the points to pyqtgraph."""
        colour = ink(self.curve.tone)
        colour.setAlphaF(opacity)
        heights = _height(self.y, log)
        self._line.setSegmentedLineMode("off" if _calm(heights) else "on")
        self._line.setData(self.x, heights, pen=_pen(colour, 2 * ratio), connect="finite", antialias=True)
        if self._raw is not None:
            x = np.repeat(self._raw_x, 2)
            y = np.empty(len(x))
            y[::2], y[1::2] = self.low, self.high
            faint = QColor(colour)
            faint.setAlphaF(_RAW_OPACITY * opacity)
            self._raw.setSegmentedLineMode("on" if ratio > 1 else "off")
            self._raw.setData(x, _height(y, log), pen=_pen(faint, max(ratio, 1)), connect="finite", antialias=False)

    def value_at(self, x: float) -> float | None:
        """The line's value at *x*; for measured points the newest at or before it. None in gaps and outside."""
        if not len(self.x) or self.end is None or x < self.x[0]:
            return None
        if x > self.end[0]:
            return self.end[1] if self.curve.ended else None
        index = int(np.searchsorted(self.x, x, side="right")) - 1
        if self.curve.kind == "points":
            while index >= 0 and not np.isfinite(self.y[index]):
                index -= 1
            return float(self.y[index]) if index >= 0 else None
        after = min(index + 1, len(self.x) - 1)
        x0, x1, y0, y1 = self.x[index], self.x[after], self.y[index], self.y[after]
        if not np.isfinite(y0) or not np.isfinite(y1):
            return None
        return float(y0 if x1 <= x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0))

    def extent(self) -> tuple[float, float] | None:
        """Lowest and highest value worth showing: a few wild raw values do not flatten the rest."""
        line = self.y[np.isfinite(self.y)]
        if not len(line):
            return None
        low, high = float(line.min()), float(line.max())
        if self.low is self.y:
            return low, high
        lows, highs = self.low[np.isfinite(self.low)], self.high[np.isfinite(self.high)]
        if len(lows):
            low = min(low, float(np.percentile(lows, 0.5)))
            high = max(high, float(np.percentile(highs, 99.5)))
        return low, high


def _height(values: Floats, log: bool) -> Floats:
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        heights: Floats = np.where(values > 0, np.log10(values), np.nan)
    return heights


def _calm(heights: Floats) -> bool:
    """A line that hardly turns is quick as one path, and smoother: segments show as beads where they meet."""
    if len(heights) < 2:
        return True
    changes = np.abs(np.diff(heights))
    good = heights[np.isfinite(heights)]
    return len(good) < 2 or float(np.nansum(changes)) <= 8 * float(good.max() - good.min())


def _pen(colour: QColor, width: float) -> QPen:
    pen = QPen(colour, width)
    pen.setCosmetic(True)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    return pen
