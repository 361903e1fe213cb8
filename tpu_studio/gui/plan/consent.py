"""The question before a person's own model file runs: the file itself, what it may do, and the two answers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from tpu_studio.domain.sentences.consent import reach, where
from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import ink
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.workflow.ownfile import OwnFile

LONGEST_LINE = 500  # letters
GOES_ON = "⤷ "
_LINES = 15


class ConsentSheet(Sheet):
    """*agree* or *decline* is called once; the safe answer, and Esc, is not to run it."""

    def __init__(
        self, own: OwnFile, place: str, over: QWidget, agree: Callable[[], None], decline: Callable[[], None]
    ) -> None:
        title = f"Let {own.path.name} run {where(place)}?"
        super().__init__(over, title, "It is a program. Agree only if you wrote it or trust who did.", width=640)
        self.facts(reach(place), "triangle-alert", "warn")
        self.facts(["After any change to the file you are asked again."], "info", "text_2")
        self.code = _shown(own.text)
        self.code.setAccessibleName(f"Contents of {own.path.name}")
        lines = int(QFontMetricsF(self.code.font()).lineSpacing() * _LINES)
        self.body.addWidget(Tall(self.code, lambda width: lines), 1)
        self.body.addWidget(Text(f"{own.path}\nsha256 {own.sha256[:16]}…", "caption", "text_3"))
        self.no = self.answer("Do not run it", decline, safe=True)
        self.yes = self.answer("I agree, run it", agree, kind="primary")


def in_pieces(text: str) -> str:
    """*text* with its very long lines taken apart, each piece but the first behind `GOES_ON`: a line is laid out as a
    whole, which of a million letters takes half a minute."""
    return "\n".join(
        f"\n{GOES_ON}".join(line[at : at + LONGEST_LINE] for at in range(0, max(1, len(line)), LONGEST_LINE))
        for line in text.split("\n")
    )


def _shown(text: str) -> QPlainTextEdit:
    code = QPlainTextEdit(in_pieces(text))
    code.setReadOnly(True)
    code.setFont(fonts.font("mono"))
    code.setTabChangesFocus(True)
    code.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)  # nothing stands out of sight behind many spaces
    palette = code.palette()
    palette.setColor(palette.ColorRole.Base, ink("neutral_tint"))
    palette.setColor(palette.ColorRole.Text, ink("text"))
    code.setPalette(palette)
    return code
