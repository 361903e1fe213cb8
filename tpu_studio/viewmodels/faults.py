"""“What could go wrong?”: the practice cloud's named faults, to be armed and taken back. A rehearsal of bad days."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.records import Json, rows, whole

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks

FIRST = (
    "stockout-for-ever",
    "capacity-later",
    "preempted-at-step",
    "vm-hung",
    "delete-fails",
    "environment-install-fails",
)
"""What a beginner meets most, or fears most; the rest stands below by its heading."""


class FaultsPort(Protocol):
    """The practice cloud's own address ``/practice/faults``; each answers with ``{"faults": […], "armed": […]}``."""

    def listed(self) -> Json: ...
    def peek(self) -> Json:
        """The same from the disk, without starting the practice cloud."""
        ...

    def arm(self, name: str) -> Json: ...
    def disarm(self, name: str) -> Json: ...


@dataclass(frozen=True)
class FaultRow:
    name: str
    group: str
    sentence: str
    armed: bool = False
    left: int = 0

    @property
    def state(self) -> str:
        """What its arming means, "" when it is not armed."""
        if not self.armed:
            return ""
        return "Until you undo it" if not self.left else "Once" if self.left == 1 else f"{self.left} times"


@dataclass(frozen=True)
class FaultsView:
    """*rows* are None until they were read."""

    rows: tuple[FaultRow, ...] | None = None
    problem: Problem | None = None
    busy: str = ""

    @property
    def armed(self) -> tuple[FaultRow, ...]:
        return tuple(row for row in self.rows or () if row.armed)

    @property
    def groups(self) -> tuple[tuple[str, tuple[FaultRow, ...]], ...]:
        """The usual ones first, then all others under their headings."""
        rows = self.rows or ()
        usual = tuple(row for name in FIRST for row in rows if row.name == name)
        told = [("Most often met", usual)] if usual else []
        for group in dict.fromkeys(row.group for row in rows):
            told.append((group, tuple(row for row in rows if row.group == group and row.name not in FIRST)))
        return tuple((title, found) for title, found in told if found)


class FaultsViewModel:
    """Commands: `look`, `arm`, `disarm`, `disarm_all`."""

    def __init__(self, tasks: Tasks, port: FaultsPort) -> None:
        self.state = Observable(FaultsView())
        self._tasks, self._port = tasks, port

    def look(self) -> None:
        self._do("", self._port.listed)

    def arm(self, name: str) -> None:
        self._do(name, lambda: self._port.arm(name))

    def disarm(self, name: str) -> None:
        self._do(name, lambda: self._port.disarm(name))

    def disarm_all(self) -> None:
        self._do("all", lambda: self._port.disarm(""))

    def _do(self, busy: str, work: Callable[[], Json]) -> None:
        if self.state.value.busy:
            return
        self.state.set(replace(self.state.value, busy=busy, problem=None))
        self._tasks.submit(work, done=self._seen, failed=self._failed)

    def _seen(self, told: Json) -> None:
        self.state.set(FaultsView(rows_of(told)))

    def _failed(self, error: Exception) -> None:
        self.state.set(replace(self.state.value, busy="", problem=problem_of(error)))


@dataclass(frozen=True)
class ArmedView:
    """What will go wrong on the practice cloud; *problem*: why something could not be undone."""

    rows: tuple[FaultRow, ...] = ()
    busy: bool = False
    problem: Problem | None = None

    @property
    def words(self) -> str:
        """`2 things will go wrong`, "" where nothing is armed."""
        many = len(self.rows)
        return "" if not many else "1 thing will go wrong" if many == 1 else f"{many} things will go wrong"

    @property
    def sentence(self) -> str:
        """The same with where, and with what it is when it is one."""
        if len(self.rows) == 1:
            return f"On the practice cloud 1 thing will go wrong: {self.rows[0].sentence}"
        return f"On the practice cloud {self.words}." if self.rows else ""


class ArmedViewModel:
    """What is armed, for as long as it is, also after a restart. Commands: `look`, `disarm`, `disarm_all`."""

    def __init__(self, tasks: Tasks, port: FaultsPort) -> None:
        self.state = Observable(ArmedView())
        self._tasks, self._port = tasks, port
        self._looking = False

    def look(self) -> None:
        if self._looking or self.state.value.busy:
            return
        self._looking = True

        def done(told: Json) -> None:
            self._looking = False
            self._show(told)

        def failed(error: Exception) -> None:
            self._looking = False
            self._failed(error)

        self._tasks.submit(self._port.peek, done=done, failed=failed)

    def disarm(self, name: str) -> None:
        if self.state.value.busy:
            return
        self.state.set(replace(self.state.value, busy=True, problem=None))
        self._tasks.submit(lambda: self._port.disarm(name), done=self._show, failed=self._failed)

    def disarm_all(self) -> None:
        self.disarm("")

    def _show(self, told: Json) -> None:
        rows = tuple(row for row in rows_of(told) if row.armed)
        if ArmedView(rows) != self.state.value:
            self.state.set(ArmedView(rows))

    def _failed(self, error: Exception) -> None:
        self.state.set(replace(self.state.value, busy=False, problem=problem_of(error)))


def rows_of(told: Json) -> tuple[FaultRow, ...]:
    """As `FaultsPort` answers."""
    found = []
    for fault in rows(told["faults"]):
        mine = [one for one in rows(told["armed"]) if one["name"] == fault["name"]]
        left = sum(whole(one["times"]) - whole(one["taken"]) for one in mine if one["times"])
        name, group, sentence = (str(fault[key]) for key in ("name", "group", "sentence"))
        found.append(FaultRow(name, group, sentence, bool(mine), left))
    return tuple(found)
