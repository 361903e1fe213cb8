"""Is a TPU worth it? One recommendation out of a comparison, with its reason in numbers. Pure.

The way of least burden wins: money plus waiting at a named price of an hour (`assumptions`). What is planned stands
unless another way is clearly better.
"""

from __future__ import annotations

from tpu_studio.domain.sentences import advice as words
from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner.compare import Comparison, Way
from tpu_studio.wire import loans, places
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.planparts import PlanVerdict


def judge(plan: Plan, found: Comparison) -> tuple[PlanVerdict, Way | None]:
    """The verdict on *plan*, whose alternatives are *found*, and the recommended way: None when nothing can hold it, or
    the plan cannot start."""
    if plan.faults:
        return PlanVerdict(False, None, words.cannot_start(plan.faults[0].title)), None
    tier = plan.job.where.tier
    tpu = found.best_tpu(tier) or found.best_tpu(loans.usual().word)
    ways = [way for way in (found.here, found.colab, found.gpu, tpu) if way and way.cost_usd]
    if not ways:
        return PlanVerdict(False, None, words.nothing_holds_it(plan.memory.device_bytes)), None
    own = _own(plan, found)
    best = min(ways, key=lambda way: way.burden_usd)
    if own is not None and not clearly_better(best, own):
        best = own
    other = found.colab if places.by_id(plan.place).notebook and places.by_id(best.place).local and found.colab else tpu
    why = words.why_best(
        best.place, told(best), told(found.here) if found.here else None, told(other) if other else None
    )
    if own is None:
        return PlanVerdict(False, _name(best), f"{words.does_not_fit(plan.accelerator)} {why}"), best
    if places.by_id(plan.place).rehearses and plan.time_s is not None:
        why = f"{why} {words.practised(plan.time_s.expected)}"
    if best is own:
        return PlanVerdict(True, None, why), best
    still_a_tpu = places.by_id(best.place).charges and not places.by_id(plan.place).local
    return PlanVerdict(still_a_tpu, _name(best), why), best


def clearly_better(one: Way, other: Way) -> bool:
    """By a share and an amount that are worth a change; to save all of the money, by anything."""
    gained = other.burden_usd - one.burden_usd
    if one.cost_usd and not one.cost_usd.expected and other.cost_usd and other.cost_usd.expected:
        return gained > 0
    return gained >= assumed.CLEARLY_USD and gained >= assumed.CLEARLY * other.burden_usd


def _own(plan: Plan, found: Comparison) -> Way | None:
    """The way that is planned; None where it does not fit."""
    if not plan.fits:
        return None
    place = places.by_id(plan.place)
    if place.local:
        return found.here
    if place.notebook:
        return found.colab
    return found.tpu(plan.accelerator, plan.job.where.tier)


def _name(way: Way) -> str:
    return way.accelerator if places.by_id(way.place).charges else way.place


def told(way: Way) -> words.Told:
    """*way*, whose price is known, for a sentence."""
    usd = way.cost_usd.expected if way.cost_usd else 0.0
    return words.Told(loans.beside(way.title, way.tier), way.time_s.expected, usd, way.measured)
