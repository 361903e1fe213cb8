"""Time against money of the ways to train, to choose from: logarithmic, what is free on a line of its own below.

Left and right go from point to point, Enter chooses; the mouse chooses by a click.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.viewmodels.planverdict import Way, spoken

_SECONDS = (10, 30, 60, 120, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 86_400, 3 * 86_400, 10 * 86_400, 100 * 86_400)
_REACH = 18.0  # pixels around a point that count as on it
_LEFT_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class WaysPlot(Themed, QWidget):
    """`chosen` carries the key of a way."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ways: tuple[Way, ...] = ()
        self._at = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Time against money")
        self.follow_theme()

    def sizeHint(self) -> QSize:
        return QSize(px(480), px(250))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(240), px(250))

    def set_ways(self, ways: Sequence[Way], at: str) -> None:
        """Draw *ways*; *at* is the key of the selected one."""
        if (tuple(ways), at) != (self._ways, self._at):
            self._ways, self._at = tuple(ways), at
            self.setAccessibleDescription(spoken(self._ways))
            self.update()

    def place_of(self, key: str) -> QPointF:
        """Where the point of *key* is drawn."""
        return next(point for way, point in self._points() if way.key == key)

    # ----------------------------------------------------------------------------------------------- where things are

    @property
    def _frame(self) -> QRectF:
        return QRectF(px(58), px(10), self.width() - px(58) - px(24), self.height() - px(10) - px(66))

    @property
    def _free_y(self) -> float:
        return float(self.height() - px(40))

    def _points(self) -> list[tuple[Way, QPointF]]:
        return [(way, QPointF(self._x(way.time_s), self._y(way.usd))) for way in self._ways]

    def _x(self, seconds: float) -> float:
        times = [max(1.0, way.time_s) for way in self._ways]
        low, high = min(times) / 1.3, max(times) * 2.2
        share = math.log(max(1.0, seconds) / low) / math.log(high / low)
        return self._frame.left() + share * self._frame.width()

    def _y(self, usd: float) -> float:
        prices = [way.usd for way in self._ways if way.usd > 0]
        if usd <= 0 or not prices:
            return self._free_y
        low, high = min(prices) / 1.5, max(prices) * 1.5
        share = math.log(usd / low) / math.log(high / low)
        return self._frame.bottom() - share * self._frame.height()

    # -------------------------------------------------------------------------------------------------------- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._ways:
            return
        painter = paint.open_painter(self)
        face, grey, frame = fonts.font("caption", numbers=True), ink("text_3"), self._frame
        painter.setPen(QPen(ink("border"), 1))
        painter.drawLine(QPointF(frame.left(), self._free_y), QPointF(frame.right(), self._free_y))
        half = px(8)
        right = Qt.AlignmentFlag.AlignRight
        if any(way.usd <= 0 for way in self._ways):
            box = QRectF(0, self._free_y - half, frame.left() - px(8), 2 * half)
            paint.draw_text(painter, box, "free", face, grey, right)
        for usd in _prices([way.usd for way in self._ways if way.usd > 0]):
            y = self._y(usd)
            painter.setPen(QPen(ink("border"), 1))
            painter.drawLine(QPointF(frame.left(), y), QPointF(frame.right(), y))
            words = figures.money(usd) if usd < 10 else f"${usd:,.0f}"
            paint.draw_text(painter, QRectF(0, y - half, frame.left() - px(8), 2 * half), words, face, grey, right)
        last = -1e9
        for seconds in _SECONDS:
            x = self._x(seconds)
            if frame.left() + px(20) <= x <= frame.right() - px(20) and x - last >= px(80):
                last = x
                box = QRectF(x - px(40), self._free_y + px(10), px(80), 2 * half)
                words = figures.duration(seconds)
                paint.draw_text(painter, box, words, face, grey, Qt.AlignmentFlag.AlignHCenter)
        box = QRectF(frame.left(), self.height() - px(16), frame.width(), 2 * half)
        paint.draw_text(painter, box, "time, start included", face, grey, right)
        self._draw_points(painter)

    def _draw_points(self, painter: QPainter) -> None:
        placed = self._points()
        front = sorted(((p.x(), p.y()) for way, p in placed if way.best))
        painter.setPen(QPen(ink("accent"), 1.5, Qt.PenStyle.DashLine))
        for (x, y), (x2, y2) in pairwise(front):
            painter.drawLine(QPointF(x, y), QPointF(x2, y2))
        face = fonts.font("caption-medium")
        taken: list[QRectF] = []
        drawn = [point for _, point in placed]
        drawn += [
            QPointF(x + (x2 - x) * at / 12, y + (y2 - y) * at / 12)
            for (x, y), (x2, y2) in pairwise(front)
            for at in range(1, 12)
        ]
        for way, point in sorted(placed, key=lambda one: (one[0].best, one[1].x())):
            size = px(5) if way.best or way.planned else px(4)
            painter.setPen(QPen(ink("accent"), 2.5) if way.planned else Qt.PenStyle.NoPen)
            painter.setBrush(ink("card") if way.planned else ink("accent") if way.best else ink("text_3", 0.55))
            painter.drawEllipse(point, size, size)
            if way.key == self._at:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(ink("text"), 1.5))
                painter.drawEllipse(point, size + px(4), size + px(4))
            if not (way.best or way.planned or way.key == self._at):
                continue
            box = self._free_box(point, paint.text_width(face, way.name) + 2, taken, drawn)
            taken.append(box)
            paint.draw_text(painter, box, way.name, face, ink("text"), _LEFT_MIDDLE, elide=False)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(ink("accent"), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)

    def _free_box(self, point: QPointF, width: float, names: list[QRectF], drawn: list[QPointF]) -> QRectF:
        """Room for a name beside *point*: on no other name, and on as few points and lines as can be; the nearest."""
        height, whole = px(16), QRectF(0, 0, self.width(), self._free_y + 1)  # below stand the times
        best, least = QRectF(), math.inf
        for away in range(5):
            for x in (point.x() + px(9), point.x() - px(9) - width):
                for y in (point.y() - height - px(2 + 5 * away), point.y() + px(2 + 5 * away)):
                    box = QRectF(x, y, width, height)
                    if not whole.contains(box):
                        continue
                    hit = sum(box.adjusted(-3, -2, 3, 2).contains(one) for one in drawn)
                    cost = 100 * sum(box.intersects(other) for other in names) + 4 * hit + away
                    if cost < least:
                        best, least = box, cost
        return best

    # ------------------------------------------------------------------------------------------------------- choosing

    def _near(self, at: QPointF) -> Way | None:
        near = [((p - at).manhattanLength(), way) for way, p in self._points()]
        distance, way = min(near, key=lambda one: one[0], default=(1e9, None))
        return way if distance <= _REACH else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if (way := self._near(event.position())) is not None:
            self.chosen.emit(way.key)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        way = self._near(event.position())
        words = f"{way.name}: {way.time}, {way.cost}" if way else ""
        QToolTip.showText(event.globalPosition().toPoint(), plain(words), self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()), 0)
        if not step or not self._ways:
            super().keyPressEvent(event)
            return
        ordered = [way.key for way in sorted(self._ways, key=lambda way: (way.time_s, way.usd))]
        at = ordered.index(self._at) + step if self._at in ordered else 0
        self.chosen.emit(ordered[at % len(ordered)])

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)


def _prices(prices: Sequence[float]) -> list[float]:
    """Round dollars between the least and the most, five at most."""
    if not prices:
        return []
    low, high = min(prices) / 1.5, max(prices) * 1.5
    power = math.floor(math.log10(low))
    ticks = [digit * 10.0**exponent for exponent in range(power, power + 9) for digit in (1, 2, 5)]
    shown = [usd for usd in ticks if max(low, 0.01) <= usd <= high]
    return shown[:: max(1, math.ceil(len(shown) / 5))]
