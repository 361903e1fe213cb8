"""Files held over a text field: they are for what lies around it, and their address is never written into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from tests.gui.studios import OpenStudio
from tpu_studio.gui.kit.dragged import local_paths
from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.gui.kit.numberedit import DecimalBox, SpinBox
from tpu_studio.gui.run.trypieces import Prompt
from tpu_studio.gui.shell import drops
from tpu_studio.gui.shell.sheet import Sheet


def drop(on: QWidget, text: str, file: Path | None = None) -> bool:
    """As file managers do it: the file's address, and the same as text."""
    data = QMimeData()
    data.setText(text)
    if file is not None:
        data.setUrls([QUrl.fromLocalFile(str(file))])
    return dropped(on, data)


def dropped(on: QWidget, data: QMimeData) -> bool:
    target = on.viewport() if isinstance(on, QPlainTextEdit) else on
    held = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    entering, dropping = QDragEnterEvent(QPoint(5, 5), *held), QDropEvent(QPointF(5, 5), *held)
    QApplication.sendEvent(target, entering)
    if entering.isAccepted():
        QApplication.sendEvent(target, dropping)
    return entering.isAccepted()


def words(of: Any) -> str:
    return str(of.toPlainText() if isinstance(of, QPlainTextEdit) else of.text())


@pytest.mark.parametrize("make", [LineEdit, lambda: SpinBox(3, 1, 9), lambda: DecimalBox(0.5, 0, 1), Prompt])
def test_a_field_takes_words_and_leaves_files_to_what_lies_around(window: QWidget, tmp_path: Path, make: Any) -> None:
    class Around(QWidget):
        got = ""

        def dragEnterEvent(self, event: QDragEnterEvent) -> None:
            event.acceptProposedAction()

        def dropEvent(self, event: QDropEvent) -> None:
            self.got = event.mimeData().urls()[0].toLocalFile()

    around, field = Around(window), make()
    around.setAcceptDrops(True)
    QVBoxLayout(around).addWidget(field)
    around.show()
    before, file = words(field), tmp_path / "rows.csv"
    assert drop(field, file.as_uri(), file)
    assert (words(field), around.got) == (before, str(file))
    if make in (LineEdit, Prompt):
        drop(field, "seven")
        assert words(field) == "seven"


def test_data_dropped_on_a_field_of_the_plan_is_planned_with(studio: OpenStudio, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n2,3\n")
    studio.shell.new_run()
    holder = studio.window.page("plan")
    assert holder is not None
    studio.qtbot.waitUntil(lambda: holder.page is not None, timeout=20_000)
    holder.model.choose_data("digits", None)
    visible = lambda: [line for line in holder.page.findChildren(QLineEdit) if line.isVisible()]  # noqa: E731
    studio.qtbot.waitUntil(lambda: bool(visible()), timeout=20_000)
    line = visible()[0]
    assert drop(line, file.as_uri(), file)
    assert "file:" not in words(line)
    assert studio.shell.state.value.request.data == file


def test_while_something_is_asked_nothing_is_opened_below_it(studio: OpenStudio, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n")
    sheet, name = Sheet(studio.window, "What shall it be called?"), LineEdit("mine")
    sheet.body.addWidget(name)
    sheet.answer("Keep", safe=True)
    sheet.open()
    assert not drop(name, file.as_uri(), file) and not drop(sheet, file.as_uri(), file)
    assert name.text() == "mine" and studio.shell.state.value.page == "home"
    sheet.close()
    assert drop(studio.window, file.as_uri(), file)
    assert studio.shell.state.value.request.data == file


def test_what_lies_on_another_computer_is_refused_in_a_sentence(studio: OpenStudio) -> None:
    data = QMimeData()
    data.setUrls([QUrl("file://host/share/rows.csv")])
    assert dropped(studio.window, data)
    (notice,) = studio.shell.state.value.notices
    assert "rows.csv is on another computer and was not looked for" in notice.text
    assert studio.shell.state.value.page == "home"


def test_an_address_without_a_whole_path_is_nothing(studio: OpenStudio) -> None:
    """It stood for the folder that the program was started in."""
    data = QMimeData()
    data.setUrls([QUrl("file:"), QUrl("file:here.csv")])
    assert local_paths(data) == [] and not dropped(studio.window, data)
    assert studio.shell.state.value.page == "home"


def test_what_moves_over_the_window_is_known_since_it_came_in(
    studio: OpenStudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a hundred thousand files the paths were made at each move of the mouse."""
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    held = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    entering, moving = QDragEnterEvent(QPoint(5, 5), *held), QDragMoveEvent(QPoint(9, 9), *held)
    QApplication.sendEvent(studio.window, entering)
    with monkeypatch.context() as patch:
        patch.setattr(drops, "local_paths", None)
        moving.ignore()
        QApplication.sendEvent(studio.window, moving)
    assert moving.isAccepted()
    QApplication.sendEvent(studio.window, QDropEvent(QPointF(9, 9), *held))
    assert studio.shell.state.value.request.data == file
