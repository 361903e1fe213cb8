"""A small curve for a table row: the shape only, with a dot at the newest value. No numpy needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QLinearGradient, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tooltip import plain


def draw_spark(painter: QPainter, box: QRectF, values: Sequence[float], tone: str = "accent") -> None:
    """For delegates. NaN values are left out; two values are the least that makes a line."""
    numbers = [value for value in values if math.isfinite(value)]
    if len(numbers) < 2:
        return
    low, high = min(numbers), max(numbers)
    inner = box.adjusted(1, 4, -5, -4)
    span = (high - low) or 1.0
    points = [
        QPointF(
            inner.left() + inner.width() * index / (len(numbers) - 1),
            inner.bottom() - (value - low) / span * inner.height() if high > low else inner.center().y(),
        )
        for index, value in enumerate(numbers)
    ]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    area = QPolygonF([*points, QPointF(points[-1].x(), box.bottom()), QPointF(points[0].x(), box.bottom())])
    fade = QLinearGradient(0, inner.top(), 0, box.bottom())
    fade.setColorAt(0, ink(tone, 0.16))
    fade.setColorAt(1, ink(tone, 0.01))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(fade)
    painter.drawPolygon(area)
    pen = QPen(ink(tone), 1.5)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.setPen(pen)
    painter.drawPolyline(QPolygonF(points))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink(tone))
    painter.drawEllipse(points[-1], 2.5, 2.5)
    painter.restore()


class SparkLine(Themed, QLabel):
    """*words* is the full text equivalent: "Loss fell from 3.3 to 0.41"."""

    def __init__(
        self, values: Sequence[float] = (), words: str = "", *, tone: str = "accent", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._values: tuple[float, ...] = ()
        self._tone = tone
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_values(values, words)
        self.follow_theme()

    def set_values(self, values: Sequence[float], words: str) -> None:
        self._values = tuple(values)
        self.setAccessibleName(words)
        self.setToolTip(plain(words))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(104), px(32))

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_spark(paint.open_painter(self), QRectF(self.rect()), self._values, self._tone)
