"""The receipt as a sheet: what was made, what it cost, the proof of its end, and what stays."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.kit.card import Scroll, clear_layout
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.review import facts_grid
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.receipt import FILE
from tpu_studio.viewmodels.review import PRACTICE, Fact
from tpu_studio.viewmodels.run import RunViewModel


def show_receipt(over: QWidget, model: RunViewModel) -> Sheet:
    """Reads it elsewhere; a receipt that cannot be read says so."""
    state = model.state.value
    sheet = Sheet(over, f"Receipt of {state.facts.name}", "What was made, for how long, and what proves its end.")
    if state.facts.practice:
        sheet.body.addWidget(Note(PRACTICE, "", "accent", icon="flask-conical"))
    inside = QWidget()
    column = QVBoxLayout(inside)
    column.setContentsMargins(0, 0, Space.m, 0)
    column.addWidget(Text("Reading …", "secondary", "text_2"))
    sheet.body.addWidget(Tall(Scroll(inside), lambda width: inside.heightForWidth(width) + 4), 1)

    def shown(facts: tuple[Fact, ...], problem: str) -> None:
        clear_layout(column)
        if problem:
            column.addWidget(Note("The receipt cannot be read", problem, "bad"))
        else:
            column.addLayout(facts_grid(facts))
        sheet.place()

    file = state.folder.joinpath(*FILE)
    sheet.answer(
        "Open its file", lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(file))), kind="quiet", left=True,
        stays=True,
    )  # fmt: skip
    sheet.answer("Close", safe=True)
    sheet.closed = model.read_receipt(shown)
    sheet.open()
    return sheet
