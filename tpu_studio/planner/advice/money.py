"""Advice on where and how to rent: this computer instead, another slice, the kind of loan, region, rhythm of copies."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner.advice.situation import Advice, Situation
from tpu_studio.planner.compare import Way
from tpu_studio.planner.estimate import SAVE_BYTES_PER_S
from tpu_studio.planner.work import FLOAT
from tpu_studio.wire import frameworks, loans, places
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Range
from tpu_studio.wire.records import number

RHYTHM_OFF = 3.0  # times too seldom or too often, from which on the rhythm of copies is told


def train_here(s: Situation) -> Iterator[Advice]:
    if s.charged and places.by_id(s.verdict.instead).local:
        fix = {"where.place": s.verdict.instead, **s.taken_back("where.accelerator", "where.tier", "where.zones")}
        here = s.comparison.here
        time = _less(s.plan.time_s, here.time_s if here else None)
        yield Advice("advice-train-here", fix, {}, time, s.plan.cost_usd)


def rent(s: Situation) -> Iterator[Advice]:
    best = s.best
    if (
        not places.by_id(s.plan.place).local
        or s.verdict.instead is None
        or best is None
        or not places.by_id(best.place).charges
    ):
        return
    facts = {
        "accelerator": best.accelerator,
        "usd": best.cost_usd.expected if best.cost_usd else 0.0,
        "why": s.verdict.why,
    }
    fix: dict[str, object] = {"where.place": best.place, "where.accelerator": best.accelerator}
    if s.job.training.framework != AUTO and not frameworks.by_id(s.value("training.framework")).leads_on_chip:
        fix["training.framework"] = "auto"
    yield Advice("advice-rent", fix, facts, _less(s.plan.time_s, best.time_s), promise=not s.plan.fits)


def other_slice(s: Situation) -> Iterator[Advice]:
    """The slice of the verdict: a smaller one for small work, a larger or newer one for large."""
    best = s.best
    if not s.charged or s.verdict.instead is None or best is None or not places.by_id(best.place).charges:
        return
    if s.value("where.usd_per_hour"):  # a price of one's own says nothing about other slices
        return
    facts = {
        "accelerator": best.accelerator,
        "time_s": best.time_s.expected,
        "usd": best.cost_usd.expected if best.cost_usd else 0.0,
        "too_big": not s.plan.fits,
    }
    fix = _where(s, **{"where.accelerator": best.accelerator})
    yield Advice("advice-slice", fix, facts, measure=s.plan.fits, promise=not s.plan.fits)


def kind_of_loan(s: Situation) -> Iterator[Advice]:
    """The cheapest kind, with what spot loses counted in; back to on-demand where spot saves nothing. Why not spot."""
    if not s.charged or s.plan.cost_usd is None or s.value("where.usd_per_hour"):
        return
    tier = str(s.value("where.tier"))
    ways = [way for way in s.comparison.tpus if way.accelerator == s.plan.accelerator and way.cost_usd]
    own = s.plan.cost_usd.expected
    best = min(ways, key=_usd, default=None)
    hours, least = round(assumed.SPOT_LASTS_H.expected), max(assumed.CLEARLY_USD, assumed.CLEARLY * own)
    if best is not None and best.tier != tier and own - _usd(best) >= least:
        facts: dict[str, object] = {"hours": hours} if loans.by_id(best.tier).spare else {}
        yield Advice(f"advice-{best.tier}", _where(s, **{"where.tier": best.tier}), facts, measure=True)
    spot = next((way for way in ways if loans.by_id(way.tier).spare), None)
    if loans.by_id(tier).usual and spot is not None and own - _usd(spot) < least:
        yield Advice("advice-no-spot", None, {"hours": hours, "usd": own, "spot_usd": _usd(spot)})


def region(s: Situation) -> Iterator[Advice]:
    """Where the bucket is, if the slice is lent there for no more than it costs now and traffic saves something."""
    if not s.charged or s.rented is None or not s.bucket_region or s.rented.region == s.bucket_region:
        return
    part, tier, known = s.rented.slice, s.rented.tier, s.rented.known
    zones = [
        zone.zone
        for zone in known.generation(part.generation).zones
        if zone.region == s.bucket_region and known.possible(part.generation, "", tier, zone.zone, part.chips).possible
    ]
    there, now = known.price(part.generation, part.chips, s.bucket_region, tier), s.rented.price
    if not zones or there is None or now is None or there.usd_per_chip_hour > now.usd_per_chip_hour:
        return
    copies = s.resolved.steps / int(s.value("training.checkpoint_every")) * 3 * FLOAT * s.work.params
    traffic = (number(s.plan.data.get("bytes_on_disk")) + copies) / 1e9
    yield Advice(
        "advice-region",
        {"where.zones": sorted(zones)},
        {"region": s.bucket_region},
        usd=assumed.TRAFFIC_USD_PER_GB.scaled(traffic),
        promise=True,
    )


def checkpoint_interval(s: Situation) -> Iterator[Advice]:
    """Young and Daly's interval on spot: what a copy costs against what a loss costs."""
    if not s.charged or not loans.by_id(s.value("where.tier")).spare:
        return
    saving_s = 0.05 + s.work.params * FLOAT * 3 / SAVE_BYTES_PER_S
    lasts_s = assumed.SPOT_LASTS_H.expected * 3600
    best_s = assumed.best_interval_s(saving_s, lasts_s)
    unit = int(s.value("training.steps_per_call"))
    steps = max(1, round(best_s / s.step_s / unit)) * unit
    now_s = int(s.value("training.checkpoint_every")) * s.step_s
    training_s = s.estimate.training_s.expected
    if training_s < 2 * min(best_s, now_s) or 1 / RHYTHM_OFF < now_s / (steps * s.step_s) < RHYTHM_OFF:
        return

    def lost(every_s: float) -> float:
        every_s = min(every_s, training_s)
        return training_s * (saving_s / every_s + every_s / 2 / lasts_s)

    saves = lost(now_s) - lost(steps * s.step_s)
    if saves > 0:
        time = Range(saves / 4, saves, saves * 4)
        yield Advice(
            "advice-checkpoint",
            {"training.checkpoint_every": steps},
            {"steps": steps, "every_s": steps * s.step_s, "hours": round(assumed.SPOT_LASTS_H.expected)},
            time_s=time,
            promise=True,
        )


def _usd(way: Way) -> float:
    return way.cost_usd.expected if way.cost_usd else math.inf


def _less(now: Range | None, then: Range | None) -> Range | None:
    """What is saved, when something is."""
    if now is None or then is None or then.expected >= now.expected:
        return None
    return now.scaled(1 - then.expected / now.expected)


def _where(s: Situation, **changed: object) -> dict[str, object]:
    """Areas that were chosen for another slice or loan go back to the recommended ones."""
    return {**changed, **s.taken_back("where.zones")}


RULES = (train_here, rent, other_slice, kind_of_loan, region, checkpoint_interval)
