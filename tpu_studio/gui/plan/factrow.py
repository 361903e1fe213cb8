"""A row of the estimate that explains itself: press it, or Enter while it has the focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.card import FactRow
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.theme import ink
from tpu_studio.viewmodels.planexplain import Explained


def open_explainer(beside: QWidget, told: Explained | None) -> None:
    if told is not None:
        Explainer(told.title, f"{told.formula}.\n\n{told.source}".strip(), parent=beside).open_at(beside)


class AskedRow(FactRow):
    def __init__(self, label: str) -> None:
        super().__init__(label)
        self._told: Explained | None = None
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.WhatsThisCursor)

    def set_explained(self, told: Explained | None) -> None:
        self._told = told
        self.setAccessibleName(f"{self.label.text()}: {self.value.text()}")
        self.setAccessibleDescription(f"{told.formula}. {told.source}" if told else "")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.rect().contains(event.position().toPoint()):
            open_explainer(self, self._told)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and not event.modifiers():
            open_explainer(self, self._told)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.hasFocus():
            painter = paint.open_painter(self)
            painter.setPen(QPen(ink("accent"), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)
