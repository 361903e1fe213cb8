"""“Profile 20 steps” on the Run page: the button, the card while it is made and afterwards, and its press."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.gui.run.test_rented import TRAINS, show
from tests.unit.viewmodels.test_rented_words import T, view_of
from tests.unit.viewmodels.test_run_profile import shares
from tpu_studio.gui.run.page import RunPage

__all__ = ["show"]
STEPS = (*TRAINS, (24.2, "metric", {"step": [40], "loss": [0.5]}))
ASKED = (24.5, "control", {"verb": "profile", "number": 1, "attempt": 1})
BEGUN = (24.6, "profile", {"state": "begun", "step": 40})
TOLD = {"step": 40, "steps": 24, "seconds": 1.2, "on": "tpu", "top": [], "path": "profile/00000040", "bytes": 4096}


def done(**given: float) -> tuple[float, str, dict[str, Any]]:
    return 25.0, "profile", {"state": "done", **TOLD, "shares": shares(**given)}


def words(page: RunPage) -> list[str]:
    card = page.profile
    return [line.text() for line in (*card.sentences, card.remedy, card.trace) if not line.isHidden()]


def test_the_button_asks_for_a_profile_and_is_quiet_while_one_is_made(qtbot: QtBot, show: Any) -> None:
    one = show("cloud", view_of(*STEPS), T + 25)
    button = one.page.profile_button
    assert button.isVisible() and button.isEnabled() and not one.page.profile.isVisible()
    assert "where their time goes" in button.toolTip()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert one.followed.profiles == 1
    one.see(view_of(*STEPS, ASKED, BEGUN, (24.7, "metric", {"step": [50], "loss": [0.5]})), T + 25)
    assert not button.isEnabled()
    assert one.page.profile.going.share == 0.5 and not one.page.profile.bar.isVisible()
    assert words(one.page) == ["10 of 20 steps so far. Training goes on meanwhile."]


def test_the_card_tells_three_sentences_with_a_bar_and_its_press_opens_a_plan(qtbot: QtBot, show: Any) -> None:
    one = show("cloud", view_of(*STEPS, ASKED, BEGUN, done(memory=0.2, host=0.3)), T + 26)
    card = one.page.profile
    assert card.headline.text() == "Where the time of 24 steps went" and not card.going.isVisible()
    assert len(words(one.page)) == 5 and "50% of the time" in words(one.page)[0]
    assert words(one.page)[-1] == "The raw trace is in profile/00000040 of the run’s folder; the tool xprof opens it."
    named = card.bar.accessibleName()
    assert named.startswith("Where the time went: nothing to do 30%. multiplying matrices 50%, the rest of a step 20%")
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    (job,) = one.planned
    more = 4 * int(one.followed.plan.job["training.steps_per_call"])
    assert job["training.steps_per_call"] == more and card.button.text() == f"Plan it with {more} steps a call"


def test_where_nothing_would_help_there_is_nothing_to_press(show: Any) -> None:
    one = show("cloud", view_of(*STEPS, ASKED, BEGUN, done(memory=0.1, host=0.05)), T + 26)
    assert "Nothing stands out" in one.page.profile.remedy.text() and not one.page.profile.button.isVisible()


def test_one_that_failed_says_so_and_another_can_be_asked_for(show: Any) -> None:
    failed = (25.0, "profile", {"state": "failed", "step": 40, "why": "too-few", "raw": ""})
    one = show("cloud", view_of(*STEPS, ASKED, BEGUN, failed), T + 26)
    assert one.page.profile.headline.text() == "No profile was made" and one.page.profile_button.isEnabled()
    assert not one.page.profile.bar.isVisible() and not one.page.profile.button.isVisible()


def test_the_button_is_there_only_while_steps_are_made(show: Any) -> None:
    one = show("cloud", view_of(*TRAINS[:-1]), T + 25)
    assert not one.page.profile_button.isVisible()
    end = (26.0, "end", {"status": "finished", "reason": "completed", "steps": 50, "final": {}})
    one.see(view_of(*STEPS, ASKED, BEGUN, done(host=0.3), end), T + 27)
    assert not one.page.profile_button.isVisible() and one.page.profile.isVisible()  # it stays in the report
