"""The receipt as a sheet: what was made, what it cost, the proof of its end, and what stays."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.card import Divider, Scroll
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.review import WIDTH
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.receipt import FILE
from tpu_studio.viewmodels.review import PRACTICE, Fact
from tpu_studio.viewmodels.runstate import RunPageState


class ReceiptLine(QWidget):
    """What it is, below it a word to it, and at the right what it came to."""

    def __init__(self, fact: Fact, *, is_total: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(Text(fact.label, "section" if is_total else "label"))
        if fact.more:
            words.addWidget(Text(fact.more, "caption", "text_2", numbers=True))
        role = "section" if is_total else "label-strong"
        self.amount = Text(fact.value, role, numbers=True, align=Qt.AlignmentFlag.AlignRight)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.xl)
        row.addLayout(words, 3)
        row.addWidget(self.amount, 2, Qt.AlignmentFlag.AlignTop)


def show_receipt(over: QWidget, state: RunPageState, facts: tuple[Fact, ...], problem: str = "") -> Sheet:
    """*problem*: why it cannot be read."""
    sentence = "What was made, for how long, and what proves its end."
    sheet = Sheet(over, f"Receipt of {state.facts.name}", sentence, width=WIDTH)
    if state.facts.practice:
        sheet.body.addWidget(Note(PRACTICE, "", "accent", icon="flask-conical"))
    if problem:
        sheet.body.addWidget(Note("The receipt cannot be read", problem, "bad"))
    else:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, Space.m, 0)
        column.setSpacing(Space.m)
        for place, fact in enumerate(facts):
            if place:
                column.addWidget(Divider())
            column.addWidget(ReceiptLine(fact, is_total=not place))
        sheet.body.addWidget(Tall(Scroll(inside), lambda width: inside.heightForWidth(width) + 4), 1)
        file = QUrl.fromLocalFile(str(state.folder.joinpath(*FILE)))
        sheet.answer("Open its file", lambda: QDesktopServices.openUrl(file), kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    sheet.open()
    return sheet
