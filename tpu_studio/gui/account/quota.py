"""The map of quota: by generation, area and tier; zeros are "none allowed", not empty bars. And what was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.bars import QuotaBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, Divider, clear_layout
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.pill import Icon, Pill
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.account import AccountViewModel
from tpu_studio.viewmodels.accountview import ANSWERED, AccountView, QuotaGroup, QuotaRow, request_words
from tpu_studio.workflow.account.ports import QuotaRequest

NEAR = 3
_STATES = {
    "waiting": ("Waiting", "neutral"),
    "granted": ("Granted", "ok"),
    "partly": ("Partly granted", "warn"),
    "denied": ("Denied", "bad"),
}

_TODAY = "You can start today"


class QuotaCard(Card):
    """*ask* gets the `QuotaRow` that more is wanted of; *start_today* is the way on while Google has not answered."""

    def __init__(
        self,
        model: AccountViewModel,
        ask: Callable[[QuotaRow], None],
        start_today: Callable[[], None],
        *,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent=parent)
        self._model, self._ask = model, ask
        self._view = AccountView()
        self._drawn: object = None
        self.extent = Segmented([("near", "Best zones"), ("all", "All zones")], "near", name="Which zones", small=True)
        self.extent.changed.connect(lambda _: self.draw(self._view))
        self.title("TPU quota", self.extent)
        self.body.addWidget(
            Text(
                "How many chips Google allows your project, by generation and zone, for v5e also by size. Spot is "
                "cheaper, and Google may take it back.",
                "secondary",
                "text_2",
            )
        )
        self.groups = QVBoxLayout()
        self.groups.setSpacing(Space.l)
        self.body.addLayout(self.groups)
        self.today = Note(_TODAY, "Practice costs nothing; so does a TPU in Colab.", "accent", action="Ways to run")
        self.today.acted.connect(start_today)
        self.body.addSpacing(Space.s)
        self.body.addWidget(self.today)
        self.body.addStretch(1)

    def draw(self, view: AccountView) -> None:
        self._view = view
        self.today.setVisible(not view.ready)
        free = "This computer" if view.bare else "Practice"  # where nothing is set up, no practice run can start
        self.today.set_words(_TODAY, f"{free} costs nothing; so does a TPU in Colab.")
        state = (view.quota, view.requests, view.quota_reading, view.signed_in, self.extent.value, view.choices)
        if state == self._drawn:
            return
        self._drawn = state
        clear_layout(self.groups)
        if not view.quota:
            self.groups.addWidget(Text(self._why_empty(view), "body", "text_2"))
        for number, group in enumerate(view.quota):
            if number:
                self.groups.addWidget(Divider())
            self._group(group)
        if view.requests:
            self.groups.addWidget(Divider())
            self.groups.addWidget(Line("Your requests to Google", "row-title"))
            for request in view.requests:
                self.groups.addLayout(_request(request))
            self.groups.addWidget(Text(f"{ANSWERED} Its answer comes by email.", "caption", "text_2"))

    def ask_best(self) -> None:
        """Ask for what a beginner needs first: the first generation's first zone that takes requests; where none does,
        the sheet says why."""
        every = [row for group in self._view.quota for row in group.rows]
        rows = [row for row in every if row.allowance.can_ask] or every
        mine = [row for row in rows if row.zone.startswith(self._view.choices.region)]
        if mine or rows:
            self._ask((mine or rows)[0])

    def _why_empty(self, view: AccountView) -> str:
        if view.quota_reading:
            return "Reading your quota…"
        if not view.signed_in:
            return "Shown once you are signed in."
        if not view.choices.project:
            return "Shown once a project is chosen."
        return "Google does not tell yet. The list at the left says what is missing."

    def _group(self, group: QuotaGroup) -> None:
        head = QHBoxLayout()
        head.setSpacing(Space.m)
        head.addWidget(Line(group.name, "section", fit=True))
        cores = "; Google counts cores, two to a chip" if group.unit == "cores" else ""
        head.addWidget(Line(group.about + cores, "secondary", "text_2"), 1)
        if group.left:
            head.addWidget(Pill(f"{group.left:,} {group.unit} left", "ok"))
        else:
            best = next((row for row in group.rows if row.allowance.can_ask), next(iter(group.rows), None))
            if best is not None:
                button = Button(f"Ask for {group.least} {group.unit}", size="small")
                button.clicked.connect(lambda: self._ask(best))
                head.addWidget(button)
        self.groups.addLayout(head)
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.gap)
        grid.setVerticalSpacing(Space.s)
        grid.setColumnStretch(2, 1)
        near = self.extent.value != "all"
        if near and len(group.rows) > 1 and all(row.allowance.limit == 0 for row in group.rows):
            self._row(grid, 0, group.rows[0], "Every zone", "")
        else:
            for number, row in enumerate(group.rows[:NEAR] if near else group.rows):
                self._row(grid, number, row, row.zone, row.tier)
        self.groups.addLayout(grid)

    def _row(self, grid: QGridLayout, number: int, row: QuotaRow, where: str, tier: str) -> None:
        one = row.allowance
        zone = Line(where, "label")
        zone.setMinimumWidth(px(112))  # so that the bars of all generations begin at one place
        kind = Line(tier, "caption", "text_2", fit=True)
        kind.setMinimumWidth(px(56))
        grid.addWidget(zone, number, 0)
        grid.addWidget(kind, number, 1)
        sizes = f" for {one.sizes}" if one.sizes else ""
        name = f"{one.generation}{sizes} {tier} in {where}".replace("  ", " ")
        grid.addWidget(QuotaBar(one.used or 0, one.limit or 0, name=name), number, 2)
        words = Line(row.words, "label", "text" if one.limit else "text_2", fit=True)
        grid.addWidget(words, number, 3, Qt.AlignmentFlag.AlignRight)


def _request(request: QuotaRequest) -> QHBoxLayout:
    line = QHBoxLayout()
    line.setSpacing(Space.m)
    line.addWidget(Icon("mail", "text_2", size=16))
    line.addWidget(Line(request_words(request), "label"), 1)
    word, kind = _STATES[request.state]
    since = time.strftime(" since %d %b", time.localtime(request.asked)) if request.asked else ""
    line.addWidget(Pill(word + (since if request.state == "waiting" else ""), kind))  # type: ignore[arg-type]
    return line
