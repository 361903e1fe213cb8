"""Beginning from a run of one's own, on the Plan page: quietly offered, chosen from a list, and taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.fakes.bases import PICTURES, RUN, card, run, tuned
from tests.fakes.looks import NOW
from tests.fakes.planning import World
from tests.gui.plan.pages import press, words_in
from tpu_studio.gui.kit.choose import ChoiceGroup
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.runrows import rows_of
from tpu_studio.workflow.ports import RunSummary


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def summary(home: Path, name: str = RUN, model: str = "small-cnn", kind: str = "images") -> RunSummary:
    told = {"model": model, "kind": kind, "status": "finished", "reason": "completed"}
    metric = ("val_accuracy", 0.98)
    return RunSummary(name, name, home / "runs" / name, NOW, over=True, key_metric=metric, **told)


def show(world: World, *summaries: RunSummary) -> None:
    world.runs.state.set(replace(world.runs.state.value, rows=rows_of(summaries, NOW)))
    QApplication.processEvents()


def sheet_over(page: PlanPage) -> Sheet:
    return next(sheet for sheet in page.window().findChildren(Sheet) if sheet.isVisible())


def test_a_run_is_chosen_from_those_that_suit_and_taken_back(
    qtbot: QtBot, page: PlanPage, world: World, home: Path
) -> None:
    run(home, card(data=PICTURES, options={"width": 8}))
    line = page.model_section.bases
    world.model.choose_data("images", Path("/hands"))
    world.model.open_section("model")
    assert not line.isVisible()  # there is no run yet
    show(world, summary(home), summary(home, "gone-cd34"), summary(home, "poems-ef56", "gpt-nano", "text"))
    assert line.isVisible() and line.choose.text() == "Begin from a run of mine…" and not line.without.isVisible()

    qtbot.mouseClick(line.choose, Qt.MouseButton.LeftButton)
    sheet = sheet_over(page)
    (group,) = sheet.findChildren(ChoiceGroup)
    assert group.value == RUN
    said = words_in(sheet)
    assert "Small CNN" in said and "98" in said and "today" in said
    assert "poems-ef56" not in said  # of other data
    assert "gone-cd34" not in said  # it left no result
    press(qtbot, sheet, "Begin from it")

    plan = world.view.plan
    assert plan is not None and not plan.blocking
    assert plan.job.model.preset == f"run:{RUN}" and plan.options["width"] == 8 and plan.preset_sha256
    world.model.open_section("model")
    detail = next(choice.detail for choice in world.view.choices if choice.name == "small-cnn")
    assert planwords.weights(plan.memory.params) in detail  # of the run's own widths
    assert f"the run {RUN}" in words_in(line) and line.without.isVisible()
    qtbot.mouseClick(line.without, Qt.MouseButton.LeftButton)
    assert world.view.plan is not None and world.view.plan.job.model.preset == "none"


def test_a_fine_tuned_language_model_is_chosen_though_its_folder_is_gone(
    qtbot: QtBot, page: PlanPage, world: World, home: Path
) -> None:
    run(home, *tuned("qwen2", home))
    world.model.choose_data("text", Path("/plays.txt"))
    world.model.open_section("model")
    show(world, summary(home, model="pretrained-lm", kind="text"))
    line = page.model_section.bases
    qtbot.mouseClick(line.choose, Qt.MouseButton.LeftButton)
    press(qtbot, sheet_over(page), "Begin from it")
    plan = world.view.plan
    assert plan is not None and not plan.blocking, plan and plan.blocking
    assert (plan.job.model.name, plan.job.model.preset) == ("pretrained-lm", f"run:{RUN}")
    assert plan.job.data.tokenizer == "preset" and plan.preset_sha256
    assert f"the run {RUN}" in words_in(line)


def test_where_no_result_is_left_it_says_so(qtbot: QtBot, page: PlanPage, world: World, home: Path) -> None:
    world.model.choose_data("images", Path("/hands"))
    world.model.open_section("model")
    show(world, summary(home))
    qtbot.mouseClick(page.model_section.bases.choose, Qt.MouseButton.LeftButton)
    sheet = sheet_over(page)
    assert "None of your runs has a result" in words_in(sheet)
    press(qtbot, sheet, "Close")


def test_another_model_lets_go_of_the_run(page: PlanPage, world: World, home: Path) -> None:
    run(home)
    world.model.choose_data("images", Path("/hands"))
    world.model.apply({"model.name": "small-cnn", "model.preset": f"run:{RUN}"})
    world.model.choose_model("small-cnn")  # the same one
    assert world.view.plan is not None and world.view.plan.job.model.preset == f"run:{RUN}"
    world.model.choose_model("mlp")
    assert world.view.plan is not None and not world.view.plan.blocking
    assert world.view.plan.job.model.preset == "none"


def test_a_wrong_option_is_told_under_its_field(page: PlanPage, world: World, home: Path) -> None:
    run(home)
    world.model.choose_data("images", Path("/hands"))
    world.model.apply({"model.name": "small-cnn", "model.preset": f"run:{RUN}"})
    world.model.set_text("model.options.width", "64")
    assert "model.options.width" in world.view.problems
    world.model.reset("model.options.width")
    assert world.view.plan is not None and not world.view.plan.blocking and not world.view.problems

    world.model.set_text("model.options.width", "64")
    world.model.apply({"model.preset": None})  # from nothing it may be as wide as one likes
    assert world.view.plan is not None and world.view.plan.options["width"] == 64 and not world.view.problems
