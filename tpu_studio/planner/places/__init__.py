"""What differs in a plan from place to place: which TPU, how long it takes, what it costs, its limits and checks. Pure.

One module for each way, which a place's record names (`wire.places.Place.way`) and whose `PLANNER` it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.estimate import Estimate
from tpu_studio.planner.own import Mine
from tpu_studio.planner.rented import Rented
from tpu_studio.wire.extras import Extras
from tpu_studio.wire.places import Place
from tpu_studio.wire.plan import Check
from tpu_studio.wire.planparts import NO_LIMITS, PlanLimits, PlanPrice, Range

if TYPE_CHECKING:
    from tpu_studio.planner.parts import Parts, Question, Sized

USUAL_HOURS = "One and a half times the longest it should take"
USUAL_USD = "One and a half times the most it should cost"


@dataclass(frozen=True)
class Limits:
    """Attributes:
    resolved: With the limits set.
    price: As the plan carries it; *cost*: what it should cost, whether or not that is charged.
    extras: What a machine costs besides its chips.
    more: What holds at a rented place besides: waiting, silence, and how the bill is stopped.
    """

    resolved: Resolved
    price: PlanPrice | None
    cost: Range
    money: float | None = None
    extras: Extras | None = None
    more: PlanLimits = NO_LIMITS

    @property
    def hours(self) -> float:
        return float(self.resolved.job.limits.hours)

    @property
    def frozen(self) -> PlanLimits:
        """As the plan carries them."""
        return replace(self.more, money_usd=self.money, hours=self.hours)

    @property
    def usd_per_hour(self) -> float | None:
        return self.price.usd_per_hour if self.price else None


def unlimited(parts: Parts) -> Limits:
    """To be filled: its `resolved` is a copy."""
    resolved, price = parts.resolved, parts.price
    copied = replace(resolved, values=dict(resolved.values), reasons=dict(resolved.reasons))
    return Limits(copied, price, parts.estimate.cost_usd(price.usd_per_hour if price else None))


class PlacePlanner(Protocol):
    """How a run at a place is planned."""

    def choose(self, question: Question, sized: Sized) -> Rented | None:
        """Which TPU; None on this computer. *sized*: as for one device."""
        ...

    def estimate(self, sized: Sized, here: Estimate, mine: Mine) -> Estimate:
        """*here*: on this computer's processor."""
        ...

    def price(self, sized: Sized) -> PlanPrice | None: ...

    def limits(self, parts: Parts) -> Limits: ...

    def checks(self, parts: Parts) -> Iterator[Check]: ...


def planner_of(place: Place) -> PlacePlanner:
    made: PlacePlanner = import_module(f"{__name__}.{place.way}").PLANNER
    return made
