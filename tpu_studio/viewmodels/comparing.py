"""The Compare page: up to twenty runs, one measure along one axis, what differs in them, and which is best."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.domain import figures
from tpu_studio.domain.comparison import AT_MOST, Comparison, Contender
from tpu_studio.domain.mark import Mark
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels import draft
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.viewmodels.runrows import marked
from tpu_studio.wire import metrics, places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plainfiles import write_named
from tpu_studio.wire.schema import BY_PATH
from tpu_studio.wire.spreadsheets import cell

if TYPE_CHECKING:
    from tpu_studio.domain.course import Course
    from tpu_studio.viewmodels.onepage.page import Page
    from tpu_studio.wire.job import Job
    from tpu_studio.workflow.comparing import Reading
    from tpu_studio.workflow.ports import Curve, Tasks

COLOURS = 6  # of lines; further ones begin again
LONGEST = 60  # letters of a setting in a cell; somebody's may have millions, and each is drawn
SETTINGS = 4  # columns of settings that differ; the rest stands in the table that is saved
_COURSE = ("examples_per_s", "usd")  # besides what a task measures
_UNKNOWN_RUN = "run-unknown"
_DELETED = Problem(
    "The run was deleted", "", "One that is in the trash comes back by “Deleted…” on the Runs page.", id=_UNKNOWN_RUN
)


@dataclass(frozen=True)
class Row:
    """A run in the table. *cells*: by the columns of the view, *keys*: what each sorts by; *best*: columns in which it
    is the best. *problem*: why it can't be read, and so is not compared; "" else."""

    run: str
    name: str
    place: str
    colour: int
    cells: tuple[str, ...]
    keys: tuple[object, ...] = ()
    best: tuple[int, ...] = ()
    goes_on: bool = False
    mark: Mark = field(default_factory=Mark)
    problem: str = ""


@dataclass(frozen=True)
class CompareView:
    """Attributes:
    runs: Ids, in the order in which they were taken in.
    is_reading: They are read for the first time.
    rows: In their order by the finding, the best first, and those that can't be read last; `sorted_rows` as they are
        shown.
    columns: Titles of `Row.cells`.
    measures: (metric, title) of the curves that there are. *measure*: which is drawn; *axis*: along
        which (`domain.course.AXES`).
    costs: Whether any of them cost anything. *unplaced*: names of those that did not: they have no place along it.
    sorted_by: ``name``, ``place`` or the title of a column; "" by the finding.
    title, text: What the comparison found.
    best: The run that the next one may be planned from.
    more_settings: How many more settings differ than there are columns for.
    number: Grows whenever the curves have to be drawn anew.
    """

    runs: tuple[str, ...] = ()
    is_reading: bool = False
    rows: tuple[Row, ...] = ()
    columns: tuple[str, ...] = ()
    measures: tuple[tuple[str, str], ...] = ()
    measure: str = ""
    axis: str = "time"
    costs: bool = False
    unplaced: tuple[str, ...] = ()
    sorted_by: str = ""
    descending: bool = False
    title: str = ""
    text: str = ""
    best: str = ""
    more_settings: int = 0
    number: int = 0
    problem: Problem | None = None
    saved: str = ""

    @property
    def compared(self) -> int:
        """How many there are that could be read."""
        return sum(not row.problem for row in self.rows)

    @property
    def sorted_rows(self) -> tuple[Row, ...]:
        """As they are shown; what is not known comes last in either direction."""
        if self.sorted_by in ("name", "place"):
            keys = [(0, 0.0, getattr(row, self.sorted_by).casefold()) for row in self.rows]
        elif self.sorted_by in self.columns:
            column = self.columns.index(self.sorted_by)
            keys = [_sort_key(row.keys[column]) for row in self.rows]
        else:
            return self.rows
        pairs = sorted(zip(keys, self.rows, strict=True), key=lambda one: one[0], reverse=self.descending)
        known = (row for key, row in pairs if key[0] != _UNKNOWN)
        return (*known, *(row for key, row in pairs if key[0] == _UNKNOWN))


_UNKNOWN = 2


def _sort_key(value: object) -> tuple[int, float, str]:
    """Numbers before words, and both before what is not known."""
    if isinstance(value, (int, float)) and value == value:
        return 0, float(min(max(value, -metrics.LARGEST), metrics.LARGEST)), ""
    return (1, 0.0, value.casefold()) if isinstance(value, str) and value else (_UNKNOWN, 0.0, "")


@dataclass(frozen=True)
class Line:
    """A curve to draw, and what places its points along an axis."""

    run: str
    name: str
    colour: int
    curve: Curve
    course: Course
    is_over: bool


