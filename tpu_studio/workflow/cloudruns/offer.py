"""What a take-over goes by: the plan that stands in the bucket, and the changes of its limits that lie there. Pure.

A machine writes into the bucket too, where a person's code runs. So a person says yes to these very bytes and records;
whatever comes there meanwhile, or later, counts for nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.planner.places.rented import margin_boot_s
from tpu_studio.planner.rented import listed_usd_per_hour
from tpu_studio.wire import places
from tpu_studio.wire.controls import Control
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.plan import Plan, loads

LISTED_SHARE = 0.9  # of the listed price: an older list, or a reserved price, may have been a little less


def priced(plan: Plan, limits: Limits) -> Limits:
    """*limits*, counted by this computer's list where *plan* has no price and a machine is charged: an older version's
    plan, or one of a bucket. Else its cost limit would end nothing."""
    if is_priced(plan) or (usd := listed(plan)) is None:
        return limits
    return replace(limits, usd_per_hour=usd + (plan.extras.machine_usd_per_hour if plan.extras else 0.0))


def is_priced(plan: Plan) -> bool:
    """Whether its own price counts towards its cost limit, or nothing is charged."""
    return bool(plan.price and plan.price.usd_per_hour) or not places.by_id(plan.place).charges


def listed(plan: Plan) -> float | None:
    """What its machine costs an hour by the price list of this computer; None: unknown."""
    try:
        return listed_usd_per_hour(plan, catalogue_at(plan.place))
    except BadInput:  # a machine that this version knows no more, or that somebody made up: no price of it is known
        return None


@dataclass(frozen=True)
class Offer:
    """Attributes:
    frozen: The plan, as it stands in the bucket.
    changes: Of its limits, in the order in which they count.
    agreed: All of it was agreed to on this computer before.
    """

    frozen: bytes
    changes: tuple[Control, ...]
    agreed: bool

    @property
    def plan(self) -> Plan:
        return loads(self.frozen)

    @property
    def limits(self) -> Limits:
        return limits_of(self.plan, self.changes)

    @property
    def listed_usd_per_hour(self) -> float | None:
        """By the price list of this computer; None: unknown."""
        return listed(self.plan)

    @property
    def is_underpriced(self) -> bool:
        """Its own price, by which the limit of money is watched, is less than the list's: the limit comes too late."""
        usd = self.listed_usd_per_hour
        return usd is not None and (self.limits.usd_per_hour or 0.0) < LISTED_SHARE * usd

    @property
    def beyond_s(self) -> float:
        """How long a machine that hangs may be charged beyond its limits: by the wait in the plan and the stops that
        are set from here, whatever the plan says of it."""
        plan = self.plan  # which says it twice: the machine is waited for by the job
        return margin_boot_s(max(plan.limits.wait_hours, plan.job.limits.wait_hours), platform=False)

    @property
    def worst_usd(self) -> float | None:
        """`most_usd` and that rent, by the dearer of both prices; None: unknown, or nothing ends it."""
        usd = max(self.limits.usd_per_hour or 0.0, self.listed_usd_per_hour or 0.0)
        most = self.most_usd
        return most + usd * self.beyond_s / 3600.0 if most is not None and usd else None

    @property
    def most_usd(self) -> float | None:
        """What it may come to; None: nothing ends it, or no price is known by which a limit of money counts."""
        limits = self.limits
        if not self.is_underpriced:
            if limits.money_usd is not None or limits.hours is None or not limits.usd_per_hour:
                return limits.money_usd if limits.usd_per_hour else None
            return limits.reserved_usd + limits.hours * limits.usd_per_hour
        by_money = math.inf
        if limits.money_usd is not None and limits.usd_per_hour:
            by_money = limits.money_usd / limits.usd_per_hour
        hours = min(math.inf if limits.hours is None else limits.hours, by_money)
        most = max(limits.money_usd or 0.0, hours * (self.listed_usd_per_hour or 0.0))
        return most if math.isfinite(most) else None
