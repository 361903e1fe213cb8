"""What a machine is asked for with: rules from the plan, ts-config, the deadlines of shut-off timers. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tpu_studio.domain.catalogue import FLEX_START_MOST_S, catalogue
from tpu_studio.wire import loans
from tpu_studio.wire.limits import Limits
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.stops import times
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.mirror import prefix_of
from tpu_studio.workflow.cloudruns.ports import CloudSide, Wanted
from tpu_studio.workflow.cloudruns.rules import Rules
from tpu_studio.workflow.cloudruns.state import State

MARGIN_S = 600.0
SILENCE_S = 900.0
BOOT_S = 1200.0
LABEL = "tpu-studio"


def rules_of(plan: Plan, limits: Limits) -> Rules:
    compute = catalogue().by_compute_engine(plan.accelerator, plan.job.where.backend)
    return Rules(
        zones=tuple(plan.job.where.zones),
        backend="compute" if compute else "tpu",
        alpha=not compute and loans.by_id(plan.job.where.tier).waits,
        wait_s=plan.job.limits.wait_hours * 3600.0,
        silence_s=SILENCE_S + 120.0,
        boot_s=BOOT_S,
        usd_per_hour=limits.usd_per_hour,
        money_usd=limits.money_usd,
        reserved_usd=limits.reserved_usd,
        hours=limits.hours,
    )


def workers_of(plan: Plan) -> int:
    return catalogue().slice(plan.accelerator).vms


def lease_s(limits: Limits, state: State, now: float) -> float:
    """What is left of the time limit for this attempt."""
    return max(60.0, time_left_s(limits, state, now))


def stay_s(limits: Limits, state: State, now: float) -> float:
    """How long the next machine may stay after those of *state*: what is left of the time or of the money."""
    return max(60.0, min(time_left_s(limits, state, now), money_left_s(limits, state, now)))


def time_left_s(limits: Limits, state: State, now: float) -> float:
    """Of the limit of time, seconds; a run without one is given an hour."""
    return max(0.0, float(limits.hours or 1.0) * 3600.0 - state.limited_s(now))


def money_left_s(limits: Limits, state: State, now: float) -> float:
    """Of rent, what the limit of money pays for yet; infinity where there is none, or no price is known."""
    if limits.money_usd is None or not limits.usd_per_hour:
        return math.inf
    whole_s = max(0.0, limits.money_usd - limits.reserved_usd) / limits.usd_per_hour * 3600.0
    return max(0.0, whole_s - state.limited_money_s(now))


def _run_s(wanted: float, tier: str) -> float:
    """A run that was given more time may go beyond what flex-start lends: Google ends the machine, not the run."""
    return min(wanted, FLEX_START_MOST_S) if loans.by_id(tier).waits else wanted


def labels_of(run: str, install: str) -> Mapping[str, str]:
    return {"tpu-studio": "run", "run-id": run, "install": install}


def before_times(now: float, state: State, rules: Rules, limits: Limits) -> list[float]:
    """Deadlines set before the create call: end of waiting + boot + stay + margin, and those after it."""
    return times(bare_deadline(now, state, rules, limits) + MARGIN_S)


def lease_times(machine: Machine, state: State, limits: Limits, now: float) -> list[float]:
    """Deadlines at the true end of the lease, by time or by money, + margin, and those after it."""
    began = machine.created if machine.created is not None else now
    return times(max(began + stay_s(limits, state.without(machine), began), now) + MARGIN_S)


def bare_deadline(now: float, state: State, rules: Rules, limits: Limits) -> float:
    waiting = max(0.0, rules.wait_s - max(0.0, now - state.since)) if state.since else rules.wait_s
    return now + waiting + rules.boot_s + stay_s(limits, state, now)


PIECES = ("bundle", "data", "environment", "guardian_sha256", "installer", "preset", "runtime", "trust_code")
"""Of ts-config, what `ports.Preparing.upload` returns. Nothing else that stands beside them in the records is told a
machine: where it asks, when it ends and what it may cost is said here."""


def config(
    machine: Machine,
    *,
    plan: Plan,
    state: State,
    side: CloudSide,
    install: str,
    limits: Limits,
    now: float,
    queue: str = "",
    compiled: Mapping[str, object] | None = None,
    compiled_key: str = "",
    limits_key: str = "",
) -> dict[str, object]:
    """The ts-config of docs/cloud.md; *queue*: to which the machine may add
    stops, "" where they are waived; *compiled*: programs of an earlier machine;
    *compiled_key*: with which this one seals what it tells of its own;
    *limits_key*: with which this computer seals changes of its limits."""
    ref, run, slice_ = machine.ref, plan.run, catalogue().slice(plan.accelerator)
    if ref.backend == "tpu":
        place = f"{ref.version}/projects/{side.project}/locations/{ref.zone}"
        resource, node = f"{place}/queuedResources/{ref.name}?force=true", f"{place}/nodes/{ref.name}"
    else:
        resource = node = f"compute/v1/projects/{side.project}/zones/{ref.zone}/instances/{ref.name}"
    outside = {
        "queue": queue,
        "account": side.stop_account,
        "margin_s": MARGIN_S,
    }
    pieces = state.pieces or {}
    spent_usd = state.usd(limits.usd_per_hour, now)
    return {
        **{name: pieces[name] for name in PIECES if name in pieces},
        **({"compiled": dict(compiled)} if compiled else {}),
        **({"compiled_key": compiled_key} if compiled_key else {}),
        **({"limits_key": limits_key} if limits_key else {}),
        "format": 1,
        "run": run,
        "attempt": machine.attempt,
        "try": machine.number,
        "name": ref.name,
        "install": install,
        "backend": ref.backend,
        "resource": resource,
        "node": node,
        "project": side.project,
        "zone": ref.zone,
        "region": ref.region,
        "workers": slice_.vms,
        "chips": slice_.chips,
        "bucket": side.mailbox.bucket,
        "prefix": prefix_of(run),
        "endpoints": dict(side.endpoints),
        "outside_stops": outside if queue else None,
        "lease_s": round(lease_s(limits, state, now), 3),
        "usd_per_hour": limits.usd_per_hour,
        "earlier_s": round(state.limited_s(now), 3),
        "spent_usd": round(spent_usd, 6),
        "unseen_usd": round(max(0.0, state.limited_usd(limits.usd_per_hour, now) - spent_usd), 6),
        "money_usd": limits.money_usd,
        "reserve": limits.reserve.to_json(),
        "idle_minutes": limits.idle_minutes if limits.idle_minutes is not None else 15,
        "silence_s": SILENCE_S,
    }


def wanted(
    machine: Machine,
    metadata: Mapping[str, str],
    *,
    plan: Plan,
    rules: Rules,
    limits: Limits,
    state: State,
    side: CloudSide,
    install: str,
    now: float,
) -> Wanted:
    slice_ = catalogue().slice(plan.accelerator)
    tier = plan.job.where.tier
    own_stop = loans.by_id(tier).waits or machine.ref.backend == "compute"
    return Wanted(
        ref=machine.ref,
        request_id=machine.request_id,
        accelerator=slice_.accelerator_type,
        runtime=str((state.pieces or {}).get("runtime") or catalogue().image(slice_.generation, plan.framework)),
        tier=tier,
        valid_for_s=max(60.0, rules.wait_s - max(0.0, now - state.since)),
        run_s=_run_s(stay_s(limits, state, now) + rules.boot_s, tier) if own_stop else None,
        metadata=metadata,
        labels=labels_of(plan.run, install),
        service_account=side.runner,
    )
