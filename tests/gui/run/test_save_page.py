"""Save as one page: offered when a run is over, says what is inside, and writes it where the person says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from tests.fakes.ended import Ended
from tests.fakes.pages import data_of, read
from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tests.gui.run.test_page import Shown, open_page, studio  # noqa: F401  the fixtures
from tpu_studio.gui.kit.text import Text


def test_a_run_is_saved_as_one_page_after_saying_what_is_in_it(
    qtbot: Any,
    studio: Studio,  # noqa: F811
    open_page: Callable[..., Shown],  # noqa: F811
    tmp_path: Path,
) -> None:
    go_on = tmp_path / "go-on"
    studio.trainer[:] = ["--steps", "20", "--at", f"10:hold={go_on}"]
    run = studio.runs.launch(plan(steps=20))
    shown = open_page(run)
    assert not shown.page.page_button.isVisible()
    go_on.touch()
    qtbot.waitUntil(lambda: shown.model.state.value.over)
    told: list[str] = []
    shown.model.tell = lambda title, text="", **more: told.append(title)
    qtbot.mouseClick(shown.page.page_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: shown.sheet is not None)
    assert shown.sheet is not None
    words = [text.text() for text in shown.sheet.findChildren(Text)]
    assert "Its job file, to repeat it" in words and "Your data, and samples of it" in words
    shown.answer(qtbot, "Save as one page…")
    (dialog,) = shown.page.findChildren(QFileDialog)
    assert dialog.selectedFiles()[0].endswith(f"{run}.html")
    file = tmp_path / "page.html"
    file.write_text("the dialog has asked whether to write over it")
    dialog.fileSelected.emit(str(file))
    dialog.close()
    qtbot.waitUntil(lambda: bool(told))
    assert told == ["digits is saved as one page"]
    assert data_of(read(file.read_bytes()))["plots"][0]["title"] == "Loss"


def test_a_run_that_failed_has_a_page_too_and_a_folder_that_cannot_be_written_is_said(
    qtbot: Any,
    studio: Studio,  # noqa: F811
    open_page: Callable[..., Shown],  # noqa: F811
    tmp_path: Path,
    ended: Ended,
) -> None:
    shown = open_page(ended.put(studio.home, plan(steps=40), "--steps", "40", "--at", "1:raise"))
    made: list[Any] = []
    shown.model.make_page(made.append)
    qtbot.waitUntil(lambda: bool(made))
    (tmp_path / "file").write_text("no folder")
    shown.model.save_page(made[0], tmp_path / "file" / "page.html")
    qtbot.waitUntil(lambda: shown.model.state.value.problem is not None)
    assert "cannot be written" in shown.page.problem.title.text()
    assert not shown.model.state.value.busy
