"""A plan for a rented TPU: a cap on its cost, what it costs besides its chips, and how the bill is stopped. Pure.

The practice cloud plays the same on this computer (`wire.places.Place.rehearses`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tpu_studio.domain.catalogue import COMPUTE_FLEX_WAIT_S
from tpu_studio.planner import allowed, areas, bringing, checks, rented, work
from tpu_studio.planner.estimate import Estimate, limit_hours, limit_usd
from tpu_studio.planner.extras import Loan, Moved, extras_of
from tpu_studio.planner.own import Mine
from tpu_studio.planner.places import USUAL_HOURS, USUAL_USD, Limits, unlimited
from tpu_studio.planner.rented import Rented
from tpu_studio.wire import loans, places
from tpu_studio.wire.extras import Extras
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Check
from tpu_studio.wire.planparts import NO_LIMITS, PlanLimits, PlanPrice
from tpu_studio.wire.stops import beyond_s

if TYPE_CHECKING:
    from tpu_studio.planner.parts import Parts, Question, Sized

_MARGIN_S = 1200.0
"""Beyond the limit: the second of the shut-off timers has come by then, or a deletion that was late."""
_BOOT_S = 1200.0  # from a machine that is there to its guardian's first word
STATE_TIMES = 3  # a copy holds weights and the optimizer's two moments
RESULT_TIMES, RESULT_BYTES = 4, 4 << 20  # the model in each of its formats; curves, report and example data


class RentedPlanner:
    def choose(self, question: Question, sized: Sized) -> Rented:
        framework = sized.resolved.job.training.framework
        return rented.choose(question.job, framework, rented.need_bytes(sized.memory, 1), question.catalogue)

    def estimate(self, sized: Sized, here: Estimate, mine: Mine) -> Estimate:
        sharded = sized.memory.sharded
        brought = bringing.fetching_s(sized.resolved.preset, str(sized.resolved.job.where.place))
        return rented.estimate(sized.resolved, sized.work, sized.tpu, here, mine, sharded=sharded, brought=brought)

    def price(self, sized: Sized) -> PlanPrice | None:
        where = sized.resolved.job.where
        return rented.price_of(sized.tpu, where.usd_per_hour, charges=places.by_id(where.place).charges)

    def limits(self, parts: Parts) -> Limits:
        found, tpu = unlimited(parts), parts.sized.tpu
        resolved, price, practice = found.resolved, found.usd_per_hour, parts.question.place.rehearses
        most = {"most": checks.FLEX_MOST_HOURS} if loans.by_id(tpu.tier).waits else {}
        hours = limit_hours(parts.estimate.time_s, float(resolved.job.limits.wait_hours), **most)
        more = max(hours, rented.PRACTICE_HOURS_LEAST) if practice else hours
        resolved.put("limits.hours", more, f"{rented.PRACTICE_LIMIT_WHY if more > hours else USUAL_HOURS}.")
        money: float | None = None
        if price:
            usd, why = limit_usd(found.cost), USUAL_USD
            if more > hours:
                usd, why = max(usd, rented.usd_of(more, price)), f"What {more:g} hours cost, in practice dollars"
            besides = _extras(parts, found, None)
            usd = rented.cents_up(usd + besides.reserved_usd + besides.machine_usd_per_hour * besides.hours)
            resolved.put("limits.money_usd", usd, f"{why}, and what it costs besides the chips.")
            money = float(resolved.job.limits.money_usd)
        elif parts.question.job.limits.money_usd != AUTO:
            money = float(resolved.job.limits.money_usd)
        return replace(found, money=money, extras=_extras(parts, found, money), more=_more(parts))

    def checks(self, parts: Parts) -> Iterator[Check]:
        yield from allowed.checks(parts.sized.tpu, parts.question.place.id)
        if parts.question.place.charges:
            yield from _price_checks(parts)


PLANNER = RentedPlanner()


def _price_checks(parts: Parts) -> Iterator[Check]:
    """What a price in the job is worth where it is charged: less than the list's nothing; alone it may be too low. And
    whether the one that counts is of another area or tier."""
    given, price = parts.resolved.job.where.usd_per_hour, parts.price
    if price is None:
        return
    facts: dict[str, object] = {"given_usd": given, "counts_usd": price.usd_per_hour}
    if not given:
        if parts.sized.tpu.price is None:
            facts = {"counts_usd": price.usd_per_hour, "region": price.region, "tier": price.tier}
            title = "The list has no price for one of the zones: that of another counts"
            yield Check("price-of-elsewhere", "warning", title, {"where.zones": []}, facts)
    elif not price.from_job:
        title, fix = "The list price counts, not the lower one in the job", {"where.usd_per_hour": 0}
        yield Check("price-below-list", "warning", title, fix, facts)
    elif parts.sized.tpu.price is None and rented.likeliest(parts.sized.tpu) is None:
        yield Check("price-not-listed", "warning", "No list has the price: only the job says it", None, facts)


def _extras(parts: Parts, limits: Limits, money: float | None) -> Extras:
    """What the machine costs besides its chips, under the limits as they are resolved."""
    found, resolved, known = parts.sized.tpu, limits.resolved, parts.question.known
    practice, job = parts.question.place.rehearses, resolved.job
    home = areas.practice_home(found.known) if practice else known.bucket_region
    compute = found.backend == "compute-engine"
    loan = Loan(tuple(found.zones), found.tier, found.slice.vms, compute, home, known.kept_days)
    counted, preset = parts.sized.work, resolved.preset
    every = bringing.weights_in(preset) if preset and counted.is_guess else counted.params + counted.frozen
    moved = Moved(
        result=RESULT_TIMES * every * work.FLOAT + RESULT_BYTES,
        state=STATE_TIMES * counted.params * work.FLOAT,
        data=parts.question.look.bytes_on_disk + (preset.files_bytes if preset else 0),
        steps=resolved.steps,
        copies=sum(
            math.ceil(resolved.steps / every) for every in (job.training.checkpoint_every, job.training.evaluate_every)
        ),
    )
    told = extras_of(loan, moved, hours=limits.hours, money_usd=money, usd_per_hour=limits.usd_per_hour)
    alone = limits.price is not None and limits.price.from_job
    return told if alone else replace(told, chips_usd_per_hour=dict(found.usd_by_region))


def _more(parts: Parts) -> PlanLimits:
    found, job = parts.sized.tpu, parts.resolved.job
    wait_hours = float(job.limits.wait_hours)
    own = loans.by_id(found.tier).waits or found.backend == "compute-engine"
    return replace(
        NO_LIMITS,
        wait_hours=wait_hours,
        wait_hours_away=_wait_away(found, wait_hours),
        idle_minutes=float(job.limits.idle_minutes),
        stops=("guardian", "outside", *(["platform"] if own else []), "desktop"),
        margin_s=_MARGIN_S,
        margin_boot_s=margin_boot_s(wait_hours, platform=own),
    )


def _wait_away(found: Rented, wait_hours: float) -> float | None:
    """How long the request waits with nobody at a computer, where that is less than it shall wait."""
    most = COMPUTE_FLEX_WAIT_S[1] / 3600.0
    ends_early = loans.by_id(found.tier).waits and found.backend == "compute-engine" and wait_hours > most
    return most if ends_early else None


def margin_boot_s(wait_hours: float, *, platform: bool) -> float:
    """How long beyond its limit a machine may stay that hangs before it has begun, with nobody at a computer: until the
    shut-off timers (`wire.stops`); Google's own limit counts from when it is there."""
    return _BOOT_S + _MARGIN_S / 2.0 if platform else beyond_s(wait_hours * 3600.0, _BOOT_S, _MARGIN_S)
