"""The Learn page: chapters, how far each is, and the step that is under way on whatever page one is.

Steps are done by what really happens, which the window tells: `started`, `happened`, and the list of runs. Nothing here
ticks a step because its button was pressed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.domain.learning.chapters import ON_PLAN, Chapter, Step, chapters
from tpu_studio.domain.learning.progress import DONE, STARTED, Deed, RunNow, StepNow, current, progress
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.learning_file import Kept, load, save
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.errors import RunError

if TYPE_CHECKING:
    from tpu_studio.viewmodels.runrows import RunRow

_NOTES = {
    "ahead": "After the steps before it.",
    "going": "It is going on. This step ticks itself when it is over; you may close the window meanwhile.",
    "failed": "The run failed, so there is nothing to go on with. Its page says why; start another one.",
    "stopped": "The run ended before it got so far. Start another one to go on.",
    "gone": "The run that this is about was deleted. Start another one to go on.",
    "unknown": "Looking at your runs…",
}
AGAIN = "Start it again"
FIRST = "first-model"  # the chapter that Home offers at the first start


@dataclass(frozen=True)
class StepView:
    """*state*: of `domain.learning.progress`. *button*: "" where there is nothing to press. *wrong*: told after a wrong
    answer. *now*: the step to do next. *page*: where its button leads, "" for a new plan. *plans*: the steps whose job
    it plans too: one of them on the Plan page will do."""

    key: str
    number: int
    title: str
    text: str
    state: str
    note: str = ""
    button: str = ""
    question: str = ""
    answers: tuple[str, ...] = ()
    wrong: str = ""
    now: bool = False
    page: str = ""
    plans: frozenset[str] = frozenset()

    @property
    def done(self) -> bool:
        return self.state == "done"


@dataclass(frozen=True)
class ChapterView:
    chapter: Chapter
    steps: tuple[StepView, ...]

    @property
    def done(self) -> int:
        return sum(step.done for step in self.steps)

    @property
    def is_over(self) -> bool:
        return self.done == len(self.steps)

    @property
    def now(self) -> StepView | None:
        return next((step for step in self.steps if step.now), None)

    @property
    def word(self) -> str:
        """How far it is, for its pill."""
        if self.is_over:
            return "Done"
        return f"{self.done} of {len(self.steps)}" if self.done else ""

    @property
    def time(self) -> str:
        return f"About {self.chapter.minutes} min"


@dataclass(frozen=True)
class LearnView:
    """*shown*: the chapter on the page, "" for their list. *active*: the chapter that is under way. *put_off*: the
    offer on Home was turned down. *problem*: progress could not be kept."""

    chapters: tuple[ChapterView, ...] = ()
    shown: str = ""
    active: str = ""
    put_off: bool = False
    problem: Problem | None = None

    def chapter(self, name: str) -> ChapterView | None:
        return next((one for one in self.chapters if one.chapter.id == name), None)

    @property
    def under_way(self) -> ChapterView | None:
        return self.chapter(self.active)

    @property
    def first(self) -> ChapterView | None:
        return self.chapter(FIRST)


class LearnViewModel:
    """Commands: `show`, `press`, `answer`, `put_off`, `leave`, `begin_anew`; and what happens: `started`, `happened`,
    `plan_says`, `runs_now`.

    Args:
        path: The file that keeps progress.

    *perform* does a step's act, with the runs that it is about; the window sets it.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.perform: Callable[[Step, tuple[str, ...]], None] = lambda step, runs: None
        self._path, self._clock = path, clock
        self._kept, self.note = Kept(), ""
        try:
            self._kept, self.note = load(path)
        except RunError as error:
            said = problem_of(error)
            self.note = f"{said.title}. {said.text}"
        self._unread = bool(self.note)  # it is looked at again before it is written
        self._runs: dict[str, RunNow] | None = None
        self._wrong: set[str] = set()
        self._said: set[str] = set()  # steps whose check stands, or stood, on the Plan page since their job was opened
        self.state = Observable(LearnView())
        self._draw()
        if (active := self.state.value.under_way) is not None and active.is_over:
            self.leave()

    # ----------------------------------------------------------------------------------------------------- commands

    def show(self, chapter: str) -> None:
        """Open *chapter*, "" for the list; an unknown one is the list."""
        view = self.state.value
        known = chapter if view.chapter(chapter) else ""
        if known and known != self._kept.active:
            self._keep(replace(self._kept, active=known))
        self._draw(shown=known)

    def press(self, key: str) -> None:
        """The button of a step: its own act, or anew that of the step whose run is lost."""
        now = self._now(key)
        if now is None:
            return
        chapter = self._chapter(key)
        if self._kept.active != chapter.id:
            self._keep(replace(self._kept, active=chapter.id))
            self._draw()
        self._said -= _same_job(chapter, key)
        if (lost := chapter.step(now.lost)) is not None:
            self.perform(lost, ())
        else:
            self.perform(now.step, now.runs)

    def answer(self, key: str, number: int) -> None:
        now = self._now(key)
        if now is None or now.step.when != "asked" or now.state != "ready":
            return
        if number == now.step.right:
            self._wrong.discard(key)
            self._done(now.step, now.runs)
        else:
            self._wrong.add(key)
            self._draw()

    def put_off(self) -> None:
        """The offer on Home goes; the chapter stays on the Learn page."""
        self._keep(replace(self._kept, put_off=True))
        self._draw()

    def leave(self) -> None:
        """No step goes along over the other pages; what is done stays."""
        self._keep(replace(self._kept, active=""))
        self._draw()

    def begin_anew(self, chapter: str) -> None:
        """Forget what was done in *chapter*; its runs stay."""
        self._read_again()
        deeds = tuple(deed for deed in self._kept.deeds if not deed.key.startswith(f"{chapter}/"))
        self._keep(replace(self._kept, deeds=deeds))
        self._draw()

    # ------------------------------------------------------------------------------------------------ what happens

    def started(self, key: str, run: str) -> None:
        """*run* was started from the plan of the step *key*."""
        if self._now(key) is not None:
            self._add(Deed(key, STARTED, run, self._clock()))

    def happened(self, when: str, *, run: str = "", subject: str = "") -> None:
        """Something came true (`chapters.WHENS`): of *run*, or about *subject*."""
        for one in self._all_now():
            step = one.step
            fits = step.when == when and one.state in ("ready", "ahead") and step.subject in ("", subject)
            if fits and (not step.about or run in one.runs):
                self._done(step, one.runs)

    def plan_says(self, key: str, checks: Collection[str], looked: Callable[[str], bool]) -> None:
        """The Plan page shows the job of the step *key*, and of it those *checks*. *looked*: whether a check of that id
        would be among them by now, if it were to be said."""
        steps = _same_job(self._chapter(key), key) if self._now(key) else frozenset()
        for one in self._all_now():
            step = one.step
            if step.key not in steps or step.when not in ON_PLAN:
                continue
            if step.subject in checks:
                self._said.add(step.key)
            said = step.key in self._said
            if one.state == "ready" and said and (step.when == "told" or _gone(step, checks, looked)):
                self._done(step, ())

    def compared(self, runs: Iterable[str]) -> None:
        beside = set(runs)
        for one in self._all_now():
            if one.step.when == "compared" and one.state == "ready" and set(one.runs) <= beside:
                self._done(one.step, one.runs)

    def runs_now(self, rows: Iterable[RunRow] | None) -> None:
        """The list of runs, None while it is not known."""
        if rows is None:
            return
        wanted = {deed.run for deed in self._kept.deeds if deed.run}
        self._runs = {
            row.run: RunNow(row.over, row.finished, row.over and row.tone == "bad", row.resumed)
            for row in rows
            if row.run in wanted
        }
        kept = {deed.key for deed in self._kept.deeds if deed.kind == DONE}
        for one in self._all_now():
            if one.state == "done" and one.step.when in ("finished", "resumed") and one.step.key not in kept:
                self._done(one.step, one.runs)
        self._draw()

    # ------------------------------------------------------------------------------------------------------ inside

    def _chapter(self, key: str) -> Chapter:
        return next(one for one in chapters() if one.step(key))

    def _all_now(self) -> list[StepNow]:
        return [now for one in chapters() for now in progress(one, self._kept.deeds, self._runs)]

    def _now(self, key: str) -> StepNow | None:
        return next((one for one in self._all_now() if one.step.key == key), None)

    def _done(self, step: Step, runs: tuple[str, ...]) -> None:
        self._add(Deed(step.key, DONE, runs[0] if runs else "", self._clock()))

    def _add(self, deed: Deed) -> None:
        if deed.run and self._runs is not None:
            self._runs.setdefault(deed.run, RunNow())  # the list of runs tells of it within a moment
        self._keep(replace(self._kept, deeds=(*self._kept.deeds, deed)))
        self._draw()

    def _keep(self, kept: Kept) -> None:
        if kept == self._kept and self.state.value.problem is None:
            return
        self._kept = kept
        problem = self._read_again()
        if problem is None:
            try:
                save(self._path, self._kept)
            except RunError as error:
                problem = problem_of(error)
        self.state.set(replace(self.state.value, problem=problem))

    def _read_again(self) -> Problem | None:
        """What the file holds comes before what was done since, if it was not read yet. Why it still can't be."""
        if not self._unread:
            return None
        try:
            before, _ = load(self._path)
        except RunError as error:
            return problem_of(error)
        now, self._unread = self._kept, False
        self._kept = Kept((*before.deeds, *now.deeds), now.active or before.active, now.put_off or before.put_off)
        return None

    def _draw(self, shown: str | None = None) -> None:
        views = tuple(self._view(one) for one in chapters())
        shown = self.state.value.shown if shown is None else shown
        self.state.set(
            replace(self.state.value, chapters=views, active=self._kept.active, put_off=self._kept.put_off, shown=shown)
        )

    def _view(self, chapter: Chapter) -> ChapterView:
        steps = progress(chapter, self._kept.deeds, self._runs)
        first = current(steps)
        return ChapterView(chapter, tuple(self._step(number, one, one is first) for number, one in enumerate(steps, 1)))

    def _step(self, number: int, now: StepNow, first: bool) -> StepView:
        step = now.step
        waits = now.state == "unknown" or (now.state == "ahead" and not now.runs)
        over = now.state == "done" and step.act != "run"
        note = _NOTES.get(now.state, "") if now.state != "ahead" or not now.runs else ""
        if step.when == "asked" and now.state == "done":
            note = f"Right: {step.answers[step.right]}."
        return StepView(
            step.key,
            number,
            step.title,
            step.text,
            now.state,
            note,
            AGAIN if now.lost else "" if waits or over else step.button,
            step.question,
            step.answers,
            step.wrong if step.key in self._wrong else "",
            first,
            step.act if step.act in ("run", "account", "compare") else "",
            _same_job(self._chapter(step.key), step.key),
        )


def _same_job(chapter: Chapter, key: str) -> frozenset[str]:
    """The steps that plan the same job as the step *key*; none where it plans none."""
    job = next((step.job for step in chapter.steps if step.key == key), "")
    return frozenset(step.key for step in chapter.steps if job and step.job == job)


def _gone(step: Step, checks: Collection[str], looked: Callable[[str], bool]) -> bool:
    return step.subject not in checks and looked(step.subject)
