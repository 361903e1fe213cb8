"""The sheet "Deleted": what was deleted in the last week, and the way back for each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.runs import KEPT, RunsView, RunsViewModel

if TYPE_CHECKING:
    from tpu_studio.workflow.trash import Deleted


class DeletedSheet(Sheet):
    """Follows the list while it is open."""

    def __init__(self, over: QWidget, model: RunsViewModel) -> None:
        sentence = f"Kept for {KEPT}, then removed for good. What you bring back is as it was."
        super().__init__(over, "Deleted runs", sentence, width=560)
        self._over, self._model = over, model
        self._shown: tuple[Deleted, ...] | None = None
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setAccessibleName("Deleted runs")
        self.body.addWidget(self._area)
        self.empty = self.answer("Delete all permanently…", self._ask_to_empty, left=True)
        self.answer("Close", safe=True)
        self.closed = model.state.subscribe(self._draw)

    def _draw(self, view: RunsView) -> None:
        if view.deleted == self._shown:
            return
        self._shown = view.deleted
        self.empty.setVisible(bool(view.deleted))
        inner = QWidget()
        inner.setObjectName("scrolled")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, Space.m, 0)
        column.setSpacing(Space.m)
        if not view.deleted:
            column.addWidget(Text("Nothing is deleted any more.", "body", "text_2"))
        for one in view.deleted:
            column.addLayout(self._row(one))
        column.addStretch(1)
        self._area.setWidget(inner)  # the one before goes with it
        self._take_height()
        inner.show()

    def _take_height(self) -> None:
        inner = self._area.widget()
        if inner is not None:
            self._area.setFixedHeight(min(inner.sizeHint().height() + 4, soft_px(320)))

    def place(self) -> None:
        self._take_height()  # the text may be larger now
        super().place()

    def _ask_to_empty(self) -> None:
        count = len(self._shown or ())
        what = "this run" if count == 1 else f"these {count} runs"
        sentence = "That makes room on the disk. Nothing can be brought back afterwards."
        sheet = Sheet(self._over, f"Remove {what} for good?", sentence, width=460)
        sheet.answer("Keep", safe=True)
        sheet.answer("Remove for good", self._model.empty_trash, kind="danger")
        sheet.open()

    def _row(self, one: Deleted) -> QHBoxLayout:
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(Line(one.name, "row-title"))
        ago = figures.duration(max(time.time() - one.at, 0.0))
        words.addWidget(Line(f"{one.run}, deleted {ago} ago", "secondary", "text_2", numbers=True))
        back = Button("Bring back", size="small", icon="undo-2")
        back.setAccessibleName(f"Bring {one.name} back")
        back.clicked.connect(lambda: self._model.bring_back(one))
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addLayout(words, 1)
        row.addWidget(back, 0, Qt.AlignmentFlag.AlignVCenter)
        return row
