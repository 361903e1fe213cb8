"""Still grey shapes of rows to come, shown when reading them takes longer than 300 ms."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QTimer
from PySide6.QtGui import QPaintEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.theme import Themed, ink
from tpu_studio.gui.kit.tokens import Radius
from tpu_studio.gui.runs.rowpainter import row_height

PATIENCE_MS = 300
_SHAPES = ((0.02, 0.16), (0.30, 0.09), (0.43, 0.13), (0.62, 0.10), (0.88, 0.08))


class SkeletonRows(Themed, QWidget):
    def __init__(self, rows: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._due = False
        self.setAccessibleName("The runs are being read")
        self.follow_theme()

    def restyle(self) -> None:
        self.setMinimumHeight(self._rows * row_height())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._due = False
        QTimer.singleShot(PATIENCE_MS, self, self._appear)

    def _appear(self) -> None:
        self._due = True
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._due:
            return
        painter = paint.open_painter(self)
        high = row_height()
        paint.outlined(painter, QRectF(0, 0, self.width(), self._rows * high), Radius.card, ink("card"), ink("border"))
        for row in range(self._rows):
            for left, width in _SHAPES:
                shape = QRectF(
                    self.width() * left,
                    row * high + (high - 12) / 2,
                    self.width() * width * (0.8 + 0.2 * ((row * 7) % 3) / 2),
                    12,
                )
                paint.outlined(painter, shape, 6, ink("track"))
