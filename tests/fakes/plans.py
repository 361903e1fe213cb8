"""Plans for tests that need one but do not care which."""

from __future__ import annotations

from typing import Any

from tpu_studio.wire.job import parse_resolved
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.planparts import PlanLimits, PlanPrice, Range


def plan(
    *, name: str = "digits", steps: int = 20, limits: dict[str, Any] | None = None, usd_per_hour: float | None = None
) -> Plan:
    """A plan for scikit-learn's digits on this computer; what is "auto" besides the batch is left as it is, as nobody
    reads it here."""
    training = {"epochs": 2, "global_batch": 144}
    tables = {"model": {"name": "mlp"}, "data": {"kind": "digits"}, "training": training}
    job = parse_resolved({"format": 1, "name": name, **tables})
    price = None if usd_per_hour is None else PlanPrice("", usd_per_hour, "pretended")
    return Plan(
        job=job,
        task="classification",
        framework="tensorflow",
        steps=steps,
        steps_per_epoch=10.0,
        price=price,
        limits=PlanLimits(**{"money_usd": None, "hours": 1.0, **(limits or {})}),
        time_s=Range(1.0, 2.0, 3.0),
    )
