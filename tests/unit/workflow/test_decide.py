"""What may be done with a run, decided from what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import JobError, RunError
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow import decide
from tpu_studio.workflow.decide import DeclareLost, NewAttempt, Seen, SendControl

RUNNING = Seen(
    "a-aaaa",
    attempt=1,
    alive=True,
    has_checkpoint=True,
    used_s=1800,
    limit_hours=1.0,
    plan_hours=1.0,
    plan_steps=100,
    steps_per_epoch=10.0,
)
ENDED = replace(RUNNING, alive=False, over=True, reason="completed")
LOST = replace(RUNNING, alive=False)


def refusal(call: object, *arguments: object, **more: object) -> str:
    with pytest.raises(RunError) as caught:
        call(*arguments, **more)  # type: ignore[operator]
    return caught.value.id


def test_stop_names_the_attempt_it_is_meant_for() -> None:
    assert decide.stop(RUNNING, keep=False) == SendControl({"verb": "stop", "keep": False, "attempt": 1})
    assert decide.stop(LOST, keep=True) == DeclareLost(1, Reason.GUARDIAN_GONE)
    assert refusal(decide.stop, ENDED, keep=True) == "run-is-over"


def test_an_extension_of_a_running_run_raises_its_time_limit_with_the_work() -> None:
    limits, extend = decide.extend(RUNNING, 5)  # type: ignore[misc]  # 50 of 100 steps: half the plan's hour more
    assert limits.record == {"verb": "limits", "hours": 1.5}
    assert extend.record == {"verb": "extend", "epochs": 5}


def test_an_extension_after_the_end_is_the_next_attempt() -> None:
    action = decide.extend(ENDED, 5)
    assert isinstance(action, NewAttempt)
    assert action.attempt == 2
    assert [control["verb"] for control in action.controls] == ["limits", "extend"]
    assert refusal(decide.extend, replace(ENDED, has_checkpoint=False), 5) == "no-checkpoint"
    assert refusal(decide.extend, ENDED, 0) == "extend-by-nothing"


def test_where_only_limits_are_given_only_they_change() -> None:
    (only,) = decide.extend(RUNNING, None, hours=2.0, money_usd=5.0)  # type: ignore[misc]
    assert only == SendControl({"verb": "limits", "hours": 2.0, "money_usd": 5.0})
    assert refusal(decide.extend, ENDED, None, hours=2.0) == "limits-of-an-ended-run"
    assert refusal(decide.extend, LOST, None, money_usd=5.0) == "limits-of-an-ended-run"
    assert refusal(decide.extend, RUNNING, None) == "extend-by-nothing"
    assert refusal(decide.extend, RUNNING, None, hours=0.4) == "time-spent"  # half an hour is used


def test_money_never_grows_by_itself() -> None:
    broke = replace(ENDED, usd=2.0, limit_usd=2.0, reason="money-limit")
    assert refusal(decide.extend, broke, 5) == "money-spent"
    assert refusal(decide.resume, broke) == "money-spent"
    action = decide.resume(broke, money_usd=3.0)
    assert action.controls == ({"verb": "limits", "money_usd": 3.0},)


def test_a_limit_below_what_is_used_already_is_refused_and_ends_no_run_that_trains() -> None:
    costly = replace(RUNNING, usd=0.08, limit_usd=0.42, rented=True)
    assert refusal(decide.extend, costly, 1, money_usd=0.01) == "money-spent"
    assert refusal(decide.extend, costly, 1, hours=0.1) == "time-spent"
    assert refusal(decide.resume, replace(LOST, over=True, reason="time-limit"), hours=0.5) == "time-spent"
    assert decide.extend(costly, 1, money_usd=0.09, hours=0.6)


def test_a_limit_just_above_what_is_used_is_refused_with_the_least_that_trains() -> None:
    """$12 an hour: a minute costs 20 cents, and the 130 s in which a machine starts 43 cents and a third."""
    trains = replace(RUNNING, usd=0.08, limit_usd=0.42, rented=True, usd_per_hour=12.0, start_s=130.0)
    with pytest.raises(RunError) as told:
        decide.extend(trains, 1, money_usd=0.09)
    assert (told.value.id, told.value.facts["least_usd"]) == ("money-too-little", 0.28)
    assert "$0.28 at least" in say(told.value).action
    assert decide.extend(trains, 1, money_usd=0.28)

    over = replace(trains, alive=False, over=True, reason="stopped-by-user")
    for again in (lambda usd: decide.resume(over, money_usd=usd), lambda usd: decide.extend(over, 1, money_usd=usd)):
        with pytest.raises(RunError) as told:
            again(0.71)
        assert (told.value.id, told.value.facts["least_usd"]) == ("money-too-little", 0.72)
        assert isinstance(again(0.72), NewAttempt)
    with pytest.raises(RunError) as told:
        decide.resume(over, hours=0.51, money_usd=2.0)
    assert (told.value.id, told.value.facts["least_hours"]) == ("time-too-little", 0.56)
    assert isinstance(decide.resume(over, hours=0.56, money_usd=2.0), NewAttempt)
    spent = replace(over, usd=0.42)
    assert "$1.06 at least" in say(refused(lambda: decide.resume(spent))).action


def refused(call: Callable[[], object]) -> RunError:
    with pytest.raises(RunError) as told:
        call()
    return told.value


def test_a_run_that_reached_its_time_limit_is_granted_the_hours_of_the_plan_again() -> None:
    timed_out = replace(ENDED, reason="time-limit", used_s=3600)
    assert decide.resume(timed_out).controls == ({"verb": "limits", "hours": 2.0},)


def test_resume_is_for_runs_that_are_over_or_lost_but_not_complete() -> None:
    assert decide.resume(LOST) == NewAttempt(2)
    assert decide.resume(replace(ENDED, reason="stopped-by-user")) == NewAttempt(2)
    assert refusal(decide.resume, RUNNING) == "run-goes-on"
    assert refusal(decide.resume, ENDED) == "run-complete"
    assert refusal(decide.resume, replace(LOST, elsewhere=True)) == "run-elsewhere"


def test_only_a_run_that_nobody_guards_and_that_never_ended_is_lost() -> None:
    assert decide.lost(LOST) == DeclareLost(1, Reason.GUARDIAN_GONE)
    assert decide.lost(replace(LOST, attempt=0)) == DeclareLost(0, Reason.START_FAILED)
    assert decide.lost(RUNNING) is None
    assert decide.lost(ENDED) is None
    assert decide.lost(replace(LOST, elsewhere=True)) is None


@pytest.mark.parametrize(
    "more", [{"hours": -1.0}, {"hours": float("nan")}, {"hours": 1e9}, {"money_usd": float("inf")}]
)
def test_limits_that_no_job_could_have_are_refused(more: dict[str, float]) -> None:
    for call in (
        lambda: decide.extend(RUNNING, 5, **more),
        lambda: decide.extend(ENDED, 5, **more),
        lambda: decide.resume(replace(ENDED, reason="stopped-by-user"), **more),
    ):
        with pytest.raises(JobError):
            call()


@pytest.mark.parametrize("epochs", [float("inf"), 1e300, 100_001.0])
def test_an_extension_beyond_all_measure_is_refused(epochs: float) -> None:
    """A trainer that takes one up ends with an error, and so does every attempt after it."""
    for seen in (RUNNING, ENDED):
        with pytest.raises(JobError):
            decide.extend(seen, epochs)


def test_a_profile_is_made_of_a_run_that_trains_one_at_a_time() -> None:
    trains = RunView(phase=Phase.TRAINING, step=5)
    assert decide.profile(RUNNING, trains) == SendControl({"verb": "profile", "attempt": 1})
    assert refusal(decide.profile, ENDED, trains) == "run-is-over"
    assert refusal(decide.profile, LOST, trains) == "run-is-over"
    assert refusal(decide.profile, replace(RUNNING, elsewhere=True), trains) == "run-elsewhere"
    assert refusal(decide.profile, RUNNING, replace(trains, profiling=True)) == "profile-under-way"
    assert refusal(decide.profile, RUNNING, replace(trains, stopping=True)) == "profile-stopping"
    assert refusal(decide.profile, RUNNING, replace(trains, phase=Phase.SAVING)) == "profile-stopping"
    for phase in (Phase.QUEUED, Phase.SETTING_UP, Phase.COMPILING):
        assert refusal(decide.profile, RUNNING, replace(trains, phase=phase)) == "profile-not-training"
