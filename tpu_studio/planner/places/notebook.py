"""A free Colab TPU for a plan: one v5e chip, nothing charged, and a session that Google ends when it likes. Pure.

What is known of the limits comes from people's reports of 2025 and 2026 (``catalogue/colab.json``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tpu_studio.domain import figures
from tpu_studio.planner import rented
from tpu_studio.planner.estimate import Estimate, learned, limit_hours, plus
from tpu_studio.planner.own import Mine
from tpu_studio.planner.places import USUAL_HOURS, Limits, unlimited
from tpu_studio.planner.rented import Rented
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Check
from tpu_studio.wire.planparts import PlanPrice, Range
from tpu_studio.wire.records import items, number
from tpu_studio.wire.resources import resource_path

if TYPE_CHECKING:
    from tpu_studio.planner.parts import Parts, Question, Sized

PRICE = PlanPrice("2025-09", 0.0, "colab-free")
_OPEN_S = Range(20.0, 60.0, 300.0)  # from Run all to a runtime that answers; longer where all are taken
_ENVIRONMENT_S = Range(30.0, 90.0, 240.0)  # frameworks installed beside Colab's own


@cache
def known() -> Mapping[str, object]:
    """``resources/catalogue/colab.json``: accelerator, environments, limits with their dates."""
    table: Mapping[str, object] = json.loads(resource_path("catalogue", "colab.json").read_text("utf-8"))
    return table


class NotebookPlanner:
    def choose(self, question: Question, sized: Sized) -> Rented:
        """The chip that Colab lends; another one asked for is a problem, not a substitute.

        Raises:
            BadInput: ``slice-unknown``, ``generation-unknown``.
        """
        job, offers = question.job, question.catalogue
        part = offers.slice(str(known()["accelerator"]))
        problem, why, reasons = "", "", {}
        if job.where.accelerator == AUTO:
            room = figures.size(offers.generation(part.generation).program_bytes)
            reasons["where.accelerator"] = f"What Colab lends for nothing: one v5e chip with {room} for a program."
        elif offers.slice(job.where.accelerator) != part:
            why = f"Colab lends {offers.title_of(part.accelerator_type)} for nothing and no other TPU."
            problem = "accelerator-impossible"
        return Rented(offers, part, (), "free", None, reasons, problem, why)

    def estimate(self, sized: Sized, here: Estimate, mine: Mine) -> Estimate:
        """Time in the notebook, from Run all to the zip; the same model of the chip as for rented ones."""
        resolved, work, tpu = sized.resolved, sized.work, sized.tpu
        there = rented.estimate(resolved, work, tpu, here, mine)
        traits = rented.traits_of(resolved, work, tpu.devices, rented.workload_of(resolved, work, tpu), mine)
        compiling = learned(mine.runs, "compile_s", traits, rented.COMPILE_S)
        return replace(there, setup_s=plus(plus(_OPEN_S, _ENVIRONMENT_S), compiling))

    def price(self, sized: Sized) -> PlanPrice:
        return PRICE

    def limits(self, parts: Parts) -> Limits:
        found = unlimited(parts)
        hours = limit_hours(parts.estimate.time_s, float(found.resolved.job.limits.wait_hours))
        found.resolved.put("limits.hours", hours, f"{USUAL_HOURS}.")
        found.resolved.reasons["limits.money_usd"] = "Nothing is charged in a free Colab notebook."
        return found

    def checks(self, parts: Parts) -> Iterator[Check]:
        """Whether the work ends within what people report of one free session."""
        low, high = (number(hours) for hours in items(known()["session_hours"]))
        time = parts.estimate.time_s
        if time.high > low * 3600:
            yield Check(
                "colab-session",
                "warning" if time.expected > high * 3600 else "info",
                "It may take more than one free session",
                None,
                {"low_hours": low, "high_hours": high, "expected_s": time.expected},
            )


PLANNER = NotebookPlanner()
