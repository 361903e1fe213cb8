"""The four numbers of a run, and how long a longer training may take. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.domain.forecast import Forecast
from tpu_studio.domain.run import RunView
from tpu_studio.viewmodels import runchips, runpace
from tpu_studio.viewmodels.runfacts import RunFacts, Tone, kept_metric, last_metric, main_metric
from tpu_studio.wire import metrics, places, tasks
from tpu_studio.wire.phases import Phase


@dataclass(frozen=True)
class Number:
    """One of the four numbers: label, the number itself, its unit beside it, one line of context with an icon.

    *more*: a second line, where there is something to tell; *hover* explains it and *more_icon* stands before it.
    *counts*: what the number is of.
    """

    label: str
    value: str
    unit: str
    context: str
    icon: str
    tone: Tone = "neutral"
    share: float | None = None
    more: str = ""
    more_icon: str = "cpu"
    hover: str = ""
    counts: str = ""


def numbers(facts: RunFacts, view: RunView, now: float, found: Forecast | None = None) -> tuple[Number, ...]:
    """*found*: What the measured steps foretell, once there are enough."""
    return (
        _loss(view),
        _speed(facts, view, found),
        _cost(facts, view, now, found) if facts.usd_per_hour or facts.rented else _quality(facts, view),
        _time(facts, view, now, found),
    )


def _yet(view: RunView, when: str) -> str:
    return "not reached" if view.over else when


def _loss(view: RunView) -> Number:
    value = view.last.get(metrics.training_loss().id)
    if value is None:
        return Number("Loss", "–", "", _yet(view, "appears with the first step"), "trending-down")
    if not math.isfinite(value):
        return Number("Loss", figures.figure(value), "", "the numbers have run away", "triangle-alert", "bad")
    before = view.loss_before(math.inf if view.over else 600.0)
    newest = "last" if view.over else "newest"
    counts = f"Of the {newest} step. In the curve below, the thin line shows every step; the thick one is smoothed."
    if before is None or before[0] < 10:
        then = f"after {figures.count(view.step)} step{'' if view.step == 1 else 's'}"
        return Number("Loss", figures.figure(value), "", then, "trending-down", counts=counts)
    icon = "trending-down" if value <= before[1] else "trending-up"
    then = " at the start" if view.over else f", {figures.duration(before[0])} ago"
    return Number("Loss", figures.figure(value), "", f"was {figures.figure(before[1])}{then}", icon, counts=counts)


def _speed(facts: RunFacts, view: RunView, found: Forecast | None) -> Number:
    rate = view.examples_per_s
    label = "Speed" if not view.over else "Speed on average"
    if rate is None:
        return Number(label, "–", f"{facts.noun}/s", _yet(view, "measured after the first steps"), "gauge")
    more, hover = runchips.words(view, facts.place, "\n"), runchips.explained(view, facts.place, facts.mfu_planned)
    if facts.practice:
        more, hover = runchips.NONE_HERE
    counts = (
        f"Counts training steps alone, {'those of the whole run' if view.over else 'the latest ones'}. "
        "Checks on unseen data and checkpoints come on top."
    )
    waiting = view.waiting_share
    if waiting is not None and waiting >= 0.15 and not view.over:
        return Number(
            label,
            figures.figure(rate),
            f"{facts.noun}/s",
            f"waits for data {figures.share(waiting)} of the time",
            "hourglass",
            "warn",
            more=more,
            hover=hover,
            counts=counts,
        )
    pace = view.steps_per_s or (rate / facts.batch if facts.batch else None)
    slower = found is not None and found.compared == "slower" and not view.over
    context = f"{figures.figure(pace)} steps a second" if pace else "steady"
    return Number(
        label,
        figures.figure(rate),
        f"{facts.noun}/s",
        context if found is None else runpace.beside_plan(found, 1 / pace if pace else None),
        "gauge",
        "warn" if slower else "neutral",
        more=more,
        hover=hover,
        counts=counts,
    )


def _quality(facts: RunFacts, view: RunView) -> Number:
    name, label = main_metric(facts)
    kept = kept_metric(view, name)
    value = last_metric(view, name)
    if value is None:
        return Number(label, "–", "", _yet(view, "after the first check on unseen data"), "award")
    best = view.best.get(name)
    if metrics.by_id(name).unit == "nats":
        counts = f"Between how many next {facts.token}s the model hesitates."
        shown = figures.figure(metrics.perplexity(value))
        bits = [last_metric(view, other) for other in tasks.by_id(facts.task).others]
        beside = f"{figures.figure(bits[0], 3)} bits per byte" if bits and bits[0] is not None else "less is better"
        return Number(label, shown, "", f"on unseen text; {beside}", "award", counts=counts)
    said, context = figures.metric(name, value), "on unseen data"
    if best:
        context = f"best {figures.metric(name, best[0])} at step {figures.count(best[1])}"
    if kept is not None:
        better = best and figures.metric(name, best[0]) != said
        context = f"saved model; {context}" if better else "saved model"
    more, hover = _beside(facts, view)
    return Number(label, said, "", context, "award", more=more, more_icon="activity", hover=hover)


def _beside(facts: RunFacts, view: RunView) -> tuple[str, str]:
    """What else is measured of the task, and what that means; "" where nothing was."""
    found = [(one, last_metric(view, one.id)) for one in map(metrics.by_id, tasks.by_id(facts.task).others)]
    told = [(one, figures.metric(one.id, value)) for one, value in found if value is not None]
    means = (one.means.format(target=facts.target or "the target") for one, _ in told)
    said = (one.said.format(row=one.row, value=value) for one, value in told)
    return ", ".join(said), " ".join(filter(None, means))


def _cost(facts: RunFacts, view: RunView, now: float, found: Forecast | None) -> Number:
    rate = view.usd_per_hour or facts.usd_per_hour or 0.0
    limit = facts.usd_limit
    unit = f"of {figures.money(limit)}" if limit else ""
    real = places.by_id(facts.place).charges
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
        context = f"about {figures.money(usd + left * rate / 3600)} at the end"
        if found is not None and found.usd is not None:
            context = f"{runpace.money_between(found.usd)} at the end"
    elif facts.rented and not view.over:
        charged = bool(view.machine.get("created") or (view.unproved and view.usd_per_hour))
        context = f"{figures.money(rate)} an hour" if charged else "free while it waits"
    elif facts.rented and usd and not view.settled:
        context = "until the TPU is verified to be gone"
    elif facts.rented and usd:
        context = "up to its verified deletion" if real else "nothing was charged"
    share = min(1.0, usd / limit) if limit else None
    value = figures.money(usd)
    if view.settled and view.usd_between is not None and figures.money_between(*view.usd_between) != value:
        value, context = figures.money_between(*view.usd_between), "not known exactly"
    return Number(label, value, unit, context, "circle-dollar-sign", share=share)


def _time(facts: RunFacts, view: RunView, now: float, found: Forecast | None) -> Number:
    if view.over:
        return Number(
            "Time",
            *_split(figures.duration(view.working_s(now))),
            f"ended at {figures.clock(view.end.t) if view.end else ''}",
            "clock",
        )
    if view.trained:
        doing = "saving the model and its report" if view.phase is Phase.SAVING else "it is being stopped"
        return Number("Time left", "–", "", doing, "clock")
    left = view.time_left_s()
    if left is None:
        return Number("Time left", "–", "", "known after the first steps", "clock")
    forecast = view.forecast_usd() if facts.rented else None
    if forecast is not None and facts.usd_limit and forecast > facts.usd_limit:
        told = f"the limit of {figures.money(facts.usd_limit)} comes first"
        return Number("Time left", *_split(figures.duration(left)), told, "clock", "warn")
    hours = None if facts.rented else facts.hours_limit
    if hours and view.working_s(now) + left > hours * 3600:
        return Number(
            "Time left",
            *_split(figures.duration(left)),
            f"the limit of {figures.duration(hours * 3600)} comes first",
            "clock",
            "warn",
        )
    ends = f"finishes at about {figures.clock(now + left)}"
    if found is not None and found.left_s is not None:
        ends = f"{runpace.time_between(found.left_s)}, until about {figures.clock(now + left)}"
    return Number("Time left", *_split(figures.duration(left)), ends, "clock")


def _split(text: str) -> tuple[str, str]:
    """ "12 min" → ("12", "min"): the number large, its unit small; mixed times stay whole."""
    parts = text.split(" ")
    return (parts[0], parts[1]) if len(parts) == 2 else (text, "")


def extension_words(facts: RunFacts, view: RunView, epochs: float) -> str:
    """What *epochs* more mean; a run that ended early first does the steps that it still had to do."""
    more = max(1, round(epochs * facts.steps_per_epoch))
    left = max(0, (view.steps_planned or facts.steps) - view.step) if view.over else 0
    seconds = extension_s(facts, view, left + more)
    took = f", about {figures.duration(seconds)}" if seconds else ""
    price = _extension_price(facts, view, seconds)
    if not left:
        return f"{figures.count(more)} more steps{took}{price}"
    return (
        f"The {figures.count(left)} steps that were still planned and {figures.count(more)} more: "
        f"{figures.count(left + more)} in all{took}{price}"
    )


def _extension_price(facts: RunFacts, view: RunView, seconds: float | None) -> str:
    """What going on costs on a rented machine, and what its cost limit leaves; "" on this computer."""
    if not facts.rented:
        return ""
    rate = view.usd_per_hour or facts.usd_per_hour
    if rate:
        about = f", about {figures.money(rate * seconds / 3600.0)} and what starting takes" if seconds else ""
        told = f". It costs {figures.money(rate)} an hour{about}"
    else:
        told = ". What it costs an hour is not known"
    if facts.usd_limit is not None:
        spent = max(view.usd, (view.usd_between or (0.0, 0.0))[1])
        left = figures.money(max(0.0, facts.usd_limit - spent))
        told += f"; of its limit of {figures.money(facts.usd_limit)}, {left} are left"
    return f"{told}{'. Practice: nothing is charged' if facts.practice else ''}."


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
