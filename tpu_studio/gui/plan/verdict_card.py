"""The card "Is a TPU worth it?": the answer, its reason in numbers, one press that does it, and the other ways."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.table import Cell, Column, Table
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.waysplot import WaysPlot
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.viewmodels.planverdict import Verdict

_ICONS = {"ok": "circle-check", "accent": "lightbulb", "warn": "triangle-alert"}


class VerdictCard(Card):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(spacing=Space.m, parent=parent)
        self._model = model
        self._shown: Verdict | None = None
        self._selected = ""
        self.more = Button("Other ways", "link", size="small", icon="chevron-down")
        self.more.clicked.connect(lambda: self.unfold(not self.is_unfolded))
        self.title("Is a TPU worth it?", self.more)
        self._icons = {tone: Icon(name, tone, size=18) for tone, name in _ICONS.items()}
        self.answer = Text("", "row-title")
        self.why = Text("", "secondary", "text_2", numbers=True)
        self.action = Button("", size="small")
        self.action.clicked.connect(self._do)
        head = QHBoxLayout()
        head.setSpacing(Space.m)
        for icon in self._icons.values():
            head.addWidget(icon, 0, Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self.answer, 1, Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self.action)
        self.body.addLayout(head)
        self.body.addWidget(self.why)
        self._others = QWidget()
        others = QVBoxLayout(self._others)
        others.setContentsMargins(0, Space.m, 0, 0)
        others.setSpacing(Space.m)
        self.plot = WaysPlot()
        self.plot.chosen.connect(self.select)
        columns = [Column("Place"), Column("Time", 110, "number"), Column("Cost", 120, "number")]
        self.table = Table(columns, name="Ways to train this", all_rows=True)
        self.table.chosen.connect(self.select)
        self.table.opened.connect(self._choose)
        self.note = Text("", "caption", "text_3")
        self.choose = Button("", size="small")
        self.choose.clicked.connect(lambda: self._choose(self._selected))
        foot = QHBoxLayout()
        foot.setSpacing(Space.l)
        foot.addWidget(self.note, 1)
        foot.addWidget(self.choose)
        others.addWidget(self.plot)
        others.addLayout(foot)
        others.addWidget(self.table)
        self.body.addWidget(self._others)
        self._others.hide()

    @property
    def is_unfolded(self) -> bool:
        return not self._others.isHidden()

    def unfold(self, open: bool) -> None:
        self._others.setVisible(open)
        self.more.setText("Fewer ways" if open else "Other ways")
        self.more.set_icon("chevron-up" if open else "chevron-down")
        if open and self._shown is not None:
            self._draw_ways(self._shown)

    def draw(self, view: PlanView) -> None:
        verdict = view.verdict
        self.setVisible(verdict is not None)
        if verdict is None or verdict == self._shown:
            return
        self._shown = verdict
        for tone, icon in self._icons.items():
            icon.setVisible(tone == verdict.tone)
        self.answer.setText(verdict.answer)
        self.why.setText(verdict.why)
        self.action.setVisible(bool(verdict.action))
        self.action.setText(verdict.action)
        self.more.setVisible(bool(verdict.ways))
        if not verdict.ways:
            self.unfold(False)
        if self.is_unfolded:
            self._draw_ways(verdict)

    def select(self, key: str) -> None:
        """Point to one way, in plot and table alike."""
        if key and key != self._selected:
            self._selected = key
            if self._shown is not None:
                self._draw_selected(self._shown)

    def _draw_ways(self, verdict: Verdict) -> None:
        rows = []
        for way in verdict.ways:
            tone = "" if way.best or way.planned else "text_3"
            name = f"{way.name} (as planned)" if way.planned else way.name
            cells = [Cell(name, strong=way.planned, tone=tone), Cell(way.time, tone=tone), Cell(way.cost, tone=tone)]
            rows.append((way.key, cells))
        self.table.set_rows(rows)
        self._draw_selected(verdict)

    def _draw_selected(self, verdict: Verdict) -> None:
        way = next((way for way in verdict.ways if way.key == self._selected), None)
        self.plot.set_ways(verdict.ways, way.key if way else "")
        joined = sum(one.best for one in verdict.ways) > 1
        line = " Joined by a line: nothing else is both quicker and cheaper." if joined else ""
        ask = " Choose a row or a point to plan it so." if way is None else ""
        self.note.setText(f"Ring: as planned.{line}{ask}")
        self.choose.setVisible(way is not None)
        self.choose.setEnabled(way is not None and not way.planned)
        self.choose.setText("As planned" if way is None or way.planned else f"Plan it for {way.name}")

    def _choose(self, key: str) -> None:
        way = next((way for way in self._shown.ways if way.key == key), None) if self._shown else None
        if way is not None and not way.planned:
            self._model.apply(way.changes)

    def _do(self) -> None:
        if self._shown is not None and self._shown.changes:
            self._model.apply(self._shown.changes)
