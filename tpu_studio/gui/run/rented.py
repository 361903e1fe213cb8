"""The parts of the Run page that only a rented run has: the practice strip, the wait with its ways out, the proof."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, clear_layout
from tpu_studio.gui.kit.pill import IconTile
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.states import WayOut
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runrented import Removal, Waiting, Way

PRACTICE = "Practice: nothing here is real"


class PracticeStrip(Note):
    """Stands on every page of a practice run, from start to report."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            PRACTICE,
            "The machine is a process on this computer, and prices say what it would be.",
            "accent",
            action="What could go wrong?",
            icon="flask-conical",
            parent=parent,
        )


class WaitingCard(Card):
    """How long it has waited, who was asked, and what else could be done."""

    def __init__(self, model: RunViewModel, parent: QWidget | None = None) -> None:
        super().__init__(margins=(18, 16, 18, 16), spacing=Space.l, parent=parent)
        self._model = model
        self._ways: tuple[Way, ...] = ()
        self.headline = Text("", "section")
        self.text = Text("", "secondary", "text_2")
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(self.headline)
        words.addWidget(self.text)
        head = QHBoxLayout()
        head.setSpacing(Space.l)
        head.addWidget(IconTile("hourglass", "neutral", side=40, icon_size=18))
        head.addLayout(words, 1)
        self.body.addLayout(head)
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.m)
        self.body.addLayout(self._list)

    def show_waiting(self, waiting: Waiting) -> None:
        self.headline.setText(waiting.title)
        self.text.setText(waiting.text)
        if [way.title for way in waiting.ways] == [way.title for way in self._ways]:
            return
        self._ways = waiting.ways
        clear_layout(self._list)
        for number, way in enumerate(waiting.ways, 1):
            shown = WayOut(number, way.title, way.text, way.button)
            shown.button.setVisible(bool(way.button))
            if way.button:
                shown.taken.connect(lambda chosen=way: self._model.go_elsewhere(dict(chosen.changes)))
            self._list.addWidget(shown)


class RemovalCard(Card):
    """What became of the machines: going, failing, or verified gone. `receipt`: it was asked for."""

    receipt = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(margins=(0, 0, 0, 0), spacing=0, parent=parent)
        self.note = Note("", "", "neutral")
        self.body.addWidget(self.note)
        self._lines = Text("", "caption", "text_2")
        self.button = Button("Show the receipt", "link", size="small", icon="file-text")
        self.button.clicked.connect(self.receipt)
        self._row = row = QHBoxLayout()
        row.addWidget(self._lines, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        self._below = QWidget()
        self._below.setLayout(row)
        self.body.addWidget(self._below)
        self._indent()

    def restyle(self) -> None:
        super().restyle()
        if hasattr(self, "_row"):
            self._indent()

    def _indent(self) -> None:
        """What stands below begins where the note's words begin, behind its icon."""
        self._row.setContentsMargins(2 * Space.l + px(16), 8, Space.l, 10)

    def show_removal(self, removal: Removal) -> None:
        self.note.set_kind(removal.kind)
        self.note.set_words(removal.title, removal.text)
        self._lines.setText("\n".join(removal.lines))
        self.button.setVisible(removal.kind == "ok")
        self._below.setVisible(bool(removal.lines) or removal.kind == "ok")
