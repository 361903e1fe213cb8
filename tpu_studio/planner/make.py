"""From a job and a look at its data to a plan: `make_plan`, quick enough for every press of a key."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tpu_studio.data.looked import Look
from tpu_studio.domain.catalogue import COMPUTE_FLEX_WAIT_S, catalogue_at
from tpu_studio.domain.loans import FLEX_START
from tpu_studio.planner import allowed, areas, checks, colab, rented, rules, work
from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.estimate import limit_hours, limit_usd
from tpu_studio.planner.extras import Loan, Moved, extras_of
from tpu_studio.planner.facts import checks_of
from tpu_studio.planner.known import NOTHING_KNOWN, Known
from tpu_studio.planner.outlook import with_outlook
from tpu_studio.planner.own.record import basis_json
from tpu_studio.planner.parts import Parts, parts_of, work_key
from tpu_studio.planner.paths import whole_job
from tpu_studio.planner.rented import cents_up
from tpu_studio.planner.work import LANES
from tpu_studio.wire import frameworks, places
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.plan import Check, Plan, Range
from tpu_studio.wire.schema import AUTO, BY_PATH
from tpu_studio.wire.stops import beyond_s

_MARGIN_S = 1200.0
"""Beyond the limit: the second of the stops from outside has come by then, or a deletion that was late."""
_BOOT_S = 1200.0  # from a machine that is there to its guardian's first word
STATE_TIMES = 3  # a copy holds weights and the optimizer's two moments
RESULT_TIMES, RESULT_BYTES = 4, 4 << 20  # the model in each of its formats; curves, report and example data


@dataclass(frozen=True)
class _Limits:
    """*resolved*: With the limits set. *cost*: What it should cost, whether or not that is charged."""

    resolved: Resolved
    hours: float
    money: float | None
    price: Mapping[str, Any] | None
    cost: Range | None
    extras: Mapping[str, Any]


def make_plan(job: Job, look: Look, known: Known = NOTHING_KNOWN, *, now: float, advise: bool = True) -> Plan:
    """The plan of *job* on the data seen in *look*; the same arguments give the same plan, while prices are the same.

    Args:
        now: Seconds since 1970, for the date of a pretended price.
        advise: Also compare places, judge and advise (some milliseconds); without it, checks of the plan itself only.

    Raises:
        JobError: A model name or an option of it that does not exist.
    """
    return plan_with_parts(job, look, known, now=now, advise=advise)[0]


def plan_with_parts(
    job: Job, look: Look, known: Known = NOTHING_KNOWN, *, now: float, advise: bool = True
) -> tuple[Plan, Parts]:
    """As `make_plan`, with what the frozen plan does not carry: the parts of its estimate."""
    parts = parts_of(job, look, known)
    plan, limits = _plan(parts, now)
    if not advise:
        return plan, parts

    def at(changes: Mapping[str, Any] | None, timed: bool) -> Parts:
        changed = set_values(job, {path: _or_default(path, value) for path, value in (changes or {}).items()})
        here = known.here if places.by_id(changed["where.place"]).local else None
        return parts_of(changed, look, replace(known, timing=known.timing if timed else here))

    limited = replace(parts, sized=replace(parts.sized, resolved=limits.resolved))
    return with_outlook(plan, limited, at, lambda other: _plan(other, now)[0]), parts


def _plan(parts: Parts, now: float) -> tuple[Plan, _Limits]:
    """Without outlook."""
    question, sized = parts.question, parts.sized
    limits = _limits(parts)
    resolved, price = limits.resolved, limits.price
    resolved.reasons["estimate"] = parts.estimate.why
    plan = Plan(
        job=whole_job(question.job, resolved),
        task=str(resolved.values["data.task"]),
        framework=str(resolved.values["training.framework"]),
        place=str(resolved.values["where.place"]),
        accelerator=str(resolved.values["where.accelerator"]),
        devices=sized.devices,
        steps=resolved.steps,
        steps_per_epoch=resolved.steps_per_epoch,
        reasons=resolved.reasons,
        data=question.look.to_json(),
        examples_per_s=parts.estimate.examples_per_s,
        time_s=parts.estimate.time_s,
        cost_usd=limits.cost if (price and price["usd_per_hour"]) or sized.rented is None or question.free else None,
        memory=_memory_json(parts),
        price={"as_of": _day(now), **price} if price else None,
        limits={"money_usd": limits.money, "hours": limits.hours, **_more_limits(parts)},
        checks=tuple(_checks(parts, limits)),
        extras=limits.extras,
        basis=_basis(parts),
        model_options=dict(question.options or question.job.options),
        table_rows=_table_rows(parts),
        sharded=sized.memory.sharded,
        consent=question.known.consent,
        created=now,
    )
    return plan, limits


def _table_rows(parts: Parts) -> int:
    """Of a token table that fills a TPU's tiles; 0 where the vocabulary does, or no TPU works on it."""
    resolved, rows = parts.resolved, int(parts.question.options.get("vocabulary") or 0)
    leads = frameworks.by_id(str(resolved.values["training.framework"])).leads_on_chip
    whole = -(-rows // LANES) * LANES
    return whole if whole > rows and leads and resolved.on_chip and resolved.rule.reads_tokens else 0


def _limits(parts: Parts) -> _Limits:
    sized, free, time_s = parts.sized, parts.question.free, parts.estimate.time_s
    resolved = replace(parts.resolved, values=dict(parts.resolved.values), reasons=dict(parts.resolved.reasons))
    told = parts.price
    price = told["usd_per_hour"] if told else None
    cost = parts.estimate.cost_usd(price)
    flex = sized.rented is not None and sized.rented.tier == FLEX_START
    most = {"most": checks.FLEX_MOST_HOURS} if flex else {}
    hours = limit_hours(time_s, float(resolved.values["limits.wait_hours"]), **most)
    why = "One and a half times the longest it should take"
    if sized.rented is None and not free and price is None and hours < rules.COMPUTER_HOURS_LEAST:
        hours, why = rules.COMPUTER_HOURS_LEAST, "Ten minutes at least: to load the engine may take minutes"
    more = max(hours, rented.PRACTICE_HOURS_LEAST) if parts.question.place.rehearses else hours
    resolved.put("limits.hours", more, f"{rented.PRACTICE_LIMIT_WHY}." if more > hours else f"{why}.")
    money: float | None = None
    if price:
        usd, why = limit_usd(cost), "One and a half times the most it should cost"
        if more > hours:
            usd, why = max(usd, rented.usd_of(more, price)), f"What {more:g} hours cost, in practice dollars"
        if sized.rented is not None and not free:
            besides = _extras(parts, resolved, None, price)
            usd = cents_up(usd + besides["reserved_usd"] + besides["machine_usd_per_hour"] * besides["hours"])
            why += ", and what it costs besides the chips"
        resolved.put("limits.money_usd", usd, f"{why}.")
        money = float(resolved.values["limits.money_usd"])
    elif sized.rented is None or free:
        where = "in a free Colab notebook" if free else "on this computer"
        resolved.reasons["limits.money_usd"] = f"Nothing is charged {where}."
    elif not parts.question.job.is_auto("limits.money_usd"):
        money = float(resolved.values["limits.money_usd"])
    extras = _extras(parts, resolved, money, price) if sized.rented is not None and not free else {}
    return _Limits(resolved, float(resolved.values["limits.hours"]), money, told, cost, extras)


def _extras(parts: Parts, resolved: Resolved, money: float | None, price: float | None) -> dict[str, Any]:
    """What the machine costs besides its chips, under the limits as they are resolved."""
    found, values, known = parts.sized.rented, resolved.values, parts.question.known
    assert found is not None
    practice = parts.question.place.rehearses
    home = areas.practice_home(catalogue_at(parts.question.place.id)) if practice else known.bucket_region
    compute = found.backend == "compute-engine"
    loan = Loan(tuple(found.zones), found.tier, found.slice.vms, compute, home, known.kept_days)
    state = parts.sized.work.params * work.FLOAT
    moved = Moved(
        result=RESULT_TIMES * state + RESULT_BYTES,
        state=STATE_TIMES * state,
        data=parts.question.look.bytes_on_disk,
        steps=resolved.steps,
        copies=sum(
            math.ceil(resolved.steps / int(values[f"training.{often}"]))
            for often in ("checkpoint_every", "evaluate_every")
        ),
    )
    told = extras_of(loan, moved, hours=float(values["limits.hours"]), money_usd=money, usd_per_hour=price)
    return told if values["where.usd_per_hour"] else told | {"chips_usd_per_hour": dict(found.usd_by_region)}


def _more_limits(parts: Parts) -> dict[str, Any]:
    """What holds at a rented place besides: waiting, silence, and how the bill is stopped."""
    found = parts.sized.rented
    if found is None or parts.question.free:
        return {}
    values = parts.resolved.values
    wait_hours = float(values["limits.wait_hours"])
    own = found.tier == FLEX_START or found.backend == "compute-engine"
    return {
        "wait_hours": wait_hours,
        **_wait_away(found, wait_hours),
        "idle_minutes": float(values["limits.idle_minutes"]),
        "stops": ["guardian", "outside", *(["platform"] if own else []), "desktop"],
        "margin_s": _MARGIN_S,
        "margin_boot_s": margin_boot_s(wait_hours, platform=own),
    }


def _wait_away(found: rented.Rented, wait_hours: float) -> dict[str, float]:
    """How long the request waits with nobody at a computer, where that is less than it shall wait."""
    most = COMPUTE_FLEX_WAIT_S[1] / 3600.0
    ends_early = found.tier == FLEX_START and found.backend == "compute-engine" and wait_hours > most
    return {"wait_hours_away": most} if ends_early else {}


def _basis(parts: Parts) -> dict[str, Any]:
    """What the estimate rests on, for the plan: the run is compared with it."""
    question, sized, found = parts.question, parts.sized, parts.estimate
    mine = replace(parts.mine, key=parts.mine.key or work_key(question, sized))
    workload = None
    if sized.rented is not None and not question.place.rehearses:
        workload = rented.workload_of(sized.resolved, sized.work, sized.rented)
    bounds = {"floor_s": found.floor_s, "mfu": found.mfu.to_json()} if found.floor_s and found.mfu else {}
    return basis_json(
        rented.traits_of(sized.resolved, sized.work, sized.devices, workload, mine),
        workload,
        found.modelled,
        flops_per_example=sized.work.flops,
        bytes=parts.needed_bytes,
        timed=question.known.timing is not None,
        own=found.lesson.to_json() if found.lesson else None,
        training_s=found.training_s.to_json(),
        **bounds,
    )


def _memory_json(parts: Parts) -> dict[str, Any]:
    limit = parts.limit_bytes
    share = parts.needed_bytes / limit
    return {
        "device_bytes": parts.needed_bytes,
        "limit_bytes": limit,
        "by": "estimate",
        "fits": share <= 1,
        "tight": checks.TIGHT_SHARE < share <= 1,
        "params": parts.sized.work.params,
        "parts": _memory_parts(parts),
    }


def _memory_parts(parts: Parts) -> dict[str, int]:
    """What the needed bytes are the sum of."""
    memory = parts.sized.memory
    if parts.sized.rented is not None:
        return memory.parts_on_device(parts.sized.devices, parts.limit_bytes)
    named = ("weights", "gradients", "optimizer", "activations", "data", "framework")
    sizes = {name: int(getattr(memory, name)) for name in named}
    sizes["activations"] += memory.total - sum(sizes.values())  # evaluation's, where they are more
    sizes["framework"] += parts.needed_bytes - memory.total  # measured: more than was counted
    return sizes


def _checks(parts: Parts, limits: _Limits) -> list[Check]:
    question, sized, resolved = parts.question, parts.sized, limits.resolved
    job, known, rates = question.job, question.known, parts.usual().values["training.learning_rate"]
    needed, limit = parts.needed_bytes, parts.limit_bytes
    found = list(checks_of(question.look, job, int(resolved.values["data.image_size"])))
    seen = {check.id for check in found}
    for group in (
        checks.of_model_and_data(job, question.facts),
        checks.of_own_model(job, known.model_facts, known.consent),
        checks.of_settings(resolved, question.facts, sized.devices, float(rates)),
        checks.of_place(resolved, sized.rented),
        allowed.checks(sized.rented, question.place.id) if sized.rented is not None and not question.free else (),
        colab.checks(parts.estimate) if question.free else (),
        checks.of_memory(sized.memory, needed, limit, resolved, sized.devices),
        checks.of_bucket(resolved, limits.extras),
        checks.of_time_and_money(
            resolved, parts.estimate, limits.hours, limits.money, job.given, limits.price, limits.extras
        ),
    ):
        found += [check for check in group if check.id not in seen]
    order = {"error": 0, "warning": 1, "info": 2, "ok": 3}
    return sorted(found, key=lambda check: order.get(check.level, 2))


def margin_boot_s(wait_hours: float, *, platform: bool) -> float:
    """How long beyond its limit a machine may stay that hangs before it has begun, with nobody at a computer: until the
    stops from outside (`wire.stops`); Google's own limit counts from when it is there."""
    return _BOOT_S + _MARGIN_S / 2.0 if platform else beyond_s(wait_hours * 3600.0, _BOOT_S, _MARGIN_S)


def _or_default(path: str, value: Any) -> Any:
    """ "auto" of a key that has it is its default, as when a person takes it back."""
    return None if value == AUTO and BY_PATH[path].auto else value


def _day(now: float) -> str:
    return clock.strftime("%Y-%m-%d", clock.gmtime(now))
