"""Learn: the chapters, one of them, or the glossary. Draws `LearnView`."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from tpu_studio.domain.learning import glossary
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import PageHeader
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.focus import TabOrder
from tpu_studio.gui.kit.page import ColumnPage
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.learn.chapter import ChapterBox, ChapterCard, WidgetMaker
from tpu_studio.gui.learn.glossary import GlossaryBox
from tpu_studio.viewmodels.learning import LearnView, LearnViewModel

TITLE = "Learn"
SENTENCE = "What a TPU is and how to train on it, by doing: each step ticks itself when you have really done it."


class LearnPage(ColumnPage):
    """*make* makes the live widgets (`gui.learn.widgets`)."""

    def __init__(self, model: LearnViewModel, make: WidgetMaker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model, self._make = model, make
        self.box: ChapterBox | None = None
        self.glossary: GlossaryBox | None = None
        self._shown = ""
        self._columns = 0
        self.back = Button("All chapters", "link", icon="arrow-left")
        self.back.clicked.connect(lambda: model.show(""))
        self.choice = Segmented([("chapters", "Chapters"), ("glossary", "Glossary")], "chapters", name="Learn")
        self.choice.changed.connect(self._choose)
        self.header = PageHeader(TITLE, SENTENCE, self.choice)
        self.problem = Note("", "", "warn")
        self.cards = [ChapterCard(one) for one in model.state.value.chapters]
        self._list = QWidget()
        self._grid = QGridLayout(self._list)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(Space.gap)
        for card in self.cards:
            card.opened.connect(self.open_chapter)
        self._place = QVBoxLayout()
        column = self.column
        column.addWidget(self.back, 0, Qt.AlignmentFlag.AlignLeft)
        for widget in (self.header, self.problem, self._list):
            column.addWidget(widget)
        column.addLayout(self._place)
        self._tabs = TabOrder(column)
        column.addStretch(1)
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())

    def open_chapter(self, chapter: str) -> None:
        self.choice.set_value("chapters")
        self.model.show(chapter)
        self._draw(self.model.state.value)

    def show_chapters(self) -> None:
        """Their list, or the one that is open; the glossary begins anew with all its entries."""
        self.choice.set_value("chapters")
        if self.glossary is not None:
            self.glossary.search("")
        self._draw(self.model.state.value)

    def show_glossary(self) -> None:
        """All its entries."""
        self.choice.set_value("glossary")
        self._draw(self.model.state.value)
        assert self.glossary is not None
        self.glossary.search("")
        self.glossary.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_term(self, term: str) -> None:
        """The glossary with the entry of *term* alone; clearing the field shows all."""
        self.choice.set_value("glossary")
        self._draw(self.model.state.value)
        assert self.glossary is not None
        self.glossary.search(glossary.glossary()[term].title)
        self.glossary.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _choose(self, what: str) -> None:
        self._draw(self.model.state.value)
        if what == "glossary" and self.glossary is not None:
            self.glossary.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _draw(self, view: LearnView) -> None:
        terms = self.choice.value == "glossary"
        if terms and self.glossary is None:
            self.glossary = GlossaryBox()
            self.glossary.chapter.connect(self.open_chapter)
            self._place.addWidget(self.glossary)
        if self.glossary is not None:
            self.glossary.setVisible(terms)
        shown = view.chapter(view.shown)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self._list.setVisible(not terms and shown is None)
        self.back.setVisible(not terms and shown is not None)
        following = next((one for one in view.chapters if not one.is_over), None)
        for card, one in zip(self.cards, view.chapters, strict=True):
            card.draw(one, one is following)
        self._show_chapter(view)
        if self.box is not None:
            self.box.setVisible(not terms)
        self.header.set_title("Glossary" if terms else shown.chapter.title if shown else TITLE)
        self.header.set_sentence(
            "The field's terms in plain words." if terms else shown.chapter.sentence if shown else SENTENCE
        )
        self._tabs.follow()

    def _show_chapter(self, view: LearnView) -> None:
        shown = view.chapter(view.shown)
        if view.shown != self._shown:
            self._shown = view.shown
            if self.box is not None:
                self.box.hide()
                self.box.setParent(None)
                self.box.deleteLater()
                self.box = None
            if shown is not None:
                widget = self._make(shown.chapter.widget, self._reached) if shown.chapter.widget else None
                self.box = ChapterBox(shown, self.model, widget)
                self._place.addWidget(self.box)
            self.scroller.verticalScrollBar().setValue(0)
        elif shown is not None and self.box is not None:
            self.box.draw(shown)

    def _reached(self, goal: str) -> None:
        self.model.happened("widget", subject=goal)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        columns = 2 if self.width() >= soft_px(720) else 1
        if columns != self._columns:
            self._columns = columns
            for place, card in enumerate(self.cards):
                self._grid.addWidget(card, place // columns, place % columns)
            for column in range(2):
                self._grid.setColumnStretch(column, 1 if column < columns else 0)
