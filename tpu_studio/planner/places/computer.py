"""A plan for this computer's own processor: nothing is chosen, and nothing is charged but a pretended price. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tpu_studio.planner import rules
from tpu_studio.planner.estimate import Estimate, limit_hours, limit_usd
from tpu_studio.planner.own import Mine
from tpu_studio.planner.places import USUAL_HOURS, USUAL_USD, Limits, unlimited
from tpu_studio.wire.plan import Check
from tpu_studio.wire.planparts import PlanPrice

if TYPE_CHECKING:
    from tpu_studio.planner.parts import Parts, Question, Sized

FREE_HOURS = "Four times the longest it should take, an hour at least: other programs may need the computer too."


class ComputerPlanner:
    def choose(self, question: Question, sized: Sized) -> None:
        return None

    def estimate(self, sized: Sized, here: Estimate, mine: Mine) -> Estimate:
        return here

    def price(self, sized: Sized) -> PlanPrice | None:
        given = sized.resolved.job.where.usd_per_hour
        return PlanPrice(None, given, "pretended") if given else None

    def limits(self, parts: Parts) -> Limits:
        found = unlimited(parts)
        resolved = found.resolved
        time_s, wait_hours = parts.estimate.time_s, float(resolved.job.limits.wait_hours)
        if found.price is None:
            factor, least = rules.COMPUTER_HOURS_FACTOR, rules.COMPUTER_HOURS_LEAST
            resolved.put("limits.hours", limit_hours(time_s, wait_hours, factor=factor, least=least), FREE_HOURS)
            resolved.reasons["limits.money_usd"] = "Nothing is charged on this computer."
            return found
        resolved.put("limits.hours", limit_hours(time_s, wait_hours), f"{USUAL_HOURS}.")
        resolved.put("limits.money_usd", limit_usd(found.cost), f"{USUAL_USD}.")
        return replace(found, money=float(resolved.job.limits.money_usd))

    def checks(self, parts: Parts) -> Iterator[Check]:
        return iter(())


PLANNER = ComputerPlanner()
