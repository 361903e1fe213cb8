"""What is dropped on the Plan page's data: data is taken; a run or a job is left to the window, which opens it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tpu_studio.gui.plan.dropzone import DropZone


@pytest.mark.parametrize(("name", "taken"), [("pictures", True), ("run-k3f7", False), ("hands.tpujob", False)])
def test_only_data_is_taken_as_data(qtbot: QtBot, tmp_path: Path, name: str, taken: bool) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "run-k3f7").mkdir()
    (tmp_path / "run-k3f7" / "plan.json").write_text("{}")
    (tmp_path / "hands.tpujob").write_text("format = 1\n")
    zone = DropZone()
    qtbot.addWidget(zone)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / name))])
    entering = QDragEnterEvent(
        QPoint(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(zone, entering)
    assert entering.isAccepted() is taken
