"""A plan as `tpu-studio plan --json` and `check --json` print it: names and keys that scripts rely on."""

from __future__ import annotations

from typing import Any

from tpu_studio.wire.plan import Plan, Range

WORTH_HOURS = 24.0  # beyond a day of its own processor, a person would rather have the computer back


def plan_to_public_json(plan: Plan) -> dict[str, Any]:
    """Ranges are ``{"low","expected","high"}``; nothing costs anything on this computer unless a price is pretended."""
    memory = plan.memory
    return {
        "place": plan.place,
        "framework": plan.framework,
        "accelerator": plan.accelerator,
        "fits": plan.fits,
        "memory": {name: memory.get(name) for name in ("device_bytes", "limit_bytes", "by")},
        "examples_per_s": _range(plan.examples_per_s),
        "time_s": _range(plan.time_s),
        "cost_usd": _range(plan.cost_usd),
        "price": dict(plan.price) if plan.price else {"usd_per_hour": 0.0, "as_of": None, "source": "own-computer"},
        "checks": [
            {"id": check.id, "level": check.level, "title": check.title, "fix": dict(check.fix) if check.fix else None}
            for check in plan.checks
        ],
        "alternatives": [],  # other places join when they can be rented
        "verdict": verdict(plan),
    }


def verdict(plan: Plan) -> dict[str, Any]:
    """Whether this computer is the place for it: honest about days of waiting, with nothing better to offer yet."""
    if plan.blocking:
        return {"worth_it": False, "instead": None, "why": f"It cannot start yet: {plan.blocking[0].title}."}
    if not plan.fits:
        return {"worth_it": False, "instead": None, "why": "It does not fit into this computer's memory."}
    expected = plan.time_s.expected if plan.time_s else 0.0
    if expected > WORTH_HOURS * 3600:
        days = expected / 86_400
        return {
            "worth_it": False,
            "instead": None,
            "why": f"It would take about {days:,.0f} days here. Renting a TPU comes with a later version.",
        }
    return {"worth_it": True, "instead": None, "why": "It fits, and nothing is charged on this computer."}


def _range(value: Range | None) -> dict[str, float] | None:
    return value.to_json() if value else None
