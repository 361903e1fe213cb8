"""Rows: the summary of a finished section, notes and warnings with one action, and the checklist row."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Icon, IconTile
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px, theme
from tpu_studio.gui.kit.tokens import Height, Radius, Space

NoteKind = Literal["accent", "warn", "bad", "ok", "neutral"]

_NOTE_ICON = {
    "accent": "lightbulb",
    "warn": "triangle-alert",
    "bad": "circle-x",
    "ok": "circle-check",
    "neutral": "info",
}
_NOTE_INK = {"accent": "accent_text", "warn": "warn", "bad": "bad", "ok": "ok", "neutral": "text_2"}


class SummaryRow(Card):
    """A section that is done: icon tile, small label, title, facts, and Change (`change`)."""

    change = Signal()

    def __init__(
        self,
        label: str,
        title: str,
        facts: str = "",
        *,
        icon: str,
        action: str = "Change",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(margins=(15, 9, 15, 9), parent=parent)
        self._tile = IconTile(icon, side=40, icon_size=20)
        self._label = Line(label, "caption-medium", "text_2")
        self._title = Text(title, "section")
        self._facts = Text(facts, "secondary", "text_2", numbers=True)
        self.button = Button(action, size="small", name=f"{action} {label.lower()}")
        self.button.clicked.connect(self.change)
        names = QVBoxLayout()
        names.setSpacing(0)
        names.addWidget(self._label)
        names.addWidget(self._title)
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(self._tile)
        row.addLayout(names, 5)
        row.addWidget(self._facts, 6, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.button)
        self.body.addLayout(row)

    def set_summary(self, title: str, facts: str = "", icon: str | None = None) -> None:
        self._title.setText(title)
        self._facts.setText(facts)
        if icon is not None:
            self._tile.set_icon(icon)


class Note(Themed, QFrame):
    """A tinted row: a thing to know (`accent`), to look at (`warn`), gone wrong (`bad`), or good (`ok`).

    With *action* a button stands right and `acted` fires. Give the repair as a verb: "Use 1,024". *closes*: it has a
    cross, and `closed` fires.
    """

    acted = Signal()
    closed = Signal()

    def __init__(
        self,
        title: str,
        text: str = "",
        kind: NoteKind = "accent",
        *,
        action: str = "",
        icon: str = "",
        closes: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._kind: NoteKind = kind
        self.title = Text(title, "label-strong")
        self.text = Text(text, "caption", "text_2")
        if not text:
            self.text.hide()
        self._icon = Icon(icon or _NOTE_ICON[kind], _NOTE_INK[kind], size=16)
        self.button: Button | None = None
        words = QVBoxLayout()
        words.setSpacing(Space.hair + 1)
        words.addStretch(1)
        words.addWidget(self.title)
        words.addWidget(self.text)
        words.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.l, 10, Space.l - 2, 11)
        row.setSpacing(Space.l)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        if action:
            self.button = Button(action, size="small")
            self.button.clicked.connect(self.acted)
            row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.cross: IconButton | None = None
        if closes:
            self.cross = IconButton("x", "Close this notice", side=26, icon_size=16)
            self.cross.clicked.connect(self.closed)
            row.addWidget(self.cross, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setAccessibleName(f"{title} {text}".strip())
        self.follow_theme()

    def set_words(self, title: str, text: str = "") -> None:
        self.title.setText(title)
        self.text.setText(text)
        self.text.setVisible(bool(text))
        self.setAccessibleName(f"{title} {text}".strip())

    def set_kind(self, kind: NoteKind) -> None:
        """Another meaning, with its icon: a run that ended well, or badly."""
        if kind != self._kind:
            self._kind = kind
            self._icon.set_icon(_NOTE_ICON[kind], _NOTE_INK[kind])
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        line = ink(_NOTE_INK[self._kind]) if theme().high_contrast else None
        paint.outlined(painter, QRectF(self.rect()), Radius.inner, ink(f"{self._kind}_tint"), line)


class CheckRow(Themed, QFrame):
    """A line of a checklist: state icon, title, sentence, then "Done" or a button. *blocking* tints the whole row;
    *link*: a quiet button under the sentence."""

    acted = Signal()
    linked = Signal()

    def __init__(
        self,
        title: str,
        text: str = "",
        *,
        icon: str = "circle-check",
        tone: str = "ok",
        state: str = "",
        action: str = "",
        blocking: bool = False,
        link: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._blocking = blocking
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addStretch(1)
        words.addWidget(Text(title, "row-title"))
        if text:
            words.addWidget(Text(text, "secondary", "text_2"))
        if link:
            page = Button(link, "link", size="small", icon="external-link")
            page.clicked.connect(self.linked)
            words.addWidget(page, 0, Qt.AlignmentFlag.AlignLeft)
        words.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.card, Space.l, Space.card - 2, Space.l)
        row.setSpacing(Space.l)
        row.addWidget(Icon(icon, tone, size=20))
        row.addLayout(words, 1)
        self.button: Button | None = None
        if action:
            self.button = Button(action, "primary" if blocking else "secondary", size="small")
            self.button.clicked.connect(self.acted)
            row.addWidget(self.button)
        elif state:
            row.addWidget(Line(state, "label", "text_2", fit=True))
        self.follow_theme()

    def restyle(self) -> None:
        self.setMinimumHeight(px(Height.checklist_row))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        if self._blocking:
            painter.fillRect(self.rect().adjusted(1, 0, -1, 0), ink("bad_row"))
        if self.y() > 2:  # the first row needs none: it would cross the card's corner
            painter.fillRect(QRectF(0, 0, self.width(), 1), ink("border"))
