"""The sheet “Show me the commands”, opened from the Review and from the page of a rented run."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit, QWidget

from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.commands import CommandsView, CommandsViewModel

TITLE = "The same launch as gcloud commands"
SENTENCE = (
    "For whoever prefers a terminal, or wants to know what is asked of Google. There is no password or key in it, and "
    "looking at it rents nothing."
)
PRACTICE = "For practice it is only to read: gcloud would ask Google itself."
READING = "Putting the commands together. The data is read once for its checksum…"


def open_commands(over: QWidget, model: CommandsViewModel) -> Sheet:
    sheet = Sheet(over, TITLE, f"{SENTENCE} {PRACTICE}" if model.practice else SENTENCE, width=860)
    problem = Note("", "", "bad")
    saved = Note("", "", "ok")
    text = QPlainTextEdit()
    text.setReadOnly(True)
    text.setTabChangesFocus(True)
    text.setFont(fonts.font("mono"))
    text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    text.setPlaceholderText(READING)
    text.setAccessibleName("The commands")
    for widget in (problem, saved):
        sheet.body.addWidget(widget)
    sheet.body.addWidget(Tall(text, lambda _: soft_px(440)), 1)

    def copy() -> None:
        QGuiApplication.clipboard().setText(model.state.value.text)
        copied.setText("Copied")

    def save() -> None:
        dialog = QFileDialog(sheet, "Where shall the commands go?", model.file_name)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(["Shell script (*.sh)", "All files (*)"])
        dialog.selectFile(model.file_name)
        dialog.fileSelected.connect(lambda path: model.save(Path(path)))
        dialog.open()

    again = sheet.answer("Try again", model.look, kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    keep = sheet.answer("Save as a file…", save, stays=True)
    copied = sheet.answer("Copy it", copy, kind="primary", stays=True)

    def draw(view: CommandsView) -> None:
        problem.setVisible(view.problem is not None)
        if view.problem is not None:
            problem.set_words(view.problem.title, view.problem.text)
        saved.setVisible(bool(view.saved))
        saved.set_words(f"Saved as {Path(view.saved).name}", view.saved)
        again.setVisible(view.problem is not None)
        text.setVisible(bool(view.text) or view.problem is None)
        if text.toPlainText() != view.text:
            text.setPlainText(view.text)
        for button in (keep, copied):
            button.setEnabled(bool(view.text))

    sheet.closed = model.state.subscribe(draw)
    sheet.open()
    model.look()
    return sheet
