"""What a plot shows, as a table: for screen readers, for copying, for people who prefer numbers."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPaintEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.table import Column, Table
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import ink, soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.wire.spreadsheets import cell


class PlotTable(QDialog):
    def __init__(
        self, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, parent: QWidget | None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"{title} as a table")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._heads, self._rows = list(heads), [list(row) for row in rows]
        self.table = Table(
            [Column(head, 0, "number" if index else "text") for index, head in enumerate(heads)], name=title
        )
        self.table.set_rows([(str(index), list(row)) for index, row in enumerate(rows)])
        copy = Button("Copy all", icon="copy", size="small")
        copy.clicked.connect(self.copy)
        done = Button("Close the table", size="small")
        done.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.addWidget(copy)
        foot.addStretch(1)
        foot.addWidget(done)
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.card, Space.card, Space.card, Space.xl)
        column.setSpacing(Space.l)
        column.addWidget(Text(title, "card-title"))
        column.addWidget(self.table, 1)
        column.addLayout(foot)
        self.resize(soft_px(180 + 150 * len(self._heads)), soft_px(520))
        self.table.setFocus()

    def copy(self) -> None:
        """Tab-separated, as spreadsheets take it; the heads are names that anybody may have given."""
        heads = [cell(" ".join(head.split())) for head in self._heads]
        lines = ["\t".join(row) for row in [heads, *self._rows]]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        painter.fillRect(self.rect(), ink("card"))
        paint.outlined(painter, QRectF(self.rect()), 2, None, ink("border_strong"))
