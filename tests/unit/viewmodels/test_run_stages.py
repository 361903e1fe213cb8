"""The Run page's timeline where a run did not get to its end: what failed, what was stopped, what never began."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.tasks import InlineTasks
from tests.unit.viewmodels.test_run import PLAN, Oracle, Verbs, Watched, training
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.wire.events import event


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def page(watched: Watched) -> RunViewModel:
    return RunViewModel(
        "hands-ab12", Path("/nowhere"), PLAN, lambda: watched, Verbs(), InlineTasks(), Oracle, clock=lambda: 200.0
    )


def test_a_run_that_fails_on_being_carried_on_is_shown_to_have_failed_there_and_then(
    page: RunViewModel, watched: Watched
):
    watched.tell(*training(40), event("phase", t=191, phase="saving"))
    watched.tell(event("end", t=195, status="stopped", reason="stopped-by-user", steps=40))
    watched.tell(event("phase", t=300, phase="setting-up", attempt=2))
    page.open()
    assert page.state.value.pace_notice is None  # what the first attempt foretold is no news now
    watched.tell(event("end", t=305, attempt=2, status="failed", reason="guardian-gone", steps=40))
    page.tick()
    told = {stage.title: (stage.state, stage.progress) for stage in page.state.value.stages}
    assert told["Setting up"][0] == "failed" and told["Saving"][0] == "ahead"
    assert told["Training"] == ("stopped", 0.4)
    speed = page.state.value.numbers[1]
    assert (speed.value, speed.context) == ("128", "4.00 steps a second")  # of 32 pictures each


def test_a_run_stopped_while_it_was_set_up_is_shown_to_have_stopped_there(page: RunViewModel, watched: Watched):
    watched.tell(event("phase", t=100, phase="setting-up", attempt=1))
    watched.tell(event("end", t=104, status="stopped", reason="stopped-by-user", steps=0, facts={"result": False}))
    page.open()
    told = {stage.title: stage.state for stage in page.state.value.stages}
    assert (told["Setting up"], told["Training"]) == ("stopped", "ahead")
    assert page.state.value.ending is not None and "“Resume”" in page.state.value.ending.action  # as its button says


def test_training_that_was_stopped_is_not_shown_as_done(page: RunViewModel, watched: Watched):
    watched.tell(*training(40), event("phase", t=191, phase="saving"))
    watched.tell(event("end", t=195, status="stopped", reason="stopped-by-user", steps=40))
    page.open()
    stage = page.state.value.stages[3]
    assert (stage.title, stage.state, stage.progress) == ("Training", "stopped", 0.4)
