"""Pictures of others are decoded by Pillow within our limits, away from the window; Qt's decoders never see one."""

from __future__ import annotations

import ast
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PIL import Image
from pytestqt.qtbot import QtBot

from tests.fakes.fuzz.data import claims_size
from tests.fakes.tasks import LaterTasks
from tpu_studio.gui.bridge import QtTasks
from tpu_studio.gui.run.trypieces import Picture
from tpu_studio.viewmodels import run as runs
from tpu_studio.viewmodels import thumbnails
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.thumbnails import Thumbnail
from tpu_studio.workflow.background import BackgroundLoop

PACKAGE = Path(runs.__file__).resolve().parents[1]
DECODERS = {"QImageReader", "QMovie", "QImageIOHandler", "fromData", "loadFromData", "imageFormat", "addFile"}
LOADS_A_PATH = {"QImage", "QPixmap", "QIcon", "QBitmap", "QPicture"}


def model_with(tasks: Any) -> RunViewModel:
    held = SimpleNamespace(_tasks=tasks)
    held.show_picture = lambda *asked: RunViewModel.show_picture(cast(Any, held), *asked)
    return cast(RunViewModel, held)


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.new("RGB", (300, 200), (200, 30, 30)).save(path)
    return path


def test_no_decoder_of_qt_is_given_a_file_or_bytes_anywhere() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            names = [one.name for one in node.names] if isinstance(node, ast.ImportFrom) else [name]
            if DECODERS & set(names):
                found.append(f"{path.name}: {ast.unparse(node)}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in LOADS_A_PATH and len(node.args) == 1:
                found.append(f"{path.name}: {ast.unparse(node)}")
    assert found == ["canvas.py: QPixmap(self.size() * ratio)"]  # of a size


def test_a_picture_to_try_is_shown_from_its_pixels(qtbot: QtBot, photo: Path) -> None:
    tasks = LaterTasks()
    picture = Picture(model_with(tasks), str(photo), "a photo", 44)
    qtbot.addWidget(picture)
    assert not picture.readable
    tasks.finish_all()
    assert picture.readable and picture._pixmap.width() == picture._pixmap.height() == 88
    assert picture._pixmap.toImage().pixelColor(40, 40).getRgb()[:3] == (200, 30, 30)


def test_a_picture_that_is_forgotten_or_gone_is_not_shown(qtbot: QtBot, photo: Path) -> None:
    tasks = LaterTasks()
    picture = Picture(model_with(tasks), str(photo), "a photo")
    qtbot.addWidget(picture)
    picture.clear()
    tasks.finish_all()
    assert not picture.readable and picture.path == ""
    gone = Picture(model_with(tasks), str(photo), "another")
    ended: list[bool] = []
    gone.destroyed.connect(lambda: ended.append(True))
    gone.deleteLater()
    qtbot.waitUntil(lambda: bool(ended))
    tasks.finish_all()  # would touch a widget that is no more


def test_a_picture_that_takes_long_blocks_no_window(qtbot: QtBot, photo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, where = threading.Event(), []

    def slow(path: str, side: int) -> Thumbnail | None:
        where.append(threading.current_thread())
        assert go_on.wait(30)
        return thumbnails.read(path, side)

    monkeypatch.setattr(runs, "read_picture", slow)
    tasks = QtTasks(BackgroundLoop)
    try:
        picture = Picture(model_with(tasks), str(photo), "a photo")
        qtbot.addWidget(picture)
        picture.show()
        qtbot.waitUntil(lambda: bool(where))
        assert where[0] is not threading.main_thread() and not picture.readable
        go_on.set()
        qtbot.waitUntil(lambda: picture.readable)
    finally:
        go_on.set()
        tasks.stop()


def test_what_unpacks_to_far_more_than_it_is_a_pipe_and_no_picture_show_nothing(tmp_path: Path, photo: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(claims_size(photo.read_bytes(), 60_000, 60_000))
    (tmp_path / "words.png").write_text("no picture")
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><image href="/etc/passwd"/></svg>')
    for name in ("bomb.png", "words.png", "pipe.png", "drawing.svg", "absent.png"):
        assert thumbnails.read(str(tmp_path / name), 88) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "is_file", None)  # nothing is asked of any system
        assert not thumbnails.may_be_picture(Path("//host/share/photo.png"))
    names = ("photo.png", "pipe.png", "drawing.svg", "x" * 5_000 + ".png")
    assert [thumbnails.may_be_picture(tmp_path / name) for name in names] == [True, False, False, False]
