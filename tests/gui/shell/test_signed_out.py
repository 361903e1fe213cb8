"""A sign-in that ends while a rented run goes on: a notice that stays, with one press to sign in again."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PySide6.QtCore import QTimer

from tests.gui.studios import OpenStudio
from tpu_studio.app.signedout import SignedOutWatch, ended
from tpu_studio.app.studio import ARMED_MS
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.wire.errors import CloudUnclear, SignedOut, StudioError
from tpu_studio.workflow.ports import RunSummary

ROWS = {"a-1": ("cloud", "digits"), "b-2": ("cloud", "plays"), "c-3": ("practice", "hands")}


def test_only_what_signing_in_again_ends_is_told_by_place_with_the_runs_names():
    troubles: dict[str, StudioError] = {
        "a-1": SignedOut("signed-out"),
        "b-2": SignedOut("reauth-needed"),
        "c-3": CloudUnclear("network-down"),
        "gone": SignedOut("signed-out"),
    }
    (one,) = ended(troubles, ROWS)
    assert (one.place, one.names) == ("cloud", ("digits", "plays"))
    assert one.title == "Sign in again: digits and plays cannot be seen to"
    assert "They go on at Google" in one.text and "shut-off timers still hold" in one.text


class Studio:
    def __init__(self) -> None:
        self.shell = ShellViewModel()
        self.troubles: dict[str, StudioError] = {}
        self.services = SimpleNamespace(driver=SimpleNamespace(problems=self.troubles))
        row = SimpleNamespace(run="a-1", name="digits", place_id="cloud", rented=True, over=False, unproved=False)
        self.runs = SimpleNamespace(state=SimpleNamespace(value=SimpleNamespace(rows=(row,))))
        self.asked: list[str] = []
        self.account = SimpleNamespace(sign_in_again=self.asked.append)


def test_the_notice_stays_until_somebody_has_signed_in_and_its_press_leads_there():
    studio: Any = Studio()
    watch = SignedOutWatch(studio)
    watch.look()
    assert studio.shell.state.value.notices == ()
    studio.troubles["a-1"] = SignedOut("signed-out")
    watch.look()
    watch.look()
    (notice,) = studio.shell.state.value.notices
    assert notice.lasting and notice.action == "Sign in again" and notice.tone == "bad"
    notice.act()
    assert studio.asked == ["cloud"] and studio.shell.state.value.page == "account"
    studio.troubles.clear()
    watch.look()
    assert studio.shell.state.value.notices == ()


def test_a_notice_that_was_closed_does_not_come_back_for_the_same_runs():
    studio: Any = Studio()
    watch = SignedOutWatch(studio)
    studio.troubles["a-1"] = SignedOut("signed-out")
    watch.look()
    studio.shell.close_notice(studio.shell.state.value.notices[0].number)
    watch.look()
    assert studio.shell.state.value.notices == ()


def test_the_window_looks_for_it_as_long_as_it_lives(studio: OpenStudio):
    """The watch is kept alive by the window: a signal that leads to it does not."""
    gc.collect()
    (timer,) = [one for one in studio.window.findChildren(QTimer) if one.interval() == ARMED_MS]
    services, run = studio.studio.services, "a-1"
    assert services is not None
    row = row_of(RunSummary(run, "digits", Path("/r"), 0.0, place="cloud", status="training", alive=True))
    studio.runs.state.set(replace(studio.runs.state.value, rows=(row,)))
    services.driver.problems[run] = SignedOut("signed-out")
    timer.timeout.emit()
    assert any(notice.action == "Sign in again" for notice in studio.shell.state.value.notices)
    del services.driver.problems[run]
    timer.timeout.emit()
    assert not any(notice.action == "Sign in again" for notice in studio.shell.state.value.notices)
