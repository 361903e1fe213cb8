"""What the Run page says: the timeline, the four numbers, the finding and the list of what happened, in words.

Pure functions of a `RunView` and the facts of its plan; ``viewmodels.run`` holds the state they are asked with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tpu_studio.domain import figures
from tpu_studio.domain.run import Happened, RunView
from tpu_studio.domain.sentences import say_notice, say_reason
from tpu_studio.domain.sentences.colab import WAITING
from tpu_studio.viewmodels import runrented
from tpu_studio.viewmodels.planwhere import title_of
from tpu_studio.viewmodels.runrows import FROM_COLAB
from tpu_studio.wire import models
from tpu_studio.wire.phases import Phase, Status
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason

Tone = Literal["neutral", "accent", "ok", "warn", "bad"]

STAGES: tuple[tuple[Phase, str], ...] = (
    (Phase.QUEUED, "Queued"),
    (Phase.SETTING_UP, "Setting up"),
    (Phase.COMPILING, "Compiling"),
    (Phase.TRAINING, "Training"),
    (Phase.SAVING, "Saving"),
)
RENTED_STAGES: tuple[tuple[Phase, str], ...] = (STAGES[0], (Phase.PROVISIONING, "Getting TPU"), *STAGES[1:])


_DETAILS = {
    "waiting-for-colab": "its result comes from Colab as a zip",
    "engine": "loading the engine",
    "data": "opening the data",
    "model": "building the model",
    "training step": "preparing the first step",
    "checkpoint": "a copy to carry on from",
    "result": "the model and its report",
    "claimed": "the machine reports",
    "proof": "proving that it can delete itself",
    "bundle": "fetching the job",
    "environment": "installing the training software",
    "starting the trainer": "starting the training program",
    "starting": "starting the machine",
}  # what a phase is busy with, as the trainer tells it, in words


@dataclass(frozen=True)
class RunFacts:
    """What the page needs of a run's plan: fixed for the life of the run."""

    name: str
    subtitle: str
    noun: str
    task: str
    place: str
    steps: int
    steps_per_epoch: float
    batch: int
    usd_limit: float | None
    hours_limit: float | None
    usd_per_hour: float | None
    expected_s: float | None
    classes: tuple[str, ...] = ()
    columns: tuple[Mapping[str, Any], ...] = ()
    target: str = ""
    kind: str = ""
    setup_s: float | None = None

    @property
    def rented(self) -> bool:
        return runrented.is_rented(self.place)

    @property
    def practice(self) -> bool:
        return self.place == "practice"

    @property
    def token(self) -> str:
        return "character"


def facts_of(plan: Plan) -> RunFacts:
    job, look = plan.job, plan.data
    model = models.BY_NAME[job.model].title if job.model in models.BY_NAME else "Your own model"
    kind = str(job["data.kind"])
    source = str(job["data.path"] or "handwritten digits").rstrip("/").rsplit("/", 1)[-1]
    framework = "TensorFlow" if plan.framework == "tensorflow" else plan.framework.upper()
    where = f"this computer, {framework}"
    if runrented.is_rented(plan.place):
        cloud = "Practice cloud" if plan.place == "practice" else "Cloud TPU"
        where = f"{cloud}, {title_of(plan.accelerator)}, {' or '.join(str(z) for z in plan.job['where.zones'] or ())}"
    subtitle = f"{model} · {source} · {where}"
    classes = tuple(str(row[0]) for row in look.get("classes", ()) or ())
    return RunFacts(
        name=job.name,
        subtitle=subtitle,
        noun=figures.noun(kind),
        task=plan.task,
        place=plan.place,
        steps=plan.steps,
        steps_per_epoch=plan.steps_per_epoch,
        batch=int(job["training.global_batch"]) if not job.is_auto("training.global_batch") else 0,
        usd_limit=plan.limits.get("money_usd"),
        hours_limit=plan.limits.get("hours"),
        usd_per_hour=(plan.price or {}).get("usd_per_hour"),
        expected_s=plan.time_s.expected if plan.time_s else None,
        classes=classes,
        columns=tuple(look.get("columns", ()) or ()),
        target=str(look.get("target") or job["data.target"] or ""),
        kind=kind,
    )


@dataclass(frozen=True)
class Stage:
    title: str
    state: Literal["done", "current", "ahead", "failed", "stopped"]
    progress: float
    caption: str
    weight: int = 1


