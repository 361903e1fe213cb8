"""The receipt as a sheet: what was made, what it cost, the proof of its end, and what stays."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.kit.card import Scroll
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.review import WIDTH, facts_grid
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.receipt import FILE
from tpu_studio.viewmodels.review import PRACTICE, Fact
from tpu_studio.viewmodels.runstate import RunPageState


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
        column.addLayout(facts_grid(facts))
        sheet.body.addWidget(Tall(Scroll(inside), lambda width: inside.heightForWidth(width) + 4), 1)
        file = QUrl.fromLocalFile(str(state.folder.joinpath(*FILE)))
        sheet.answer("Open its file", lambda: QDesktopServices.openUrl(file), kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    sheet.open()
    return sheet