class CompareViewModel:
    """Commands: `show`, `add`, `remove`, `choose_measure`, `choose_axis`, `sort`, `plan_best`, `save_table`,
    `make_page`, `save_page`, `dismiss_saved`; `tick`, `close`.

    Args:
        open_run: Begins to read a run; blocks. Raises RunError.
    """

    def __init__(self, tasks: Tasks, open_run: Callable[[str], Reading]) -> None:
        self.state = Observable(CompareView())
        self.planned: Callable[[Job], None] = lambda job: None
        self._tasks, self._open_run = tasks, open_run
        self._open: dict[str, Reading] = {}
        self._lost: dict[str, Problem] = {}  # by run, why it can't be read
        self._found: Comparison | None = None
        self._busy = self._looks = False

    def show(self, runs: tuple[str, ...]) -> None:
        """These runs, and no others."""
        wanted = tuple(dict.fromkeys(runs))[:AT_MOST]
        for run in set(self._open) - set(wanted):
            self._open.pop(run).close()
        self._change(runs=wanted, is_reading=True, problem=None, saved="")
        self._read()

    def add(self, run: str) -> None:
        self.show((*self.state.value.runs, run))

    def remove(self, run: str) -> None:
        self.show(tuple(one for one in self.state.value.runs if one != run))

    def choose_measure(self, metric: str) -> None:
        self._change(measure=metric, number=self.state.value.number + 1)

    def choose_axis(self, axis: str) -> None:
        self._change(axis=axis, number=self.state.value.number + 1)

    def sort(self, column: str) -> None:
        """By ``name``, ``place`` or a column's title; again turns it round, and then the finding's order is back."""
        view, first = self.state.value, self._sorts_down(column)
        if view.sorted_by != column:
            self._change(sorted_by=column, descending=first)
        elif view.descending == first:
            self._change(descending=not first)
        else:
            self._change(sorted_by="", descending=False)

    def _sorts_down(self, column: str) -> bool:
        """Whether the largest comes first: of a figure that is the better for being higher."""
        metric = self._found.metric if self._found is not None else ""
        return bool(metric) and column == metrics.by_id(metric).title and metrics.by_id(metric).better == "higher"

    def plan_best(self) -> None:
        """A new plan with the settings of the best run."""
        if reading := self._open.get(self.state.value.best):
            self.planned(draft.of_plan(reading.plan, reading.folder))

    def save_table(self, path: Path) -> None:
        """All runs with all that differs, as CSV that no spreadsheet takes for formulas."""
        found = self._found
        if found is None:
            return

        def work() -> None:
            write_named(path, table_of(found).encode())

        self._tasks.submit(work, done=lambda _: self._change(saved=str(path)), failed=self._failed)

    def make_page(self, shown: Callable[[Page], None]) -> None:
        """Make the comparison into one page elsewhere and hand it to *shown*; nothing is written yet."""
        from tpu_studio.viewmodels.onepage.comparison import compose

        runs = self.state.value.runs
        readings = [self._open[run] for run in runs if run in self._open]

        def work() -> Page:
            return compose([one for one in readings if _is_there(one)], runs).page

        self._tasks.submit(work, done=shown, failed=self._failed)

    def save_page(self, page: Page, file: Path) -> None:
        """Write *page* to *file*, over what is there: the dialog has asked."""
        from tpu_studio.viewmodels.onepage.page import save

        work = partial(save, page, file, replace=True)
        self._tasks.submit(work, done=lambda where: self._change(saved=str(where)), failed=self._failed)

    def dismiss_saved(self) -> None:
        """It is known what was saved."""
        self._change(saved="")

    def tick(self) -> None:
        """Every few seconds while the page is seen, and when it is seen again: runs that go on are read again, and
        all are where one of them was renamed, marked, deleted or brought back."""
        if self._busy or self._looks:
            return
        if any(row.goes_on for row in self.state.value.rows):
            self._read()
        elif self.state.value.runs:
            self._look()

    def close(self) -> None:
        for reading in self._open.values():
            reading.close()
        self._open.clear()

    def lines(self) -> list[Line]:
        """The curves of the chosen measure, of the runs that have one and a place along the axis."""
        view = self.state.value
        drawn = []
        for place, run in enumerate(view.runs):
            reading = self._open.get(run)
            curve = reading.curve(view.measure) if reading is not None and view.measure else None
            if reading is not None and curve is not None and len(curve):
                course = _course(reading, curve)
                if view.axis != "cost" or course.spent is not None:
                    name, over = reading.contender.name, reading.contender.is_over
                    drawn.append(Line(run, name, place % COLOURS, curve, course, over))
        return drawn

    # --------------------------------------------------------------------------------------------------------- reading

    def _look(self) -> None:
        wanted, opened = self.state.value.runs, dict(self._open)
        self._looks = True

        def work() -> bool:
            return any(self._is_otherwise(run, opened.get(run)) for run in wanted)

        def done(otherwise: bool) -> None:
            self._looks = False
            if otherwise and not self._busy and self.state.value.runs == wanted:
                self._read()

        def failed(error: Exception) -> None:
            self._looks = False
            self._failed(error)

        self._tasks.submit(work, done=done, failed=failed)

    def _is_otherwise(self, run: str, reading: Reading | None) -> bool:
        """*reading*: None of one that could not be read. Blocks."""
        try:
            if reading is not None:
                return reading.has_changed()
            self._open_run(run).close()
        except (StudioError, OSError):
            return reading is not None
        return True

    def _read(self) -> None:
        wanted, opened = self.state.value.runs, dict(self._open)
        deleted = {run for run, why in self._lost.items() if why is _DELETED}
        self._busy = True

        def work() -> tuple[dict[str, Reading], dict[str, Problem]]:
            read, lost = {}, {}
            for run in wanted:
                try:  # one that is damaged, or was deleted, hides none of the others
                    read[run] = reading = opened.get(run) or self._open_run(run)
                    reading.poll()
                except (StudioError, OSError) as error:
                    gone = isinstance(error, StudioError) and error.id == _UNKNOWN_RUN
                    lost[run] = _DELETED if gone and (run in opened or run in deleted) else problem_of(error)
                    if (failed := read.pop(run, None)) is not None and run not in opened:
                        failed.close()
            return read, lost

        def done(found: tuple[dict[str, Reading], dict[str, Problem]]) -> None:
            read, lost = found
            self._busy = False
            if self.state.value.runs != wanted:
                for run in set(read) - set(self._open) - set(self.state.value.runs):
                    read[run].close()
                return
            for run in set(self._open) - set(read):
                self._open[run].close()
            self._open, self._lost = read, lost
            self._judge()

        self._tasks.submit(work, done=done, failed=self._failed)

    def _judge(self) -> None:
        view = self.state.value
        readings = [self._open[run] for run in view.runs if run in self._open]
        contenders = [reading.contender for reading in readings]
        measures = _measures([reading.metrics() for reading in readings])
        free = tuple(reading.contender.name for reading in readings if reading.spending() is None)
        from tpu_studio.workflow.comparing import judge

        problem, found = None, None
        try:
            found = judge(readings)
        except StudioError as error:
            problem = problem_of(error) if len(contenders) > 1 else None
        self._found = found
        measure = view.measure if view.measure in dict(measures) else ""
        if not measure and measures:
            measure = found.metric if found is not None and found.metric in dict(measures) else measures[0][0]
        columns, rows, more = _table(found, contenders, view.runs)
        rows += _lost_rows(view, self._lost, len(columns))
        self._change(
            is_reading=False,
            rows=rows,
            columns=columns,
            measures=measures,
            measure=measure,
            title=found.finding.title if found else "",
            axis="time" if view.axis == "cost" and len(free) == len(readings) else view.axis,
            costs=len(free) < len(readings),
            unplaced=free,
            text=f"{found.finding.text} {found.finding.same_money}".strip() if found else "",
            best=found.finding.best if found else "",
            more_settings=more,
            problem=_of_lost(self._lost, rows) or problem,
            number=view.number + 1,
        )

    def _failed(self, error: Exception) -> None:
        self._busy = False
        self._change(is_reading=False, problem=problem_of(error))

    def _change(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))


