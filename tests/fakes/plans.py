"""Plans for tests that need one but do not care which."""

from __future__ import annotations

from typing import Any

from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan, Range


def plan(
    *, name: str = "digits", steps: int = 20, limits: dict[str, Any] | None = None, usd_per_hour: float | None = None
) -> Plan:
    """A plan for scikit-learn's digits on this computer, all "auto" left as it is: the fake trainer does not read
    it."""
    job = parse(
        {"format": 1, "name": name, "model": {"name": "mlp"}, "data": {"kind": "digits"}, "training": {"epochs": 2}}
    )
    price = None if usd_per_hour is None else {"usd_per_hour": usd_per_hour, "as_of": "", "source": "pretended"}
    return Plan(
        job=job,
        task="classification",
        framework="tensorflow",
        steps=steps,
        steps_per_epoch=10.0,
        price=price,
        limits={"money_usd": None, "hours": 1.0, **(limits or {})},
        time_s=Range(1.0, 2.0, 3.0),
    )
