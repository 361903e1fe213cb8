"""The glossary on the Learn page: a field to search in, and the entries, each with the terms that it leads to."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.domain.learning import glossary
from tpu_studio.domain.learning.chapters import settings_of, taught_in
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, clear_layout
from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.learn.termtext import TermText

_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_AT_ONCE = 12  # entries laid out before the first picture; the rest follows at once


class Entry(Card):
    """`chapter` carries the id of one that teaches the term."""

    chapter = Signal(str)

    def __init__(self, term: glossary.Term, parent: QWidget | None = None) -> None:
        super().__init__(margins=(18, 13, 18, 14), spacing=Space.xs, parent=parent)
        self.term = term
        self.setAccessibleName(term.title)
        self.body.addWidget(Text(term.title, "row-title"))
        self.body.addWidget(Text(term.hint, "body"))
        self.body.addWidget(TermText(term.text, "secondary", "text_2"))
        if settings := settings_of(term):
            self.body.addWidget(Text(settings, "caption", "text_3"))
        self.chapters: list[Button] = []
        if taught := taught_in(term):
            row = FlowLayout(gap=Space.m)
            row.addWidget(Text("Taught in:", "caption", "text_3", align=_MIDDLE))
            for chapter in taught:
                button = Button(chapter.title, "link", size="small", name=f"Open the chapter {chapter.title}")
                button.clicked.connect(lambda _=False, name=chapter.id: self.chapter.emit(name))
                row.addWidget(button)
                self.chapters.append(button)
            self.body.addLayout(row)


class GlossaryBox(QWidget):
    """`search(words)` shows what fits; everything without words. `chapter` carries the id of one to open."""

    chapter = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = LineEdit(placeholder="Search the glossary", name="Search the glossary", icon="search")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._find)
        self._none = Text("No such term. Try another word, or paste an error text on the Help page.", "body", "text_2")
        self.entries: list[Entry] = []
        self._waiting: list[glossary.Term] = []
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.m)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.l)
        column.addWidget(self.field)
        column.addWidget(self._none)
        column.addLayout(self._list)
        column.addStretch(1)
        self._find("")

    def search(self, words: str) -> None:
        self.field.setText(words)

    def _find(self, typed: str) -> None:
        clear_layout(self._list)
        self.entries = []
        hits = list(glossary.search(typed))
        self._none.setVisible(not hits)
        self._waiting = hits
        self._lay()

    def _lay(self) -> None:
        now, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
        for term in now:
            entry = Entry(term)
            entry.chapter.connect(self.chapter)
            self.entries.append(entry)
            self._list.addWidget(entry)
        if self._waiting:
            QTimer.singleShot(0, self, self._lay)
