"""Where the names of lines stand at their ends: beside the end where there is room, and never on one another.

A name that has to stand away from its line is led to it by a thin one. One for which no place is left is not drawn: the
table below, the crosshair and the summary have all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.theme import ink
from tpu_studio.gui.plots.drawn import Drawn
from tpu_studio.gui.plots.marks import Frame
from tpu_studio.gui.plots.scale import Scale
from tpu_studio.gui.plots.source import Floats

_BETWEEN = 2.0
_WIDTHS = (0.45, 0.25)  # of the plot, at most: a longer name is shortened, its value never; the second where no place
# is free of lines for the first
_CELL = 2.0  # logical pixels
_SPARSE, _APART, _BETWEEN_TWO = 400, 8.0, 64  # points of a line, pixels between two, points between two at most
_FAR = 1.6  # heights of a name from its line's end: from here on it is led there


@dataclass(frozen=True)
class EndLabel:
    """*name* and *value* in *box*; *end*: of its line, *led*: whether a line leads there."""

    name: str
    value: str
    tone: str
    box: QRectF
    end: QPointF
    led: bool

    @property
    def corner(self) -> QPointF:
        """Where the line that leads to the end begins."""
        if self.box.right() < self.end.x():
            return QPointF(self.box.right() + 2, self.box.center().y())
        edge = self.box.bottom() if self.box.center().y() < self.end.y() else self.box.top()
        return QPointF(min(max(self.end.x(), self.box.left() + 4), self.box.right() - 4), edge)


def lay_out(frame: Frame, lines: Sequence[Drawn], y: Scale) -> list[EndLabel]:
    """The names of the lines that want one, from the top down."""
    wanted = [drawn for drawn in lines if drawn.curve.end_label and drawn.end is not None]
    if not wanted:
        return []
    face = fonts.font("caption-strong", numbers=True)
    high = QFontMetricsF(face).height()
    crowd = _Crowd(frame, lines)
    labels: list[EndLabel] = []
    taken: list[QRectF] = []
    for drawn, end, value in sorted(((one, *_end(frame, one, y)) for one in wanted), key=lambda it: it[1].y()):
        whole = paint.text_width(face, f"{drawn.curve.name}  {value}") + 1
        least = paint.text_width(face, f"…  {value}") + 1
        box: QRectF | None = None
        for share in _WIDTHS:
            width = max(min(whole, frame.box.width() * share), least)
            at = _place(frame, end, width, high, crowd, taken)
            if at is None:
                continue
            if box is None or (width < box.width() and crowd.in_box(at) < crowd.in_box(box)):
                box = at
            if not crowd.in_box(box):
                break
        if box is not None:
            taken.append(box.adjusted(0, -_BETWEEN, 0, _BETWEEN))
            led = abs(box.center().y() - end.y()) > _FAR * high or box.right() < end.x() - high
            labels.append(EndLabel(drawn.curve.name, value, drawn.curve.tone, box, end, led))
    return labels


def draw(painter: QPainter, labels: Sequence[EndLabel]) -> None:
    face = fonts.font("caption-strong", numbers=True)
    for label in labels:
        colour = ink(label.tone)
        if label.led:
            painter.setPen(QPen(ink(label.tone, 0.5), 1))
            painter.drawLine(label.corner, label.end)
        value = paint.text_width(face, label.value) + 1
        gap = paint.text_width(face, "  ")
        paint.draw_text(painter, label.box.adjusted(0, 0, -value - gap, 0), label.name, face, colour)
        box = QRectF(label.box)
        room = label.box.width() - value - gap
        box.setLeft(label.box.left() + min(paint.text_width(face, label.name) + 1, room) + gap)
        paint.draw_text(painter, box, label.value, face, colour, elide=False)


def _end(frame: Frame, drawn: Drawn, y: Scale) -> tuple[QPointF, str]:
    """Where the line ends in the plot, and what is said of it there."""
    assert drawn.end is not None
    x, level = frame.px_x(drawn.end[0]), frame.px_y(drawn.end[1])
    if x <= frame.box.right() + 1:
        return QPointF(x, level), y.value(drawn.end[1])
    inside = drawn.value_at(frame.x_at(frame.box.right()))
    return QPointF(frame.box.right(), frame.px_y(inside) if inside is not None else level), "goes on"


class _Crowd:
    """How many points of the lines lie in a rectangle: counted once into cells, then four look-ups each."""

    def __init__(self, frame: Frame, lines: Sequence[Drawn]) -> None:
        wide, high = (int(side / _CELL) + 3 for side in (frame.box.right(), frame.box.bottom()))
        places = [_with_between(*frame.places(drawn)) for drawn in lines]
        x, y = (np.concatenate([one[axis] for one in places]) for axis in (0, 1))
        seen = (x >= 0) & (x < frame.box.right()) & (y >= 0) & (y < frame.box.bottom())  # a gap is nowhere
        cells = (y[seen] / _CELL).astype(int) * wide + (x[seen] / _CELL).astype(int)
        counts = np.bincount(cells, minlength=wide * high).reshape(high, wide)
        self._sums = np.zeros((high + 1, wide + 1), np.int64)
        self._sums[1:, 1:] = counts.cumsum(0).cumsum(1)

    def within(self, left: Floats, top: Floats, width: float, high: float) -> Floats:
        rows, columns = (side - 1 for side in self._sums.shape)
        x0, x1 = (np.clip(np.round(it / _CELL).astype(int), 0, columns) for it in (left, left + width))
        y0, y1 = (np.clip(np.round(it / _CELL).astype(int), 0, rows) for it in (top, top + high))
        sums = self._sums
        counts: Floats = (sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]).astype(float)
        return counts

    def in_box(self, box: QRectF) -> float:
        return float(self.within(np.array([box.left()]), np.array([box.top()]), box.width(), box.height())[0])


def _with_between(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Points of a line with some between those that lie far apart: a name would lie on what runs between two, too.
    Lines of many points have none far apart."""
    if not 1 < len(x) <= _SPARSE:
        return x, y
    count = np.nan_to_num(np.hypot(np.diff(x), np.diff(y)) / _APART).clip(1, _BETWEEN_TWO).astype(int)
    start = np.repeat(np.arange(len(count)), count)
    part = (np.arange(len(start)) - np.repeat(np.cumsum(count) - count, count)) / count[start]
    return x[start] + part * np.diff(x)[start], y[start] + part * np.diff(y)[start]


