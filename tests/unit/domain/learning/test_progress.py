"""How far a chapter is: what was done stays done, and a run that is lost says so."""

from __future__ import annotations

import pytest

from tpu_studio.domain.learning.chapters import Chapter, Step
from tpu_studio.domain.learning.progress import DONE, STARTED, Deed, RunNow, current, progress

CHAPTER = Chapter(
    "c",
    0,
    "C",
    1,
    "It.",
    (),
    (),
    (
        Step("c/start", "Start", "", "started", act="plan"),
        Step("c/end", "End", "", "finished", about=("c/start",)),
        Step("c/back", "Back", "", "resumed", about=("c/start",)),
        Step("c/ask", "Ask", "", "asked", about=("c/start",)),
        Step("c/try", "Try", "", "tried", about=("c/start",)),
    ),
)
STARTED_IT = Deed("c/start", STARTED, "r1")
TRAINING, FINISHED = RunNow(), RunNow(over=True, finished=True)
FAILED, STOPPED = RunNow(over=True, failed=True), RunNow(over=True)


def states(deeds: list[Deed], runs: dict[str, RunNow] | None) -> list[str]:
    return [one.state for one in progress(CHAPTER, deeds, runs)]


def test_nothing_is_done_at_first_and_what_needs_a_run_waits_for_it() -> None:
    assert states([], {}) == ["ready", "ahead", "ahead", "ahead", "ahead"]


@pytest.mark.parametrize(
    ("run", "rest"),
    [
        (TRAINING, ["going", "going", "ready", "ahead"]),
        (FINISHED, ["done", "stopped", "ready", "ready"]),
        (RunNow(over=True, finished=True, resumed=True), ["done", "done", "ready", "ready"]),
        (FAILED, ["failed", "failed", "failed", "failed"]),
        (STOPPED, ["stopped", "stopped", "stopped", "stopped"]),
        (None, ["gone", "gone", "gone", "gone"]),
    ],
)
def test_steps_follow_their_run(run: RunNow | None, rest: list[str]) -> None:
    runs = {} if run is None else {"r1": run}
    assert states([STARTED_IT], runs) == ["done", *rest]


def test_while_the_list_of_runs_is_unknown_no_run_is_called_deleted() -> None:
    assert states([STARTED_IT], None) == ["done", "unknown", "unknown", "unknown", "unknown"]


def test_what_was_done_stays_done_when_its_run_is_deleted() -> None:
    assert states([STARTED_IT, Deed("c/end", DONE, "r1")], {}) == ["done", "done", "gone", "gone", "gone"]


def test_another_run_takes_the_place_of_one_that_is_lost() -> None:
    deeds = [STARTED_IT, Deed("c/start", STARTED, "r2")]
    assert states(deeds, {"r1": FAILED, "r2": FINISHED})[1] == "done"


def test_the_next_step_is_the_first_that_is_not_done() -> None:
    steps = progress(CHAPTER, [STARTED_IT], {"r1": TRAINING})
    assert (now := current(steps)) is not None and now.step.key == "c/end"
    every = [Deed(step.key, DONE) for step in CHAPTER.steps]
    assert current(progress(CHAPTER, every, {})) is None
