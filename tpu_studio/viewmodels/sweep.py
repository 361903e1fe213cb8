"""Billable resources in all zones and regions: TPU Studio's and others, with the price by the hour. To delete."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.domain.sentences import say
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import places
from tpu_studio.wire.errors import StudioError

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks

KINDS = {
    "node": "TPU",
    "queued-resource": "TPU request",
    "instance": "VM",
    "disk": "Disk",
    "address": "IP address",
    "bucket": "Bucket",
    "task": "Shut-off timer",
}
_PLURAL = {
    "node": "TPUs",
    "queued-resource": "TPU requests",
    "instance": "VMs",
    "disk": "disks",
    "address": "IP addresses",
    "bucket": "buckets",
    "task": "shut-off timers",
}


class Found(Protocol):
    """``cloud.sweep.Item``."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def zone(self) -> str: ...
    @property
    def ours(self) -> bool: ...
    @property
    def usd_per_hour(self) -> float | None: ...
    @property
    def state(self) -> str: ...
    @property
    def run(self) -> str: ...
    @property
    def at(self) -> float | None: ...
    @property
    def kept(self) -> bool: ...


class SweepPort(Protocol):
    """Blocks, maybe for minutes while a deletion is proved."""

    def look(self, place: str) -> Any:
        """``items`` and ``unclear`` (kind, error). Raises SignedOut, NotReady, CloudUnclear."""
        ...

    def delete(self, place: str, items: Sequence[Any]) -> Sequence[tuple[Any, StudioError | None]]: ...


@dataclass(frozen=True)
class SweepRow:
    """One thing, or the shut-off timers of one run, the first due at *state*, the last at *until*. *going_on*: a run
    that goes on needs it."""

    items: tuple[Found, ...]
    kind: str
    name: str
    zone: str
    whose: str
    cost: str
    state: str
    going_on: bool = False
    until: str = ""

    @property
    def item(self) -> Found:
        return self.items[0]

    @property
    def deletable(self) -> bool:
        return not self.item.kept and not self.going_on


@dataclass(frozen=True)
class SweepView:
    """*rows* are None until they were read; *outcome* tells what the last deletion verified."""

    place: str = field(default_factory=lambda: places.charging().id)
    rows: tuple[SweepRow, ...] | None = None
    unclear: tuple[str, ...] = ()
    problem: Problem | None = None
    busy: str = ""
    outcome: tuple[str, str] | None = None

    @property
    def doomed(self) -> tuple[SweepRow, ...]:
        """What “Delete” takes: ours, and no run that goes on needs it."""
        return tuple(row for row in self.rows or () if row.deletable)

    @property
    def doomed_items(self) -> list[Found]:
        return [item for row in self.doomed for item in row.items]

    @property
    def sentence(self) -> str:
        would = " would cost" if places.by_id(self.place).rehearses else ""
        if self.busy == "looking" and self.rows is None:
            return "Every zone and region is asked. This takes some seconds."
        if self.rows is None:
            return ""
        hourly = sum(row.item.usd_per_hour or 0.0 for row in self.rows if row.item.ours)
        unknown = any(row.item.usd_per_hour is None for row in self.rows if row.item.ours)
        if not any(row.item.ours for row in self.rows):
            return "TPU Studio has nothing there." if not self.unclear else "Nothing of TPU Studio's was found."
        more = ", and something whose price is not known" if unknown else ""
        return f"TPU Studio's resources{would}: {_hourly(hourly)}/h{more}."


