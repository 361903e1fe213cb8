"""While real steps are timed the estimate says so, can be told not to, and nothing on it moves."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tests.fakes.tasks import LaterTasks
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.wire.errors import RunError


def opened(qtbot: QtBot) -> tuple[World, LaterTasks, PlanPage]:
    tasks = LaterTasks()
    world = World(tasks)
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    page.resize(1400, 900)
    page.show()
    world.model.choose_data("digits", None)
    tasks.finish_all()
    return world, tasks, page


def begin(world: World, tasks: LaterTasks) -> None:
    world.pause()
    tasks.finish_all()  # its model is counted first
    world.pause()
    assert world.view.timing == "measuring"


def test_nothing_below_the_estimate_moves_when_timing_starts_and_when_it_is_over(qtbot: QtBot):
    world, tasks, page = opened(qtbot)
    figures, places = page.card.figures, []

    def look(words: str) -> None:
        QApplication.processEvents()
        assert (figures.measure.isVisible(), figures.timing.text()) == (not words, words)
        places.append((figures.limit.y(), figures.rows["Training"].y(), figures.memory_row.y()))

    look("")
    begin(world, tasks)
    look("Timing real steps, 0 s so far")
    tasks.finish_all()
    look("From steps measured on this computer")
    assert len(set(places)) == 1


def test_a_timing_is_cancelled_by_its_button_and_the_focus_stays_there(qtbot: QtBot):
    world, tasks, page = opened(qtbot)
    figures = page.card.figures
    page.window().activateWindow()
    qtbot.waitUntil(page.window().isActiveWindow)
    begin(world, tasks)
    assert figures.give_up.isVisible() and figures.give_up.accessibleName() == "Cancel the timing of real steps"
    world.stopwatch.trouble = RunError("start-failed", raw="it was cancelled")
    figures.give_up.setFocus()
    figures.give_up.click()
    assert world.view.timing == "none" and figures.measure.isVisible() and figures.measure.hasFocus()
    tasks.finish_all()
    world.pause()
    assert world.view.timing == "none"


def test_without_an_engine_there_is_no_room_kept_for_a_timing(qtbot: QtBot):
    world, _, page = opened(qtbot)
    world.model.state.set(replace(world.view, engine=replace(world.view.engine, status="missing")))
    assert not page.card.figures.timing_row.isVisible()
