"""The question before a person's own model file runs: the file itself, what it may do, and the two answers."""

from __future__ import annotations

from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from tpu_studio.domain.sentences.consent import reach, where
from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.dialog import Answer, Consequence, Dialog
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import ink
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.workflow.ownfile import OwnFile

AGREE, DECLINE = "agree", "decline"
_LINES = 15


class ConsentDialog(Dialog):
    """`answered` carries AGREE or DECLINE; the safe answer, and Esc, is not to run it."""

    def __init__(self, own: OwnFile, place: str, parent: QWidget) -> None:
        content = QWidget()
        self.code = _shown(own.text)
        self.code.setAccessibleName(f"Contents of {own.path.name}")
        column = QVBoxLayout(content)
        column.setContentsMargins(0, Space.m, 0, 0)
        column.addWidget(self.code)
        column.addWidget(Text(f"{own.path}\nsha256 {own.sha256[:16]}…", "caption", "text_3"))
        super().__init__(
            f"Let {own.path.name} run {where(place)}?",
            "It is a program. Agree only if you wrote it or trust who did.",
            [
                *(Consequence(words, "triangle-alert", "warn") for words in reach(place)),
                Consequence("After any change to the file you are asked again.", "info", "text_2"),
            ],
            [
                Answer(DECLINE, "Do not run it", safe=True),
                Answer(AGREE, "I agree, run it", "primary", "play"),
            ],
            content=content,
            width=640,
            parent=parent,
        )


def _shown(text: str) -> QPlainTextEdit:
    code = QPlainTextEdit(text)
    code.setReadOnly(True)
    code.setFont(fonts.font("mono"))
    code.setTabChangesFocus(True)
    code.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)  # nothing stands out of sight behind many spaces
    palette = code.palette()
    palette.setColor(palette.ColorRole.Base, ink("neutral_tint"))
    palette.setColor(palette.ColorRole.Text, ink("text"))
    code.setPalette(palette)
    code.setMinimumHeight(int(QFontMetricsF(code.font()).lineSpacing() * _LINES))
    return code
