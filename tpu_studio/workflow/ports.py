"""What the workflow needs of others, as Protocols: a place to run, a journal, an index of runs, a clock, tasks.

``local`` and ``store`` implement them, tests have honest fakes. Everything here blocks; the window calls it through
`Tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tpu_studio.domain.mark import Mark
from tpu_studio.domain.run import RunView
from tpu_studio.wire import places
from tpu_studio.wire.events import Event
from tpu_studio.wire.plan import Plan

T = TypeVar("T")
Floats = npt.NDArray[np.float64]
Progress = Callable[[float, str], None]
"""Called with the share done, 0 to 1, and what is being worked on; may raise to cancel."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Handle(Protocol):
    """A piece of work under way."""

    def cancel(self) -> None:
        """Forget the result: neither ``done`` nor ``failed`` is called any more. Blocking work itself goes on."""
        ...


class Tasks(Protocol):
    """Work elsewhere; the result comes back on the thread that asked (the GUI thread, in the window)."""

    def submit(
        self,
        work: Callable[[], T],
        *,
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> Handle:
        """Run *work* away from here, then exactly one of *done* and *failed* here, unless cancelled."""
        ...


class Place(Protocol):
    """Where a plan runs. A place differs from the next only in how the trainer gets started."""

    def check_ready(self) -> None:
        """Raises NotReady (``engine-not-ready`` …) when nothing can be started here now."""
        ...

    def start(self, folder: Path, attempt: int, *, beside: bool) -> None:
        """Start the guardian of an attempt and return once it has claimed it. Doing it twice starts one.

        Args:
            beside: Run beside others at once, instead of waiting for one's turn.

        Raises:
            RunError: ``start-failed`` (facts: raw).
        """
        ...

    def is_alive(self, folder: Path, attempt: int) -> bool:
        """Whether the attempt's guardian lives."""
        ...


class Journal(Protocol):
    """Intents, committed to disk before the act and closed after it.

    Attributes:
        fresh: It was begun just now: intents of before are not in it.
    """

    fresh: bool

    def open(self, action: str, run: str, facts: Mapping[str, object], at: float) -> int: ...

    def close(self, number: int, outcome: str, at: float) -> None: ...

    def open_intents(self) -> Sequence[Intent]: ...

    def begun(self) -> Collection[str]:
        """The runs of which an intent tells that they were begun or taken over from here."""
        ...

    def plan_of(self, run: str) -> Mapping[str, object] | None:
        """JSON of the plan that *run* was begun with, where an intent tells it."""
        ...

    def begun_at(self, run: str) -> tuple[str, str] | None:
        """Project and bucket in which *run* was begun or taken over from here, where an intent tells it."""
        ...

    def was_taken_over(self, run: str) -> bool:
        """Whether *run* was ever taken over by this computer: then other desktops' records of it count."""
        ...


@dataclass(frozen=True)
class Intent:
    number: int
    action: str
    run: str
    facts: Mapping[str, object]
    at: float


class Curve(Protocol):
    """The points of one metric, as they stand at the latest poll."""

    @property
    def version(self) -> int:
        """Grows whenever points come or go: equal versions paint the same."""
        ...

    def __len__(self) -> int: ...

    def window(self, x_min: float, x_max: float, buckets: int, axis: str = "step") -> tuple[Floats, Floats, Floats]:
        """x, lowest and highest value of at most about *buckets* neighbouring groups of points, no spike lost.

        Args:
            axis: ``step``, or ``time`` in seconds since 1970.
        """
        ...

    def trend(self, x_min: float, x_max: float, buckets: int, axis: str = "step") -> tuple[Floats, Floats]:
        """x and mean of the same groups: what a smoothed line starts from."""
        ...

    def last(self) -> tuple[int, float, float] | None:
        """Step, time and value of the latest point."""
        ...

    def bounds(self, axis: str = "step") -> tuple[float, float] | None:
        """First and last x."""
        ...


EVENTS_AT_MOST = 50_000  # of one poll, the latest


@dataclass(frozen=True)
class Changes:
    """What a poll brought.

    Attributes:
        events: New events that are no metric points, in their order; of very many the latest.
        grown: Metrics with new (or, after a resume, fewer) points.
        reset: Points were dropped by a resume: repaint everything.
    """

    events: tuple[Event, ...] = ()
    grown: frozenset[str] = field(default_factory=frozenset)
    reset: bool = False

    def __bool__(self) -> bool:
        return bool(self.events or self.grown or self.reset)


class Following(Protocol):
    """A run being watched. One thread may poll while another reads view and curves."""

    @property
    def folder(self) -> Path: ...

    @property
    def plan(self) -> Plan: ...

    @property
    def view(self) -> RunView: ...

    @property
    def metrics(self) -> Sequence[str]:
        """Names of the metrics that have points, in order of appearance."""
        ...

    def poll(self) -> Changes:
        """Read what has been written since the last call: new bytes only.

        Raises RunError ``disk-full`` or ``run-unreadable``; the run itself is not touched by that, poll again later.
        """
        ...

    def curve(self, metric: str) -> Curve: ...

    def recent_logs(self, at_most: int = 200) -> Sequence[Event]:
        """The latest lines that the training program wrote (``text``), oldest first."""
        ...

    def close(self) -> None: ...


UNREADABLE = "run-unreadable"
"""The problem of a run whose plan is whole, and whose events or other files no reader gets through."""


@dataclass(frozen=True)
class RunSummary:
    """One row of the list of runs.

    Attributes:
        status: ``finished``, ``stopped``, ``failed``, or the phase while it goes on.
        reason: Reason id when over, else "".
        key_metric: Name and latest (of a run that is over: the kept model's) value of the metric that tells how good
            the model is.
        losses: Up to 60 values for the small curve, oldest first.
        usd: Cost so far; 0 on this computer unless a price is pretended.
        usd_limit: What it may cost, while it goes on; None: no limit.
        usd_most: What it may have cost at most, where no record tells when a machine went; else as *usd*.
        problem: Id of an error when the folder cannot be read as a run, else "".
        alive: A guardian guards it now; of a rented machine: not settled yet.
        settled: Over, and nothing rented is left that is not proved deleted.
        seen: Time of the latest event, up to which *duration_s* counts what the run was at work.
        unread: Bytes of its events that a `glance` has left for the next: all else is as it was up to there.
        learned: What the estimate learns from it (``planner.own.record``); None: too few steps, or another person's.
        mark: What the person here has noted about it (`workflow.marks`); never what it says of itself.
    """

    run: str
    name: str
    folder: Path
    created: float
    place: str = field(default_factory=lambda: places.default().id)
    model: str = ""
    kind: str = ""
    task: str = ""
    framework: str = ""
    status: str = ""
    reason: str = ""
    over: bool = False
    alive: bool = False
    step: int = 0
    steps_planned: int = 0
    key_metric: tuple[str, float] | None = None
    losses: tuple[float, ...] = ()
    duration_s: float = 0.0
    usd: float = 0.0
    usd_most: float = 0.0
    attempt: int = 1
    ended: float | None = None
    problem: str = ""
    settled: bool = True
    usd_per_hour: float | None = None
    seen: float = 0.0
    unread: int = 0
    learned: Mapping[str, object] | None = None
    usd_limit: float | None = None
    mark: Mark = field(default_factory=Mark)

    @property
    def goes_on_rented(self) -> bool:
        """A machine is rented for it, may be there still, or will be."""
        return places.by_id(self.place).rents and not self.problem and not (self.over and self.settled)

    @property
    def progress(self) -> float:
        return min(1.0, self.step / self.steps_planned) if self.steps_planned else 0.0


class RunIndex(Protocol):
    """Quick answers about run folders. Disposable: rebuilt from the folders whenever it is lost."""

    def summary(self, folder: Path) -> RunSummary:
        """The folder's row, read anew as far as its events have grown. Never raises for a damaged folder."""
        ...

    def glance(self, folder: Path) -> RunSummary:
        """The same for a list, in which no run waits for another: of one with megabytes of news what a second is enough
        for, and the rest is ``unread`` until it has been asked for often enough, or `summary` has read it."""
        ...

    def follow(self, folder: Path) -> Following:
        """Watch a run. Raises RunError when the folder is no run."""
        ...

    def forget(self, run: str) -> None:
        """Drop what is stored about a run whose folder has gone."""
        ...
