"""Save as one page: what stands in it and what does not, before anything is written; then where it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.onepage.page import Page

WIDTH = 600


def ask_save(over: QWidget, what: str, page: Page, name: str, save: Callable[[Page, Path], None]) -> None:
    """Nothing is written before a file was chosen. *name*: what it may be called."""
    size = figures.size(len(page.data))
    sentence = f"One HTML file of {size} that opens in any browser, without TPU Studio and without the internet."
    sheet = Sheet(over, f"Save {what} as one page", sentence, width=WIDTH)
    sheet.body.addWidget(Text("Inside", "label"))
    sheet.facts([_line(one) for one in page.inside])
    sheet.body.addWidget(Text("Left out", "label"))
    sheet.facts([_line(one) for one in page.left_out], "x", "text_2")
    sheet.answer("Cancel", safe=True)
    sheet.answer("Save as one page…", lambda: _ask_where(over, page, name, save), kind="primary", main=True)
    sheet.open()


def _ask_where(over: QWidget, page: Page, name: str, save: Callable[[Page, Path], None]) -> None:
    dialog = QFileDialog(over, "Where shall the page go?", "", "Web page (*.html)")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("html")
    dialog.selectFile(f"{name}.html")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(lambda path: save(page, Path(path)))
    dialog.open()


def _line(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
