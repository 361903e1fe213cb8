"""All runs as rows: for the Runs page, Home's recent runs and live strip, and the sidebar's Live pill.

One list for the whole window, read anew every second while a run goes on and every few seconds otherwise. Commands go
to ``workflow.runs.Runs``; what a person should hear of goes through `tell`, a problem through `tell_problem`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain import figures
from tpu_studio.domain.mark import Mark
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.viewmodels.runrows import RunRow, rows_of
from tpu_studio.wire import places
from tpu_studio.wire.visible import visible

if TYPE_CHECKING:
    from tpu_studio.planner.own import OwnRuns
    from tpu_studio.wire.job import Job
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.ports import RunSummary, Tasks
    from tpu_studio.workflow.trash import Deleted

LIVE_EVERY_S = 1.0
QUIET_EVERY_S = 4.0
SETTLE_EVERY_S = 10.0
PATIENCE_S = 2.0  # from here on the first list says how far it is
PAUSE = 10  # times as long as reading the list took lies between two readings at least
KEPT = "a week"  # app.compose.TRASH_KEPT_S


class RunsLike(Protocol):
    """What this view-model needs of ``workflow.runs.Runs``; all calls block and run away from the window."""

    def list(self, told: Callable[[int, int], None]) -> Sequence[RunSummary]: ...
    def reconcile(self) -> object: ...
    def stop(self, run: str, keep: bool = True) -> Any: ...
    def extend(self, run: str, epochs: float) -> object: ...
    def resume(self, run: str) -> Any: ...
    def rename(self, run: str, name: str) -> str: ...
    def tag(self, run: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[Mark, Mark]: ...
    def note(self, run: str, text: str) -> tuple[Mark, Mark]: ...
    def star(self, run: str, on: bool = True) -> tuple[Mark, Mark]: ...
    def shown_plan(self, run: str) -> Plan: ...
    def delete(self, run: str) -> object: ...
    def undo_delete(self, run: str) -> object: ...
    def deleted(self) -> Sequence[Deleted]: ...
    def empty_trash(self) -> int: ...
    def forget_taught(self) -> None: ...
    def import_folder(self, folder: Path, *, replace: bool = False) -> object: ...
    def export(self, run: str, destination: Path) -> Any: ...


@dataclass(frozen=True)
class Undo:
    """A deletion that can be taken back: the runs and how they were called."""

    runs: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class RunsView:
    """*rows* are newest first; None until the first list has come. *busy* names what is being done now. *deleted* is
    what can be brought back, deleted last first. *taught*: what runs so far teach the estimate. *reading*: how many of
    how many runs the first list has read, once that takes long."""

    rows: tuple[RunRow, ...] | None = None
    deleted: tuple[Deleted, ...] = ()
    problem: Problem | None = None
    busy: str = ""
    read_at: float = 0.0
    taught: OwnRuns | None = None
    reading: tuple[int, int] | None = None

    @property
    def loading(self) -> bool:
        return self.rows is None and self.problem is None

    @property
    def live(self) -> tuple[RunRow, ...]:
        return tuple(row for row in self.rows or () if row.live)

    @property
    def going_on(self) -> tuple[RunRow, ...]:
        """Live and waiting, oldest first: the order in which they get their turn. A notebook elsewhere, of which only
        its result will come here, takes nobody's turn."""
        rows = (row for row in self.rows or () if row.may_stop and not places.by_id(row.place_id).notebook)
        return tuple(sorted(rows, key=lambda row: row.created))

    @property
    def taught_words(self) -> str:
        """`3 runs count, newest of 22 Nov 2026`"""
        runs = self.taught.runs if self.taught else ()
        if not runs:
            return "No run counts yet: one does from its first 50 steps on"
        day = time.strftime("%d %b %Y", time.localtime(runs[0].at)).lstrip("0")
        return f"1 run counts, of {day}" if len(runs) == 1 else f"{len(runs)} runs count, newest of {day}"

    def row(self, run: str) -> RunRow | None:
        return next((row for row in self.rows or () if row.run == run), None)

    @property
    def tags(self) -> tuple[str, ...]:
        """All that were given, in the alphabet's order."""
        return tuple(sorted({tag for row in self.rows or () for tag in row.mark.tags}, key=str.casefold))

    def shown(
        self, text: str = "", column: str = "created", descending: bool = True, *, starred: bool = False
    ) -> tuple[RunRow, ...]:
        """The rows that have every word of *text* in them, sorted; unknown values last in either direction. *starred*:
        only those with a star."""
        words = dict.fromkeys(text.casefold().split())
        some = [row for row in self.rows or () if row.mark.star or not starred]
        kept = [row for row in some if not words or has_all(_searched(row), words)]
        kept.sort(key=lambda row: -row.created)
        keys = [(row.sort_key(column), row) for row in kept]
        known = [(key, row) for key, row in keys if column == "status" or key[0] == 0]
        unknown = [row for key, row in keys if column != "status" and key[0] != 0]
        known.sort(key=itemgetter(0), reverse=descending)
        return (*(row for _, row in known), *unknown)


