"""What a rented run can cost at worst: as large a figure in the review as the cap. Pure.

Worst case = cap + the longest rent between a machine that is there and the next stop that ends it + the margin. It is
what a machine costs that hangs before it has begun, with this computer off (`wire.stops.beyond_s`). The cap holds what
is reserved for storage, requests and traffic; beyond it only what is charged by the hour goes on: chips, disks,
addresses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tpu_studio.wire.extras import all_in_usd_per_hour
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan

RENTED = ("practice", "cloud")


@dataclass(frozen=True)
class WorstCase:
    """Attributes:
    usd: In whole cents upwards; None: the price is not known, or nothing ends a machine that hangs.
    cap_usd: What the limits allow without any trouble; None: the price is not known and no money is given.
    endless: Nothing but a person ends a machine that hangs: the launch goes without a stop from outside.
    usd_per_day: What it is charged then.
    """

    usd: float | None
    cap_usd: float | None
    endless: bool = False
    usd_per_day: float | None = None


def worst_case(plan: Plan) -> WorstCase | None:
    """None: nothing is rented."""
    if plan.place not in RENTED:
        return None
    limits, rate = plan.limits, all_in_usd_per_hour(plan.price, plan.extras)
    money, hours = limits.get("money_usd"), limits.get("hours")
    caps = [float(money)] if money is not None else []
    if rate is not None and hours is not None:
        caps.append(limits_of(plan).reserved_usd + rate * float(hours))
    cap = min(caps, default=None)
    endless = bool(limits.get("without_outside_stop")) and "platform" not in limits.get("stops", ())
    if rate is None or cap is None:
        return WorstCase(None, cap, endless)
    beyond_s = max(float(limits.get("margin_s") or 0.0), float(limits.get("margin_boot_s") or 0.0))
    usd = None if endless else _cents_up(cap + rate * beyond_s / 3600.0)
    return WorstCase(usd, _cents_up(cap), endless, _cents_up(rate * 24.0))


def _cents_up(usd: float) -> float:
    return math.ceil(round(usd * 100.0, 6)) / 100.0