def stages(facts: RunFacts, view: RunView, now: float) -> tuple[Stage, ...]:
    """The timeline: real durations under what is done, "about" under what is to come; training is wider."""
    last = max((phase.order for phase in view.spans), default=-1)
    told = []
    for phase, title in RENTED_STAGES if facts.rented else STAGES:
        span = view.spans.get(phase)
        weight = 3 if phase is Phase.TRAINING else 1
        if span is None:
            skipped = phase.order < last
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
            detail = _DETAILS.get(view.detail, view.detail)
            if facts.rented and phase is Phase.QUEUED:
                detail = runrented.upload_words(view) or f"{lasted} so far"
            told.append(Stage(title, "current", 0.5, detail or lasted, weight))
        else:
            broke = view.end is not None and view.end.status is Status.FAILED and phase.order == last
            stopped = view.end is not None and view.end.status is Status.STOPPED and phase is Phase.TRAINING
            if broke or (stopped and view.progress < 1.0):
                progress = (view.progress or 1.0) if broke else view.progress
                told.append(Stage(title, "failed" if broke else "stopped", progress, lasted, weight))
            else:
                told.append(Stage(title, "done", 1.0, lasted, weight))
    if facts.rented:
        told.append(_cleaned(view))
    return tuple(told)


def _cleaned(view: RunView) -> Stage:
    """The last stage of a rented run: done only when it is proved that nothing is left."""
    if not view.over:
        return Stage("Cleaned up", "ahead", 0.0, "about 1 min")
    if not view.settled or view.unproved:
        return Stage("Cleaning up", "current", 0.5, "giving the TPU back")
    gone = [item.t for item in view.happened if item.kind == "deleted"]
    return Stage("Cleaned up", "done", 1.0, f"proved at {figures.clock(max(gone))}" if gone else "nothing was rented")


def _coming(facts: RunFacts, phase: Phase) -> str:
    if phase is Phase.TRAINING and facts.expected_s:
        return f"about {figures.duration(facts.expected_s)}"
    return "about 5 s" if phase is Phase.SAVING else ""


def extension_s(facts: RunFacts, view: RunView, steps: int) -> float | None:
    """How long *steps* more may take: training with its checks on unseen data and, once over, starting anew."""
    training = view.spans.get(Phase.TRAINING)
    if training is None or not view.step or (training.end is None and not view.over):
        pace = view.steps_per_s
        return steps / pace if pace else None
    around = sum(
        view.spans[phase].seconds(0.0)
        for phase in (Phase.SETTING_UP, Phase.COMPILING, Phase.SAVING)
        if phase in view.spans
    )
    return steps * training.seconds(0.0) / view.step + around / max(view.attempt, 1)


@dataclass(frozen=True)
class Number:
    """One of the four numbers: label, the number itself, its unit beside it, one line of context with an icon."""

    label: str
    value: str
    unit: str
    context: str
    icon: str
    tone: Tone = "neutral"
    share: float | None = None


def numbers(facts: RunFacts, view: RunView, now: float) -> tuple[Number, ...]:
    return (
        _loss(view),
        _speed(facts, view),
        _cost(facts, view, now) if facts.usd_per_hour or facts.rented else _quality(facts, view),
        _time(facts, view, now),
    )


def _yet(view: RunView, when: str) -> str:
    return "it ended before" if view.over else when


def _loss(view: RunView) -> Number:
    value = view.last.get("loss")
    if value is None:
        return Number("Loss", "–", "", _yet(view, "appears with the first step"), "trending-down")
    if not math.isfinite(value):
        return Number("Loss", figures.figure(value), "", "the numbers have run away", "triangle-alert", "bad")
    before = view.loss_before(math.inf if view.over else 600.0)
    if before is None or before[0] < 10:
        return Number("Loss", figures.figure(value), "", f"after {figures.count(view.step)} steps", "trending-down")
    icon = "trending-down" if value <= before[1] else "trending-up"
    then = "at the start" if view.over else f"{figures.duration(before[0])} ago"
    return Number("Loss", figures.figure(value), "", f"was {figures.figure(before[1])} {then}", icon)


def _speed(facts: RunFacts, view: RunView) -> Number:
    rate = view.examples_per_s
    label = "Speed" if not view.over else "Speed on average"
    if rate is None:
        return Number(label, "–", f"{facts.noun}/s", _yet(view, "measured after the first steps"), "gauge")
    waiting = view.waiting_share
    if waiting is not None and waiting >= 0.15 and not view.over:
        return Number(
            label,
            figures.figure(rate),
            f"{facts.noun}/s",
            f"waits for data {figures.share(waiting)} of the time",
            "hourglass",
            "warn",
        )
    pace = view.steps_per_s
    return Number(
        label,
        figures.figure(rate),
        f"{facts.noun}/s",
        f"{figures.figure(pace)} steps a second" if pace else "steady",
        "gauge",
    )


