"""Whether a TPU is worth it, and the other ways to train the same, as the Plan page shows them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import title_of
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.planwhere import moved
from tpu_studio.wire import loans, places
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan

_PLACES = {place.id: place.tab for place in places.all_places() if place.free}


@dataclass(frozen=True)
class Way:
    """One place to train.

    Attributes:
        best: Nothing else is both quicker and cheaper.
        planned: What the plan names now.
        changes: `table.key` → value, to plan it there.
    """

    key: str
    name: str
    time: str
    cost: str
    time_s: float
    usd: float
    best: bool
    planned: bool
    changes: Mapping[str, object]


@dataclass(frozen=True)
class Verdict:
    """*tone* is ok, accent or warn; *changes* does what is recommended, under *action*; both empty where it is so."""

    answer: str
    why: str
    tone: str
    action: str
    changes: Mapping[str, object]
    ways: tuple[Way, ...]


def verdict_of(job: Job, plan: Plan | None) -> Verdict | None:
    """None until there is a plan that was compared."""
    if plan is None or plan.verdict is None:
        return None
    from tpu_studio.planner.report.page import answer

    instead, worth = plan.verdict.instead, plan.verdict.worth_it
    ways = ways_of(job, plan)
    changes: Mapping[str, object] = {}
    action = ""
    if instead and instead != "gpu":
        tier = plan.job.where.tier
        fitting = [way for way in ways if _names(way, instead)]
        best = next((way for way in fitting if way.key.endswith(f"/{tier}")), next(iter(fitting), None))
        if best is not None:
            changes, action = best.changes, f"Plan it for {_short(best)}"
    tone = "accent" if instead else "ok" if worth else "warn"
    return Verdict(answer(plan), plan.verdict.why, tone, action, changes, ways)


def ways_of(job: Job, plan: Plan) -> tuple[Way, ...]:
    """The alternatives with a known price, in the plan's order."""
    priced = [(one, one.cost_usd) for one in plan.alternatives if one.cost_usd]
    pairs = [(one.time_s.expected, cost.expected) for one, cost in priced]
    ways = []
    for (one, cost), (t, usd) in zip(priced, pairs, strict=True):
        place, accelerator, tier = one.place, one.accelerator, one.tier or ""
        rents = plan.place if places.by_id(plan.place).rents else places.charging().id
        same = accelerator == plan.accelerator and tier == plan.job.where.tier
        name = _PLACES.get(place) or title_of(accelerator)
        ways.append(
            Way(
                key=f"{place}/{accelerator}/{tier}",
                name=loans.beside(name, tier),
                time=planwords.time_range(one.time_s),
                cost=planwords.money_range(cost) if cost.expected else "free",
                time_s=t,
                usd=usd,
                best=not any(a <= t and b <= usd and (a, b) != (t, usd) for a, b in pairs),
                planned=place == plan.place if place in _PLACES else plan.place == rents and same,
                changes=_changes(job, place, rents, accelerator, tier),
            )
        )
    return tuple(ways)


def place_changes(job: Job, place: str) -> Mapping[str, object]:
    """What changes with the place; Colab lends one chip, so what was chosen of a rented one goes."""
    if places.by_id(place).notebook:
        return {**moved(job, places.default().id), "where.place": place, "where.usd_per_hour": None}
    if places.by_id(job.where.place).notebook:
        return {**moved(job, places.default().id), **moved(job, place)}
    return moved(job, place)


def spoken(ways: tuple[Way, ...]) -> str:
    """The plot in one sentence, for a screen reader."""
    told = (f"{way.name} {figures.duration(way.time_s)} {figures.money(way.usd)}" for way in ways if way.best)
    return "Time against money; nothing is both quicker and cheaper than: " + "; ".join(told)


def _changes(job: Job, place: str, rents: str, accelerator: str, tier: str) -> Mapping[str, object]:
    if place in _PLACES:
        return place_changes(job, place)
    return {
        "where.place": rents,
        "where.accelerator": accelerator,
        "where.tier": tier or None,
        "where.zones": None,
        "where.usd_per_hour": None,
    }


def _names(way: Way, instead: str) -> bool:
    place, accelerator, _ = way.key.split("/")
    return place == instead or (places.by_id(place).charges and accelerator == instead)


def _short(way: Way) -> str:
    return {"This computer": "this computer", "Free Colab": "free Colab"}.get(way.name, way.name)
