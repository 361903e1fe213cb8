"""Plans and estimates by what is known, each thing by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpu_studio.data.looked import Look
from tpu_studio.domain.renewed import catalogue_at, catalogues
from tpu_studio.planner import compiled, make
from tpu_studio.planner.estimate import Estimate
from tpu_studio.planner.known import Known
from tpu_studio.planner.parts import parts_of
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan


def make_plan(job: Job, look: Look, *, now: float, advise: bool = True, **known: Any) -> Plan:
    """*known*: the fields of `planner.known.Known`."""
    return make.make_plan(job, look, Known(catalogues(), **known), now=now, advise=advise)


def estimate_of(job: Job, look: Look, **known: Any) -> Estimate:
    """The parts of the estimate that the frozen plan does not carry."""
    return parts_of(job, look, Known(catalogues(), **known)).estimate


def with_compiler(plan: Plan, answer: Mapping[str, object]) -> Plan:
    return compiled.with_compiler(plan, answer, catalogue_at(plan.place))
