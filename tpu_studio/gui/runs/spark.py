"""The small loss curve of a table row: one line, a fading ground under it, a dot at its end. Painted, never a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QLinearGradient, QPainter, QPainterPath, QPen

from tpu_studio.gui.kit.theme import ink


def paint_spark(painter: QPainter, box: QRectF, values: Sequence[float], tone: str = "s1") -> None:
    """*values* oldest first across the whole width; what is no number leaves a gap."""
    known = [value for value in values if math.isfinite(value)]
    if len(known) < 2:
        return
    low, high = min(known), max(known)
    room = box.adjusted(1, 3, -4, -3)
    step = room.width() / (len(values) - 1)
    line, ground = QPainterPath(), QPainterPath()
    pieces: list[list[QPointF]] = [[]]
    for place, value in enumerate(values):
        if not math.isfinite(value):
            pieces.append([])
            continue
        share = (value - low) / (high - low) if high > low else 0.5
        pieces[-1].append(QPointF(room.x() + place * step, room.bottom() - share * room.height()))
    for piece in filter(None, pieces):
        line.addPolygon(piece)
        ground.addPolygon([QPointF(piece[0].x(), box.bottom()), *piece, QPointF(piece[-1].x(), box.bottom())])
    end = next(piece[-1] for piece in reversed(pieces) if piece)
    fade = QLinearGradient(0, box.top(), 0, box.bottom())
    fade.setColorAt(0, ink(tone, 0.16))
    fade.setColorAt(1, QColor(ink(tone, 0.001)))
    painter.fillPath(ground, fade)
    pen = QPen(ink(tone), 1.5)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.strokePath(line, pen)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink(tone))
    painter.drawEllipse(end, 2.6, 2.6)
