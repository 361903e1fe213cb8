"""Two chapters of Learn from the first start to their last tick, by the keyboard alone and by the mouse alone.

The real window, and for the first model the real engine; for the rehearsal a machine that is taken back.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from tests.fakes.engines import counting_engine
from tests.fakes.hands import HANDS, Hand
from tests.fakes.practices import Start
from tpu_studio.app import compose
from tpu_studio.app.studio import Studio
from tpu_studio.gui.learn.chapter import ChapterCard
from tpu_studio.gui.learn.strip import LearnStrip
from tpu_studio.gui.run.trypieces import Picture
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.local.engine import Engine
from tpu_studio.local.engine.state import EngineState
from tpu_studio.practice import daemon
from tpu_studio.practice.main import Practice

pytestmark = [pytest.mark.slow, pytest.mark.engine]
SECONDS = 1000
MOST_PRESSES = 8  # from the first start to the last tick of the first chapter


@pytest.fixture
def practice(tmp_path: Path, start_practice: Start, monkeypatch: pytest.MonkeyPatch) -> Practice:
    """Its machines are processes with a trainer that counts: what is learned is how a rented run goes."""
    if sys.platform != "linux":
        pytest.skip("practice machines need Linux")
    root = counting_engine(tmp_path / "engine", "--steps", "1200", "--step-s", "0.005")
    monkeypatch.setenv("TPU_STUDIO_ENGINE", os.fspath(root))
    monkeypatch.setattr(Engine, "state", lambda self: EngineState("ready"))
    monkeypatch.setattr(compose, "Stopwatch", lambda home, engine: None)
    made = start_practice(machines=True, speed=10.0)
    monkeypatch.setattr(daemon, "start_or_join", lambda home: made.ready())
    return made


class Learner:
    """Someone at the first start, with one *hand*; waits for what should come and presses what is seen."""

    def __init__(self, qtbot: Any, studio: Studio, hand: str) -> None:
        self.qtbot, self.studio, self.window = qtbot, studio, studio.window
        studio.show()
        self.window.resize(1100, 700)
        self.window.activateWindow()
        self.wait(lambda: studio.services is not None)
        self.wait(lambda: studio.runs.state.value.rows is not None)
        self.hand: Hand = HANDS[hand](self.window)

    def wait(self, until: Any) -> None:
        self.qtbot.waitUntil(until, timeout=300 * SECONDS)

    def press(self, parent: QWidget, *words: str) -> None:
        """The button that says one of *words*, once it is there and nothing moves any more."""

        def seen() -> list[QAbstractButton]:
            found = parent.findChildren(QAbstractButton)
            buttons = [one for one in found if one.text() in words or one.accessibleName() in words]
            return [one for one in buttons if one.isVisible() and one.isEnabled()]

        self.wait(lambda: bool(seen()))
        QTest.qWait(400)  # a sheet glides in; a hand at a mouse waits for it, too
        self.hand.press(seen()[0])

    @property
    def strip(self) -> LearnStrip:
        strip = self.window.findChild(LearnStrip)
        assert isinstance(strip, LearnStrip)
        return strip

    def is_at(self, words: str) -> bool:
        return self.strip.isVisible() and words in self.strip.title.text()

    def sheets(self) -> list[Sheet]:
        return [one for one in self.window.findChildren(Sheet) if one.isVisible()]

    def planned(self) -> Any:
        """The holder of the Plan page, once it shows the whole plan."""
        plan: Any = self.window.page("plan")
        self.wait(lambda: plan.page is not None and plan.model.state.value.plan is not None)
        self.wait(lambda: not plan.model.state.value.stale and not plan.model.state.value.looking)
        return plan


def first_model(who: Learner) -> None:
    home: Any = who.window.page("home")
    who.wait(lambda: home._first is not None and home._first.isVisible())
    who.press(home._first, "Begin")
    plan = who.planned()
    who.press(plan.page, "Start training")
    who.wait(lambda: who.is_at("step 3 of 4"))
    who.press(who.strip, "Validation accuracy")
    who.wait(lambda: who.is_at("step 4 of 4"))
    page: Any = who.window.run_page

    def pictures() -> list[Picture]:
        return [one for one in page.page.findChildren(Picture) if one.isVisible() and one.isEnabled()]

    who.wait(lambda: bool(pictures()))
    who.hand.press(pictures()[0])
    who.wait(lambda: who.is_at("First model is done"))
    assert who.hand.presses <= MOST_PRESSES
    who.press(who.strip, "What comes next?")
    assert who.studio.shell.state.value.page == "learn"


def rehearsal(who: Learner) -> None:
    who.press(who.window.sidebar, "Learn")
    learn: Any = who.window.page("learn")
    who.wait(lambda: learn.isVisible())
    card = next(one for one in learn.findChildren(ChapterCard) if "Chapter 7:" in one.accessibleName())
    who.press(card, "Begin")
    who.press(learn, "Plan the rehearsal")
    plan = who.planned()
    who.press(plan.page, "Review and start")
    who.wait(lambda: bool(who.sheets()))
    while plan.model.state.value.reviewing:
        who.press(who.sheets()[0], "Show the new figures" if plan.model.state.value.newer else "Start the rehearsal")
    who.wait(lambda: who.is_at("step 4 of 5"))  # it was taken back, and has gone on and finished
    who.press(who.window.run_page, "Show the receipt")
    who.wait(lambda: bool(who.sheets()))
    who.press(who.sheets()[0], "Close")
    who.wait(lambda: who.is_at("step 5 of 5"))
    who.press(who.strip, "It stops, keeps the model so far, and the machine is deleted")
    who.wait(lambda: who.is_at("What it costs and how it ends is done"))
    assert [step.state for step in learn.model.state.value.chapters[7].steps] == ["done"] * 5


@pytest.mark.parametrize(
    ("chapter", "needs", "hand"),
    [
        pytest.param(rehearsal, "practice", "keyboard"),
        pytest.param(rehearsal, "practice", "mouse", marks=pytest.mark.thorough),
        pytest.param(first_model, "engine_python", "keyboard", marks=pytest.mark.thorough),
        pytest.param(first_model, "engine_python", "mouse", marks=pytest.mark.thorough),
    ],
)
def test_a_chapter_is_gone_through_from_the_first_start_to_its_last_tick(
    qtbot: Any, qapp: QApplication, home: Path, request: pytest.FixtureRequest, chapter: Any, needs: str, hand: str
) -> None:
    request.getfixturevalue(needs)
    studio = Studio(qapp, home)
    try:
        chapter(Learner(qtbot, studio, hand))
    finally:
        studio.end()
