"""A model that begins from starter weights, on the Plan page: offered with what it is for, and fetched by a press."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tests.fakes.presets import unpacked
from tests.fakes.tasks import LaterTasks
from tests.unit.viewmodels.test_engine import FakeEngine
from tpu_studio.gui.engine.dialog import EngineDialog, Words
from tpu_studio.gui.plan.notes import TallNote
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.viewmodels.engine import EngineViewModel
from tpu_studio.wire import homes


@pytest.fixture(autouse=True)
def no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "engine"))


def notes(page: PlanPage) -> dict[str, TallNote]:
    return {note.title.text(): note for note in page.findChildren(TallNote)}


def test_it_is_offered_for_pictures_and_its_missing_weights_are_fetched_by_a_press(
    qtbot: QtBot, page: PlanPage, world: World
) -> None:
    asked: list[Callable[[], None]] = []
    world.model.open_weights = asked.append
    world.model.choose_data("images", Path("/hands"))
    assert world.view.plan is not None and not world.view.plan.blocking
    assert any(choice.name == "efficientnet-lite0" for choice in world.view.choices)

    world.model.choose_model("efficientnet-lite0")
    note = notes(page)["The starter weights are not installed"]
    assert note.button is not None and "engine --install" not in note.text.text()
    qtbot.mouseClick(note.button, Qt.MouseButton.LeftButton)
    assert len(asked) == 1

    file = homes.starter_weights() / "efficientnet-lite0.safetensors"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"something else")
    asked[0]()  # what was fetched is looked at
    assert "The starter weights are not as they were published" in notes(page)


def test_a_folder_of_one_s_own_is_asked_for_and_chosen_by_a_press(
    qtbot: QtBot, page: PlanPage, world: World, tmp_path: Path
) -> None:
    world.model.choose_data("images", Path("/hands"))
    world.model.choose_model("kerashub-backbone")
    note = notes(page)["Choose the folder that the model begins from"]
    assert note.button is not None and note.button.text() == "Choose…" and "model.weights.h5" in note.text.text()
    qtbot.mouseClick(note.button, Qt.MouseButton.LeftButton)
    dialog = page.window().findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog) and dialog.fileMode() == QFileDialog.FileMode.Directory

    dialog.fileSelected.emit(str(unpacked("text", tmp_path)))  # a model for texts: said, and another asked for
    wrong = notes(page)["“BertBackbone” is no network that TPU Studio knows"]
    assert wrong.button is not None and wrong.button.text() == "Choose…"
    dialog.fileSelected.emit(str(unpacked("vit", tmp_path)))
    dialog.close()
    plan = world.view.plan
    assert plan is not None and not plan.blocking and plan.job.data.image_size == 32
    assert plan.job.model.preset == str(tmp_path / "vit") and plan.preset_sha256


def test_the_settings_say_what_learns_and_from_what_it_begins(page: PlanPage, world: World) -> None:
    world.model.choose_data("images", Path("/hands"))
    world.model.choose_model("efficientnet-lite0")
    plan = world.view.plan
    assert plan is not None
    assert plan.job.training.freeze == "head-first"
    world.model.apply({"training.freeze": "backbone"})
    assert world.view.plan is not None and world.view.plan.job.training.freeze == "backbone"


def test_fetching_is_asked_with_whose_they_are_and_goes_on_with_the_plan(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1100, 700)
    window.show()
    tasks, then = LaterTasks(), list[str]()
    model = EngineViewModel(tasks)
    model.connect(FakeEngine())
    tasks.finish_all()
    words = Words("Fetch the starter weights?", "They are Somebody's.", "Fetch them", "The weights are on their way")
    dialog = EngineDialog.open_over(window, model, lambda: then.append("planned"), words)

    assert (dialog.title.text(), dialog.sentence.text(), dialog.go.text()) == (
        "Fetch the starter weights?",
        "They are Somebody's.",
        "Fetch them",
    )
    assert dialog.sentence.isVisible()
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    assert dialog.title.text() == "The weights are on their way" and dialog.stop.isVisible()
    tasks.finish_all()
    assert then == ["planned"]
