"""What a model and a data set of the Hugging Face Hub share on their way here, while the window stays as it is.

One thing at a time. It goes on while its sheet is closed; `tick` takes over how far it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks

SITE = "https://huggingface.co"
WANTS_TOKEN = frozenset({"hub-gated", "hub-token-refused", "hub-not-found"})
Doing = Literal["", "look-up", "download"]
Progress = Callable[[int, int], object]
Cancelled = Callable[[], bool]


@dataclass(frozen=True)
class FetchView:
    """Attributes:
    doing: What is under way.
    done, total: Bytes of it; 0 of 0 until the first arrive.
    problem: Why the last step ended.
    """

    doing: Doing = ""
    done: int = 0
    total: int = 0
    problem: Problem | None = None

    @property
    def asks_for_token(self) -> bool:
        """The last step may have ended for want of one."""
        return self.problem is not None and self.problem.id in WANTS_TOKEN

    @property
    def words(self) -> str:
        """How far it is."""
        if not self.doing:
            return ""
        what = "Looking it up" if self.doing == "look-up" else "Downloading"
        return f"{what}: {figures.size(self.done)} of {figures.size(self.total)}" if self.total else f"{what}…"

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


V = TypeVar("V", bound=FetchView)


class Fetch(Generic[V]):
    def __init__(self, tasks: Tasks, view: V) -> None:
        self.state = Observable(view)
        self._tasks = tasks
        self._cancelled = False
        self._at = (0, 0)

    def stop(self) -> None:
        """What has arrived is kept."""
        self._cancelled = True

    def tick(self) -> None:
        done, total = self._at
        if self.state.value.doing:
            self.state.set(replace(self.state.value, done=done, total=total))

    def _begin(self, doing: Doing, work: Callable[[Progress, Cancelled], Any], came: Callable[[Any], None]) -> None:
        """*work* is done elsewhere; then *came* has what it gave."""
        view = self.state.value
        if view.doing:
            return
        self._cancelled, self._at = False, (0, 0)
        self.state.set(replace(view, doing=doing, done=0, total=0, problem=None))

        def heard(done: int, total: int) -> None:
            self._at = done, total

        self._tasks.submit(lambda: work(heard, lambda: self._cancelled), done=came, failed=self._failed)

    def _failed(self, error: BaseException) -> None:
        problem = problem_of(error)
        view = replace(self.state.value, doing="", done=0, total=0)
        self.state.set(replace(view, problem=None if problem.id == "hub-cancelled" else problem))
