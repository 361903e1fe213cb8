"""The card "What happened": the newest lines, and the way to the full log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Qt

from tpu_studio.domain import figures
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.events import EventLine, EventList
from tpu_studio.viewmodels.runhappened import Line

SHOWN, FOLDED = 40, 8
_TONES = {"neutral": "text_2", "accent": "accent", "ok": "ok", "warn": "warn", "bad": "bad"}


class EventCard(Card):
    def __init__(self) -> None:
        super().__init__(margins=(18, 12, 10, 12))
        self.setMinimumHeight(250)
        self.commands = Button("Show me the commands", kind="link", size="small")
        self.commands.hide()
        self.log = Button("Open full log", kind="link", size="small")
        self.title("What happened", self.commands, self.log, role="plot-title")
        self.list = EventList()
        self.more = Button("", kind="link", size="small")
        self.more.hide()
        self.more.clicked.connect(self._fold)
        self.body.addWidget(self.list)
        self.body.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addStretch(1)
        self._lines: tuple[Line, ...] = ()
        self._folded = True
        self._shown: tuple[Line, ...] = ()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """The newest of *lines*; the page scrolls, never a part of it."""
        self._lines = tuple(lines[:SHOWN])
        left = len(self._lines) - FOLDED
        self.more.setVisible(left > 0)
        self.more.setText(f"Show {left} earlier {'line' if left == 1 else 'lines'}" if self._folded else "Show fewer")
        shown = self._lines[: FOLDED if self._folded else SHOWN]
        if shown == self._shown:
            return
        self._shown = shown
        minutes = [figures.clock(line.t) for line in shown]
        alike = any(one == other for one, other in pairwise(minutes))  # then only seconds tell them apart
        clocks = [figures.clock(line.t, seconds=alike) for line in shown]
        self.list.set_lines(
            [
                EventLine(clock, line.icon, line.text, _TONES[line.tone], line.more)
                for clock, line in zip(clocks, shown, strict=True)
            ]
        )

    def _fold(self) -> None:
        self._folded = not self._folded
        self.show_lines(self._lines)
