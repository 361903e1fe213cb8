"""A run read, its page made, and the page written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tpu_studio.domain import figures
from tpu_studio.viewmodels.onepage import content
from tpu_studio.viewmodels.onepage.document import Document
from tpu_studio.viewmodels.onepage.points import Plot, plots_of
from tpu_studio.viewmodels.onepage.private import Private
from tpu_studio.viewmodels.runfacts import facts_of
from tpu_studio.viewmodels.runstate import RunPageState
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plainfiles import check_place
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.comparing import Readable
from tpu_studio.workflow.consent import is_imported
from tpu_studio.workflow.marks import called
from tpu_studio.workflow.ports import Curve

LEFT_OUT = (
    "your data, and samples of it",
    "the names of its classes",
    "the model itself, and Python of your own",
    "keys and passwords, e-mail addresses",
    "paths of this computer, your bucket and your project",
)

_MOST_LETTERS = 200  # of the names of columns, where what is inside is listed
_MOST_NAMES = 20  # of buckets and projects; a run has one of each


@dataclass(frozen=True)
class Page:
    """*inside*: what stands in it, a line each; *left_out*: what does not, for whoever is about to hand it on."""

    run: str
    data: bytes
    plots: tuple[Plot, ...]
    inside: tuple[str, ...]
    left_out: tuple[str, ...] = LEFT_OUT


def page_of(runs: Readable, run: str, clock: Callable[[], float] = time.time) -> Page:
    """The page of a run that is over.

    Raises:
        RunError: ``run-unknown``, ``run-ambiguous``, ``run-unreadable``, ``page-run-goes-on``.
    """
    row = runs.summary(run)
    if row.problem:
        raise RunError(row.problem, run=row.run, folder=str(row.folder))
    following = runs.follow(row.run)
    try:
        following.poll()
        plan = called(following.plan, row.name)
        facts = facts_of(plan)
        copied = facts.rented and is_imported(row.folder)
        state = RunPageState(
            row.run, facts, row.folder, following.view, clock(), loading=False, plan=plan, strangers=copied
        )
        return compose(state, plan, lambda name: following.curve(name) if name in following.metrics else None)
    finally:
        following.close()


def compose(state: RunPageState, plan: Plan, curve: Callable[[str], Curve | None]) -> Page:
    """The page of what the Run page knows. Raises RunError ``page-run-goes-on``, ``run-unreadable``."""
    if not state.over:
        raise RunError("page-run-goes-on", run=state.run)
    private = private_of({state.folder: plan})
    document = Document(private)
    plots = plots_of(plan.task, state.facts.noun, curve)
    settings, money = content.settings_of(plan), content.money_of(state, plan)
    versions = content.versions_of(plan, state.folder)
    made = document.page(
        title=plan.job.name,
        pill=state.pill,
        lead=content.lead_of(state),
        numbers=content.numbers_of(state),
        plots=plots,
        parts=[
            document.curves(plots),
            document.table("What was run", content.plan_rows(plan)),
            document.table("Settings and why", settings),
            document.money(money),
            document.repeat(content.what_it_needs(plan), content.job_text(plan, state.folder)),
            document.table("Versions", versions),
            "<footer>Everything on this page is in the file itself; nothing is fetched.</footer>",
        ],
    )
    inside = [
        "its name, what it reached, and how it ended",
        _curves_in_words(plots),
        f"its plan and {len(settings)} settings, with the reason of each, and the name of its data",
        "its receipt" if money.rows else "what it cost",
        "its job file, to repeat it",
        "the versions of what trained it",
    ]
    if columns := _columns(state, plan):
        inside.append(f"names of columns: {private(columns, _MOST_LETTERS)}")
    return Page(state.run, made.encode(), plots, tuple(inside))


def save(page: Page, file: Path, *, replace: bool = False) -> Path:
    """Write it whole or not at all; where it is now.

    Raises:
        BadInput: ``place-no-file``.
        RunError: ``page-exists`` (unless *replace*), ``disk-full``, ``folder-unwritable``.
    """
    target = Path(os.path.expanduser(file)).absolute()
    check_place(target)
    if os.path.lexists(target) and not replace:
        raise RunError("page-exists", file=str(target))
    try:
        write_atomically(target, page.data)
    except OSError as error:
        raise desk.disk_error(error, target.parent) from error
    return target


def _curves_in_words(plots: tuple[Plot, ...]) -> str:
    if not plots:
        return "no curves: it ended before there was anything to draw"
    points = sum(plot.drawn for plot in plots)
    named = ", ".join(plot.title.lower() for plot in plots)
    return f"its curves, to zoom: {named} ({figures.count(points)} points)"


def private_of(runs: Mapping[Path, Plan]) -> Private:
    """What cuts the texts of these runs, by their folders."""
    paths = [str(folder) for folder in runs]
    for job in (plan.job for plan in runs.values()):
        paths += [path for path in (job.base, job.data.path, job.model.file, job.model.folder) if path]
    words = [plan.job.where.project or "" for plan in runs.values()]
    return Private(paths, [*words, *(name for folder in runs for name in _cloud_names(folder))])


def _cloud_names(folder: Path) -> list[str]:
    """Bucket and project of a rented run, as whoever drove it has written them down.

    Raises RunError ``run-unreadable``: nobody knows then what has to be cut.
    """
    try:
        opened = [event for event in desk_events(folder) if event.kind == "opened"]
    except OSError as error:
        raise RunError("run-unreadable", run=folder.name, folder=str(folder), raw=str(error)) from error
    names = (event.get(name) for event in opened for name in ("bucket", "project"))
    return list(islice(dict.fromkeys(name for name in names if isinstance(name, str)), _MOST_NAMES))


def _columns(state: RunPageState, plan: Plan) -> str:
    """Of a table, those that the page names: its target, and what the job says of others."""
    return ", ".join(dict.fromkeys(filter(None, (state.facts.target, *plan.job.data.columns))))
