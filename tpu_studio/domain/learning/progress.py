"""How far a person is in a chapter: a fold over deeds, which are kept, and over the runs as they stand now. Pure.

A step that was done once stays done, whatever becomes of its run; one that is not, and whose run failed or was deleted,
says so, for there is nothing left to do it with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tpu_studio.domain.learning.chapters import ON_PLAN, Chapter, Step

State = Literal["done", "ready", "ahead", "going", "failed", "stopped", "gone", "unknown"]
STARTED, DONE = "started", "done"


@dataclass(frozen=True)
class Deed:
    """Something that happened: for the step *key* a run was ``started``, or it was ``done``; *at*: s since 1970."""

    key: str
    kind: str
    run: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class RunNow:
    """A run as it stands: *finished* as it should, *resumed* after an attempt that was ended."""

    over: bool = False
    finished: bool = False
    failed: bool = False
    resumed: bool = False


Runs = Mapping[str, RunNow]


@dataclass(frozen=True)
class StepNow:
    """*runs*: those that the step is about, or that it started. *lost*: the step whose run is of no use any more."""

    step: Step
    state: State
    runs: tuple[str, ...] = ()
    lost: str = ""


def progress(chapter: Chapter, deeds: Iterable[Deed], runs: Runs | None) -> tuple[StepNow, ...]:
    """Each step as it stands. *runs* is None until their list is known: then nobody says that one is gone."""
    started: dict[str, str] = {}
    done: set[str] = set()
    for deed in deeds:
        if deed.kind == STARTED:
            started[deed.key] = deed.run
        elif deed.kind == DONE:
            done.add(deed.key)
    return tuple(_step_now(step, started, done, runs) for step in chapter.steps)


def current(steps: Iterable[StepNow]) -> StepNow | None:
    """The step to do next; None when all are done."""
    return next((one for one in steps if one.state != "done"), None)


def _step_now(step: Step, started: Mapping[str, str], done: set[str], runs: Runs | None) -> StepNow:
    if step.when in ON_PLAN:
        return StepNow(step, "done" if step.key in done else "ready" if set(step.about) <= done else "ahead")
    if not step.about:
        own = (started[step.key],) if step.key in started else ()
        return StepNow(step, "done" if step.key in done or own else "ready", own)
    about = tuple(started[key] for key in step.about if key in started)
    if step.key in done:
        return StepNow(step, "done", about)
    if len(about) < len(step.about):
        return StepNow(step, "ahead", about)
    if runs is None:
        return StepNow(step, "unknown", about)
    states = {key: _of_run(step, runs.get(started[key])) for key in step.about}
    worst = min(states, key=lambda key: _WORST.index(states[key]))
    return StepNow(step, states[worst], about, worst if states[worst] in LOST else "")


LOST = ("gone", "failed", "stopped")
_WORST: tuple[State, ...] = ("gone", "failed", "stopped", "ahead", "going", "ready", "done")


def _of_run(step: Step, run: RunNow | None) -> State:
    if run is None:
        return "gone"
    if step.when == "resumed":
        return "done" if run.resumed else _ended(run) or "going"
    if bad := _ended(run):
        return bad if not run.finished else "done" if step.when == "finished" else "ready"
    return {"finished": "going", "asked": "ready"}.get(step.when, "ahead")  # type: ignore[return-value]


def _ended(run: RunNow) -> State | None:
    """How it ended where it did not finish; ``stopped`` also where it finished without what was waited for."""
    if not run.over:
        return None
    return "failed" if run.failed else "stopped"