def main_metric(facts: RunFacts) -> tuple[str, str]:
    """The metric on unseen data that people look at, and its plain name."""
    if facts.task == "regression":
        return "val_r2", "Explained (R²)"
    if facts.task == "language-model":
        return "val_nats_per_token", "Unsure between"
    return "val_accuracy", "Right on unseen"


def _quality(facts: RunFacts, view: RunView) -> Number:
    name, label = main_metric(facts)
    value = view.last.get(name)
    if value is None:
        return Number(label, "–", "", _yet(view, "after the first check on unseen data"), "award")
    best = view.best.get(name)
    if facts.task == "language-model":
        return Number(
            label, figures.figure(math.exp(min(value, 50))), "characters", "perplexity; less is better", "award"
        )
    context = f"best {figures.metric(name, best[0])} at step {figures.count(best[1])}" if best else "on unseen data"
    return Number(label, figures.metric(name, value), "", context, "award")


def _cost(facts: RunFacts, view: RunView, now: float) -> Number:
    rate = view.usd_per_hour or facts.usd_per_hour or 0.0
    limit = facts.usd_limit
    unit = f"of {figures.money(limit)}" if limit else ""
    real = facts.place == "cloud"
    if not facts.rented:
        running = not view.over and view.usd_at > 0
        usd = view.usd + (max(0.0, now - view.usd_at) * rate / 3600 if running else 0.0)
    else:
        usd, running = view.usd_now(now), not view.over and bool(view.unproved) and view.usd_at > 0
    label = ("Cost" if view.settled else "Cost so far") if real else "Would have cost"
    if facts.rented and not rate:
        return Number(label, "–", unit, "the price is not known", "circle-dollar-sign")
    left = view.time_left_s()
    context = "nothing was charged" if facts.rented else "a rehearsal: nothing is charged"
    if left is not None and running:
        would = "" if real else "would be "
        context = f"{would}about {figures.money(usd + left * rate / 3600)} at the end"
    elif facts.rented and not view.over:
        charged = view.usd_at > 0
        context = f"{figures.money(rate)} an hour" if charged else "free while it waits"
    elif facts.rented and usd and not view.settled:
        context = "until the TPU is proved gone"
    elif facts.rented and usd:
        context = "up to the proof that it is gone" if real else "nothing was charged"
    share = min(1.0, usd / limit) if limit else None
    return Number(label, figures.money(usd), unit, context, "circle-dollar-sign", share=share)


def _time(facts: RunFacts, view: RunView, now: float) -> Number:
    if view.over:
        return Number(
            "Time",
            *_split(figures.duration(view.seconds(now))),
            f"ended at {figures.clock(view.end.t) if view.end else ''}",
            "clock",
        )
    left = view.time_left_s()
    if left is None:
        return Number("Time left", "–", "", "known after the first steps", "clock")
    forecast = view.forecast_usd() if facts.rented else None
    if forecast is not None and facts.usd_limit and forecast > facts.usd_limit:
        told = f"the limit of {figures.money(facts.usd_limit)} comes first"
        return Number("Time left", *_split(figures.duration(left)), told, "clock", "warn")
    hours = None if facts.rented else facts.hours_limit
    if hours and view.started_t and now + left > view.started_t + hours * 3600:
        return Number(
            "Time left",
            *_split(figures.duration(left)),
            f"the limit of {figures.duration(hours * 3600)} comes first",
            "clock",
            "warn",
        )
    return Number(
        "Time left", *_split(figures.duration(left)), f"finishes at about {figures.clock(now + left)}", "clock"
    )


def _split(text: str) -> tuple[str, str]:
    """ "12 min" → ("12", "min"): the number large, its unit small; mixed times stay whole."""
    parts = text.split(" ")
    return (parts[0], parts[1]) if len(parts) == 2 else (text, "")


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
    if facts.place == "colab" and view.phase is Phase.QUEUED:
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


def finding(facts: RunFacts, view: RunView, now: float) -> str:
    """One sentence that tells the run, for the report and for screen readers."""
    name, _ = main_metric(facts)
    value = (view.end.final.get(name) if view.end else None) or view.last.get(name)
    took = figures.duration(view.seconds(now))
    if view.end is not None and view.end.status is Status.FAILED:
        return say_reason(_reason(view), view.end.facts, place=facts.place, usd=view.usd).title
    if value is None:
        return f"{figures.count(view.step)} steps in {took}."
    verb = "It got" if view.over else "So far it gets"
    if facts.task == "classification":
        steps = figures.count(view.step)
        return f"{verb} {figures.share(value)} of unseen {facts.noun} right, after {steps} steps in {took}."
    if facts.task == "regression":
        what = facts.target or "the target"
        return f"It explains {figures.share(value)} of the differences in {what} on unseen rows, in {took}."
    between = figures.figure(math.exp(min(value, 50)), 2)
    return f"Reading unseen text it is unsure between about {between} next characters, in {took}."


