"""Save as one page: what stands in it and what does not, before anything is written; then where it goes."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.onepage.page import Page
from tpu_studio.viewmodels.run import RunViewModel

WIDTH = 600


def ask_save(over: QWidget, model: RunViewModel, page: Page) -> Sheet:
    """Nothing is written before a name was chosen."""
    size = figures.size(len(page.data))
    sentence = f"One HTML file of {size} that opens in any browser, without TPU Studio and without the internet."
    sheet = Sheet(over, f"Save {model.plan.job.name} as one page", sentence, width=WIDTH)
    sheet.body.addWidget(Text("Inside", "label"))
    sheet.facts([_line(one) for one in page.inside])
    sheet.body.addWidget(Text("Left out", "label"))
    sheet.facts([_line(one) for one in page.left_out], "x", "text_2")
    sheet.answer("Cancel", safe=True)
    sheet.answer("Save as one page…", lambda: _ask_where(over, model, page), kind="primary", main=True)
    sheet.open()
    return sheet


def _ask_where(over: QWidget, model: RunViewModel, page: Page) -> None:
    dialog = QFileDialog(over, "Where shall the page go?", "", "Web page (*.html)")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("html")
    dialog.selectFile(f"{page.run}.html")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(lambda path: model.save_page(page, Path(path)))
    dialog.open()


def _line(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
