"""One step of a chapter as a card: its state, its words, a question where it asks one, and its button."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, clear_layout
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.learn.termtext import TermText
from tpu_studio.viewmodels.learning import StepView

ICONS = {
    "done": ("circle-check", "ok", "Done"),
    "going": ("hourglass", "accent", "Going on"),
    "failed": ("circle-x", "bad", "Failed"),
    "stopped": ("circle-alert", "warn", "Ended early"),
    "gone": ("circle-alert", "warn", "Deleted"),
}
TO_DO = ("circle-dashed", "text_2", "To do")
_TOP = Qt.AlignmentFlag.AlignTop


class Question(QWidget):
    """What is asked, an answer a button, and why the one that was given is wrong. `answered` carries its number."""

    answered = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answers: list[Button] = []
        self._question = Text("", "label-strong")
        self._buttons = QWidget()
        self._flow = FlowLayout(self._buttons, gap=Space.m)
        self._wrong = Text("", "secondary", "warn")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.s)
        for widget in (self._question, self._buttons, self._wrong):
            column.addWidget(widget)
        self.hide()

    def draw(self, view: StepView | None) -> None:
        asks = view is not None and bool(view.question) and view.state == "ready"
        self.setVisible(asks)
        if view is None or not asks:
            return
        self._question.setText(view.question)
        self._wrong.setText(view.wrong)
        self._wrong.setVisible(bool(view.wrong))
        if [one.text() for one in self.answers] != list(view.answers):
            clear_layout(self._flow)
            self.answers = [Button(words, size="small") for words in view.answers]
            for number, button in enumerate(self.answers):
                button.clicked.connect(lambda _=False, number=number: self.answered.emit(number))
                self._flow.addWidget(button)


class StepCard(Card):
    """`pressed` and `answered` carry the step's key."""

    pressed = Signal(str)
    answered = Signal(str, int)

    def __init__(self, view: StepView, parent: QWidget | None = None) -> None:
        super().__init__(margins=(18, 14, 18, 15), spacing=Space.m, parent=parent)
        self.key = view.key
        self._view: StepView | None = None
        self._icon = Icon(TO_DO[0], TO_DO[1], size=20)
        self._title = Text("", "row-title", align=Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._text = TermText(view.text, "body", "text_2")
        self._note = Text("", "secondary", "text_2")
        self.question = Question()
        self.question.answered.connect(lambda number: self.answered.emit(self.key, number))
        self.button = Button("")
        self.button.clicked.connect(lambda: self.pressed.emit(self.key))
        words = QVBoxLayout()
        words.setSpacing(Space.s)
        for widget in (self._title, self._text, self.question, self._note):
            words.addWidget(widget)
        words.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(self._icon, 0, _TOP)
        row.addLayout(words, 1)
        self.body.addLayout(row)
        self.draw(view)

    def draw(self, view: StepView) -> None:
        if view == self._view:
            return
        self._view = view
        icon, tone, state = ICONS.get(view.state, TO_DO)
        self._icon.set_icon(icon, tone)
        self._title.setText(f"{view.number}. {view.title}")
        self._note.setText(view.note)
        self._note.setVisible(bool(view.note))
        self.question.draw(view)
        self.button.setVisible(bool(view.button))
        self.button.setText(view.button)
        self.button.set_kind("primary" if view.now else "secondary")
        self.button.setAccessibleName(f"{view.button}: {view.title}")
        self.setAccessibleName(f"Step {view.number}, {state}: {view.title}")
