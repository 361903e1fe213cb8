"""A question in front of something costly or lasting: the title is the question, the buttons are the answers.

The list says what will happen, what is kept and what it costs. The safe answer has the focus, so Enter is never costly.
Use `open()` and the signal `answered`; `exec()` would stop everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button, Kind
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, ink, soft_px
from tpu_studio.gui.kit.tokens import Space


@dataclass(frozen=True)
class Answer:
    """*safe*: has the focus, and is what Esc means. Exactly one answer of a dialog is safe."""

    key: str
    text: str
    kind: Kind = "secondary"
    icon: str = ""
    safe: bool = False
    left: bool = False  # stands apart at the left: the rare, harsher way


@dataclass(frozen=True)
class Consequence:
    text: str
    icon: str = "check"
    tone: str = "ok"


class Dialog(Themed, QDialog):
    answered = Signal(str)

    def __init__(
        self,
        question: str,
        text: str = "",
        consequences: Sequence[Consequence | str] = (),
        answers: Sequence[Answer] = (),
        *,
        content: QWidget | None = None,
        width: int = 560,
        parent: QWidget | None = None,
    ) -> None:
        """*content* stands between the list and the buttons (a field to type into, for instance)."""
        super().__init__(parent)
        if sum(answer.safe for answer in answers) != 1:
            raise ValueError("one answer of a dialog must be the safe one")
        self.setModal(True)
        self.setWindowTitle(question)
        self.setAccessibleName(question)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._safe = next(answer.key for answer in answers if answer.safe)
        self.buttons: dict[str, Button] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.xxl, Space.xxl - 2, Space.xxl, Space.xxl - 4)
        column.setSpacing(Space.m)
        column.addWidget(Text(question, "card-title"))
        if text:
            column.addWidget(Text(text, "body", "text_2"))
        for item in consequences:
            it = item if isinstance(item, Consequence) else Consequence(item)
            row = QHBoxLayout()
            row.setSpacing(Space.l)
            row.addWidget(Icon(it.icon, it.tone, size=16), 0, Qt.AlignmentFlag.AlignTop)
            row.addWidget(Text(it.text, "body", numbers=True), 1)
            column.addLayout(row)
        if content is not None:
            column.addWidget(content)
        column.addSpacing(Space.l)
        column.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(Space.m)
        for answer in (it for it in answers if it.left):
            row.addWidget(self._button(answer))
        row.addStretch(1)
        for answer in (it for it in answers if not it.left):
            row.addWidget(self._button(answer))
        column.addLayout(row)
        self._wide = width
        self.follow_theme()
        self.buttons[self._safe].setFocus(Qt.FocusReason.OtherFocusReason)

    def _button(self, answer: Answer) -> Button:
        button = Button(answer.text, answer.kind, icon=answer.icon)
        button.setAutoDefault(answer.safe)
        button.setDefault(answer.safe)
        button.clicked.connect(lambda _on=False, key=answer.key: self._answer(key))
        self.buttons[answer.key] = button
        return button

    def restyle(self) -> None:
        wide = soft_px(self._wide)
        self.setFixedWidth(wide)
        layout = self.layout()
        if layout is not None:
            self.resize(wide, layout.totalHeightForWidth(wide))
            self.setMinimumHeight(layout.totalHeightForWidth(wide))

    def _answer(self, key: str) -> None:
        self.answered.emit(key)
        if key == self._safe:
            super().reject()
        else:
            self.accept()

    def reject(self) -> None:
        """Esc and the window's own close button mean the safe answer."""
        self._answer(self._safe)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        painter.fillRect(self.rect(), ink("card"))
        paint.outlined(painter, QRectF(self.rect()), 2, None, ink("border_strong"))
