"""A plan as `tpu-studio plan --json` and `check --json` print it: names and keys that scripts rely on."""

from __future__ import annotations

from tpu_studio.planner.report.worst import worst_case
from tpu_studio.wire import places
from tpu_studio.wire.plan import Plan, Range
from tpu_studio.wire.records import to_json


def plan_to_public_json(plan: Plan) -> dict[str, object]:
    """Ranges are ``{"low","expected","high"}``; nothing costs anything on this computer unless a price is pretended.

    ``worst_case_usd`` only where something is rented; null: no price is known, or nothing ends a machine that hangs.
    ``extras`` neither: what it costs besides the chips, part by part (``wire.extras``), at most; ``cost_usd`` is the
    chips'.
    """
    return {
        "place": plan.place,
        "framework": plan.framework,
        "accelerator": plan.accelerator,
        "fits": plan.fits,
        "memory": {name: getattr(plan.memory, name) for name in ("device_bytes", "limit_bytes", "by")},
        "examples_per_s": _range(plan.examples_per_s),
        "time_s": _range(plan.time_s),
        "cost_usd": _range(plan.cost_usd),
        "price": to_json(plan.price) if plan.price else _no_price(plan),
        "checks": [
            {"id": check.id, "level": check.level, "title": check.title, "fix": dict(check.fix) if check.fix else None}
            for check in plan.checks
        ],
        "alternatives": [to_json(one) for one in plan.alternatives],
        "verdict": to_json(plan.verdict) if plan.verdict else {},
        **bounds(plan),
        **_from_own_runs(plan),
        **({"extras": to_json(plan.extras)} if plan.extras else {}),
        **({"worst_case_usd": worst.usd} if (worst := worst_case(plan)) else {}),
    }


def bounds(plan: Plan) -> dict[str, object]:
    """``estimate``, only for a TPU: what one step takes at least, and the model FLOP utilisation."""
    basis = plan.basis
    if basis is None or basis.floor_s is None:
        return {}
    return {"estimate": {"floor_s": basis.floor_s, "mfu": _range(basis.mfu)}}


def _range(value: Range | None) -> dict[str, float] | None:
    return value.to_json() if value else None


def _from_own_runs(plan: Plan) -> dict[str, object]:
    """``estimate_from``, only where own runs corrected the estimate: how many, the day of the newest, how many were
    this very work, and how many times the model's own figure came out."""
    own = plan.basis.own if plan.basis else None
    if not own:
        return {}
    return {"estimate_from": {"by": "own-runs", **{n: own[n] for n in ("runs", "newest", "same", "times_the_model")}}}


def _no_price(plan: Plan) -> dict[str, object]:
    """This computer costs nothing; what a rented machine costs is not known."""
    if places.by_id(plan.place).local:
        return {"usd_per_hour": 0.0, "as_of": None, "source": "own-computer"}
    return {"usd_per_hour": None, "as_of": None, "source": None}