def _place(
    frame: Frame, end: QPointF, width: float, high: float, crowd: _Crowd, taken: Sequence[QRectF]
) -> QRectF | None:
    """The nearest place that is free of names, and of those the first through which no line runs."""
    left, top = _candidates(frame, end, width, high)
    if taken:
        others = np.array([(one.left(), one.right(), one.top(), one.bottom()) for one in taken])
        x0, x1, y0, y1 = others.T[:, :, None]
        free = ~((left < x1) & (left + width > x0) & (top < y1) & (top + high > y0)).any(axis=0)
        left, top = left[free], top[free]
    if not len(left):
        return None
    best = int(crowd.within(left, top, width, high).argmin())
    return QRectF(float(left[best]), float(top[best]), width, high)


def _candidates(frame: Frame, end: QPointF, width: float, high: float) -> tuple[Floats, Floats]:
    """Left and top: right of the end, above and below it, and ever farther up and down; all of them inside the plot."""
    box, x, y = frame.box, end.x(), end.y()
    left = min(max(x - width, box.left()), box.right() - width)
    middle = min(max(x - width / 2, box.left()), box.right() - width)
    near = [(x + 14, y - high / 2)]
    for away in (8.0, 16.0):
        near += [(at, level) for level in (y - high - away, y + away) for at in (middle, left)]
    rows = np.arange(0.0, box.bottom() - high, high + _BETWEEN)  # the same for all: no room is lost between them
    order = rows[np.argsort(np.abs(rows + high / 2 - y), kind="stable")]
    beside = np.repeat(order, 2), np.tile([x + 14, left], len(order))
    lefts = np.concatenate([[at for at, _ in near], beside[1], np.full(len(order), left - width - 12)])
    tops = np.concatenate([[level for _, level in near], beside[0], order])
    inside = (lefts >= box.left()) & (lefts + width <= box.right() + 4) & (tops >= 0) & (tops + high <= box.bottom())
    return lefts[inside], tops[inside]
