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
_WIDEST = 0.45  # of the plot: a longer name is shortened, its value never
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
    points = _points(frame, lines)
    labels: list[EndLabel] = []
    taken: list[QRectF] = []
    for drawn, end, value in sorted(((one, *_end(frame, one, y)) for one in wanted), key=lambda it: it[1].y()):
        width = paint.text_width(face, f"{drawn.curve.name}  {value}") + 1
        width = max(min(width, frame.box.width() * _WIDEST), paint.text_width(face, f"…  {value}") + 1)
        box = _place(frame, end, width, high, points, taken)
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


def _points(frame: Frame, lines: Sequence[Drawn]) -> tuple[Floats, Floats]:
    """Where the lines run, all together."""
    places = [frame.places(drawn) for drawn in lines]
    return np.concatenate([x for x, _ in places]), np.concatenate([y for _, y in places])


def _place(
    frame: Frame, end: QPointF, width: float, high: float, points: tuple[Floats, Floats], taken: Sequence[QRectF]
) -> QRectF | None:
    """The nearest place that is free of names, and of those the first through which no line runs."""
    x, y = points
    beside = (x > end.x() - 2 * width - 20) & (x < end.x() + width + 20)
    x, y = x[beside], y[beside]
    best, least = None, -1
    for box in _candidates(frame, end, width, high):
        if any(other.intersects(box) for other in taken):
            continue
        hidden = int(((x > box.left()) & (x < box.right()) & (y > box.top()) & (y < box.bottom())).sum())
        if best is None or hidden < least:
            best, least = box, hidden
        if not hidden:
            break
    return best


def _candidates(frame: Frame, end: QPointF, width: float, high: float) -> list[QRectF]:
    """Right of the end, above and below it, and ever farther up and down; all of them inside the plot."""
    inside = frame.box.adjusted(0, -frame.box.top(), 4, 0)
    left = min(max(end.x() - width, frame.box.left()), frame.box.right() - width)
    middle = min(max(end.x() - width / 2, frame.box.left()), frame.box.right() - width)
    boxes = [QRectF(end.x() + 14, end.y() - high / 2, width, high)]
    for away in (8.0, 16.0):
        boxes += [QRectF(at, end.y() - high - away, width, high) for at in (middle, left)]
        boxes += [QRectF(at, end.y() + away, width, high) for at in (middle, left)]
    rows = np.arange(0.0, frame.box.bottom() - high, high + _BETWEEN)  # the same for all: no room is lost between them
    near = [QRectF(at, float(top), width, high) for at in (end.x() + 14, left) for top in rows]
    far = [QRectF(left - width - 12, float(top), width, high) for top in rows]
    for column in (near, far):
        column.sort(key=lambda box: abs(box.center().y() - end.y()))
    return [box for box in [*boxes, *near, *far] if inside.contains(box)]
