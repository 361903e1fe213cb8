"""The card of a profile: where the time of some steps went, in three sentences, and one press that would help."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.bars import MemoryBar, MemoryPart, ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels import runprofile

WORKS = ("matrix", "memory", "collectives")  # the rest of the bar is empty, as the device is then
TRACE = "The raw trace is in {} of the run’s folder; the tool xprof opens it."


class ProfileCard(Card):
    """`remedied`: its press was asked for."""

    remedied = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(margins=(18, 14, 18, 14), spacing=Space.m, parent=parent)
        self._shown: runprofile.Card | None = None
        self.headline = self.title("", role="plot-title")
        self.going = ProgressBar(name="Profiling")
        self.bar = MemoryBar(what="Where the time went")
        self.body.addWidget(self.going)
        self.body.addWidget(self.bar)
        lines = QVBoxLayout()
        lines.setSpacing(Space.s)
        self.sentences = [Text("", "secondary") for _ in range(3)]
        for line in self.sentences:
            lines.addWidget(line)
        self.body.addLayout(lines)
        self.remedy = Text("", "secondary", "text_2")
        self.button = Button("", size="small")
        self.button.clicked.connect(self.remedied)
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(self.remedy, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
        self.trace = Text("", "caption", "text_2")
        self.body.addWidget(self.trace)

    def show_profile(self, card: runprofile.Card) -> None:
        if card == self._shown:
            return
        self._shown = card
        self.headline.setText(card.title)
        self.going.setVisible(card.progress is not None)
        self.going.set_share(card.progress or 0.0)
        self.bar.setVisible(bool(card.parts))
        parts = [
            MemoryPart(name, share, f"{name} {figures.share(share, 0)}")
            for kind, name, share in card.parts
            if kind in WORKS
        ]
        idle = sum(share for kind, _, share in card.parts if kind not in WORKS)
        self.bar.set_memory(parts, 1.0, f"nothing to do {figures.share(idle, 0)}")
        for line, words in zip(self.sentences, (*card.sentences, "", "", ""), strict=False):
            line.setText(words)
            line.setVisible(bool(words))
        remedy = card.remedy or runprofile.Remedy("")
        self.remedy.setText(remedy.text)
        self.remedy.setVisible(bool(remedy.text))
        self.button.setText(remedy.press)
        self.button.setVisible(bool(remedy.press))
        self.trace.setText(TRACE.format(card.trace))
        self.trace.setVisible(bool(card.trace))
