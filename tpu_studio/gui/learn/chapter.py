"""A chapter: what it teaches, its live widget, its steps, and where its facts come from; and its card in the list."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.states import NumberMark
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.learn.steps import StepCard
from tpu_studio.viewmodels.learning import ChapterView, LearnViewModel

_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ChapterCard(Card):
    """Number, title, sentence, minutes, how far it is; its button opens it (`opened` carries the id)."""

    opened = Signal(str)

    def __init__(self, view: ChapterView, parent: QWidget | None = None) -> None:
        super().__init__(margins=(18, 15, 18, 15), spacing=Space.m, parent=parent)
        chapter = view.chapter
        self.setAccessibleName(f"Chapter {chapter.number}: {chapter.title}")
        self._pill = Pill("", "accent")
        head = QHBoxLayout()
        head.setSpacing(Space.m)
        head.addWidget(NumberMark(chapter.number))
        head.addWidget(Text(chapter.title, "section", align=_MIDDLE), 1)
        head.addWidget(self._pill)
        self.body.addLayout(head)
        self.body.addWidget(Text(chapter.sentence, "secondary", "text_2"))
        self.body.addStretch(1)
        self.button = Button("", size="small")
        self.button.clicked.connect(lambda: self.opened.emit(chapter.id))
        foot = QHBoxLayout()
        foot.addWidget(Text(view.time, "caption", "text_3", align=_MIDDLE), 1)
        foot.addWidget(self.button)
        self.body.addLayout(foot)

    def draw(self, view: ChapterView, is_next: bool) -> None:
        self._pill.set_pill(view.word or "New", "ok" if view.is_over else "accent" if view.word else "neutral")
        words = "Look again" if view.is_over else "Go on" if view.done else "Begin"
        self.button.setText(words)
        self.button.setAccessibleName(f"{words}: {view.chapter.title}")
        self.button.set_kind("primary" if is_next else "secondary")


class ChapterBox(QWidget):
    """*widget* is its live widget, or None."""

    def __init__(self, view: ChapterView, model: LearnViewModel, widget: QWidget | None) -> None:
        super().__init__()
        chapter = view.chapter
        self.widget = widget
        learns = Text(f"What you will see: {', '.join(chapter.learns)}.", "secondary", "text_2")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.l)
        column.addWidget(learns)
        if widget is not None:
            column.addWidget(widget)
        self.steps = [StepCard(step) for step in view.steps]
        for card in self.steps:
            card.pressed.connect(model.press)
            card.answered.connect(model.answer)
            column.addWidget(card)
        self.over = Note("", "", "ok", action="All chapters")
        self.over.acted.connect(lambda: model.show(""))
        column.addWidget(self.over)
        foot = QHBoxLayout()
        foot.setSpacing(Space.l)
        sources = " · ".join(chapter.sources)
        foot.addWidget(Text(f"From: {sources}", "caption", "text_3", align=_MIDDLE), 1)
        self.anew = Button("Begin this chapter anew", "quiet", size="small")
        self.anew.clicked.connect(lambda: model.begin_anew(chapter.id))
        foot.addWidget(self.anew)
        column.addLayout(foot)
        self.draw(view)

    def draw(self, view: ChapterView) -> None:
        for card, step in zip(self.steps, view.steps, strict=True):
            card.draw(step)
        self.over.setVisible(view.is_over)
        self.over.set_words(f"{view.chapter.title} is done", f"You have seen: {', '.join(view.chapter.learns)}.")
        self.anew.setVisible(view.done > 0)


WidgetMaker = Callable[[str, Callable[[str], None]], QWidget]
"""Makes the live widget of an id; it calls what is handed over with each goal that is reached."""
