"""The sheet that names the run of a plan."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from tpu_studio.gui.kit.fields import Field, LineEdit
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.wire.job import LONGEST_NAME

_HELP = "The list of runs shows it, and files saved of it begin with it. It can be changed later."


def ask_name(over: QWidget, model: PlanViewModel) -> Sheet:
    sheet = Sheet(over, "What is this run called?", "", width=460)
    edit = LineEdit(model.state.value.name, name="Name")
    edit.setMaxLength(LONGEST_NAME)
    sheet.body.addWidget(Field("Name", edit, help=_HELP))
    sheet.answer("Cancel", safe=True)
    go = sheet.answer("Name it", lambda: model.set_text("name", edit.text().strip()), kind="primary")

    sheet.ask(edit, go)
    sheet.open()
    return sheet
