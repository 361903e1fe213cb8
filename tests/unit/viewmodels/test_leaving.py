"""Leaving a queue for another place: its place is kept until the other run starts, and what runs is left alone."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.tasks import LaterTasks
from tests.unit.viewmodels.test_plan import World
from tpu_studio.viewmodels.leaving import Leaving, leave
from tpu_studio.workflow.ports import RunSummary

WAITS = Leaving("digits-k3f7", "digits")


class Runs:
    def __init__(self, status: str) -> None:
        self.status = status
        self.stops: list[tuple[str, bool]] = []
        self.over: set[str] = set()

    def summary(self, run: str) -> RunSummary:
        return RunSummary(run, "digits", Path("/r"), 0.0, status=self.status, over=run in self.over)

    def stop(self, run: str, keep: bool = True) -> None:
        self.stops.append((run, keep))


def test_a_run_that_waits_gives_its_place_up():
    runs = Runs("queued")
    assert leave(runs, WAITS) == "left" and runs.stops == [("digits-k3f7", False)]


def test_a_run_whose_successor_ended_as_it_began_keeps_its_place():
    runs = Runs("queued")
    runs.over = {"other-1"}
    assert leave(runs, WAITS, "other-1") == "not-started" and runs.stops == []
    assert leave(runs, WAITS, "other-2") == "left"


def test_a_run_that_has_its_machine_meanwhile_is_left_alone():
    for status in ("provisioning", "training", "finished"):
        runs = Runs(status)
        assert leave(runs, WAITS) == "waits-no-more" and runs.stops == []


def test_when_the_place_is_lost_is_said_for_each_place():
    assert "until this one starts; then it is lost" in WAITS.words("computer")
    assert "until the notebook for Colab is written; then it is lost" in WAITS.words("colab")


def left(one: World) -> list[tuple[Leaving, str]]:
    told: list[tuple[Leaving, str]] = []
    one.model.left_queue = lambda leaving, gone: told.append((leaving, gone))
    one.model.leave_queue = lambda leaving, started: "left"
    return told


def test_the_queue_is_left_when_the_other_run_has_started_and_not_before():
    one = World()
    told = left(one)
    one.model.choose_data("digits", None)
    job = one.view.job
    one.model.open_draft(job, WAITS)
    assert one.view.leaving == WAITS and told == []
    one.model.start()
    assert one.started and told == [(WAITS, "left")] and one.view.leaving is None


def test_another_plan_lets_the_run_wait_on():
    one = World()
    told = left(one)
    one.model.choose_data("digits", None)
    one.model.open_draft(one.view.job, WAITS)
    one.model.new()
    assert one.view.leaving is None and told == []


def test_the_queue_can_be_left_at_once_by_its_own_button():
    one = World()
    told = left(one)
    one.model.choose_data("digits", None)
    one.model.open_draft(one.view.job, WAITS)
    one.model.give_up_queue()
    one.model.give_up_queue()
    assert told == [(WAITS, "left")] and one.view.leaving is None


def test_a_launch_that_is_refused_leaves_the_place_in_the_queue():
    one = World()
    told = left(one)
    one.model.choose_data("digits", None)
    one.model.open_draft(one.view.job, WAITS)
    tasks = LaterTasks()
    one.model._tasks = tasks
    one.model.start()
    _work, _done, failed, _handle = tasks.waiting.pop()
    failed(OSError("no"))
    assert told == [] and one.view.leaving == WAITS
