"""Home: the question, the ways to run, what goes on, the examples, and the latest runs. Draws `HomeView`.

It is the window's first picture, and runs are known only after that: what shows runs is made when there is one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.home.cards import ExampleCard, FreeStrip, WayCard
from tpu_studio.gui.kit import focus
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, PageHeader, Scroll
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import controller, soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.engine import SIZE
from tpu_studio.viewmodels.home import HomeView, HomeViewModel, Way
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.wire import places

if TYPE_CHECKING:
    from tpu_studio.gui.home.first import FirstCard
    from tpu_studio.gui.home.strip import LiveStrip
    from tpu_studio.gui.runs.table import RunTable
    from tpu_studio.viewmodels.learning import LearnViewModel


class HomePage(QWidget):
    def __init__(self, model: HomeViewModel, shell: ShellViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model, self._shell = model, shell
        self.computer = WayCard(
            "laptop",
            "ok",
            ("Free", "ok"),
            "This computer",
            "Train small models right here. The best way to check that your data and settings work.",
            button="Train on this computer",
            primary=True,
        )
        self.computer.pressed.connect(shell.new_run)
        self.practice = WayCard(
            "flask-conical",
            "accent",
            ("Free · nothing is real", "ok"),
            "Practice cloud",
            "Rehearse every cloud step, from asking for a TPU to cleaning up, without an account or a bill.",
        )
        self.cloud = WayCard(
            "cloud",
            "violet",
            ("Paid by the second", "neutral"),
            "Google Cloud TPU",
            "Train big models fast on real TPU chips. You set the most you want to spend first.",
        )
        self.open_account: Callable[[str], None] = lambda place: shell.go("account")
        self.practice.pressed.connect(lambda: self._go(places.rehearsing().id, model.state.value.practice))
        self.cloud.pressed.connect(lambda: self._go(places.charging().id, model.state.value.cloud))
        ways = QHBoxLayout()
        ways.setSpacing(Space.xl)
        self._cards = (self.computer, self.practice, self.cloud)
        for card in self._cards:
            ways.addWidget(card, 1)

        lends = places.lending()
        self.free = FreeStrip(
            lends.icon,
            "No budget? Use a free TPU in Colab",
            "We write the notebook for you: run it in your browser, then bring its zip home as a run. A Google account "
            "is enough.",
            "Plan a free Colab run",
        )
        self.free.button.clicked.connect(lambda: shell.new_run_at(lends.id))

        self._examples_title = Line("Start with an example", "section")
        self.examples: list[ExampleCard] = []
        self._example_grid = QGridLayout()
        self._example_grid.setSpacing(Space.gap)
        self._columns = 0

        self._all = Button("See all runs", "link")
        self._all.clicked.connect(lambda: shell.go("runs"))
        self._recent_head = QWidget()
        head = QHBoxLayout(self._recent_head)
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(Line("Recent runs", "section"), 1)
        head.addWidget(self._all)
        self._recent = Card(margins=1, spacing=0)
        self._none = Card(margins=(20, 18, 20, 18), spacing=2)
        self._none.body.addWidget(Text("No runs yet", "row-title"))
        self._none.body.addWidget(
            Text(
                "Your first one takes about two minutes and costs nothing. Handwritten digits is a good start.",
                "secondary",
                "text_2",
            )
        )
        self._none.hide()

        self._examples_box = QWidget()
        box = QVBoxLayout(self._examples_box)
        box.setContentsMargins(0, Space.xxl, 0, 0)
        box.setSpacing(Space.l)
        box.addWidget(self._examples_title)
        box.addLayout(self._example_grid)
        self._recent_box = QWidget()
        box = QVBoxLayout(self._recent_box)
        box.setContentsMargins(0, Space.card, 0, 0)
        box.setSpacing(Space.m)
        box.addWidget(self._recent_head)
        box.addWidget(self._recent)
        box.addWidget(self._none)

        inside = QWidget()
        self._column = column = QVBoxLayout(inside)
        self._tabs = focus.TabOrder(column)
        column.setContentsMargins(Space.page, 26, Space.page, Space.page)
        column.setSpacing(0)
        column.addWidget(
            PageHeader(
                "What would you like to train?",
                "Start free on this computer, then send the same run to a Cloud TPU when you need more speed.",
            )
        )
        column.addSpacing(Space.title)
        self._first_box = QVBoxLayout()
        column.addLayout(self._first_box)
        column.addLayout(ways)
        column.addSpacing(Space.gap)
        column.addWidget(self.free)
        self._live_box = QWidget()
        self._live_box.hide()
        box = QVBoxLayout(self._live_box)
        box.setContentsMargins(0, Space.gap, 0, 0)
        box.setSpacing(Space.gap)
        column.addWidget(self._live_box)
        self._first: FirstCard | None = None
        self._learn: LearnViewModel | None = None
        self._boxes_at = column.count()
        column.addWidget(self._examples_box)
        column.addWidget(self._recent_box)
        column.addStretch(1)
        self._scroll = Scroll(inside)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._scroll)
        self._end = model.state.subscribe(self._draw)
        controller().changed.connect(self._lay_later)
        self.destroyed.connect(lambda: self._end())

    def _go(self, place: str, way: Way) -> None:
        if way.leads_to == "plan":
            self._shell.new_run_at(place)
        elif way.leads_to == "account":
            self.open_account(place)
        else:
            self._shell.go(way.leads_to)

    @functools.cached_property
    def strips(self) -> list[LiveStrip]:
        """Two, for what goes on."""
        from tpu_studio.gui.home.strip import LiveStrip

        made = [LiveStrip(), LiveStrip()]
        box = self._live_box.layout()
        assert box is not None
        for strip in made:
            strip.watch.connect(self._open_run)
            box.addWidget(strip)
        self._tabs.follow()
        return made

    def offer(self, learn: LearnViewModel) -> None:
        """The first chapter of Learn, until it is done or turned down; comes after the first picture."""
        self._learn = learn
        end = learn.state.subscribe(lambda _: self._draw_first())
        self.destroyed.connect(lambda: end())

    def _draw_first(self) -> None:
        learn, view = self._learn, self._model.state.value
        if learn is None or (first := learn.state.value.first) is None:
            return
        put_off = learn.state.value.put_off
        offered = not first.is_over and not put_off and (view.empty or first.done > 0)
        if offered and self._first is None:
            self._first = self._make_first(learn, first.chapter.id)
        self.computer.button.set_kind("secondary" if offered else "primary")
        if self._first is not None:
            self._first.setVisible(offered)
            self._first.draw(first, setup_words(view))

    def _make_first(self, learn: LearnViewModel, chapter: str) -> FirstCard:
        from tpu_studio.gui.home.first import FirstCard

        card = FirstCard()
        card.begun.connect(lambda: self._begin_first(learn))
        card.learn.connect(lambda: self._to_chapter(learn, chapter))
        card.put_off.connect(learn.put_off)
        self._first_box.addWidget(card)
        self._first_box.addSpacing(Space.xl)
        self._tabs.follow()
        return card

    def _begin_first(self, learn: LearnViewModel) -> None:
        if (first := learn.state.value.first) is not None and first.now is not None:
            if first.now.button:
                learn.press(first.now.key)
            else:
                self._to_chapter(learn, first.chapter.id)

    def _to_chapter(self, learn: LearnViewModel, chapter: str) -> None:
        learn.show(chapter)
        self._shell.go("learn")

    @functools.cached_property
    def table(self) -> RunTable:
        """The latest runs."""
        from tpu_studio.gui.runs.table import RunTable

        made = RunTable(fit=True)
        made.opened.connect(self._open_run)
        self._recent.body.addWidget(made)
        self._tabs.follow()
        return made

    def _open_run(self, run: str) -> None:
        row = self._model.state.value.runs.row(run)
        self._shell.open_run(run, row.name if row else "")

    def _draw(self, view: HomeView) -> None:
        self._draw_first()
        self.computer.set_ready(*view.ready_line)
        self.practice.set_way(view.practice)
        self.cloud.set_way(view.cloud)
        self._lay_cards()
        self._live_box.setVisible(bool(view.live))
        if view.live or "strips" in self.__dict__:
            for place, strip in enumerate(self.strips):
                if place < len(view.live):
                    strip.show_run(view.live[place])
                strip.setVisible(place < len(view.live))
        if tuple(card.example for card in self.examples) != view.examples:
            self._make_examples(view)
        self._examples_title.setVisible(bool(view.examples))
        if view.recent or "table" in self.__dict__:
            self.table.set_rows(view.recent)
        self._recent_head.setVisible(bool(view.recent) or view.empty)
        self._all.setVisible(bool(view.recent))
        self._recent.setVisible(bool(view.recent))
        self._none.setVisible(view.empty)
        first = self._recent_box if view.recent else self._examples_box  # who has runs looks for them first
        if self._column.itemAt(self._boxes_at).widget() is not first:  # type: ignore[union-attr]
            self._column.removeWidget(first)
            self._column.insertWidget(self._boxes_at, first)
            self._tabs.follow()

    def _make_examples(self, view: HomeView) -> None:
        for card in self.examples:
            card.deleteLater()
        self.examples = []
        for example in view.examples:
            card = ExampleCard(example)
            card.clicked.connect(lambda _=False, e=example: self._shell.open_job(e.path))
            self.examples.append(card)
        self._columns = 0
        self._lay_examples()

    def _lay_cards(self) -> None:
        """All pills beside their tiles, or all under them where one would not fit: the cards stay equally wide."""
        scroll = self._scroll.verticalScrollBar().sizeHint().width()
        room = (self.width() - scroll - 2 * Space.page - (len(self._cards) - 1) * Space.xl) // len(self._cards)
        stacked = any(card.head_width > room for card in self._cards)
        for card in self._cards:
            card.set_stacked(stacked)

    def _lay_examples(self) -> None:
        """Four in a row, two by two where four would be too narrow for their words."""
        columns = 4 if self.width() >= soft_px(1080) else 2
        if columns == self._columns:
            return
        self._columns = columns
        for place, card in enumerate(self.examples):
            self._example_grid.addWidget(card, place // columns, place % columns)
        for column in range(4):
            self._example_grid.setColumnStretch(column, 1 if column < columns else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay()

    def _lay_later(self) -> None:
        """Once every widget has taken the new size of text."""
        QTimer.singleShot(0, self, self._lay)

    def _lay(self) -> None:
        self._lay_cards()
        self._lay_examples()


def setup_words(view: HomeView) -> str:
    """What the first run needs besides, with its size; "" where it is there."""
    return f"the training engine, {SIZE}; that takes some minutes." if view.engine.status == "missing" else ""
