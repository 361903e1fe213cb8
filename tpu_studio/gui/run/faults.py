"""The panel “What could go wrong?”: every named fault of the practice cloud with its sentence and a switch."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Scroll, clear_layout
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.faults import FaultRow, FaultsView, FaultsViewModel


class FaultsPanel(QWidget):
    def __init__(self, model: FaultsViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._shape: tuple[str, ...] = ()
        self.rows: dict[str, FaultLine] = {}
        self.problem = Note("", "", "bad")
        self.reading = Text("Asking the practice cloud…", "secondary", "text_2")
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.m)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, Space.m, 0)
        column.setSpacing(Space.m)
        column.addWidget(self.problem)
        column.addWidget(self.reading)
        column.addLayout(self._list)
        column.addStretch(1)
        end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: end())

    def _draw(self, view: FaultsView) -> None:
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.reading.setVisible(view.rows is None and view.problem is None)
        shape = tuple(row.name for _, rows in view.groups for row in rows)
        if shape != self._shape:
            self._shape = shape
            clear_layout(self._list)
            self.rows = {}
            for title, rows in view.groups:
                self._list.addSpacing(Space.s)
                self._list.addWidget(Text(title, "label-strong"))
                for row in rows:
                    self.rows[row.name] = line = FaultLine(row, self._model)
                    self._list.addWidget(line)
        for row in view.rows or ():
            if row.name in self.rows:
                self.rows[row.name].draw(row)


class FaultLine(QWidget):
    """One fault: what happens then, and its button."""

    def __init__(self, row: FaultRow, model: FaultsViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = row
        self.pill = Pill("", "accent")
        self.button = Button("Inject", size="small")
        self.button.clicked.connect(lambda: (model.disarm if self._row.armed else model.arm)(row.name))
        self.button.setAccessibleDescription(row.sentence)
        box = QHBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(Space.l)
        box.addWidget(Text(row.sentence, "secondary"), 1, Qt.AlignmentFlag.AlignVCenter)
        box.addWidget(self.pill)
        box.addWidget(self.button)

    def draw(self, row: FaultRow) -> None:
        """The button stays enabled while the practice cloud is asked: disabled it would lose the focus, and the list
        its place. A press meanwhile does nothing."""
        self._row = row
        self.pill.setVisible(row.armed)
        if row.armed:
            self.pill.set_pill(row.state, "accent")
        self.button.setText("Undo" if row.armed else "Inject")
        self.button.setAccessibleName(f"{self.button.text()}: {row.sentence}")


def open_faults(over: QWidget, model: FaultsViewModel) -> Sheet:
    sheet = Sheet(
        over,
        "What could go wrong?",
        "Inject a fault into the practice cloud, and watch how TPU Studio handles it. Nothing is real.",
        width=720,
    )
    panel = FaultsPanel(model)
    sheet.body.addWidget(Tall(Scroll(panel), lambda _: soft_px(480)), 1)
    sheet.answer("Clear all", model.disarm_all, kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    sheet.open()
    model.look()
    return sheet
