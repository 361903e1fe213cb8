"""A plan seen among its alternatives: where else it could be trained, whether a TPU is worth it, what would help. Pure.

Put on top of a finished plan by ``planner.make``, which hands in how other parts are worked out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tpu_studio.planner.advice.choose import advise
from tpu_studio.planner.advice.situation import Situation
from tpu_studio.planner.broken import without_money
from tpu_studio.planner.compare import Comparison, Drawn, Way, compare
from tpu_studio.planner.driving import refused
from tpu_studio.planner.parts import Parts
from tpu_studio.planner.verdict import judge
from tpu_studio.wire import frameworks, places
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Plan

LEVELS = {"error": 0, "warning": 1, "info": 2, "ok": 3}
HERE: Mapping[str, object] = dict.fromkeys(
    ("where.place", "where.accelerator", "where.tier", "where.zones", "where.usd_per_hour")
)


At = Callable[[Mapping[str, object] | None, bool], Parts]  # changes of the job or none; whether timings still count


def with_outlook(plan: Plan, parts: Parts, at: At, planned: Callable[[Parts], Plan]) -> Plan:
    """*plan* with its verdict, its alternatives, and the advice among its checks, after those of the same level."""
    found = _compared(plan, parts, at)
    verdict, best = judge(plan, found)
    plan = replace(plan, verdict=verdict, alternatives=tuple(way.frozen() for way in found.alternatives()))
    if plan.faults:
        return without_money(plan)
    question, sized = parts.question, parts.sized
    situation = Situation(
        question.job,
        plan,
        sized.resolved,
        parts.usual_rate,
        question.options,
        question.facts,
        sized.work,
        parts.estimate,
        sized.rented,
        question.known.timing,
        found,
        verdict,
        best,
        question.known.bucket_region,
    )
    advice = advise(situation, lambda fix, timed: planned(at(fix, timed)))
    checks = sorted([*plan.checks, *advice], key=lambda check: LEVELS.get(check.level, 2))
    return replace(plan, checks=tuple(checks))


def _compared(plan: Plan, parts: Parts, at: At) -> Comparison:
    here = parts if places.by_id(plan.place).local else at(HERE, False)
    cloud = parts
    rented = plan.place if places.by_id(plan.place).charges else places.charging().id
    if rented != plan.place:
        changes: dict[str, object] = {"where.place": rented, "where.zones": None, "where.usd_per_hour": None}
        chosen = frameworks.find(parts.question.job.training.framework)
        if chosen is not None and not chosen.leads_on_chip:
            changes["training.framework"] = AUTO  # as a TPU is meant
        rehearsed = {"where.accelerator": plan.accelerator} if places.by_id(plan.place).rehearses else HERE
        cloud = at({**rehearsed, **changes}, False)
    own = None
    offers = parts.question.catalogue
    if refused(plan.place, plan.framework, offers, plan.accelerator, plan.job.where.backend):  # no way at all
        pass
    elif places.by_id(plan.place).rents and plan.fits and plan.time_s:  # its slice may have several machines
        tier, time, cost = plan.job.where.tier, plan.time_s, plan.cost_usd
        if places.by_id(plan.place).rehearses and cloud.sized.rented is not None:
            time, usd = cloud.estimate.time_s, cloud.sized.rented.usd_per_hour
            cost = time.scaled(usd / 3600) if usd else None
        own = Way(rented, plan.accelerator, tier, time, cost, parts.sized.tpu.title)
    elif places.by_id(plan.place).notebook and plan.fits and plan.time_s:
        own = Way(plan.place, plan.accelerator, "free", plan.time_s, plan.cost_usd, "the free TPU of Colab")
    known = parts.question.known.catalogues.at(places.charging().id)
    return compare(_drawn(here), _drawn(cloud), known, own)


def _drawn(parts: Parts) -> Drawn:
    sized = parts.sized
    return Drawn(
        parts.question.job,
        sized.resolved,
        sized.work,
        sized.memory,
        parts.estimate,
        parts.fits,
        parts.resolved_for,
        parts.mine,
    )
