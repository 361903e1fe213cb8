"""What is dropped on the Plan page's data: data is taken; a run or a job is left to the window, which opens it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from tpu_studio.gui.plan.dropzone import SAMPLE, DropZone
from tpu_studio.wire.resources import resource_path


@pytest.mark.parametrize(
    ("names", "taken"),
    [(["pictures"], True), (["run-k3f7"], False), (["hands.tpujob"], False), (["pictures", "pictures"], False)],
)
def test_only_data_is_taken_as_data(qtbot: QtBot, tmp_path: Path, names: list[str], taken: bool) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "run-k3f7").mkdir()
    (tmp_path / "run-k3f7" / "plan.json").write_text("{}")
    (tmp_path / "hands.tpujob").write_text("format = 1\n")
    zone = DropZone()
    qtbot.addWidget(zone)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / name)) for name in names])
    entering = QDragEnterEvent(
        QPoint(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(zone, entering)
    assert entering.isAccepted() is taken


def test_data_on_another_computer_is_left_to_the_window_which_refuses_it(qtbot: QtBot) -> None:
    zone, data = DropZone(), QMimeData()
    qtbot.addWidget(zone)
    data.setUrls([QUrl("file://host/share/rows.csv")])
    held = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    entering = QDragEnterEvent(QPoint(5, 5), *held)
    QApplication.sendEvent(zone, entering)
    assert not entering.isAccepted()


def test_choosing_begins_in_the_persons_own_folder_then_beside_the_last_data(qtbot: QtBot, tmp_path: Path) -> None:
    zone = DropZone()
    qtbot.addWidget(zone)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    for path, folder in (("", Path.home()), (str(tmp_path / "rows.csv"), tmp_path)):
        zone.set_kind("table", path)
        zone.choose()
        dialog = zone.window().findChild(QFileDialog)
        assert dialog is not None and Path(dialog.directory().absolutePath()) == folder
        dialog.setParent(None)
        dialog.deleteLater()


def test_tables_and_texts_are_chosen_as_a_file_or_as_a_folder(qtbot: QtBot) -> None:
    zone = DropZone()
    qtbot.addWidget(zone)
    zone.show()
    shown = {}
    for kind in ("images", "table", "text"):
        zone.set_kind(kind)
        shown[kind] = zone.folder.isVisible()
    assert shown == {"images": False, "table": True, "text": True}
    for button, mode in (
        (zone.button, QFileDialog.FileMode.ExistingFile),
        (zone.folder, QFileDialog.FileMode.Directory),
    ):
        button.click()
        dialog = zone.window().findChild(QFileDialog)
        assert dialog is not None and dialog.fileMode() == mode
        if mode == QFileDialog.FileMode.ExistingFile:
            assert {"*.csv", "*.jsonl", "*.parquet"} <= set(dialog.nameFilters()[0].split("(")[1].strip(")").split())
        dialog.setParent(None)
        dialog.deleteLater()


def test_a_sample_is_called_one_and_no_path_goes_up_and_down_again(qtbot: QtBot) -> None:
    zone = DropZone()
    qtbot.addWidget(zone)
    zone.set_kind("table", str(resource_path("examples") / ".." / "samples" / "diamonds" / "diamonds.csv"))
    assert (zone._title.text(), zone._text.text()) == ("diamonds.csv", SAMPLE)
    zone.set_kind("table", "/home/a/jobs/../data/b.csv")
    assert zone._text.text() == "/home/a/data/b.csv"
