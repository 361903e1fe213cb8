"""How an attempt ended, from what was said, how it died and what it had been told."""

from __future__ import annotations

import signal

import pytest

from tpu_studio.trainer.guardian.ending import Death, ending, may_restart
from tpu_studio.wire.reasons import Reason

DONE = {"status": "finished", "reason": "completed", "steps": 100, "final": {"loss": 0.1}, "facts": {}}
STOPPED = {**DONE, "status": "stopped", "reason": "stopped-by-user", "steps": 40}
KILLED = Death(-signal.SIGKILL)


def test_what_the_trainer_says_is_the_end() -> None:
    end = ending(DONE, Death(0), asked=None)
    assert (end.status, end.reason, end.steps, end.final) == ("finished", "completed", 100, {"loss": 0.1})


@pytest.mark.parametrize("limit", [Reason.TIME_LIMIT, Reason.MONEY_LIMIT, Reason.DISK_FULL, Reason.TRAINER_STUCK])
def test_a_stop_that_the_guardian_asked_for_carries_its_reason(limit: Reason) -> None:
    assert ending(STOPPED, Death(0), asked=limit).reason == limit.value
    assert ending(STOPPED, Death(0), asked=limit).status == limit.status.value


def test_a_run_that_was_done_before_the_stop_arrived_is_done() -> None:
    assert ending(DONE, Death(0), asked=Reason.MONEY_LIMIT).reason == "completed"


def test_a_reason_of_a_newer_trainer_is_kept_with_the_status_it_says() -> None:
    end = ending({**DONE, "reason": "grew-wings", "status": "stopped"}, Death(0), asked=None)
    assert (end.status, end.reason) == ("stopped", "grew-wings")


@pytest.mark.parametrize(
    ("death", "reason"),
    [
        (KILLED, "trainer-killed"),
        (Death(-signal.SIGSEGV), "trainer-killed"),
        (Death(-signal.SIGKILL, out_of_memory=True), "out-of-memory"),
        (Death(1, ["Traceback", "MemoryError"]), "out-of-memory"),
        (Death(-signal.SIGABRT, ["terminate called", "  what():  std::bad_alloc"]), "out-of-memory"),
        (Death(1, ["OSError: [Errno 28] No space left on device"]), "disk-full"),
        (Death(1, ["RuntimeError: what"]), "trainer-failed"),
        (Death(0), "trainer-failed"),
    ],
)
def test_a_trainer_that_says_nothing_is_judged_by_its_death(death: Death, reason: str) -> None:
    end = ending(None, death, asked=None, steps=7)
    assert (end.status, end.reason, end.steps) == ("failed", reason, 7)


def test_the_last_words_are_told_without_a_key() -> None:
    end = ending(None, Death(1, ["huggingface_hub: 401", "for hf_" + "a1B2" * 9]), asked=None)
    assert end.fields()["facts"]["raw"] == "huggingface_hub: 401\nfor …"


def test_a_silent_death_after_a_stop_is_still_that_stop_and_says_how() -> None:
    end = ending(None, Death(-signal.SIGKILL, killed_by_us=True), asked=Reason.STOPPED_BY_USER, steps=3)
    assert (end.status, end.reason) == ("stopped", "stopped-by-user")
    assert (end.facts["killed"], end.facts["signal"]) == (True, "SIGKILL")


def test_a_result_that_was_not_written_in_the_time_left_is_no_failure_of_the_training() -> None:
    cut = {**DONE, "status": "failed", "reason": "trainer-failed", "facts": {"error": "savedmodel-failed", "code": -15}}
    end = ending(cut, Death(1, killed_by_us=True), asked=Reason.TIME_LIMIT)
    assert (end.status, end.reason, end.facts["killed"]) == ("stopped", "time-limit", True)
    assert ending(cut, Death(1), asked=Reason.TIME_LIMIT).reason == "trainer-failed"


def test_bad_luck_is_tried_again_twice_and_only_after_progress() -> None:
    assert may_restart(KILLED, asked=None, restarts=0, saved_since_start=True)
    assert may_restart(KILLED, asked=None, restarts=1, saved_since_start=True)
    assert not may_restart(KILLED, asked=None, restarts=2, saved_since_start=True)
    assert not may_restart(KILLED, asked=None, restarts=0, saved_since_start=False)
    assert not may_restart(KILLED, asked=Reason.STOPPED_BY_USER, restarts=0, saved_since_start=True)
    assert not may_restart(Death(-9, out_of_memory=True), asked=None, restarts=0, saved_since_start=True)
    assert not may_restart(Death(1), asked=None, restarts=0, saved_since_start=True)


def test_a_trainer_whose_runtime_lost_another_worker_is_not_started_again() -> None:
    said = "F0000 client.h:75] Terminating process because the JAX distributed service detected fatal errors."
    death = Death(-signal.SIGABRT, [said, "*** Check failure stack trace: ***"])
    assert ending(None, death, asked=None).reason == "worker-lost"
    assert not may_restart(death, asked=None, restarts=0, saved_since_start=True)