def has_all(text: str, words: Iterable[str]) -> bool:
    return all(word in text for word in words)


def _searched(row: RunRow) -> str:
    """What a search finds a run by, its day in words and as 2026-11-27 too."""
    day = time.strftime("%Y-%m-%d", time.localtime(row.created))
    told = (row.name, row.subtitle, row.status, row.place, row.run, row.when, figures.date(row.created), day)
    return " ".join((*told, *row.mark.tags, row.mark.note)).casefold()


class RunsViewModel:
    """Commands: `look`, `tick`, `stop`, `extend`, `resume`, `rename`, `tag`, `note`, `star`, `plan_again`, `delete`,
    `undo`, `open_folder`, `export`."""

    def __init__(self, tasks: Tasks, clock: Callable[[], float] = time.time) -> None:
        self.state = Observable(RunsView())
        self.tell: Callable[..., Any] = lambda title, text="", **more: None
        self.tell_problem: Callable[[Problem], None] = lambda problem: None
        self.opened: Callable[[str], None] = lambda run: None
        self.compared: Callable[[tuple[str, ...]], None] = lambda runs: None
        self.open_path: Callable[[Path], None] = lambda path: None  # with the system's own program
        self.planned_again: Callable[[Job], None] = lambda job: None
        self.watched: Callable[[], str] = lambda: ""  # the run whose page is shown: its end needs no notice
        self.engine_needed: Callable[[Callable[[], None]], None] | None = (
            None  # called with what to do once it is there
        )
        self._tasks = tasks
        self._clock = clock
        self._runs: RunsLike | None = None
        self._looking = False
        self._again = False
        self._looked_at, self._took_s = 0.0, 0.0
        self._read: tuple[int, int] | None = None  # assigned in one go by another thread; `tick` takes it over
        self._settled_at = 0.0
        self._trained: dict[str, tuple[float, float]] = {}
        self._was_going: dict[str, str] | None = None

    def connect(self, runs: RunsLike) -> None:
        """Give the runs, which are reached only after the first picture is on screen, and read them."""
        self._runs = runs
        self.look()

    @property
    def due(self) -> bool:
        """Whether `tick` would read the list now."""
        every = LIVE_EVERY_S if self.state.value.going_on else QUIET_EVERY_S
        rested = self._clock() - self.state.value.read_at >= max(every, PAUSE * self._took_s)
        return rested and not self._looking

    def tick(self) -> None:
        view = self.state.value
        if self._looking and view.loading and self._clock() - self._looked_at >= PATIENCE_S:
            if self._read != view.reading:
                self.state.set(replace(view, reading=self._read))
        elif self.due:
            self.look()

    def look(self) -> None:
        """Read the list anew; one reading at a time, a call meanwhile is answered by one more reading after it."""
        if self._runs is None:
            return
        if self._looking:
            self._again = True
            return
        self._looking = True
        runs, now = self._runs, self._clock()
        self._looked_at = now
        settle = now - self._settled_at >= SETTLE_EVERY_S

        def work() -> tuple[tuple[RunRow, ...], tuple[Deleted, ...], OwnRuns]:
            from tpu_studio.workflow.desk import is_full
            from tpu_studio.workflow.forgetting import own_runs

            found = runs.list(self._take)
            if settle and any(not (row.over or row.alive or row.problem or row.unread) for row in found):
                self._settled_at = now
                runs.reconcile()  # a run that nobody guards any more is given its end
                found = runs.list(self._take)
            full = bool(found) and is_full(found[0].folder.parent)
            return rows_of(found, now, disk_full=full), tuple(runs.deleted()), own_runs(found)

        self._tasks.submit(work, done=self._seen, failed=self._unread)

    def _take(self, read: int, of: int) -> None:
        self._read = (read, of)

    def stop(self, run: str, keep: bool = True) -> None:
        self._do("stopping", lambda runs: runs.stop(run, keep))

    def resume(self, run: str) -> None:
        self._do("resuming", lambda runs: runs.resume(run), lambda _: self.opened(run))

    def rename(self, run: str, name: str) -> None:
        """Show it as *name*; "" as its job called it."""
        self._do("renaming", lambda runs: runs.rename(run, name))

    def star(self, run: str, on: bool) -> None:
        self._do("marking", lambda runs: runs.star(run, on))

    def tag(self, run: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Give and take tags; taken ones come back by the notice's button."""

        def done(marks: tuple[Mark, Mark]) -> None:
            before, after = marks
            if gone := [tag for tag in before.tags if tag not in after.tags]:
                title = f"The tag “{gone[0]}” is removed" if len(gone) == 1 else f"{len(gone)} tags are removed"
                self.tell(title, action="Undo", act=lambda: self.tag(run, gone))

        self._do("tagging", lambda runs: runs.tag(run, add, remove), done)

    def note(self, run: str, text: str) -> None:
        """Write a note; the one that stood there comes back by the notice's button."""

        def done(marks: tuple[Mark, Mark]) -> None:
            before, after = marks
            if before.note and before.note != after.note:
                title = "The note is changed" if after.note else "The note is removed"
                self.tell(title, action="Undo", act=lambda: self.note(run, before.note))

        self._do("noting", lambda runs: runs.note(run, text), done)

    def plan_again(self, run: str) -> None:
        """Open a new plan with this run's settings; the run stays as it is."""
        row = self.state.value.row(run)
        if row is None:
            return

        def work(runs: RunsLike) -> Job:
            from tpu_studio.viewmodels.draft import of_plan

            return of_plan(runs.shown_plan(run), row.folder)

        self._do("planning", work, self.planned_again)

    def extend(self, run: str, epochs: float) -> None:
        """Train *epochs* more; the run's page opens once it was taken."""
        self._do("extending", lambda runs: runs.extend(run, epochs), lambda _: self.opened(run))

    def delete(self, wanted: Iterable[str]) -> None:
        """Move runs to the trash; the notice's button brings them back."""
        chosen = tuple(wanted)
        names = tuple(row.name if (row := self.state.value.row(run)) else run for run in chosen)

        def work(runs: RunsLike) -> tuple[tuple[str, ...], Exception | None]:
            gone: list[str] = []
            for run in chosen:
                try:
                    runs.delete(run)
                except Exception as error:  # noqa: BLE001  those already deleted must still be offered for undo
                    return tuple(gone), error
                gone.append(run)
            return tuple(gone), None

        def done(outcome: tuple[tuple[str, ...], Exception | None]) -> None:
            gone, error = outcome
            if gone:
                undo = Undo(gone, tuple(name for run, name in zip(chosen, names, strict=True) if run in gone))
                title = f"{undo.names[0]} is deleted" if len(gone) == 1 else f"{len(gone)} runs are deleted"
                self.tell(
                    title,
                    f"Its model and curves are kept for {KEPT} under “Deleted”."
                    if len(gone) == 1
                    else f"Their models and curves are kept for {KEPT} under “Deleted”.",
                    action="Undo",
                    act=lambda: self.undo(undo),
                )
            if error is not None:
                self.tell_problem(problem_of(error))

        self._do("deleting", work, done)

    def undo(self, undo: Undo) -> None:
        def work(runs: RunsLike) -> None:
            for run in undo.runs:
                runs.undo_delete(run)

        what = undo.names[0] if len(undo.names) == 1 else f"{len(undo.names)} runs"
        self._do("bringing back", work, lambda _: self.tell(f"{what} {'is' if len(undo.names) == 1 else 'are'} back"))

    def bring_back(self, deleted: Deleted) -> None:
        """Take one of the deleted back into the list."""
        self.undo(Undo((deleted.run,), (deleted.name,)))

    def empty_trash(self) -> None:
        """Remove for good what can be brought back still; its room on the disk is free then."""

        def done(count: int) -> None:
            self.tell("1 run is removed for good" if count == 1 else f"{count:,} runs are removed for good")

        self._do("emptying the trash", lambda runs: runs.empty_trash(), done)

    def open_folder(self, folder: Path, *, instead: bool = False) -> None:
        """Take up a run folder from anywhere, another computer's included, and open its page. *instead*: of the same
        run that is here, which goes to the trash."""

        def refused(problem: Problem) -> bool:
            if problem.id not in ("import-differs", "zip-other-course"):
                return False
            self.tell(
                problem.title,
                problem.text,
                tone="bad",
                lasting=True,
                action="Take the copy",
                act=lambda: self.open_folder(folder, instead=True),
            )
            return True

        def done(brought: object) -> None:
            if left_out := tuple(getattr(brought, "left_out", ())):
                names = ", ".join(visible(name) for name in left_out[:5]) + (" …" if len(left_out) > 5 else "")
                self.tell("Not all of the folder was taken along", f"Left out, as no part of a run: {names}.")
            if name := str(getattr(brought, "replaced", "")):
                back = Undo((name,), (name,))
                self.tell(
                    "The copy is here now",
                    f"The run that was here is under “Deleted” as {name}, and is kept for {KEPT}.",
                    action="Bring it back beside this one",
                    act=lambda: self.undo(back),
                )
            if damaged := str(getattr(brought, "damaged", "")):
                self.tell(
                    "The model of this run is damaged",
                    f"{visible(damaged)} is not as the run wrote it, in the copy you opened, too. Its curves can be "
                    "looked at; open a whole copy to use its model.",
                    tone="bad",
                )
            self.opened(str(getattr(brought, "run", brought)))

        self._do("opening", lambda runs: runs.import_folder(folder, replace=instead), done, refused)

    def export(self, run: str, destination: Path) -> None:
        row = self.state.value.row(run)
        name = row.name if row else run
        self._do(
            "exporting",
            lambda runs: runs.export(run, destination),
            lambda where: self.tell(
                f"A copy of {name} is saved",
                f"The model and its curves are in {where or destination}.",
                tone="ok",
                action="Show in folder",
                act=lambda: self.open_path(Path(where or destination)),
            ),
        )

    def forget_taught(self) -> None:
        """What the runs so far have taught the estimate counts no more; the runs stay."""

        def done(_: object) -> None:
            self.tell("Forgotten", "Estimates are the model's own again. Your runs and their models are untouched.")

        self._do("forgetting", lambda runs: runs.forget_taught(), done)

    def _do(
        self,
        busy: str,
        act: Callable[[RunsLike], Any],
        done: Callable[[Any], None] | None = None,
        refused: Callable[[Problem], bool] = lambda problem: False,
    ) -> None:
        """*refused*: whether it has told the problem itself."""
        runs = self._runs
        if runs is None:
            self.tell("One moment", "The list of runs is still being read.")
            return

        def finished(result: object) -> None:
            self.state.set(replace(self.state.value, busy=""))
            self.look()
            if done is not None:
                done(result)

        def failed(error: Exception) -> None:
            self.state.set(replace(self.state.value, busy=""))
            self.look()
            problem = problem_of(error)
            if problem.id == "engine-not-ready" and self.engine_needed is not None:
                self.engine_needed(lambda: self._do(busy, act, done, refused))
            elif not refused(problem):
                self.tell_problem(problem)

        self.state.set(replace(self.state.value, busy=busy))
        self._tasks.submit(lambda: act(runs), done=finished, failed=failed)

    def _seen(self, found: tuple[tuple[RunRow, ...], tuple[Deleted, ...], OwnRuns]) -> None:
        self._looking = False
        now, (rows, deleted, taught) = self._clock(), found
        self._took_s = now - self._looked_at
        rows = tuple(replace(row, left=self._left(row, now)) for row in rows)
        self._tell_ends(rows)
        seen = replace(self.state.value, rows=rows, deleted=deleted, problem=None, read_at=now, taught=taught)
        self.state.set(replace(seen, reading=None))
        self._catch_up()

    def _unread(self, error: Exception) -> None:
        self._looking = False
        self.state.set(replace(self.state.value, problem=problem_of(error), read_at=self._clock()))
        self._catch_up()

    def _catch_up(self) -> None:
        if self._again:
            self._again = False
            self.look()

    def _tell_ends(self, rows: tuple[RunRow, ...]) -> None:
        """A notice for each run that went on at the last reading and is over now."""
        before = self._was_going
        self._was_going = {
            row.run: row.name
            for row in rows
            if (row.run in (before or ()) if row.unread else not row.over)  # of one that is read on: as it was
        }
        for row in rows:
            if before and row.run in before and row.over and not row.unread and row.run != self.watched():
                self.tell(
                    f"{row.name}: {row.status.lower()}",
                    f"{row.metric_name} {row.metric} in {row.time}." if row.metric else f"After {row.time}.",
                    tone=row.tone,
                    action="Show",
                    act=lambda run=row.run: self.opened(run),
                )

    def _left(self, row: RunRow, now: float) -> str:
        """Time left at the pace since the first sight of this run's training; "" until it has moved by a percent."""
        if not row.live or row.progress <= 0 or row.progress >= 1:
            self._trained.pop(row.run, None)
            return ""
        first_t, first = self._trained.setdefault(row.run, (now, row.progress))
        if row.progress < first:  # extended: the target has moved away
            self._trained[row.run] = (now, row.progress)
            return ""
        if row.progress - first < 0.01 or now - first_t < 2:
            return ""
        return f"about {figures.duration((1 - row.progress) * (now - first_t) / (row.progress - first))} left"
