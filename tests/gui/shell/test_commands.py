"""The sheet “Show me the commands”."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.tasks import InlineTasks
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.shell.commands import open_commands
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.commands import CommandsViewModel
from tpu_studio.wire.errors import SignedOut

SCRIPT = "#!/bin/sh\ngcloud compute tpus queued-resources create ts-digits-k3f7-a1-t1\n"


class Maker:
    def __init__(self) -> None:
        self.error: Exception | None = None

    def __call__(self) -> str:
        if self.error is not None:
            raise self.error
        return SCRIPT


def opened(window: QWidget, make: Maker) -> Sheet:
    return open_commands(window, CommandsViewModel(InlineTasks(), "digits", make, practice=True))


def button(sheet: Sheet, words: str) -> Button:
    return next(one for one in sheet.findChildren(Button) if one.text() == words)


def press(qtbot: QtBot, sheet: Sheet, words: str) -> None:
    qtbot.mouseClick(button(sheet, words), Qt.MouseButton.LeftButton)


def test_the_commands_are_read_copied_and_kept(qtbot: QtBot, window: QWidget, tmp_path: Path):
    sheet = opened(window, Maker())
    assert sheet.findChildren(QPlainTextEdit)[0].toPlainText() == SCRIPT
    press(qtbot, sheet, "Copy it")
    assert QGuiApplication.clipboard().text() == SCRIPT
    press(qtbot, sheet, "Save as a file…")
    dialog = sheet.findChildren(QFileDialog)[0]
    dialog.fileSelected.emit(str(tmp_path / "digits-commands.sh"))
    dialog.close()
    assert (tmp_path / "digits-commands.sh").read_text() == SCRIPT
    assert any(note.isVisible() and "Saved" in note.title.text() for note in sheet.findChildren(Note))
    sheet.close()


def test_a_file_that_cannot_be_written_is_told(qtbot: QtBot, window: QWidget, tmp_path: Path):
    model = CommandsViewModel(InlineTasks(), "digits", Maker(), practice=False)
    sheet = open_commands(window, model)
    model.save(tmp_path / "absent" / "x.sh")
    assert model.state.value.problem is not None and model.state.value.text == SCRIPT
    sheet.close()


def test_signed_out_is_told_and_tried_again(qtbot: QtBot, window: QWidget):
    make = Maker()
    make.error = SignedOut("signed-out")
    sheet = opened(window, make)
    assert any(note.isVisible() and "not signed in" in note.title.text() for note in sheet.findChildren(Note))
    assert not button(sheet, "Copy it").isEnabled()
    make.error = None
    press(qtbot, sheet, "Try again")
    assert button(sheet, "Copy it").isEnabled()
    sheet.close()
