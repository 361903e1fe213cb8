"""A note for narrow places: the title and its button in one line where both have room, the sentence under both over
the whole width."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.domain.sentences import say_check
from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.rows import NoteKind
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, ink, px, theme
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.gui.plan.bases import ask_base
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.wire import bases, hub, presets, starters
from tpu_studio.wire.plan import Check

LEVELS: dict[str, NoteKind] = {"error": "bad", "warning": "warn", "info": "neutral"}
_ICONS = {"accent": "package", "warn": "triangle-alert", "bad": "circle-x", "neutral": "info", "ok": "circle-check"}
_INKS = {"accent": "accent_text", "warn": "warn", "bad": "bad", "neutral": "text_2", "ok": "ok"}


class TallNote(Themed, QFrame):
    """`acted` when its button is pressed."""

    acted = Signal()

    def __init__(
        self, title: str, text: str = "", kind: NoteKind = "neutral", action: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._kind: NoteKind = kind
        self.title = Text(title, "label-strong")
        self.text = Text(text, "caption", "text_2")
        self.text.setVisible(bool(text))
        self.button: Button | None = None
        head = self._head = QHBoxLayout()
        head.setSpacing(Space.m)
        head.addWidget(Icon(_ICONS[kind], _INKS[kind], size=16))
        head.addWidget(self.title, 1, Qt.AlignmentFlag.AlignVCenter)
        if action:
            self.button = Button(action, size="small")
            self.button.clicked.connect(self.acted)
            head.addWidget(self.button)
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(Space.l, 8, Space.m, 10)
        column.setSpacing(Space.xs)
        column.addLayout(head)
        column.addWidget(self.text)
        self.setAccessibleName(f"{title} {text}".strip())
        self.follow_theme()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """The button beside the title, or below the words where that would squeeze the title to a third line."""
        if self.button is None:
            return
        beside = self.width() - Space.l - 3 * Space.m - px(16) - self.button.sizeHint().width()
        squeezed = self.title.heightForWidth(max(beside, 1)) > 2 * self.title.minimumSizeHint().height() + 2
        holder = self._column if squeezed else self._head
        if holder.indexOf(self.button) < 0:
            (self._head if squeezed else self._column).removeWidget(self.button)
            holder.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft if squeezed else Qt.AlignmentFlag.AlignVCenter)

    def set_words(self, title: str, text: str = "") -> None:
        self.title.setText(title)
        self._place()
        self.text.setText(text)
        self.text.setVisible(bool(text))
        self.setAccessibleName(f"{title} {text}".strip())

    def paintEvent(self, event: QPaintEvent) -> None:
        line = ink(_INKS[self._kind]) if theme().high_contrast else None
        paint.outlined(paint.open_painter(self), QRectF(self.rect()), Radius.inner, ink(f"{self._kind}_tint"), line)


def note_of(check: Check, model: PlanViewModel) -> TallNote:
    """A check as a note, its repair as the button."""
    said = say_check(check.id, check.title, check.facts)
    fetches, of_hub, of_run = (check.id in one.PROBLEMS for one in (starters, hub, bases))
    picks = of_run or check.id in presets.PROBLEMS
    text = " ".join(part for part in (said.meaning, "" if check.fix or fetches or of_hub else said.action) if part)
    action = planwords.fix_words(check.fix) if check.fix else "Fetch…" if fetches else "Choose…" if picks else ""
    if of_hub:
        action = "Look up…" if check.id == hub.LOOKED_UP else "Download…"
    note = TallNote(said.title, text, LEVELS.get(check.level, "neutral"), action)
    if check.fix:
        note.acted.connect(lambda: model.apply(dict(check.fix or {})))
    elif fetches:
        note.acted.connect(model.fetch_weights)
    elif of_hub:
        note.acted.connect(model.open_model_of_hub)
    elif of_run:
        note.acted.connect(lambda: ask_base(note.window(), model))
    elif picks:
        note.acted.connect(lambda: _pick_folder(note, model))
    return note


def _pick_folder(note: QWidget, model: PlanViewModel) -> None:
    """The dialog outlives the note, which a new plan replaces."""
    dialog = QFileDialog(note.window(), "Choose the folder of pretrained weights", str(Path.home()))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.fileSelected.connect(lambda name: model.apply({"model.preset": name}))
    dialog.open()
