"""The timeline of a run: its stages with what they took and what they are busy with. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tpu_studio.domain import figures
from tpu_studio.domain.run import RunView
from tpu_studio.viewmodels import runrented
from tpu_studio.viewmodels.runfacts import RunFacts
from tpu_studio.wire.phases import Phase, Status

STAGES: tuple[tuple[Phase, str], ...] = (
    (Phase.QUEUED, "Queued"),
    (Phase.SETTING_UP, "Setting up"),
    (Phase.COMPILING, "Compiling"),
    (Phase.TRAINING, "Training"),
    (Phase.SAVING, "Saving"),
)
RENTED_STAGES: tuple[tuple[Phase, str], ...] = (STAGES[0], (Phase.PROVISIONING, "Getting TPU"), *STAGES[1:])
DETAILS = {
    "waiting for its turn": "",
    "waiting-for-colab": "its result comes from Colab as a zip",
    "engine": "loading the engine",
    "data": "opening the data",
    "model": "building the model",
    "training step": "preparing the first step",
    "checkpoint": "a checkpoint",
    "result": "the model and its report",
    "claimed": "the machine reports",
    "proof": "proving that it can delete itself",
    "bundle": "fetching the job",
    "weights": "fetching the model that it begins from",
    "environment": "installing the training software",
    "starting the trainer": "starting the training program",
    "starting": "starting the machine",
}  # what a phase is busy with, as the trainer tells it, in words


@dataclass(frozen=True)
class Stage:
    title: str
    state: Literal["done", "current", "ahead", "failed", "stopped", "told"]
    progress: float
    caption: str
    weight: int = 1


def stages(facts: RunFacts, view: RunView, now: float) -> tuple[Stage, ...]:
    """The timeline: real durations under what is done, "about" under what is to come; training is wider."""
    last = max((phase.order for phase in view.spans), default=-1)
    reached = max((phase.order for phase in view.spans if phase is not Phase.SAVING), default=-1)  # saved at any end
    failed = view.end is not None and view.end.status is Status.FAILED
    carried = _only_carried_up(view)
    begun = [phase for phase in view.spans if not (carried and phase is Phase.SAVING)]
    begun_last = max(begun, key=lambda phase: view.spans[phase].start, default=None)
    told = []
    for phase, title in RENTED_STAGES if facts.rented else STAGES:
        span = view.spans.get(phase)
        weight = 3 if phase is Phase.TRAINING else 1
        if span is None:
            skipped = phase.order < (last if view.end is None or view.end.status is Status.FINISHED else reached)
            told.append(
                Stage(
                    title,
                    "done" if skipped else "ahead",
                    0.0,
                    "not needed" if skipped else "" if view.over else _coming(facts, phase),
                    weight,
                )
            )
            continue
        lasted = figures.duration(span.seconds(now))
        if not view.over and phase.order > view.phase.order:  # taken up again: it comes once more
            told.append(Stage(title, "ahead", 0.0, f"{lasted} so far", weight))
            continue
        current = view.phase is phase and not view.over
        if current and phase is Phase.TRAINING:
            left = view.time_left_s()
            total = None if left is None else span.seconds(now) + left
            caption = lasted if total is None else f"{lasted} of about {figures.duration(total)}"
            told.append(Stage(title, "current", view.progress, caption, weight))
        elif current:
            detail = detail_words(facts, view.detail)
            if facts.rented and phase is Phase.QUEUED:
                detail = runrented.upload_words(view) or f"{lasted} so far"
            detail += f", {fetched}" if (fetched := runrented.fetch_words(view)) else ""
            told.append(Stage(title, "current", 0.5, detail or lasted, weight))
        else:
            broke = failed and phase is begun_last
            # of an attempt before: carried on, it did not get as far again
            before = (failed or carried) and begun_last is not None and phase.order > begun_last.order
            if before and phase is not Phase.TRAINING:
                told.append(Stage(title, "ahead", 0.0, "" if carried and phase is Phase.SAVING else lasted, weight))
                continue
            ended = before or (view.end.status is Status.STOPPED if view.end is not None else view.stopping)
            early = view.over and phase is begun_last and phase.order < Phase.TRAINING.order  # it ended in this one
            if broke or (ended and (early or (phase is Phase.TRAINING and view.progress < 1.0))):
                progress = (view.progress or 1.0) if broke else 0.5 if early else view.progress
                told.append(Stage(title, "failed" if broke else "stopped", progress, lasted, weight))
            else:
                told.append(Stage(title, "done", 1.0, lasted, weight))
    if facts.rented:
        told.append(_cleaned(view))
    return tuple(told)


def _only_carried_up(view: RunView) -> bool:
    """Whether it ended before it saved a model: what there is of a rented run is carried to the bucket at any end."""
    if view.end is None or view.end.status is Status.FINISHED:
        return False
    saves = (one for one in reversed(view.happened) if one.kind == "phase" and one.facts.get("phase") == "saving")
    return next((one.facts.get("detail") == "upload" for one in saves), False)


def detail_words(facts: RunFacts, detail: str) -> str:
    """What a phase is busy with; this computer is no machine that starts."""
    return "" if detail == "starting" and not facts.rented else DETAILS.get(detail, detail)


def _cleaned(view: RunView) -> Stage:
    """The last stage of a rented run: done only when it is proved that nothing is left."""
    if not view.over:
        return Stage("Cleaned up", "ahead", 0.0, "about 1 min")
    if not view.settled or view.unproved:
        return Stage("Cleaning up", "current", 0.5, "giving the TPU back")
    gone = [item.t for item in view.happened if item.kind == "deleted"]
    return Stage("Cleaned up", "done", 1.0, f"verified at {figures.clock(max(gone))}" if gone else "nothing was rented")


def _coming(facts: RunFacts, phase: Phase) -> str:
    if phase is Phase.TRAINING and facts.training_s:
        return f"about {figures.duration(facts.training_s)}"
    return "about 5 s" if phase is Phase.SAVING else ""
