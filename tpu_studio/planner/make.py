"""From a job and a look at its data to a plan: `make_plan`, quick enough for every press of a key."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.data.looked import Look
from tpu_studio.planner import checks, presets, rented, room
from tpu_studio.planner.facts import checks_of
from tpu_studio.planner.floor import utilisation
from tpu_studio.planner.known import NOTHING_KNOWN, Known
from tpu_studio.planner.outlook import with_outlook
from tpu_studio.planner.parts import Parts, parts_of, work_key
from tpu_studio.planner.paths import whole_job
from tpu_studio.planner.places import Limits
from tpu_studio.planner.throughput.workload import KEYS
from tpu_studio.planner.work import LANES
from tpu_studio.wire import frameworks, places
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.wire.planparts import Basis, PlanMemory
from tpu_studio.wire.schema import BY_PATH
from tpu_studio.wire.utilisation import Utilisation


def make_plan(job: Job, look: Look, known: Known = NOTHING_KNOWN, *, now: float, advise: bool = True) -> Plan:
    """The plan of *job* on the data seen in *look*; the same arguments give the same plan.

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


def _plan(parts: Parts, now: float) -> tuple[Plan, Limits]:
    """Without outlook."""
    question, sized = parts.question, parts.sized
    limits = question.planner.limits(parts)
    resolved, price = limits.resolved, limits.price
    resolved.reasons["estimate"] = parts.estimate.why
    plan = Plan(
        job=whole_job(question.job, resolved, question.look.rows_file),
        task=resolved.job.data.task,
        framework=resolved.job.training.framework,
        place=resolved.job.where.place,
        accelerator=resolved.job.where.accelerator,
        devices=sized.devices,
        steps=resolved.steps,
        steps_per_epoch=resolved.steps_per_epoch,
        reasons=resolved.reasons,
        data=question.look.to_json(),
        examples_per_s=parts.estimate.examples_per_s,
        time_s=parts.estimate.time_s,
        cost_usd=limits.cost if limits.usd_per_hour or not question.place.rents else None,
        memory=_memory(parts),
        price=replace(price, as_of=_day(now)) if price and question.place.local else price,
        limits=limits.frozen,
        checks=tuple(_checks(parts, limits)),
        extras=limits.extras,
        basis=_basis(parts),
        model_options=dict(question.options or question.job.model.options),
        utilisation=_utilisation(parts),
        table_rows=_table_rows(parts),
        sharded=sized.memory.sharded,
        scored_at_once=sized.scored_at_once,
        consent=question.known.consent,
        preset_sha256=question.known.preset.sha256 if question.known.preset else "",
        preset_bytes=question.known.preset.files_bytes if question.known.preset else 0,
        created=now,
    )
    return plan, limits


def _table_rows(parts: Parts) -> int:
    """Of a token table that fills a TPU's tiles; 0 where the vocabulary does, or no TPU works on it."""
    resolved, rows = parts.resolved, int(parts.question.options.get("vocabulary") or 0)
    leads = frameworks.by_id(resolved.job.training.framework).leads_on_chip
    whole = -(-rows // LANES) * LANES
    return whole if whole > rows and leads and resolved.on_chip and resolved.rule.reads_tokens else 0


def _basis(parts: Parts) -> Basis:
    """What the estimate rests on, for the plan: the run is compared with it."""
    question, sized, found = parts.question, parts.sized, parts.estimate
    mine = replace(parts.mine, key=parts.mine.key or work_key(question, sized))
    workload = None
    if sized.rented is not None and not question.place.rehearses:
        workload = rented.workload_of(sized.resolved, sized.work, sized.rented)
    bounded = found.floor_s and found.mfu
    return Basis(
        traits=rented.traits_of(sized.resolved, sized.work, sized.devices, workload, mine).to_json(),
        workload={key: getattr(workload, key) for key in KEYS} if workload else None,
        modelled=found.modelled,
        flops_per_example=sized.work.flops,
        bytes=parts.needed_bytes,
        timed=question.known.timing is not None,
        own=found.lesson.to_json() if found.lesson else None,
        training_s=found.training_s,
        floor_s=found.floor_s if bounded else None,
        mfu=found.mfu if bounded else None,
    )


def _utilisation(parts: Parts) -> Utilisation | None:
    """None where the steps are a processor's: there is no peak to compare them with."""
    rented = parts.sized.rented
    return (
        utilisation(rented.generation, rented.slice, parts.sized.work)
        if rented is not None and parts.estimate.mfu
        else None
    )


def _memory(parts: Parts) -> PlanMemory:
    share = parts.needed_bytes / parts.limit_bytes
    return PlanMemory(
        device_bytes=parts.needed_bytes,
        limit_bytes=parts.limit_bytes,
        by="estimate",
        fits=share <= 1,
        tight=checks.TIGHT_SHARE < share <= 1,
        params=parts.sized.work.params,
        parts=_memory_parts(parts),
    )


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


def _checks(parts: Parts, limits: Limits) -> list[Check]:
    question, sized, resolved = parts.question, parts.sized, limits.resolved
    job, known = question.job, question.known
    needed, limit = parts.needed_bytes, parts.limit_bytes
    found = list(checks_of(question.look, job, resolved.job.data.image_size))
    seen = {check.id for check in found}
    for group in (
        checks.of_model_and_data(job, question.facts),
        checks.of_own_model(job, known.model_facts, known.consent),
        presets.of_starter(resolved, sized.rented, known.starter),
        presets.of_folder(resolved, sized.rented, known, sized.work, sized.memory, question.look),
        checks.of_work(job, sized.work, known.consent, measured=parts.estimate.measured),
        checks.of_settings(resolved, question.facts, sized.devices, parts.usual_rate),
        checks.of_place(resolved, sized.rented),
        question.planner.checks(parts),
        checks.of_memory(sized.memory, needed, limit, resolved, sized.devices),
        room.of_disk(resolved.job.where.place, sized.work.params, resolved.steps, known.free_bytes),
        checks.of_bucket(resolved, limits.extras),
        checks.of_time_and_money(
            resolved, parts.estimate, limits.hours, limits.money, job.given, limits.price, limits.extras
        ),
    ):
        found += [check for check in group if check.id not in seen]
    order = {"error": 0, "warning": 1, "info": 2, "ok": 3}
    return sorted(found, key=lambda check: order.get(check.level, 2))


def _or_default(path: str, value: object) -> object:
    """ "auto" of a key that has it is its default, as when a person takes it back."""
    return None if value == AUTO and BY_PATH[path].auto else value


def _day(now: float) -> str:
    return clock.strftime("%Y-%m-%d", clock.gmtime(now))
