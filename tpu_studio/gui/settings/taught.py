"""The card of what own runs have taught the estimate, and how it is forgotten after a question."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.runs import RunsView, RunsViewModel


class TaughtCard(Card):
    def __init__(self, model: RunsViewModel, parent: QWidget | None = None) -> None:
        super().__init__(margins=(20, 16, 20, 18), spacing=Space.gap, parent=parent)
        self._model = model
        self.title("Estimates learned from your runs")
        self.count = Text("", "label-strong")
        self.forget = Button("Forget…", size="small", name="Forget what my runs taught the estimate")
        self.forget.clicked.connect(self.ask)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(self.count)
        words.addWidget(
            Text(
                "Times of steps, compiling and setting up; of real TPUs, of this computer and of practice apart. They "
                "stay here. A deleted run takes its part with it, and what you opened from others never counts.",
                "secondary",
                "text_2",
            )
        )
        row = QHBoxLayout()
        row.setSpacing(Space.xl)
        row.addLayout(words, 1)
        row.addWidget(self.forget, 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
        end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: end())

    def ask(self) -> Sheet:
        sheet = Sheet(self, "Forget what your runs taught?", "")
        sheet.facts(
            [
                "The next estimate is the model's own again, with its wide range.",
                "Runs, models and curves stay; runs that come later count anew.",
            ]
        )
        sheet.facts(["It cannot be taken back."], "triangle-alert", "warn")
        sheet.answer("Keep it", safe=True)
        sheet.answer("Forget", self._model.forget_taught, kind="danger")
        sheet.open()
        return sheet

    def _draw(self, view: RunsView) -> None:
        self.count.setText(view.taught_words)
        self.forget.setVisible(bool(view.taught))
