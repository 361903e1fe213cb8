"""Export: a question in which format, then where; the model alone is checked before it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from tests.fakes.ended import Ended
from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tests.gui.run.test_page import Shown, open_page, studio  # noqa: F401  the fixtures
from tpu_studio.gui.kit.choose import ChoiceCard, ChoiceGroup
from tpu_studio.local.formats import Written
from tpu_studio.wire.errors import RunError


@pytest.fixture
def shown(studio: Studio, open_page: Callable[..., Shown], ended: Ended) -> Shown:  # noqa: F811
    """The page of a run that has ended."""
    return open_page(ended.put(studio.home, plan(steps=20), "--steps", "20"))


def test_the_format_is_asked_for_then_the_file_and_how_it_was_checked_is_said(
    qtbot: Any, shown: Shown, tmp_path: Path
) -> None:
    told: list[str] = []
    asked: list[tuple[str, Path]] = []

    def write(form: str, file: Path) -> Written:
        asked.append((form, file))
        if len(asked) > 1:
            raise RunError("export-differs", format=form, difference=0.25)
        return Written(file, 4096, "examples", 200, 3e-6)

    shown.model.tell = lambda title, text="", **more: told.extend((title, text))
    shown.model.write_format = write
    for count in (1, 2):
        qtbot.mouseClick(shown.page.export_button, Qt.MouseButton.LeftButton)
        assert shown.sheet is not None
        (group,) = shown.sheet.findChildren(ChoiceGroup)
        assert group.value == "folder"
        qtbot.mouseClick(group.card("litert"), Qt.MouseButton.LeftButton)
        shown.answer(qtbot, "Choose where…")
        dialog = shown.page.findChildren(QFileDialog)[-1]
        assert dialog.selectedFiles()[0].endswith(f"{shown.model.state.value.run}.tflite")
        dialog.fileSelected.emit(str(tmp_path / "model.tflite"))
        dialog.close()
        qtbot.waitUntil(lambda count=count: len(asked) == count and not shown.model.state.value.busy)
    assert asked[0] == ("litert", tmp_path / "model.tflite")
    assert told[0] == "The model of digits is saved as LiteRT (TensorFlow Lite)"
    assert "on 200 examples of the data that it did not learn from: its answers differ by 0.000003 at most" in told[1]
    assert len(told) == 2 and "would answer otherwise" in shown.page.problem.title.text()


def test_that_a_script_names_ones_folders_is_said_before_and_after(qtbot: Any, shown: Shown, tmp_path: Path) -> None:
    told: list[str] = []
    shown.model.tell = lambda title, text="", **more: told.extend((title, text))
    shown.model.write_format = lambda form, file: Written(file, 4096, "script", 1797, 0.0)
    qtbot.mouseClick(shown.page.export_button, Qt.MouseButton.LeftButton)
    assert shown.sheet is not None
    (group,) = shown.sheet.findChildren(ChoiceGroup)
    card = group.card("keras-script")
    assert "It names your folders and files" in card.accessibleDescription()
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
    shown.answer(qtbot, "Choose where…")
    dialog = shown.page.findChildren(QFileDialog)[-1]
    assert dialog.selectedFiles()[0].endswith(f"{shown.model.state.value.run}.py")
    dialog.fileSelected.emit(str(tmp_path / "digits.py"))
    dialog.close()
    qtbot.waitUntil(lambda: bool(told))
    assert told[0] == "The model of digits is saved as Keras script"
    assert "reads the same 1,797 examples" in told[1] and "It names your folders and files" in told[1]


def test_back_into_a_folder_is_offered_where_a_run_began_from_one(
    qtbot: Any, shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Path]] = []

    def write(form: str, file: Path) -> Written:
        asked.append((form, file))
        return Written(file, 4096, "folder", 21, 0.0)

    shown.model.write_format, shown.model.tell = write, lambda title, text="", **more: None
    qtbot.mouseClick(shown.page.export_button, Qt.MouseButton.LeftButton)
    assert shown.sheet is not None
    (group,) = shown.sheet.findChildren(ChoiceGroup)
    assert "huggingface" not in {card.key for card in group.findChildren(ChoiceCard)}
    shown.answer(qtbot, "Cancel")
    model = replace(shown.model.plan.job.model, name="pretrained-lm")
    job = replace(shown.model.plan.job, model=model)
    monkeypatch.setattr(shown.model, "plan", replace(shown.model.plan, job=job))
    qtbot.mouseClick(shown.page.export_button, Qt.MouseButton.LeftButton)
    (group,) = shown.sheet.findChildren(ChoiceGroup)
    qtbot.mouseClick(group.card("huggingface"), Qt.MouseButton.LeftButton)
    shown.answer(qtbot, "Choose where…")
    dialog = shown.page.findChildren(QFileDialog)[-1]
    assert dialog.fileMode() == QFileDialog.FileMode.Directory
    dialog.fileSelected.emit(str(tmp_path / "copy"))
    dialog.close()
    qtbot.waitUntil(lambda: asked == [("huggingface", tmp_path / "copy")])


def test_the_folder_is_what_enter_chooses(qtbot: Any, shown: Shown, tmp_path: Path) -> None:
    told: list[str] = []
    shown.model.tell = lambda title, text="", **more: told.append(title)
    qtbot.mouseClick(shown.page.export_button, Qt.MouseButton.LeftButton)
    shown.answer(qtbot, "Choose where…")
    (dialog,) = shown.page.findChildren(QFileDialog)
    assert dialog.fileMode() == QFileDialog.FileMode.Directory
    dialog.fileSelected.emit(str(tmp_path / "copy"))
    dialog.close()
    qtbot.waitUntil(lambda: bool(told))
    assert told == ["A copy of digits is saved"] and any((tmp_path / "copy").iterdir())


def test_the_whole_run_goes_into_one_zip_that_another_computer_takes_in(
    qtbot: Any, shown: Shown, tmp_path: Path
) -> None:
    told: list[str] = []
    shown.model.tell = lambda title, text="", **more: told.extend((title, text))
    qtbot.mouseClick(shown.page.export_button, Qt.MouseButton.LeftButton)
    assert shown.sheet is not None
    (group,) = shown.sheet.findChildren(ChoiceGroup)
    qtbot.mouseClick(group.card("zip"), Qt.MouseButton.LeftButton)
    shown.answer(qtbot, "Choose where…")
    (dialog,) = shown.page.findChildren(QFileDialog)
    run = shown.model.state.value.run
    assert dialog.selectedFiles()[0].endswith(f"{run}.zip")
    dialog.fileSelected.emit(str(tmp_path / "digits.zip"))
    dialog.close()
    qtbot.waitUntil(lambda: bool(told))
    assert told[0] == "digits is saved whole" and str(tmp_path / "digits.zip") in told[1]
    there = Studio(tmp_path / "elsewhere")
    assert there.runs.import_folder(tmp_path / "digits.zip").run == run
    assert there.runs.summary(run).status == "finished"
    there.close()


def test_what_writes_a_format_is_there_before_it_is_asked_where_it_goes(qtbot: Any, shown: Shown) -> None:
    asked: list[tuple[str, Callable[[], None]]] = []
    shown.model.with_packages = lambda form, then: asked.append((form, then))
    qtbot.mouseClick(shown.page.export_button, Qt.MouseButton.LeftButton)
    assert shown.sheet is not None
    (group,) = shown.sheet.findChildren(ChoiceGroup)
    qtbot.mouseClick(group.card("onnx"), Qt.MouseButton.LeftButton)
    shown.answer(qtbot, "Choose where…")
    assert [form for form, _ in asked] == ["onnx"] and not shown.page.findChildren(QFileDialog)
    asked[0][1]()
    (dialog,) = shown.page.findChildren(QFileDialog)
    assert dialog.selectedFiles()[0].endswith(f"{shown.model.state.value.run}.onnx")
    dialog.close()
