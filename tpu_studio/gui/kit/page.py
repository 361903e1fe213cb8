"""The frame of a page that is read from top to bottom: one column, no wider than a line may be, that scrolls."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.card import Scroll
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space

WIDTH = 860


class ColumnPage(QWidget):
    """Fill `column`, with a stretch at its end; `scroller` is around it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        inside = QWidget()
        inside.setMaximumWidth(soft_px(WIDTH) + 2 * Space.page)
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(Space.page, 26, Space.page, Space.xl)
        self.column.setSpacing(Space.l)
        holder = _Content()
        middle = QHBoxLayout(holder)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addWidget(inside, 10)
        middle.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self.scroller = Scroll(holder)
        outer.addWidget(self.scroller)


class _Content(QWidget):
    """As high as its words are at the width that there is. Its least height would be that of words at their narrowest,
    and the page would scroll beyond its end."""

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), 0)
