"""The page of a run that goes on: taken up again, trained longer, somebody else’s."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.tasks import InlineTasks
from tests.unit.viewmodels.test_run import PLAN, Oracle, Verbs, Watched, oracle, page, training, verbs, watched
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runnumbers import extension_s, extension_words
from tpu_studio.wire.controls import send
from tpu_studio.wire.events import event
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.planparts import PlanLimits, PlanPrice
from tpu_studio.workflow.cloudruns import believed

__all__ = ["oracle", "page", "verbs", "watched"]


def extended() -> list[dict[str, Any]]:
    return [
        event("end", t=195, status="finished", reason="completed", steps=100),
        event("phase", t=1000, phase="setting-up", attempt=2, detail="engine"),
    ]


def test_a_run_taken_up_again_shows_what_comes_once_more_as_ahead(page: RunViewModel, watched: Watched):
    watched.tell(*training(), event("phase", t=190, phase="saving"), *extended())
    page.open()
    told = {stage.title: stage for stage in page.state.value.stages}
    assert told["Setting up"].state == "current" and told["Setting up"].caption == "loading the engine"
    assert told["Training"].state == "ahead" and told["Training"].caption.endswith("so far")
    assert told["Saving"].state == "ahead"


def test_time_between_an_end_and_carrying_on_is_not_the_runs(page: RunViewModel, watched: Watched):
    watched.tell(*training(), *extended(), event("end", t=1005, status="finished", reason="completed", steps=100))
    page.open()
    assert page.state.value.view.seconds(2000) == 195 - 100 + 5


def test_a_run_that_goes_on_forgets_the_model_that_answered(page: RunViewModel, watched: Watched, oracle: Oracle):
    first, then = extended()
    watched.tell(*training(), first)
    page.open()
    page.ask({"image": "/a.png"})
    oracle.asked[-1][1]({"classes": [{"name": "one", "probability": 0.9}]})
    watched.tell(then)
    page.refresh()
    assert page.state.value.trial.question is None and page.state.value.trial.classes == ()
    assert oracle.closed
    page.ask({"image": "/b.png"})
    assert page.state.value.trial.asking


def test_more_training_is_told_with_its_checks_and_its_start(page: RunViewModel, watched: Watched):
    watched.tell(*training(), event("phase", t=190, phase="saving"), extended()[0])
    page.open()
    state = page.state.value
    training_s = state.view.spans[Phase.TRAINING].seconds(0)
    around = state.view.seconds(0) - training_s
    seconds = extension_s(state.facts, state.view, 10 * state.view.step)
    assert seconds is not None and seconds >= 10 * training_s and seconds <= 10 * training_s + around


def test_training_longer_after_an_early_stop_tells_the_steps_still_left(page: RunViewModel, watched: Watched):
    watched.tell(*training(40), event("end", t=195, status="stopped", reason="stopped-by-user", steps=40))
    page.open()
    state = page.state.value
    told = extension_words(state.facts, state.view, 1)
    assert told.startswith("The 60 steps that were still planned and 20 more: 80 in all, about ")


def test_what_is_being_stopped_foretells_neither_more_steps_nor_their_cost(watched: Watched, verbs: Verbs):
    plan = replace(PLAN, place="practice", price=PlanPrice(None, 1.2))
    page = RunViewModel("hands-ab12", Path("/"), plan, lambda: watched, verbs, InlineTasks(), Oracle, lambda: 200.0)
    watched.tell(*training(), event("machine", t=99, state="active"), event("money", t=190, usd=0.1, usd_per_hour=1.2))
    page.open()
    assert page.state.value.numbers[3].value == "1 min 52 s"
    watched.tell(event("control", t=191, verb="stop"))
    page.tick()
    assert page.state.value.numbers[3].context == "it is being stopped"
    watched.tell(event("phase", t=192, phase="saving", detail="checkpoint"))
    page.tick()
    state = page.state.value
    assert (state.numbers[3].value, state.numbers[3].context) == ("–", "saving the model and its report")
    assert "at the end" not in state.numbers[2].context and state.pace_notice is None
    training_stage = next(stage for stage in state.stages if stage.title == "Training")
    assert (training_stage.state, training_stage.progress) == ("stopped", 0.4)


@pytest.mark.parametrize(
    ("place", "imported"), [("cloud", True), ("practice", True), ("cloud", False), ("computer", True)]
)
@pytest.mark.parametrize("reason", ["stopped-by-user", "trainer-failed"])
def test_a_rented_run_of_somebody_elses_is_planned_anew_and_never_carried_on(
    watched: Watched, verbs: Verbs, tmp_path: Path, place: str, imported: bool, reason: str
):
    (tmp_path / "owner.json").write_text(json.dumps({"install": "ours", "imported": imported}))
    page = RunViewModel(
        "hands-ab12", tmp_path, replace(PLAN, place=place), lambda: watched, verbs, InlineTasks(), Oracle, lambda: 200.0
    )
    status = "failed" if reason == "trainer-failed" else "stopped"
    watched.tell(*training(40), event("end", t=195, status=status, reason=reason, steps=40))
    page.open()
    state = page.state.value
    strangers = imported and place != "computer"
    if reason == "stopped-by-user":
        assert (state.may_resume, state.may_extend) == (not strangers, not strangers)
    assert state.may_plan_again
    assert state.ending is not None and ("“Duplicate and edit”" in state.ending.action) is strangers


def test_a_rented_run_tells_the_limits_that_were_agreed_to_here_by_now(watched: Watched, verbs: Verbs, tmp_path: Path):
    """Its curve of cost said that it stops at the plan's limit, whatever was agreed to since."""
    plan = replace(PLAN, place="cloud", limits=PlanLimits(hours=1.0, money_usd=5.0))
    believed.ask(tmp_path, {"verb": "limits", "hours": 3.0, "money_usd": 9.0})
    send(tmp_path, {"verb": "limits", "hours": 600.0, "money_usd": 90_000.0})  # as a machine may write it
    page = RunViewModel("hands-ab12", tmp_path, plan, lambda: watched, verbs, InlineTasks(), Oracle, lambda: 200.0)
    watched.tell(*training())
    page.open()
    facts = page.state.value.facts
    assert (facts.usd_limit, facts.hours_limit) == (9.0, 3.0)


@pytest.mark.parametrize(
    ("model", "may"), [("pretrained-lm", True), ("kerashub-backbone", True), ("small-cnn", True), ("gpt-nano", True)]
)
def test_another_training_is_offered_of_results_that_one_can_begin_from(
    page: RunViewModel, watched: Watched, tmp_path: Path, model: str, may: bool
):
    """Also of those that began from a folder, whose card says the network."""
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "model.keras").write_bytes(b"weights")
    watched.tell(*training(), event("end", t=195, status="finished", reason="completed", steps=100))
    page.open()
    plan = replace(PLAN, job=PLAN.job.with_values({"model.name": model}))
    assert replace(page.state.value, folder=tmp_path, plan=plan).may_begin_another is may
