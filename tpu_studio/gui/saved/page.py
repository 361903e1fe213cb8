"""A run that was saved as one page, opened again: figures, curves and tables, drawn by the window. Draws `SavedView`.

Every text is shown as text: nothing of the file's HTML comes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.card import Card, PageHeader, clear_layout
from tpu_studio.gui.kit.numbers import BigNumberRow
from tpu_studio.gui.kit.page import ColumnPage
from tpu_studio.gui.kit.pill import Pill, PillKind
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import PERCENT, PLAIN, STEPS
from tpu_studio.gui.plots.source import Curve
from tpu_studio.gui.saved.points import SavedCurve
from tpu_studio.viewmodels.onepage import points
from tpu_studio.viewmodels.onepage.data import COMMAND, Section, Told
from tpu_studio.viewmodels.onepage.document import how_many
from tpu_studio.viewmodels.saved import SavedView, SavedViewModel
from tpu_studio.wire.brief import cut

_ROWS = 60  # of a table, at first sight and at all: a page is no spreadsheet
_CELLS = 1_500  # of all tables of a page: each is a label
_CELL_LETTERS, _LETTERS = 300, 100_000  # of a cell, and of all: each change of its width lays all of them out anew
_DOTS = 100  # points up to which each has a dot: what was checked now and then
_TOP = Qt.AlignmentFlag.AlignTop


class SavedPage(ColumnPage):
    def __init__(self, model: SavedViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self.plots: list[Plot] = []
        self.header = PageHeader("Saved page", "")
        self.problem = Note("", "", "warn")
        self._shown: SavedView | None = None
        self._content = QVBoxLayout()
        self._content.setSpacing(Space.l)
        self.column.addWidget(self.header)
        self.column.addWidget(self.problem)
        self.column.addLayout(self._content)
        self.column.addStretch(1)
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())

    def _draw(self, view: SavedView) -> None:
        if view == self._shown:
            return
        self._shown = view
        self.header.set_title(view.title or "Saved page")
        self.header.set_sentence("Reading it…" if view.told is None and view.problem is None else view.sentence)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        clear_layout(self._content)
        self.plots = []
        if view.told is not None:
            self._show(view.told)
        self.scroller.verticalScrollBar().setValue(0)

    def _show(self, told: Told) -> None:
        word, tone = told.pill
        lead = QHBoxLayout()
        lead.setSpacing(Space.m)
        lead.addWidget(Pill(word, cast(PillKind, tone)), 0, _TOP)
        lead.addWidget(Text(told.lead, "body"), 1)
        self._content.addLayout(lead)
        if told.numbers:
            row = BigNumberRow(*(label for label, *_ in told.numbers), medium=True)
            for label, value, more in told.numbers:
                row.tile(label).set_number(value, "", more)
            self._content.addWidget(row)
        for plot in told.plots:
            self._content.addWidget(self._plot(plot))
        room, letters = _CELLS, _LETTERS
        for section in told.sections:
            count = _fitting(section, room, letters)
            shown = (section.head, *section.rows[:count]) if count else ()
            room, letters = room - sum(map(len, shown)), letters - sum(map(_letters, shown))
            self._content.addWidget(_section_card(section, count))

    def _plot(self, told: points.Plot) -> Card:
        plot = Plot(
            told.title,
            STEPS,
            PERCENT if told.percent else PLAIN,
            waits_for="There is nothing to draw.",
            y_top=1.0 if told.percent else None,
            log=not told.percent,
        )
        plot.set_curves(
            [
                Curve(
                    f"{number}",
                    line.name,
                    SavedCurve.of(line.points),
                    f"s{line.tone}",
                    "noisy" if line.smooth else "points" if line.count <= _DOTS else "line",
                    ended=True,
                )
                for number, line in enumerate(told.lines)
            ]
        )
        plot.set_finding(how_many(told))
        self.plots.append(plot)
        card = Card(margins=(18, 12, 18, 12))
        card.setMinimumHeight(soft_px(280))
        card.body.addWidget(plot, 1)
        return card


def _fitting(section: Section, room: int, letters: int) -> int:
    """How many of the section's rows are shown, where so many cells and *letters* are left."""
    rows = section.rows[:_ROWS]
    cells = accumulate(map(len, rows), initial=len(section.head))
    words = accumulate(map(_letters, rows), initial=_letters(section.head))
    fit = takewhile(lambda sums: sums[0] <= room and sums[1] <= letters, zip(cells, words, strict=True))
    return max(0, sum(1 for _ in fit) - 1)


def _letters(row: Sequence[str]) -> int:
    return sum(min(len(cell), _CELL_LETTERS) for cell in row)


def _section_card(section: Section, count: int) -> Card:
    """*count*: rows that are shown."""
    card = Card()
    card.title(section.title)
    if section.text:
        card.body.addWidget(Text(section.text, "body", "text_2"))
    if count:
        card.body.addLayout(_grid(section, count))
    if left := len(section.rows) - count:
        words = f"and {left:,} more" if count else "1 row" if left == 1 else f"{left:,} rows"
        card.body.addWidget(Text(f"{words}, which a browser shows", "caption", "text_2"))
    if section.code:
        for words in (COMMAND, section.code):
            code = Text(words, "body")
            code.setFont(fonts.font("mono"))
            code.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            card.body.addWidget(code)
    return card


def _grid(section: Section, count: int) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(Space.xl)
    grid.setVerticalSpacing(Space.m)
    rows = [section.head] if section.head else []
    for number, row in enumerate([*rows, *section.rows[:count]]):
        strong = bool(section.head) and number == 0
        for column, cell in enumerate(row):
            tone = "text_2" if column == 0 or strong else "text"
            grid.addWidget(
                Text(cut(cell, _CELL_LETTERS), "label" if column == 0 or strong else "body", tone), number, column, _TOP
            )
    for column in range(max(map(len, section.rows[:count]))):
        grid.setColumnStretch(column, column)
    return grid
