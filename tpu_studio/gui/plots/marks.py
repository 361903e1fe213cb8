"""What is painted around and over the lines: hairlines, tick words, dots, limits, forecast, end labels, crosshair card.

All in logical pixels of the canvas; `Frame` turns values into places.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QPolygonF

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.theme import ink, px
from tpu_studio.gui.plots.drawn import Drawn
from tpu_studio.gui.plots.ranges import View
from tpu_studio.gui.plots.scale import Scale
from tpu_studio.gui.plots.smooth import pieces
from tpu_studio.gui.plots.source import Floats, Forecast, Gap, Limit

_H = Qt.AlignmentFlag


@dataclass(frozen=True)
class Frame:
    """The area of the lines in the canvas, and the view shown in it."""

    box: QRectF
    view: View

    def px_x(self, x: float) -> float:
        view = self.view
        return self.box.left() + (x - view.x_low) / (view.x_high - view.x_low) * self.box.width()

    def px_y(self, y: float) -> float:
        view = self.view
        if view.log:
            y = math.log10(y) if y > 0 else view.y_low
        return self.box.bottom() - (y - view.y_low) / (view.y_high - view.y_low) * self.box.height()

    def x_at(self, place: float) -> float:
        view = self.view
        return view.x_low + (place - self.box.left()) / self.box.width() * (view.x_high - view.x_low)

    def places(self, drawn: Drawn) -> tuple[Floats, Floats]:
        view = self.view
        x = self.box.left() + (drawn.x - view.x_low) / (view.x_high - view.x_low) * self.box.width()
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.log10(drawn.y) if view.log else drawn.y
        y = self.box.bottom() - (height - view.y_low) / (view.y_high - view.y_low) * self.box.height()
        return x, y


def axes(painter: QPainter, frame: Frame, x: Scale, y: Scale) -> None:
    """Horizontal hairlines and the words of the ticks; no frame, no vertical grid, no axis lines."""
    face = fonts.font("caption", numbers=True)
    high = QFontMetricsF(face).height()
    for tick, words in zip(frame.view.y_ticks, y.spelled(frame.view.y_ticks), strict=True):
        place = frame.px_y(tick)
        paint.hairline(painter, frame.box.left(), place, frame.box.right(), place, ink("border"))
        paint.draw_text(
            painter, QRectF(0, place - high / 2, frame.box.left() - 8, high), words, face, ink("text_3"), _H.AlignRight
        )
    places = []
    for tick, words in zip(frame.view.x_ticks, x.spelled(frame.view.x_ticks), strict=True):
        width = paint.text_width(face, words) + 1
        places.append((min(frame.px_x(tick) - width / 2, frame.box.right() + 5 - width), width, words))
    stride = 1
    while any(a[0] + a[1] + 10 > b[0] for a, b in itertools.pairwise(places[::stride])):
        stride += 1  # words that would touch: every second, every third place
    for left, width, words in places[::stride]:
        box = QRectF(left, frame.box.bottom() + 9, width, high)
        paint.draw_text(painter, box, words, face, ink("text_3"), elide=False)


def fill(painter: QPainter, frame: Frame, drawn: Drawn) -> None:
    """Without antialiasing: the line lies over its edge."""
    base = min(frame.px_y(0.0), frame.box.bottom())
    x, y = frame.places(drawn)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink(drawn.curve.tone, 0.11))
    for part_x, part_y in pieces(x, y):
        area = QPolygonF([QPointF(float(a), float(b)) for a, b in zip(part_x, part_y, strict=True)])
        area.append(QPointF(float(part_x[-1]), base))
        area.append(QPointF(float(part_x[0]), base))
        painter.drawPolygon(area)
    painter.restore()


def forecast(painter: QPainter, frame: Frame, it: Forecast) -> None:
    start = QPointF(frame.px_x(it.x), frame.px_y(it.y))
    x = frame.px_x(it.x_end)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink(it.tone, 0.24))
    painter.drawPolygon(QPolygonF([start, QPointF(x, frame.px_y(it.high)), QPointF(x, frame.px_y(it.low))]))
    pen = QPen(ink(it.tone), 1.75)
    pen.setDashPattern([3.2, 2.4])
    painter.setPen(pen)
    painter.drawLine(start, QPointF(x, frame.px_y(it.middle)))


def forecast_words(painter: QPainter, frame: Frame, it: Forecast, taken: Sequence[QRectF] = ()) -> None:
    face = fonts.font("caption-medium", numbers=True)
    width = paint.text_width(face, it.words)
    right = min(frame.px_x(it.x_end) + 9, frame.box.right())
    high = QFontMetricsF(face).height()
    box = QRectF(right - width - 1, frame.px_y(it.high) - high - 5, width + 1, high)
    if any(other.intersects(box) for other in taken):
        box.moveTop(frame.px_y(it.low) + 5)
    paint.draw_text(painter, box, it.words, face, ink("text_2"))


def limit(painter: QPainter, frame: Frame, it: Limit) -> QRectF:
    """Returns where its words stand."""
    place = frame.px_y(it.value)
    if not frame.box.top() - 2 <= place <= frame.box.bottom():
        return QRectF()
    pen = QPen(ink(it.tone), 1.5)
    pen.setDashPattern([6, 3])
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.drawLine(QPointF(frame.box.left(), place), QPointF(frame.box.right(), place))
    face = fonts.font("caption-medium", numbers=True)
    high = QFontMetricsF(face).height()
    below = it.below or place - high - 4 < 0
    box = QRectF(frame.box.left(), place + 5 if below else place - high - 5, frame.box.width() - 9, high)
    paint.draw_text(painter, box, it.words, face, ink(it.tone), _H.AlignRight)
    width = paint.text_width(face, it.words)
    return QRectF(box.right() - width, box.y(), width, high)


def gap(painter: QPainter, frame: Frame, it: Gap, all_drawn: Sequence[Drawn]) -> QRectF:
    """A dotted line torn at its foot; its words beside it where the fewest lines run. Returns where those stand."""
    x, y = frame.px_x(it.x), frame.box.bottom()
    if not frame.box.left() <= x <= frame.box.right():
        return QRectF()
    painter.setPen(QPen(ink("border_strong"), 1, Qt.PenStyle.DotLine))
    painter.drawLine(QPointF(x, frame.box.top()), QPointF(x, y))
    painter.setPen(QPen(ink("text_3"), 1.5))
    for shift in (-2.5, 2.5):
        painter.drawLine(QPointF(x + shift - 2, y + 3), QPointF(x + shift + 2, y - 5))
    if not it.words:
        return QRectF()
    face = fonts.font("caption")
    wide, high = paint.text_width(face, it.words) + 2, QFontMetricsF(face).height()
    lines = [frame.places(drawn) for drawn in all_drawn]
    sides = [left for left in (x + 5, x - 5 - wide) if frame.box.left() <= left <= frame.box.right() - wide]
    levels = np.linspace(y - high - 6, frame.box.top() + 2, 8)
    places = [QRectF(left, float(top), wide, high) for top in levels for left in sides or [x + 5]]
    box = min(places, key=lambda place: _crossed(place, lines))
    paint.draw_text(painter, box, it.words, face, ink("text_3"))
    return box


def dots(painter: QPainter, frame: Frame, drawn: Drawn) -> None:
    """5 px where it was really measured, 8 px with a ring for the newest value."""
    colour = ink(drawn.curve.tone)
    painter.setPen(Qt.PenStyle.NoPen)
    if drawn.curve.kind == "points":
        xs, ys = frame.places(drawn)
        good = np.isfinite(ys) & (xs >= frame.box.left() - 1) & (xs <= frame.box.right() + 1)
        if good.sum() * 7 < frame.box.width():
            painter.setBrush(colour)
            for x, y in zip(xs[good], ys[good], strict=True):
                painter.drawEllipse(QPointF(float(x), float(y)), 2.5, 2.5)
    if drawn.end is None:
        return
    x, y = frame.px_x(drawn.end[0]), frame.px_y(drawn.end[1])
    if frame.box.left() - 1 <= x <= frame.box.right() + 1 and frame.box.top() - 4 <= y <= frame.box.bottom() + 4:
        painter.setBrush(ink("card"))
        painter.drawEllipse(QPointF(x, y), 6, 6)
        painter.setBrush(colour)
        painter.drawEllipse(QPointF(x, y), 4, 4)


@dataclass(frozen=True)
class CardLine:
    tone: str
    name: str
    value: str


def crosshair(
    painter: QPainter,
    frame: Frame,
    x: float,
    head: str,
    lines: Sequence[CardLine],
    foot: str,
    all_drawn: Sequence[Drawn],
) -> QRectF:
    """One thin line, a dot on each curve, and a card where it hides as little of the lines as possible."""
    place = frame.px_x(x)
    paint.hairline(painter, place, frame.box.top() - 6, place, frame.box.bottom() + 4, ink("control"))
    for drawn in all_drawn:
        value = drawn.value_at(x)
        if value is not None and (drawn.end is None or x <= drawn.end[0]):
            painter.setPen(QPen(ink("card"), 1.5))
            painter.setBrush(ink(drawn.curve.tone))
            painter.drawEllipse(QPointF(place, frame.px_y(value)), 4, 4)
    small, bold = fonts.font("caption", numbers=True), fonts.font("caption-strong", numbers=True)
    row, edge = px(20), 12
    wide = max(
        (paint.text_width(small, line.name) + 26 + paint.text_width(bold, line.value) + 16 for line in lines),
        default=0.0,
    )
    wide = max(wide, paint.text_width(small, head), paint.text_width(small, foot)) + 2 * edge
    wide = min(max(wide, px(130)), frame.box.width())
    tall = 2 * edge - 4 + row * (1 + len(lines) + (1 if foot else 0))
    box = _quiet_place(frame, place, wide, tall, all_drawn)
    paint.outlined(painter, box, 8, ink("card"), ink("border_strong"))
    y = box.top() + edge - 2
    left, right = box.left() + edge, box.right() - edge
    paint.draw_text(painter, QRectF(left, y, right - left, row), head, small, ink("text_2"))
    for line in lines:
        y += row
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(line.tone))
        painter.drawRoundedRect(QRectF(left, y + row / 2 - 4, 8, 8), 2, 2)
        worth = paint.text_width(bold, line.value)
        paint.draw_text(
            painter, QRectF(left + 14, y, right - left - 14 - worth - 8, row), line.name, small, ink("text_2")
        )
        paint.draw_text(
            painter, QRectF(right - worth - 1, y, worth + 1, row), line.value, bold, ink("text"), elide=False
        )
    if foot:
        paint.draw_text(painter, QRectF(left, y + row, right - left, row), foot, small, ink("text_2"))
    return box


def _quiet_place(frame: Frame, at: float, wide: float, tall: float, all_drawn: Sequence[Drawn]) -> QRectF:
    top, bottom = frame.box.top(), max(frame.box.bottom() - tall, frame.box.top())
    best, least = QRectF(), math.inf
    lines = [frame.places(drawn) for drawn in all_drawn]
    for left in (at + 14, at - 14 - wide):
        if left < 0 or left + wide > frame.box.right() + 10:
            continue
        for level in np.linspace(top, bottom, 12):
            box = QRectF(left, float(level), wide, tall)
            hidden = _hidden(box, lines)
            if hidden < least:
                best, least = box, hidden
    if least == math.inf:
        best = QRectF(min(max(at - wide / 2, 0), frame.box.right() - wide), top, wide, tall)
    return best


def _hidden(box: QRectF, lines: Sequence[tuple[Floats, Floats]]) -> int:
    """How many points of the lines lie in *box*."""
    inside = ((x > box.left()) & (x < box.right()) & (y > box.top()) & (y < box.bottom()) for x, y in lines)
    return sum(int(points.sum()) for points in inside)


def _crossed(box: QRectF, lines: Sequence[tuple[Floats, Floats]]) -> int:
    """The same, with what runs through *box* between two points."""
    across = np.linspace(box.left(), box.right(), 12)
    count = _hidden(box, lines)
    for x, y in lines:
        known = np.isfinite(x) & np.isfinite(y)
        if known.any():
            level = np.interp(across, x[known], y[known], left=np.nan, right=np.nan)
            count += int(((level > box.top() - 2) & (level < box.bottom() + 2)).sum())
    return count
