"""The strip on Home of a run that goes on."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import IconTile
from tpu_studio.gui.kit.text import Line
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.runrows import RunRow


class LiveStrip(Card):
    """A run that goes on: what, how far, how long yet, and Watch. A waiting one says what it waits for."""

    watch = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(margins=(15, 10, 15, 10), parent=parent)
        self.run = ""
        self._tile = IconTile("activity", "accent", side=36, icon_size=18)
        self._title = Line("", "row-title")
        self._below = Line("", "secondary", "text_2")
        self._share = Line("", "label-strong", numbers=True, fit=True)
        self._left = Line("", "secondary", "text_2", numbers=True)
        self._right = Line("", "label-strong", numbers=True, fit=True)
        self._bar = ProgressBar(0, name="Progress")
        self.button = Button("Watch", size="small")
        self.button.clicked.connect(lambda: self.watch.emit(self.run))
        names = QVBoxLayout()
        names.setSpacing(0)
        names.addWidget(self._title)
        names.addWidget(self._below)
        figures = QHBoxLayout()
        figures.setSpacing(Space.m)
        figures.addWidget(self._share)
        figures.addWidget(self._left, 1)
        figures.addWidget(self._right)
        progress = QVBoxLayout()
        progress.setSpacing(Space.s)
        progress.addLayout(figures)
        progress.addWidget(self._bar)
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(self._tile)
        row.addLayout(names, 3)
        row.addSpacing(Space.xl)
        row.addLayout(progress, 7)
        row.addSpacing(Space.xl)
        row.addWidget(self.button)
        self.body.addLayout(row)

    def show_run(self, row: RunRow) -> None:
        self.run = row.run
        verb = (
            ("waits for a TPU" if row.rented else "waits its turn")
            if row.waiting
            else "is training"
            if row.status.startswith("Training")
            else f"is {row.status.lower()}"
        )
        self._title.setText(f"{row.name} {verb}")
        self._below.setText(f"{row.place} · {row.subtitle}" if row.subtitle else row.place)
        self._tile.set_icon("hourglass" if row.waiting else "activity", "neutral" if row.waiting else "accent")
        self._share.setText(f"{row.progress:.0%}")
        waits = f"{row.time} so far, free" if row.rented else "starts when the run before it is over"
        self._left.setText(waits if row.waiting else row.left or f"{row.time} so far")
        metric = f"{row.metric} {row.metric_name}" if row.metric else ""
        self._right.setText(f"{row.cost} · {metric}".removesuffix(" · ") if row.rented else metric)
        self._bar.set_share(row.progress, f"{row.progress:.0%} of the steps")
        self.button.setAccessibleName(f"Watch {row.name}")
