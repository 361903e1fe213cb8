"""The card "What happened": the newest lines, and the way to the full log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.events import EventLine, EventList
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.viewmodels.runhappened import Line

SHOWN = 40
_TONES = {"neutral": "text_2", "accent": "accent", "ok": "ok", "warn": "warn", "bad": "bad"}


class _Scrolled(RingFocus, QScrollArea):
    """Takes the focus, for its keys."""


class EventCard(Card):
    def __init__(self) -> None:
        super().__init__(margins=(18, 12, 10, 12))
        self.setMinimumHeight(250)
        self.commands = Button("Show me the commands", kind="link", size="small")
        self.commands.hide()
        self.log = Button("Open full log", kind="link", size="small")
        self.title("What happened", self.commands, self.log, role="plot-title")
        self.list = EventList()
        inner = QWidget()
        inner.setObjectName("scrolled")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 8, 0)
        column.addWidget(self.list)
        column.addStretch(1)
        scroll = _Scrolled()
        scroll.setWidgetResizable(True)
        scroll.setWidget(inner)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setAccessibleName("What happened")
        self.body.addWidget(scroll, 1)
        self._shown: tuple[Line, ...] = ()

    def show_lines(self, lines: Sequence[Line]) -> None:
        shown = tuple(lines[:SHOWN])
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