def _is_there(reading: Reading) -> bool:
    """It can be read still. Blocks."""
    try:
        reading.has_changed()
    except (StudioError, OSError):
        return False
    return True


def _course(reading: Reading, curve: Curve) -> Course:
    from tpu_studio.domain.course import Course  # brings numpy along

    begun, plan = reading.begun(), reading.plan
    origin = begun[0] if begun else 0.0
    batch = plan.job.training.global_batch
    return Course(origin, cuts(curve, begun), plan.steps_per_epoch or 1.0, batch, reading.spending())


def cuts(curve: Curve, begun: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    """From the last point before a run was taken up again to when it was: nothing was trained in between."""
    found = []
    for again in begun[1:]:
        before, _, _ = curve.window(again, again, 1, "time")
        last = max((float(t) for t in before if t < again), default=again)
        found.append((last, again))
    return tuple(found)


def _measures(sets: list[tuple[str, ...]]) -> tuple[tuple[str, str], ...]:
    names = dict.fromkeys(name for one in sets for name in one)
    known = [(metric.id, metric.sided) for metric in metrics.all_metrics() if metric.id in names]
    titles = {"examples_per_s": "Speed", "usd": "Cost"}
    return (*known, *((name, titles[name]) for name in _COURSE if name in names))


def _lost_rows(view: CompareView, lost: Mapping[str, Problem], columns: int) -> tuple[Row, ...]:
    """A row for each run that can't be read, called as it was when it could."""
    known, rows = {row.run: row for row in view.rows}, []
    for place, run in enumerate(view.runs):
        if run in lost:
            before = known.get(run) or Row(run, run, "–", place % COLOURS, ())
            going = before.goes_on and lost[run].id != _UNKNOWN_RUN
            unknown = replace(before, cells=("–",) * columns, keys=(None,) * columns, best=(), goes_on=going)
            rows.append(replace(unknown, colour=place % COLOURS, problem=lost[run].title))
    return tuple(rows)


def _of_lost(lost: Mapping[str, Problem], rows: Sequence[Row]) -> Problem | None:
    """What is said of the runs that can't be read, above the table of the others."""
    if not lost:
        return None
    out = "Open the menu of its row to take it out of the comparison."
    if len(lost) > 1:
        meaning = "Their rows say why. The others are compared without them, and no run was changed."
        return Problem(f"{len(lost)} of these runs can't be compared", meaning, out, id="compare-unreadable")
    ((run, why),) = lost.items()
    name = next((row.name for row in rows if row.run == run), run)
    meaning = " ".join(filter(None, (f"{why.title.rstrip('.')}.", why.meaning, "The others are compared without it.")))
    return replace(why, title=f"“{name}” can't be compared", meaning=meaning, action=f"{why.action} {out}".strip())


def _table(
    found: Comparison | None, contenders: list[Contender], runs: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[Row, ...], int]:
    """*runs*: all that were chosen, in whose order they are coloured; none: the *contenders* are all."""
    metric = found.metric if found else ""
    differing = sorted(found.differing, key=lambda path: path.endswith("_every")) if found else []  # chosen ones first
    shown = differing[:SETTINGS]
    head = (*([metrics.by_id(metric).title] if metric else []), "Time", "Cost", *(title_of(path) for path in shown))
    order = [run for side in found.sides for run in side.runs] if found else []
    ranked = sorted(contenders, key=lambda one: order.index(one.run) if one.run in order else len(order))
    colours = {run: place % COLOURS for place, run in enumerate(runs or [one.run for one in contenders])}
    best_time = min((one.time_s for one in contenders if one.is_over), default=None)
    rows = []
    for one in ranked:
        measured = [figures.metric(metric, one.best.get(metric))] if metric else []
        best = [0] if metric and order and one.run == order[0] and len(order) > 1 else []
        if one.is_over and one.time_s == best_time and len(contenders) > 1:
            best.append(len(measured))
        keys: list[object] = [one.best.get(metric)] if metric else []
        keys += [one.time_s, max(one.usd, 0.0), *(_plain(one.settings.get(path)) for path in shown)]
        cells = [*measured, figures.duration(one.time_s), marked(one.place, one.usd) if one.usd else "–"]
        cells += [spelled(one.settings.get(path)) for path in shown]
        going, colour = not one.is_over, colours.get(one.run, 0)
        row = Row(one.run, one.name, _where(one), colour, tuple(cells), tuple(keys), tuple(best), going, one.mark)
        rows.append(row)
    return tuple(head), tuple(rows), len(differing) - len(shown)


def _plain(value: object) -> object:
    """What a setting sorts by."""
    return value if value is None or isinstance(value, (int, float)) else str(value)[:LONGEST]


def _where(one: Contender) -> str:
    place = places.by_id(one.place)
    return place.title if place.on_this_computer else f"{place.title}, {one.accelerator}"


def title_of(path: str) -> str:
    """What a setting is called on screen."""
    key = BY_PATH.get(path)
    if key is not None:
        return key.title
    return path.rpartition(".")[2].replace("_", " ").capitalize()


def spelled(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return figures.datum(value)
    words = f"{value:,}" if isinstance(value, int) else str(value)
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def table_of(found: Comparison) -> str:
    """Of CSV: a line each run, with each metric and each setting that differs."""
    names = sorted({metric for one in found.contenders for metric in one.best})
    out = io.StringIO()
    rows = csv.writer(out)
    head = ["run", "name", "place", "accelerator", "steps", "time_s", "cost_usd"]
    rows.writerow([*head, *map(cell, (*names, *found.differing))])
    for one in found.contenders:
        settings: Mapping[str, object] = one.settings
        values = [settings.get(path) for path in found.differing]
        plain = [one.run, one.name, one.place, one.accelerator]
        measured = [one.best.get(name, "") for name in names]
        rows.writerow([*map(cell, plain), one.steps, one.time_s, one.usd, *measured, *map(_cell, values)])
    return out.getvalue()


def _cell(value: object) -> object:
    return cell(value) if isinstance(value, str) else value
