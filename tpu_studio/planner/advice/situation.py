"""What a rule may look at, and the piece of advice it may give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.compare import Comparison, Way
from tpu_studio.planner.estimate import Estimate
from tpu_studio.planner.facts import DataFacts
from tpu_studio.planner.rented import Rented
from tpu_studio.planner.timing import Timing
from tpu_studio.planner.work import Work
from tpu_studio.wire import places
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.planparts import PlanVerdict, Range
from tpu_studio.wire.schema import BY_PATH


@dataclass(frozen=True)
class Situation:
    """Attributes:
    job: As the person wrote it, "auto" and all; *plan*: what became of it, without advice.
    usual_rate: The learning rate that is recommended.
    options: All options of the model.
    rented: None on this computer.
    best: The recommended way; None when nothing holds it.
    bucket_region: Where the person's results are kept; "" when not known.
    """

    job: Job
    plan: Plan
    resolved: Resolved
    usual_rate: float
    options: Mapping[str, Any]
    facts: DataFacts
    work: Work
    estimate: Estimate
    rented: Rented | None
    timing: Timing | None
    comparison: Comparison
    verdict: PlanVerdict
    best: Way | None
    bucket_region: str = ""

    @property
    def charged(self) -> bool:
        """Rented for money: what a chip does is what it costs. A practice machine is this computer."""
        return places.by_id(self.plan.place).charges and self.rented is not None

    @property
    def step_s(self) -> float:
        return self.resolved.batch / self.estimate.examples_per_s.expected

    def taken_back(self, *paths: str) -> dict[str, object]:
        """Each of *paths* that is not at its default, at its default."""
        return {path: BY_PATH[path].default for path in paths if self.job[path] != BY_PATH[path].default}

    def value(self, path: str) -> Any:
        return self.resolved.values[path]


@dataclass(frozen=True)
class Advice:
    """Attributes:
    fix: `table.key` → value; None where one press cannot do it.
    facts: For its sentence.
    time_s, usd: What it saves where the rule itself knows; ``measure``: take it from a plan with the fix applied.
    promise: What is worth telling even without a saving: it guards the run, or gives more for the same.
    """

    id: str
    fix: Mapping[str, object] | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    time_s: Range | None = None
    usd: Range | None = None
    measure: bool = False
    promise: bool = False
    level: str = "info"