class SweepViewModel:
    """Commands: `look`, `show`, `delete`."""

    def __init__(self, tasks: Tasks, port: SweepPort, place: str, going_on: Sequence[str]) -> None:
        """*going_on*: ids of the runs that go on: what they need is not offered for deletion."""
        self.state = Observable(SweepView(place))
        self._tasks, self._port, self._going_on = tasks, port, tuple(going_on)

    def look(self) -> None:
        view = self.state.value
        if view.busy:
            return
        self.state.set(replace(view, busy="looking", problem=None))
        self._tasks.submit(lambda: self._port.look(view.place), done=self._seen, failed=self._failed)

    def show(self, place: str) -> None:
        """The other cloud."""
        if not self.state.value.busy and place != self.state.value.place:
            self.state.set(SweepView(place))
            self.look()

    def delete(self) -> None:
        """All that is ours and that no run needs; each deletion is proved before it counts."""
        view = self.state.value
        items = view.doomed_items
        if view.busy or not items:
            return
        self.state.set(replace(view, busy="deleting", problem=None, outcome=None))
        self._tasks.submit(lambda: self._port.delete(view.place, items), done=self._deleted, failed=self._failed)

    def _seen(self, swept: Any) -> None:
        rows = tuple(row_of(one[0], self._going_on, one[1:]) for one in grouped(swept.items))
        unclear = tuple(
            f"Whether there are {_PLURAL.get(kind, kind)} could not be found out. {say(error).title}."
            for kind, error in swept.unclear
        )
        self.state.set(replace(self.state.value, rows=rows, unclear=unclear, busy=""))

    def _deleted(self, done: Sequence[tuple[Any, StudioError | None]]) -> None:
        failed = [(item, error) for item, error in done if error is not None]
        gone = len(done) - len(failed)
        if failed:
            item, error = failed[0]
            words = f"{item.name}: {say(error).title}. It may still be charged. Try again, or use Google's console."
            outcome = ("bad", f"{len(failed)} of {len(done)} could not be deleted. {words}")
        else:
            outcome = ("ok", f"{gone} {'resource' if gone == 1 else 'resources'} deleted, and verified to be gone.")
        self.state.set(replace(self.state.value, busy="", outcome=outcome))
        self.look()

    def _failed(self, error: Exception) -> None:
        self.state.set(replace(self.state.value, busy="", problem=problem_of(error)))


def grouped(items: Iterable[Found]) -> list[tuple[Found, ...]]:
    """Each thing by itself, and all shut-off timers of one run and region together, where the first of them stands."""
    groups: dict[object, list[Found]] = {}
    for number, item in enumerate(items):
        key = (item.run, item.zone, item.ours, item.state) if item.kind == "task" else number
        groups.setdefault(key, []).append(item)
    return [tuple(group) for group in groups.values()]


def stops_words(run: str, due: Sequence[float | None]) -> str:
    """Of the stops of one run: how many, whose, and when the first and the last are due."""
    return ", ".join(one for one in (_stops_of(run, due), " ".join(_due(due)).strip()) if one)


def _stops_of(run: str, due: Sequence[float | None]) -> str:
    return f"{len(due)} of {run}" if run else f"{len(due)}, for a trial of who may delete"


def _due(due: Sequence[float | None]) -> tuple[str, str]:
    """The first, and the last where it is another."""
    times = sorted(one for one in due if one is not None)
    if not times:
        return "", ""
    first, last = _moment(times[0]), _moment(times[-1])
    return f"due {first}", f"to {last}" if last != first else ""


def _moment(t: float) -> str:
    return f"{time.strftime('%d %b', time.localtime(t)).lstrip('0')} {figures.clock(t)}"


def _is_of(item: Found, run: str) -> bool:
    """By its label or, without one, its whole name: a run may be called as a piece of any name."""
    name = item.name.rpartition("/")[2]
    return item.run == run if item.run else bool(re.fullmatch(rf"ts-{re.escape(run)}-a[0-9]+-t[0-9]+", name))


def row_of(item: Found, going_on: Sequence[str], more: Sequence[Found] = ()) -> SweepRow:
    """*more*: what stands in one row with it (`grouped`)."""
    items = (item, *more)
    needed = any(_is_of(item, run) for run in going_on)
    if needed:
        whose = "A run under way"
    elif item.ours and item.kind == "bucket":
        whose = "Kept: your results"
    else:
        whose = "TPU Studio's" if item.ours else "Not TPU Studio's"
    cost = "unknown" if item.usd_per_hour is None else _hourly(item.usd_per_hour)
    name, state, until = item.name.rpartition("/")[2], item.state.lower(), ""
    if item.kind == "task":
        name = _stops_of(item.run, [one.at for one in items])
        state, until = _due([one.at for one in items])
    kind = "Shut-off timers" if len(items) > 1 else KINDS.get(item.kind, item.kind)
    return SweepRow(
        items,
        kind,
        name,
        item.zone,
        whose,
        cost,
        state,
        needed and item.ours,
        until,
    )


def _hourly(usd: float) -> str:
    """Small things cost fractions of a cent."""
    return figures.money(usd) if usd >= 0.005 or usd == 0 else "under $0.01"
