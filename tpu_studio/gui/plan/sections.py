"""What all sections of the sheet share: a card with a title that folds to a summary row."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.rows import SummaryRow
from tpu_studio.gui.kit.tokens import Space


class FoldingSection(QWidget):
    """A section that is either open (`card`) or a summary row. `opened` and `closed` are wishes; `show_open` obeys."""

    opened = Signal()
    closed = Signal()

    def __init__(self, title: str, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = SummaryRow(title, "", icon=icon)
        self.row.change.connect(self.opened)
        self.done = Button("Done", "quiet", size="small", name=f"Done with {title.lower()}")
        self.done.clicked.connect(self.closed)
        self.card = Card(spacing=Space.l)
        self.title = self.card.title(title, self.done)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.row)
        column.addWidget(self.card)

    def show_open(self, is_open: bool, may_close: bool) -> None:
        self.row.setVisible(not is_open)
        self.card.setVisible(is_open)
        self.done.setVisible(may_close)
