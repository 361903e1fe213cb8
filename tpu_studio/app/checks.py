"""The check of a plan for the window: `local.preflight`, told which slice the plan names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tpu_studio.local.preflight import Preflight, slice_of
from tpu_studio.wire.plan import Plan


class PlanPreflight:
    def __init__(self, preflight: Preflight) -> None:
        self._preflight = preflight

    def known(self, plan: Plan) -> Mapping[str, object] | None:
        return self._preflight.known(plan, slice_of(plan))

    def ask(self, plan: Plan, stage: Callable[[str], None], cancelled: Callable[[], bool]) -> Mapping[str, object]:
        """Raises NotReady, StudioError ``check-cancelled``."""
        return self._preflight.ask(plan, slice_of(plan), largest_batch=True, stage=stage, cancelled=cancelled)
