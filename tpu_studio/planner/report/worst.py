"""What a rented run can cost at worst: as large a figure in the review as the cap. Pure.

Worst case = cap + the longest rent between a machine that is there and the next stop that ends it + the margin. It is
what a machine costs that hangs before it has begun, with this computer off (`wire.stops.beyond_s`). The cap holds what
is reserved for storage, requests and traffic; beyond it only what is charged by the hour goes on: chips, disks,
addresses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.wire import places
from tpu_studio.wire.extras import all_in_usd_per_hour
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan


@dataclass(frozen=True)
class WorstCase:
    """Attributes:
    usd: In whole cents upwards; None: the price is not known, or nothing ends a machine that hangs.
    cap_usd: What the limits allow without any trouble; None: the price is not known and no money is given.
    endless: Nothing but a person ends a machine that hangs: the launch goes without shut-off timers.
    usd_per_day: What it is charged then.
    beyond_s: How long a machine that hangs may be charged beyond its limits, until the next stop ends it.
    hours_bind: The cap is what the time limit allows, which is less than the cost limit.
    """

    usd: float | None
    cap_usd: float | None
    endless: bool = False
    usd_per_day: float | None = None
    beyond_s: float = 0.0
    hours_bind: bool = False

    @property
    def made_of(self) -> str:
        """`$0.44 at its limits, and up to 4 h 40 of rent beyond`; "" where there is no such figure."""
        if self.usd is None or self.cap_usd is None:
            return ""
        return (
            f"{figures.money(self.cap_usd)} at its limits, and up to {figures.duration(self.beyond_s)} of rent beyond"
        )


def worst_case(plan: Plan) -> WorstCase | None:
    """None: nothing is rented."""
    if not places.by_id(plan.place).rents:
        return None
    limits, rate = plan.limits, all_in_usd_per_hour(plan.price, plan.extras)
    money, hours = limits.money_usd, limits.hours
    caps = [money] if money is not None else []
    if rate is not None and hours is not None:
        caps.append(limits_of(plan).reserved_usd + rate * hours)
    cap = min(caps, default=None)
    hours_bind = cap is not None and (money is None or cap < money)
    endless = limits.without_outside_stop and not limits.platform
    if rate is None or cap is None:
        return WorstCase(None, cap, endless)
    beyond_s = max(limits.margin_s, limits.margin_boot_s)
    usd = None if endless else _cents_up(cap + rate * beyond_s / 3600.0)
    return WorstCase(usd, _cents_up(cap), endless, _cents_up(rate * 24.0), beyond_s, hours_bind)


def _cents_up(usd: float) -> float:
    return math.ceil(round(usd * 100.0, 6)) / 100.0
