"""A sitting with the real window on the practice cloud: from Home over the review to the receipt, and a bad day.

Everything is the app's own, down to machines that are processes and a guardian that deletes them; the trainer only
counts, and the practice server lives in this process so that a test can look into it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from tests.fakes.engines import counting_engine
from tests.fakes.practices import Start
from tpu_studio.app import compose
from tpu_studio.app.studio import Studio
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.run.page import RunPage
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.local.engine import Engine
from tpu_studio.local.engine.state import EngineState
from tpu_studio.practice import daemon
from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice
from tpu_studio.viewmodels import runrented
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.workflow.cloudruns import decide

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux"),
    pytest.mark.slow,
]
SECONDS = 1000


@pytest.fixture
def practice(tmp_path: Path, start_practice: Start, monkeypatch: pytest.MonkeyPatch) -> Practice:
    root = counting_engine(tmp_path / "engine", "--steps", "40", "--step-s", "0.05")
    monkeypatch.setenv("TPU_STUDIO_ENGINE", os.fspath(root))
    monkeypatch.setattr(Engine, "state", lambda self: EngineState("ready"))
    monkeypatch.setattr(compose, "Stopwatch", lambda home, engine: None)
    made = start_practice(machines=True)
    monkeypatch.setattr(daemon, "start_or_join", lambda home: made.ready())
    return made


@pytest.fixture
def studio(qapp: QApplication, home: Path, practice: Practice) -> Iterator[Studio]:
    studio = Studio(qapp, home)
    studio.settings.told("runs-go-on")
    yield studio
    studio.end()


def click(widget: QWidget) -> None:
    assert widget.isVisible() and widget.isEnabled(), f"{widget.accessibleName()!r} cannot be pressed"
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def press(qtbot: Any, parent: QWidget, words: str) -> None:
    """The button with these *words*, as soon as it can be pressed."""

    def found() -> list[Button]:
        buttons = parent.findChildren(Button)
        return [one for one in buttons if one.text() == words and one.isVisible() and one.isEnabled()]

    qtbot.waitUntil(lambda: bool(found()), timeout=60 * SECONDS)
    click(found()[0])


def agree(qtbot: Any, studio: Studio, plan: PlanViewModel) -> None:
    """Read the review and start; steps that were timed meanwhile change its figures, which are read first then."""

    def sheets() -> list[Sheet]:
        return [sheet for sheet in studio.window.findChildren(Sheet) if sheet.isVisible()]

    qtbot.waitUntil(lambda: bool(sheets()), timeout=60 * SECONDS)
    while plan.state.value.reviewing:
        press(qtbot, sheets()[0], "Show the new figures" if plan.state.value.newer else "Start the rehearsal")


def start(qtbot: Any, studio: Studio) -> RunPage:
    """From Home to the page of a practice run, as a person goes."""
    studio.window.resize(1440, 900)
    studio.window.show()
    qtbot.waitUntil(lambda: studio.services is not None, timeout=60 * SECONDS)
    home: Any = studio.window.page("home")
    qtbot.waitUntil(home.practice.button.isEnabled, timeout=60 * SECONDS)
    click(home.practice.button)
    holder: Any = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.page is not None, timeout=60 * SECONDS)
    holder.page.data_section.kinds.card("digits").click()
    qtbot.waitUntil(lambda: not holder.model.state.value.missing[1], timeout=60 * SECONDS)
    qtbot.waitUntil(holder.page.card.start.button.isEnabled, timeout=60 * SECONDS)
    click(holder.page.card.start.button)
    assert studio.shell.state.value.page == "plan", "nothing starts before the review"
    agree(qtbot, studio, holder.model)
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "run", timeout=60 * SECONDS)
    opened: Any = studio.window.run_page
    qtbot.waitUntil(lambda: opened.page is not None, timeout=60 * SECONDS)
    page: RunPage = opened.page
    qtbot.waitUntil(page.practice.isVisible, timeout=60 * SECONDS)
    return page


def settled(qtbot: Any, page: RunPage, seconds: int = 180) -> None:
    qtbot.waitUntil(lambda: page.model.state.value.view.settled, timeout=seconds * SECONDS)


def machines_of(practice: Practice) -> list[str]:
    fleet = practice.cloud.vms
    return [name for name in fleet.names() if fleet.alive(name)] if isinstance(fleet, Fleet) else []


def test_from_home_over_the_review_to_a_receipt_that_proves_the_end(qtbot: Any, studio: Studio, practice: Practice):
    page = start(qtbot, studio)
    model = page.model
    titles = [stage.title for stage in model.state.value.stages]
    assert titles == ["Queued", "Getting TPU", "Setting up", "Compiling", "Training", "Saving", "Cleaned up"]
    qtbot.waitUntil(lambda: model.state.value.view.step > 0, timeout=150 * SECONDS)
    assert model.state.value.numbers[2].label == "Would have cost"
    settled(qtbot, page)
    state = model.state.value
    assert state.view.end is not None and state.view.end.reason == "completed"
    qtbot.waitUntil(page.removal.isVisible, timeout=60 * SECONDS)
    assert "removed and checked at" in page.removal.note.title.text()
    receipt = json.loads((state.folder / "result" / "receipt.json").read_bytes())
    assert [one["proof"] for one in receipt["made"]] == ["GET by name answered 404"]
    billed = sum(float(line["usd"] or 0.0) for line in practice.cloud.meter.bill())
    a_second, a_minute = 0.0004, 0.02  # of this machine's price, at most; a loaded computer sees the end late
    assert billed - max(0.01 * billed, a_second) <= state.view.usd <= billed + a_minute
    assert machines_of(practice) == []
    qtbot.waitUntil(lambda: studio.runs.state.value.row(state.run).over, timeout=60 * SECONDS)
    shown = ("practice $", "practice, at most $")  # where a loaded computer saw the end late, by a cent or two
    qtbot.waitUntil(lambda: studio.runs.state.value.row(state.run).cost.startswith(shown), timeout=60 * SECONDS)


def test_while_nothing_is_free_it_says_so_and_one_press_trains_here(
    qtbot: Any, studio: Studio, practice: Practice, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decide, "SUBMITTED_S", 2.0)  # a person has the patience of half a minute
    monkeypatch.setattr(runrented, "WAITING_SHOWN_AFTER_S", 3.0)
    practice.cloud.faults.arm("stockout-for-ever")
    page = start(qtbot, studio)
    qtbot.waitUntil(page.waiting.isVisible, timeout=150 * SECONDS)
    qtbot.waitUntil(lambda: "asked us-west4-a, nothing free" in page.waiting.headline.text(), timeout=150 * SECONDS)
    assert "Nothing is charged" in page.waiting.text.text()
    run = page.model.state.value.run
    press(qtbot, page.waiting, "Train here")
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "plan", timeout=60 * SECONDS)
    holder: Any = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.model.state.value.job["where.place"] == "computer", timeout=60 * SECONDS)
    services = studio.services
    assert services is not None
    assert holder.page.leaving.isVisible() and "then it is lost" in holder.page.leaving.text.text()
    assert not services.runs.summary(run).over  # it waits on until the other one starts
    qtbot.waitUntil(lambda: not holder.model.state.value.missing[1], timeout=60 * SECONDS)
    click(holder.page.card.start.button)
    qtbot.waitUntil(lambda: studio.shell.state.value.run not in ("", run), timeout=60 * SECONDS)
    here = studio.shell.state.value.run
    assert services.runs.plan(here).place == "computer"
    qtbot.waitUntil(lambda: services.runs.summary(here).over, timeout=150 * SECONDS)  # this engine starts nothing here
    assert services.runs.summary(here).reason == "start-failed"
    assert not services.runs.summary(run).over  # so its place is kept, and only its own button gives it up
    services.runs.stop(run, False)
    qtbot.waitUntil(lambda: services.runs.summary(run).settled, timeout=150 * SECONDS)
    assert services.runs.summary(run).usd < 0.01  # no machine: what was asked and kept in the bucket
    assert machines_of(practice) == []
