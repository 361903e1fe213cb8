"""Pictures that come too slowly: the Plan page says so after timing them, and one press of its button mends it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.viewmodels.planwords import money_range


def notes(page: PlanPage) -> list[Button]:
    return [one for one in page.card.figures.findChildren(Button) if one.text() == "Use 576 px"]


def test_a_tpu_that_would_wait_is_told_and_the_button_is_one_change_that_can_be_taken_back(qtbot: QtBot):
    world = World()
    world.picture_s = 0.2
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    page.resize(1400, 900)
    page.show()
    world.model.choose_data("images", Path("/hands"))
    world.model.apply({"data.image_size": 640, "where.place": "cloud", "where.accelerator": "v6e-1"})
    assert notes(page) == []  # not timed yet
    before, time = world.view.job, world.view.plan.time_s if world.view.plan else None
    world.pause()
    assert world.view.plan is not None and world.view.plan.time_s is not None and time is not None
    assert world.view.plan.time_s.expected > time.expected  # the estimate counts with it
    assert world.view.plan.cost_usd is not None
    card = next(one for one in world.view.slice_choices if one.accelerator == "v6e-1")
    assert money_range(world.view.plan.cost_usd) in card.detail  # and so do the sizes to choose from
    (button,) = notes(page)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert world.view.job["data.image_size"] == 576
    assert notes(page) == []
    world.model.undo()
    assert world.view.job == before
    assert len(notes(page)) == 1


def test_a_tpu_far_from_the_bucket_is_told_once_it_is_known_where_that_lies_and_one_press_moves_it(world: World):
    world.model.choose_data("text", Path("/plays"))
    where = {"where.place": "cloud", "where.accelerator": "v6e-1", "where.zones": ["us-east1-d"]}
    world.model.apply({"model.name": "gpt-124m", "training.steps": 1200, **where})
    assert all(check.id != "advice-region" for check in world.view.checks)
    world.model.account_changed("", "us-central1")
    before = world.view.job
    told = next(check for check in world.view.checks if check.id == "advice-region")
    world.model.apply(dict(told.fix or {}))
    assert {zone[:11] for zone in world.view.job["where.zones"]} == {"us-central1"}
    assert all(check.id != "advice-region" for check in world.view.checks)
    world.model.undo()
    assert world.view.job == before
