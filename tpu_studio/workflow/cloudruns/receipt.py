"""The receipt of a run: what was made, when it was proved deleted, what it cost, which stops were removed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import region_of
from tpu_studio.wire.extras import chips_usd_per_hour_in
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import to_json, whole
from tpu_studio.workflow.cloudruns import brought
from tpu_studio.workflow.cloudruns.bill import Part, total
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.state import State

FORMAT = 1


def receipt(
    plan: Plan,
    state: State,
    *,
    bucket: str,
    usd_per_hour: float | None,
    left: list[str],
    now: float,
    unseen_usd: float = 0.0,
    stop_account: str = "",
    kept_bytes: int | None = None,
    parts: Sequence[Part] = (),
    chips: Mapping[str, object] | None = None,
) -> object:
    """JSON of ``result/receipt.json``: times in seconds since 1970, money in USD.

    Args:
        usd_per_hour: Of the chips alone.
        parts: What it has cost, part by part: their sum is the cost.
        unseen_usd: What machines may have cost that nobody saw; it is part of ``usd_at_most`` only.
        stop_account: The account as which shut-off timers would have deleted; "": there were none.
        chips: How well they were used (`chipuse.chips_used`).
        kept_bytes: What the run's folder in the bucket holds; None: that could not be read.
    """
    end = state.end
    least, usd, most = total(parts)
    return {
        "format": FORMAT,
        "run": plan.run,
        "place": plan.place,
        "project": state.project,
        "bucket": bucket,
        "status": end.get("status") if end else None,
        "reason": end.get("reason") if end else None,
        "made": [
            _made(one, chips_usd_per_hour_in(plan.price, plan.extras, region_of(one.ref.zone)))
            for one in state.machines
            if one.made
        ],
        "asked_in_vain": [
            {"name": one.ref.name, "zone": one.ref.zone, "why": one.refusal or one.leaving}
            for one in state.machines
            if not one.made and one.asked is not None
        ],
        "stop_account": stop_account or None,
        "stops_left": left,
        "usd": round(usd, 6) if usd_per_hour is not None else None,
        "usd_at_least": round(least, 6) if usd_per_hour is not None else None,
        "usd_at_most": round(most + unseen_usd, 6) if usd_per_hour is not None else None,
        "usd_per_hour": usd_per_hour,
        "parts": [part.to_json() for part in parts],
        "price": to_json(plan.price) if plan.price else None,
        "chips": dict(chips or {}),
        "kept": f"gs://{bucket}/runs/{plan.run}/",
        "kept_bytes": kept_bytes,
        "kept_usd_per_month": _per_month(plan, kept_bytes),
        "kept_for_other_runs": _shared(bucket, plan, state),
        "written": round(now, 3),
    }


def _shared(bucket: str, plan: Plan, state: State) -> list[dict[str, object]]:
    """What the next run with the same finds there: each piece with what it costs a month."""
    return [
        {
            "object": f"gs://{bucket}/{piece['object']}",
            "bytes": piece["bytes"],
            "usd_per_month": _per_month(plan, whole(piece["bytes"])),
        }
        for piece in brought.shared(state.pieces)
    ]


def _per_month(plan: Plan, size: int | None) -> float | None:
    """USD; None: the price is unknown. The bucket is in the region of the plan's first zone."""
    zones = plan.job.where.zones or [""]
    rate = catalogue().storage_usd_per_gb_month(str(zones[0]))
    return None if rate is None or size is None else round(size / 2**30 * rate, 6)


def _made(machine: Machine, usd_per_hour: float | None) -> dict[str, object]:
    seconds = machine.billed_s(machine.gone or 0.0)
    least, most = machine.billed_between_s(machine.gone or 0.0)
    return {
        "name": machine.ref.name,
        "kind": "queued-resource and node" if machine.ref.backend == "tpu" else "instance",
        "zone": machine.ref.zone,
        "attempt": machine.attempt,
        "created": machine.created,
        "deleted": machine.gone,
        "proof": "GET by name answered 404",
        "billed_s": round(seconds, 3),
        "billed_at_least_s": round(least, 3),
        "billed_at_most_s": round(most, 3),
        "usd": round(seconds / 3600.0 * usd_per_hour, 6) if usd_per_hour is not None else None,
    }
