"""What every part of the Plan page's view-model shares: its one state, its helpers' hands, and how both change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.workflow.ownfile import Consents, OwnFile

if TYPE_CHECKING:
    from tpu_studio.viewmodels.engine import EngineViewModel
    from tpu_studio.wire.job import Job
    from tpu_studio.workflow.ports import Tasks


class PlanBase:
    """`planedit.Editing` and `planstart.Starting` build on it; `plan.PlanViewModel` is both, and plans."""

    def __init__(self, tasks: Tasks, engine: EngineViewModel, clock: Callable[[], float]) -> None:
        self.state = Observable(PlanView())
        self._tasks, self._engine, self._clock = tasks, engine, clock
        self._consents: Consents | None = None

    def leave(self) -> None:
        """The page is not shown any more: nothing is timed for it."""

    def _draw(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))

    def _failed(self, error: Exception) -> None:
        self._draw(problem=problem_of(error))

    def _take(self, job: Job) -> None:
        """Make *job* the draft."""
        raise NotImplementedError

    def _own_file_read(self, own: OwnFile) -> None:
        """The person's own model file was read."""
        raise NotImplementedError
