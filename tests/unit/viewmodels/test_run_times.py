"""The Run page's times: waiting does not count, a limit grows with an extension, and a clock may be set back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.tasks import InlineTasks
from tests.unit.domain.test_forecast import STEPS, planned, run
from tests.unit.viewmodels.test_run import PLAN, Oracle, Verbs, Watched, training
from tpu_studio.domain.forecast import forecast
from tpu_studio.domain.run import End
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runfacts import facts_of
from tpu_studio.viewmodels.runnumbers import numbers
from tpu_studio.wire.controls import send
from tpu_studio.wire.events import event
from tpu_studio.wire.phases import Status


def page_of(watched: Watched, folder: Path, now: float) -> RunViewModel:
    page = RunViewModel("hands-ab12", folder, PLAN, lambda: watched, Verbs(), InlineTasks(), Oracle, clock=lambda: now)
    page.open()
    return page


def left(page: RunViewModel) -> tuple[str, str]:
    number = page.state.value.numbers[3]
    return number.label, number.context


def waited(seconds: float) -> list[dict[str, Any]]:
    return [event("phase", t=100 - seconds, phase="queued", detail="waiting for its turn", attempt=1), *training()]


def test_hours_of_waiting_for_its_turn_are_no_time_of_the_run_and_take_nothing_from_its_limit(tmp_path: Path):
    watched = Watched()
    watched.tell(*waited(7200))  # the limit is one hour
    page = page_of(watched, tmp_path, 190.0)
    assert left(page)[1].startswith("finishes at about")
    watched.tell(event("end", t=220, status="finished", reason="completed", steps=100, final={"val_accuracy": 0.9}))
    page.refresh()
    assert page.state.value.numbers[3].value == "2"  # minutes, from 100 to 220
    assert page.state.value.finding.endswith("in 2 min.")


def test_the_limit_is_the_one_that_has_grown_with_the_extension(tmp_path: Path):
    watched = Watched()
    watched.tell(*training(1))  # 99 steps more at one in 10 s, and 7.5 times that with what comes between
    page = page_of(watched, tmp_path, 190.0)
    assert left(page) == ("Time left", "the limit of 1 h comes first")
    send(tmp_path, {"verb": "limits", "hours": 3.0})
    watched.tell(event("target", t=191, steps=101))
    page.refresh()
    assert left(page)[1].startswith("finishes at about")


def test_while_the_model_is_saved_no_time_of_training_is_left(tmp_path: Path):
    watched = Watched()
    watched.tell(*training(), event("phase", t=195, phase="saving"))
    assert left(page_of(watched, tmp_path, 196.0)) == ("Time left", "saving the model and its report")


def test_with_the_computers_clock_set_back_the_page_goes_on_by_the_runs_own(tmp_path: Path):
    watched = Watched()
    watched.tell(*training())
    state = page_of(watched, tmp_path, 190.0 - 3600).state.value
    assert state.now == 190.0
    assert state.stages[3].caption.startswith("1 min 15 s")  # training since 115
    assert state.silent_s == 0.0


def test_a_run_that_waits_says_for_what_and_says_it_once(tmp_path: Path):
    watched = Watched()
    watched.tell(
        event("phase", t=90, phase="queued", detail="starting", attempt=1),
        event("phase", t=91, phase="queued", detail="waiting for its turn", attempt=1),
    )
    lines = [line.text for line in page_of(watched, tmp_path, 95.0).state.value.happened]
    assert lines == ["Waiting until the run before it is over", "Started"]


@pytest.mark.parametrize("over", [False, True])
def test_speed_and_the_time_of_a_step_beside_it_multiply_to_what_a_step_takes(over: bool):
    plan, view = planned(), run(*[0.1] * 20, 0.9, *[0.2] * 5)  # 32 digits a step; usual ones take 0.1 s
    if over:
        view = replace(view, end=End(900.0, Status.FINISHED, "completed", steps=STEPS, final={}, facts={}))
    speed = numbers(facts_of(plan), view, 900.0, forecast(plan, view))[1]
    step_ms = float(speed.context.split(" ms a step, planned ")[0])
    assert float(speed.value.replace(",", "")) * step_ms / 1000 == pytest.approx(32, rel=0.01)
    assert speed.counts.startswith(f"Counts training steps alone, {'those of the whole run' if over else 'the latest'}")
