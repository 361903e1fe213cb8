"""Which prices plans for Google Cloud stand on: Google's list of today where somebody is signed in, else a dated table.

Read away from the window, at the start, after signing in, and when a plan is opened on another day; nobody waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.errors import StudioError

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks

AGAIN_S = 900.0
"""After a failure the list is asked for again by itself."""
NOBODY = frozenset({"signed-out", "cloud-not-ready"})


class Priced(Protocol):
    """``places.pricing.Priced``."""

    @property
    def live(self) -> date | None: ...
    @property
    def error(self) -> StudioError | None: ...


@dataclass(frozen=True)
class PricesView:
    """*live*: the day of Google's list that plans use, None: the dated table. *problem*: why there is no newer one."""

    reading: bool = False
    live: date | None = None
    problem: Problem | None = None

    @property
    def trouble(self) -> str:
        """For beside a price, "" when all is well."""
        return f"Google's price list could not be read today: {self.problem.title}." if self.problem else ""

    def sentence(self, today: date) -> str:
        """Where prices come from, for the Account page; "" where nobody has asked yet."""
        if self.reading and self.live is None:
            return "Reading Google's price list…"
        if self.live is not None:
            days = (today - self.live).days
            age = "today" if days == 0 else "yesterday" if days == 1 else f"{days} days ago"
            return f"Plans use Google's price list, read {age}. {self.trouble}".strip()
        return f"{self.trouble} Plans use the dated table that came with the program." if self.problem else ""


class PricesViewModel:
    """Command: `look`. *read* blocks for some seconds once a day; it raises nothing of ours."""

    def __init__(self, tasks: Tasks, read: Callable[[], Priced], *, now: Callable[[], float] = time.time) -> None:
        self.state = Observable(PricesView())
        self._tasks, self._read, self._now = tasks, read, now
        self._failed_at = 0.0

    @property
    def today(self) -> date:
        return date.fromtimestamp(self._now())

    def look(self, *, again: bool = False) -> None:
        """Read the list, unless that was done today; *again*: also when it has just failed."""
        view = self.state.value
        failed_now = not again and view.problem is not None and self._now() - self._failed_at < AGAIN_S
        if view.reading or view.live == self.today or failed_now:
            return
        self._change(reading=True)
        self._tasks.submit(self._read, done=self._known, failed=self._failed)

    def _known(self, priced: Priced) -> None:
        error = priced.error if priced.error is not None and priced.error.id not in NOBODY else None
        if error is not None:
            self._failed_at = self._now()
        self._change(reading=False, live=priced.live, problem=problem_of(error) if error is not None else None)

    def _failed(self, error: Exception) -> None:
        self._failed_at = self._now()
        self._change(reading=False, problem=problem_of(error))

    def _change(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))
