"""Measured steps in words: beside what the plan said, and what a pace outside its range means. Pure."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.forecast import Forecast
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import Sentence
from tpu_studio.wire import loans, places
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan, Range

NEAR_S = 5.0  # so near its end the pace of a run is no news any more
MOVES_S, MOVES_SHARE = 120.0, 0.25  # an end that moves by less is no news either


def seconds(value: float, digits: int = 2) -> str:
    """`1.1 s`, `38 ms`."""
    return f"{figures.figure(value * 1000, digits)} ms" if value < 1 else f"{figures.figure(value, digits)} s"


def seconds_between(found: Range) -> str:
    """`0.9–1.4 s`, in one unit."""
    factor, unit = (1000.0, "ms") if found.high < 1 else (1.0, "s")
    low, high = figures.figure(found.low * factor, 2), figures.figure(found.high * factor, 2)
    return f"{low} {unit}" if low == high else f"{low}–{high} {unit}"


def beside_plan(found: Forecast, step_s: float | None = None) -> str:
    """`1.1 s a step, planned 0.9–1.4 s`; of a usual step, or of *step_s*: the one that belongs to a speed beside it."""
    planned = f", planned {seconds_between(found.planned_step_s)}" if found.planned_step_s else ""
    told = seconds(step_s, 3) if step_s else seconds(found.step_s.expected)
    return f"{told} a step{planned}"


def time_between(found: Range) -> str:
    """`6–9 min`, `about 2 min 10 s`: as close as it is known."""
    low, high = figures.duration(found.low), figures.duration(found.high)
    if low == high:
        return f"about {low}"
    one, other = low.split(" "), high.split(" ")
    return f"{one[0]}–{high}" if len(one) == len(other) == 2 and one[1] == other[1] else f"{low} to {high}"


def money_between(found: Range) -> str:
    low, high = figures.money(found.low), figures.money(found.high)
    return f"about {low}" if low == high else f"{low}–{high}"


def epochs_between(found: Range) -> str:
    low, high = (figures.figure(value, 2 if value < 10 else 3) for value in (found.low, found.high))
    return f"about {low}" if low == high else f"{low} to {high}"


def notice(plan: Plan, view: RunView, found: Forecast | None) -> Sentence | None:
    """A pace outside the planned range while it trains, where it moves the end by much or a limit comes first: what it
    means for money and time, and what to do."""
    if view.phase is not Phase.TRAINING:
        return None
    if found is None or found.compared == "as-planned" or found.left_s is None or found.left_s.high < NEAR_S:
        return None
    moved_s = found.left_s.expected * (1.0 - 1.0 / found.ratio)
    if not found.capped and (abs(moved_s) < MOVES_S or abs(moved_s) < MOVES_SHARE * found.left_s.expected):
        return None
    title = f"Training is {found.compared} than planned"
    later = f"about {figures.duration(abs(moved_s))} {'more' if moved_s > 0 else 'less'} than planned"
    meaning = f"A step takes {seconds(found.step_s.expected)} instead of {_planned(found)}. It has "
    meaning += f"{time_between(found.left_s)} to go, {later}{_money(plan, found)}."
    action = "Future estimates use this."
    if found.capped and found.epochs is not None:
        cap = _cap(plan, found)
        planned = figures.figure(view.steps_planned / plan.steps_per_epoch, 3)
        meaning += f" {cap} comes first, after {epochs_between(found.epochs)} of {planned} epochs."
        meaning += " What is trained by then is kept." if not loans.by_id(plan.job.where.tier).spare else ""
        action = "Stop it and keep the model, let it run to the limit, or plan it again with a higher limit."
    elif found.waiting_share >= 0.3:
        waits = figures.share(found.waiting_share)
        action = f"It waits for data {waits} of the time: smaller pictures, or TFRecord, help the next run."
    return Sentence(title, meaning, action)


def _planned(found: Forecast) -> str:
    return seconds_between(found.planned_step_s) if found.planned_step_s else "nothing"


def _money(plan: Plan, found: Forecast) -> str:
    if found.usd is None:
        return ""
    at_end = money_between(found.usd)
    if places.by_id(plan.place).charges:
        return f" and will have cost {at_end} at the end"
    return f" and would have cost {at_end} at the end; nothing is charged"


def _cap(plan: Plan, found: Forecast) -> str:
    if found.cap == "money":
        return f"The cost limit of {figures.money(plan.limits.money_usd)} holds and"
    return f"The time limit of {figures.duration((plan.limits.hours or 0.0) * 3600)}"


def to_json(plan: Plan, view: RunView, found: Forecast | None) -> dict[str, object] | None:
    """For scripts: ranges as ``{"low","expected","high"}``; None before enough steps were measured."""
    if found is None:
        return None
    told = notice(plan, view, found)
    ends = view.seen_t + found.left_s.expected if found.left_s else None
    return {
        "steps_measured": found.steps,
        "step_s": found.step_s.to_json(),
        "planned_step_s": _json(found.planned_step_s),
        "compared": found.compared,
        "waiting_share": round(found.waiting_share, 4),
        "device_share": round(found.device_share, 4),
        "time_left_s": _json(found.left_s),
        "ends_at": round(ends, 1) if ends else None,
        "cost_usd": _json(found.usd),
        "epochs_within_limits": _json(found.epochs),
        "limit": found.cap or None,
        "limit_comes_first": found.capped,
        "notice": {"title": told.title, "meaning": told.meaning, "action": told.action} if told else None,
    }


def _json(found: Range | None) -> dict[str, float] | None:
    return found.to_json() if found else None
