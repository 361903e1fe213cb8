"""The state of a run in a word, and its finding in a sentence. Pure."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import Sentence, say, say_reason
from tpu_studio.viewmodels import runrented
from tpu_studio.viewmodels.runfacts import RunFacts, Tone, last_metric
from tpu_studio.viewmodels.runrows import FROM_COLAB
from tpu_studio.wire import metrics, places, tasks
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.phases import Phase, Status
from tpu_studio.wire.reasons import Reason

CLOCK_OFF_S = 300.0


def pill(facts: RunFacts, view: RunView) -> tuple[str, Tone]:
    if view.end is not None:
        if facts.rented and not view.settled:
            return "Cleaning up", "accent"
        if view.end.status is Status.FINISHED:
            return "Finished", "ok"
        if view.end.status is Status.FAILED:
            return "Failed", "bad"
        by_user = view.end.reason in (Reason.STOPPED_BY_USER.value, Reason.DISCARDED.value)
        return ("Stopped by you", "neutral") if by_user else ("Stopped by a limit", "warn")
    if view.stopping:
        return "Stopping", "accent"
    if view.phase is Phase.TRAINING:
        return f"Training {figures.share(view.progress, 0)}", "accent"
    if facts.rented and view.phase is Phase.QUEUED:
        return runrented.queued_words(view), "accent"
    if places.by_id(facts.place).notebook and view.phase is Phase.QUEUED:
        return FROM_COLAB, "accent"
    words = {
        Phase.PLANNED: "Starting",
        Phase.QUEUED: "Waiting its turn",
        Phase.SETTING_UP: "Setting up",
        Phase.COMPILING: "Compiling",
        Phase.SAVING: "Saving",
        Phase.CLEANING_UP: "Cleaning up",
        Phase.PROVISIONING: "Getting TPU",
        Phase.DONE: "Done",
    }
    return words[view.phase], "accent"


def clock_off(cloud: float | None, here: float) -> Sentence | None:
    """That this computer's clock is off, when Google's says *cloud* (None: it was not reached)."""
    if cloud is None or abs(here - cloud) <= CLOCK_OFF_S:
        return None
    return say(StudioError("clock-off", seconds=here - cloud))


def finding(facts: RunFacts, view: RunView, now: float) -> str:
    """One sentence that tells the run, for the report and for screen readers."""
    task = tasks.by_id(facts.task)
    value = last_metric(view, task.metric)
    took = figures.duration(view.working_s(now))
    if view.end is not None and view.end.status is Status.FAILED:
        return say_reason(_reason(view), view.end.facts, place=facts.place, usd=view.usd).title
    if value is None:
        return f"{figures.count(view.step)} steps in {took}."
    verb = "It got" if view.over else "So far it gets"
    if task.has_classes:
        steps = figures.count(view.step)
        return f"{verb} {figures.share(value)} of unseen {facts.noun} right, after {steps} steps in {took}."
    if task.has_labels:
        return f"{verb} a macro F1 of {figures.figure(value)} on unseen {facts.noun} (1 is perfect) after {took}."
    if task.has_number:
        what = facts.target or "the target"
        error = last_metric(view, task.others[0])
        off = f" Typical error ±{figures.figure(error)}, in the unit of {what}." if error is not None else ""
        r2 = f"R² {figures.figure(value)} on unseen rows after {took}"
        if value < 0:
            return f"{r2}: worse than always saying the mean of {what}.{off}"
        return f"{r2}: it explains {figures.share(value)} of the differences in {what}.{off}"
    between = figures.figure(metrics.perplexity(value), 2)
    return f"Validation perplexity {between}: it hesitates between about {between} next {facts.token}s, after {took}."


def _reason(view: RunView) -> Reason:
    try:
        return Reason(view.end.reason) if view.end else Reason.TRAINER_FAILED
    except ValueError:
        return Reason.TRAINER_FAILED
