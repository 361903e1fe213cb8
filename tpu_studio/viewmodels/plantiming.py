"""Short timings of real steps for the Plan page: one at a time, remembered by all that a step's time depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.schema import step_values

if TYPE_CHECKING:
    from tpu_studio.planner.timing import Timing
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.ports import Tasks

SECONDS = 4.0
Key = tuple[Any, ...]


class Stopwatch(Protocol):
    """Times real steps of *plan* in the training engine; gives the trainer's one JSON object (`time` mode)."""

    def known(self, plan: Plan) -> Mapping[str, Any] | None: ...
    def time(self, plan: Plan, seconds: float, cancelled: Callable[[], bool]) -> Mapping[str, Any]: ...


@dataclass
class _Timing:
    key: Key
    cancelled: bool = False


class StepTimes:
    """*done* is called when a timing has come, *failed* (None: it was given up) when none will."""

    def __init__(self, tasks: Tasks, done: Callable[[], None], failed: Callable[[Problem | None], None]) -> None:
        self.stopwatch: Stopwatch | None = None
        self._tasks, self._done, self._failed = tasks, done, failed
        self._known: dict[Key, Timing | None] = {}
        self._given_up: set[Key] = set()
        self._now: _Timing | None = None

    def of(self, plan: Plan) -> Timing | None:
        return self._known.get(timing_key(plan))

    def was_tried(self, plan: Plan) -> bool:
        return timing_key(plan) in self._known

    @property
    def under_way(self) -> bool:
        return self._now is not None and not self._now.cancelled

    def start(self, plan: Plan, *, again: bool = False) -> bool:
        """Time *plan* unless that was done; a timing of something else is given up first. True when it begins now."""
        key, stopwatch = timing_key(plan), self.stopwatch
        if again:
            self._known.pop(key, None)
            self._given_up.discard(key)
        if stopwatch is None or key in self._known or key in self._given_up:
            return False
        if self._now is not None:
            if self._now.key != key:
                self._now.cancelled = True  # the next call begins, once that one has ended
            return False
        timing = self._now = _Timing(key)
        self._tasks.submit(
            lambda: stopwatch.known(plan) or stopwatch.time(plan, SECONDS, lambda: timing.cancelled),
            done=lambda told: self._timed(timing, told),
            failed=lambda error: self._not_timed(timing, error),
        )
        return True

    def cancel(self) -> None:
        if self._now is not None:
            self._now.cancelled = True

    def give_up(self) -> None:
        """Somebody does not want it: that work is timed again only when it is asked for."""
        if self._now is not None:
            self._given_up.add(self._now.key)
        self.cancel()

    def _timed(self, timing: _Timing, told: Mapping[str, object]) -> None:
        from tpu_studio.planner.timing import Timing

        try:
            found = Timing.from_json(told)
        except ValueError as error:
            self._not_timed(timing, error)
            return
        self._now = None
        self._given_up.discard(timing.key)  # it came nevertheless
        self._known[timing.key] = found
        self._done()

    def _not_timed(self, timing: _Timing, error: Exception) -> None:
        """Without a timing the estimate stays wide; that keeps nobody from starting."""
        self._now = None
        if timing.cancelled:
            self._failed(None)
            return
        self._known[timing.key] = None
        self._failed(problem_of(error))


def timing_key(plan: Plan) -> Key:
    return (plan.consent, str(plan.data.get("fingerprint", "")), repr(step_values(plan.job.values)))
