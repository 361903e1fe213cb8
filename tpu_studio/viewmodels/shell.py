"""The window around the pages: which page is shown, notices, what an opened path leads to, and the command palette.

Pages are named ``home``, ``runs``, ``plan``, ``run`` and ``settings``. The shell keeps no page's state; it says where
to go and hands over what was opened.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem

if TYPE_CHECKING:
    from tpu_studio.viewmodels.leaving import Leaving
    from tpu_studio.viewmodels.opening import Opened
    from tpu_studio.wire.job import Job

Tone = Literal["neutral", "accent", "ok", "warn", "bad"]
NOTICES_AT_MOST = 4


@dataclass(frozen=True)
class Notice:
    """A card at the bottom right. *act* is what its button does ("" has none); lasting ones stay until closed."""

    number: int
    title: str
    text: str = ""
    tone: Tone = "neutral"
    action: str = ""
    act: Callable[[], None] | None = None
    lasting: bool = False
    details: str = ""


@dataclass(frozen=True)
class PlanRequest:
    """What the Plan page shall start from: a job file, the job of an earlier run, data, or nothing (a new run).

    *number* tells requests apart; *leaving*: the run whose queue is left once what is planned starts.
    *unstoppable*: regions in which a launch of this job was refused, for no shut-off timer can be had there.
    *lesson*: the step of Learn that it is planned for. *changes*: of a new plan, `table.key` → value.
    """

    number: int = 0
    job: Path | None = None
    draft: Job | None = None
    data: Path | None = None
    data_kind: str = ""
    place: str = ""
    leaving: Leaving | None = None
    unstoppable: tuple[str, ...] = ()
    lesson: str = ""
    changes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ShellView:
    page: str = "home"
    run: str = ""
    run_name: str = ""
    request: PlanRequest = PlanRequest()
    notices: tuple[Notice, ...] = ()
    banner: Problem | None = None  # over every page, for as long as the window is open

    @property
    def section(self) -> str:
        """The entry of the sidebar that is lit: a run belongs to Runs, a plan to New run."""
        return {"run": "runs", "saved": "runs", "plan": "new"}.get(self.page, self.page)


@dataclass(frozen=True)
class Command:
    """An entry of the palette: *title*, where it belongs, its keys, its icon, and what it does."""

    title: str
    group: str
    icon: str
    run: Callable[[], None]
    keys: str = ""
    also: str = ""


class ShellViewModel:
    """Commands: `go`, `new_run`, `new_run_with`, `plan_again`, `open_path`, `open_run`, `notify`, `close_notice` and
    `back`."""

    def __init__(self) -> None:
        self.state = Observable(ShellView())
        self._numbers = itertools.count(1)
        self._trail: list[tuple[str, str]] = []
        self.import_run: Callable[[Path], None] | None = None  # set once the runs are known; earlier ones wait
        self._early: list[Path] = []
        self.show_page: Callable[[Path], None] = lambda path: None  # a run saved as one page; the window sets it

    def go(self, page: str) -> None:
        self._leave_for(page, "")

    def new_run(self) -> None:
        self._plan(PlanRequest(next(self._numbers)))

    def new_run_at(self, place: str) -> None:
        """A new plan for another place than this computer."""
        self._plan(PlanRequest(next(self._numbers), place=place))

    def new_run_with(self, changes: Mapping[str, object]) -> None:
        """A new plan in which this is chosen already."""
        self._plan(PlanRequest(next(self._numbers), changes=changes))

    def open_job(self, path: Path, lesson: str = "") -> None:
        self._plan(PlanRequest(next(self._numbers), job=path, lesson=lesson))

    def plan_again(self, job: Job, leaving: Leaving | None = None, unstoppable: tuple[str, ...] = ()) -> None:
        """A new plan with the settings of an earlier run."""
        self._plan(PlanRequest(next(self._numbers), draft=job, leaving=leaving, unstoppable=unstoppable))

    def open_run(self, run: str, name: str = "") -> None:
        self._leave_for("run", run, name)

    def back(self) -> None:
        """To the page before; Home when there is none."""
        page, run = self._trail.pop() if self._trail else ("home", "")
        if page == "run" and not run:
            page = "home"
        self.state.set(replace(self.state.value, page=page, run=run or self.state.value.run))

    def open_path(self, path: str | Path) -> Opened:
        """Open whatever *path* is; what cannot be opened says so in a notice."""
        from tpu_studio.viewmodels.opening import what_is

        opened = what_is(Path(path))
        if opened.kind == "job":
            self.open_job(opened.path)
        elif opened.kind == "data":
            self._plan(PlanRequest(next(self._numbers), data=opened.path, data_kind=opened.data_kind))
        elif opened.kind == "page":
            self.show_page(opened.path)
        elif opened.kind == "run":
            if self.import_run is None:
                self._early.append(opened.path)
            else:
                self.import_run(opened.path)
        else:
            self.notify("That could not be opened", opened.sentence, tone="warn")
        return opened

    def runs_ready(self, import_run: Callable[[Path], None]) -> None:
        """The runs are known from now on: run folders opened before are taken up."""
        self.import_run = import_run
        early, self._early = self._early, []
        for path in early:
            import_run(path)

    def notify(
        self,
        title: str,
        text: str = "",
        *,
        tone: Tone = "neutral",
        action: str = "",
        act: Callable[[], None] | None = None,
        lasting: bool = False,
        details: str = "",
    ) -> int:
        """Show a notice, in the place of one that said the same; its number is for `close_notice`."""
        notice = Notice(next(self._numbers), title, text, tone, action, act, lasting, details)
        others = [one for one in self.state.value.notices if act or (one.title, one.text) != (title, text)]
        self.state.set(replace(self.state.value, notices=(*others, notice)[-NOTICES_AT_MOST:]))
        return notice.number

    def tell_problem(self, problem: Problem) -> None:
        self.notify(problem.title, problem.text, tone="bad", lasting=True, details=problem.details)

    def warn(self, problem: Problem) -> None:
        """Say over every page what is wrong with the whole."""
        self.state.set(replace(self.state.value, banner=problem))

    def close_notice(self, number: int) -> None:
        kept = tuple(notice for notice in self.state.value.notices if notice.number != number)
        self.state.set(replace(self.state.value, notices=kept))

    def _plan(self, request: PlanRequest) -> None:
        self._remember()
        self.state.set(replace(self.state.value, page="plan", request=request))

    def _leave_for(self, page: str, run: str, name: str = "") -> None:
        state = self.state.value
        if (page, run) == (state.page, state.run if page == "run" else ""):
            return
        self._remember()
        self.state.set(
            replace(
                state, page=page, run=run or state.run, run_name=name or (state.run_name if run == state.run else "")
            )
        )

    def _remember(self) -> None:
        state = self.state.value
        self._trail = [*self._trail[-20:], (state.page, state.run if state.page == "run" else "")]


def found(commands: Iterable[Command], typed: str, at_most: int = 12) -> list[Command]:
    """The commands that *typed* may mean, best first: starts of words before letters in order; all without a word."""
    words = typed.casefold().split()
    if not words:
        return list(itertools.islice(commands, at_most))
    scored = []
    for place, command in enumerate(commands):
        scores = [_score(command, word) for word in words]
        if all(scores):
            scored.append((-sum(scores), place, command))
    scored.sort(key=lambda item: item[:2])
    return [command for _, _, command in scored[:at_most]]


def _score(command: Command, word: str) -> int:
    """4 at the start, 3 at the start of a word, 2 inside, 1 when a word of the title begins like it and has its other
    letters in order (`sttngs`), else 0."""
    text = f"{command.title} {command.also} {command.group}".casefold()
    if text.startswith(word):
        return 4
    if f" {word}" in text:
        return 3
    if word in text:
        return 2
    return int(len(word) > 2 and any(_has_letters(one, word) for one in command.title.casefold().split()))


def _has_letters(text: str, word: str) -> bool:
    letters = iter(text[1:])
    return text[0] == word[0] and all(letter in letters for letter in word[1:])