MOST_LINES = 40


def _reason(view: RunView) -> Reason:
    try:
        return Reason(view.end.reason) if view.end else Reason.TRAINER_FAILED
    except ValueError:
        return Reason.TRAINER_FAILED


@dataclass(frozen=True)
class Line:
    """One line of "what happened"."""

    t: float
    icon: str
    text: str
    tone: Tone = "neutral"
    more: str = ""


def what_happened(facts: RunFacts, view: RunView, most: int = MOST_LINES) -> tuple[Line, ...]:
    """The *most* newest lines, newest first."""
    told: list[Line] = []
    copied = False  # of copies that follow one another the newest is told
    for item in reversed(view.happened):
        if len(told) == most:
            break
        line = _line(facts, item, view.usd)
        if line is None or (copied and item.kind == "checkpoint"):
            continue
        if item.kind != "best":
            copied = item.kind == "checkpoint"
        told.append(line)
    return tuple(told)


_PHASE_LINES = {
    "queued": ("clock", "Waiting its turn"),
    "provisioning": ("cloud", "Getting the TPU"),
    "cleaning-up": ("refresh-cw", "Giving the TPU back"),
    "setting-up": ("cpu", "Setting up"),
    "compiling": ("cpu", "Compiling the model"),
    "training": ("play", "Training"),
    "saving": ("save", "Saving the model"),
    "done": ("circle-check", "Done"),
}


_END_MARKS: dict[str, tuple[str, Tone]] = {"finished": ("circle-check", "ok"), "stopped": ("square", "neutral")}


def _line(facts: RunFacts, item: Happened, view_usd: float) -> Line | None:
    told = item.facts
    match item.kind:
        case "phase":
            icon, text = _PHASE_LINES.get(str(told.get("phase")), ("info", str(told.get("phase"))))
            detail = str(told.get("detail") or "")
            if facts.rented and told.get("phase") == "queued":
                return Line(item.t, "clock", runrented.QUEUED.get(detail, "Asking for a TPU"))
            if detail == "waiting-for-colab":
                return Line(item.t, "clock", WAITING)
            detail = _DETAILS.get(detail, detail)
            return Line(item.t, icon, f"{text}: {detail}" if detail else text)
        case "first-step":
            return Line(item.t, "play", "First training step", "accent")
        case "best":
            name = str(told["metric"])
            if name != main_metric(facts)[0]:
                return None
            what = {"val_r2": "New best on unseen rows", "val_nats_per_token": "New best on unseen text"}.get(
                name, f"New best on unseen {facts.noun}"
            )
            return Line(item.t, "trending-up", f"{what}: {figures.metric(name, told['value'])}", "ok")
        case "checkpoint":
            return Line(item.t, "save", f"Saved a copy of the model (step {figures.count(told['step'])})", "ok")
        case "resume":
            step = told["step"]
            return Line(
                item.t,
                "rotate-cw",
                f"Carried on from the copy at step {figures.count(step)}"
                if step
                else "Started again from the beginning",
                "accent",
            )
        case "extended":
            return Line(item.t, "plus", f"Extended to {figures.count(told['steps'])} steps", "accent")
        case "asked":
            return Line(item.t, "cloud", f"Asked for a TPU in {told.get('zone')}")
        case "attempt-over":
            why = "Google took the TPU back" if told.get("reason") == "preempted" else "The TPU was lost"
            return Line(item.t, "rotate-cw", f"{why}; the run goes on with the next one", "warn")
        case "deleted":
            return Line(item.t, "circle-check", "The TPU is deleted, and that is proved", "ok", str(told.get("name")))
        case "control":
            return Line(item.t, "square", "You asked it to stop") if told.get("verb") == "stop" else None
        case "notice":
            sentence = say_notice(str(told.get("id")), told)
            tone: Tone = (
                "bad" if told.get("level") == "error" else "warn" if told.get("level") == "warning" else "neutral"
            )
            icon = "hourglass" if told.get("id") == "input-bound" else "triangle-alert" if tone != "neutral" else "info"
            return Line(item.t, icon, sentence.title, tone, f"{sentence.meaning} {sentence.action}".strip())
        case "end":
            try:
                reason = Reason(str(told.get("reason")))
                sentence = say_reason(reason, {}, place=facts.place, usd=view_usd)
            except ValueError:
                return Line(item.t, "square", f"Ended: {told.get('reason')}")
            icon, tone = _END_MARKS.get(str(told.get("status")), ("circle-x", "bad"))
            return Line(item.t, icon, sentence.title, tone, f"{sentence.meaning} {sentence.action}".strip())
    return None
