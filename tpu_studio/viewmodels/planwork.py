"""What the engine sees in the plan's model for the Plan page: its work, or why it cannot be trained. One at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.ports import Tasks


class Inspector(Protocol):
    """Builds the model of *plan* in the training engine; both calls block."""

    def counted(self, plan: Plan) -> Mapping[str, object] | None: ...
    def inspect(self, plan: Plan, cancelled: Callable[[], bool]) -> Mapping[str, object]: ...


@dataclass
class _Question:
    key: str
    cancelled: bool = False


class ModelWork:
    """*done* is called when something is known that was not. Where nothing comes, the plan goes on with its guess."""

    def __init__(self, tasks: Tasks, done: Callable[[], None]) -> None:
        self.inspector: Inspector | None = None
        self._tasks, self._done = tasks, done
        self._known: dict[str, Mapping[str, object]] = {}
        self._tried: set[tuple[str, bool]] = set()
        self._now: _Question | None = None

    def of(self, plan: Plan) -> Mapping[str, Any] | None:
        return self._known.get(_key(plan))

    @property
    def under_way(self) -> bool:
        return self._now is not None

    def want(self, plan: Plan, *, build: bool) -> None:
        """Look up what was counted in this model before; where it never was, *build* it in the engine. Once each.

        Another model that is being built is given up first: the next call begins, once that one has ended.
        """
        key, inspector = _key(plan), self.inspector
        if inspector is None or key in self._known or (key, build) in self._tried:
            return
        if self._now is not None:
            self._now.cancelled |= self._now.key != key
            return
        self._tried.add((key, build))
        question = self._now = _Question(key)
        self._tasks.submit(
            lambda: inspector.inspect(plan, lambda: question.cancelled) if build else inspector.counted(plan),
            done=lambda seen: self._answered(question, seen),
            failed=lambda error: self._failed(question, build),
        )

    def cancel(self) -> None:
        if self._now is not None:
            self._now.cancelled = True

    def _answered(self, question: _Question, seen: Mapping[str, object] | None) -> None:
        self._now = None
        if seen is not None:
            self._known[question.key] = seen
            self._done()

    def _failed(self, question: _Question, build: bool) -> None:
        """Without an answer the estimate stays wide; that keeps nobody from starting."""
        self._now = None
        if question.cancelled:
            self._tried.discard((question.key, build))


def _key(plan: Plan) -> str:
    """A problem may be one of the plan's framework alone."""
    from tpu_studio.planner.modelwork import key_of_plan

    return f"{key_of_plan(plan)} {plan.framework}"
