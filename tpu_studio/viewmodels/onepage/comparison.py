"""A comparison as one page: which run is best, the curves of all, what differs, and how to repeat the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.domain.comparison import Comparison, Contender
from tpu_studio.planner.report.page import plain
from tpu_studio.viewmodels.comparing import title_of
from tpu_studio.viewmodels.onepage import content
from tpu_studio.viewmodels.onepage.document import Document
from tpu_studio.viewmodels.onepage.page import Page, private_of
from tpu_studio.viewmodels.onepage.points import Plot, compared
from tpu_studio.viewmodels.runrows import marked
from tpu_studio.wire import metrics, tasks
from tpu_studio.wire.errors import RunError
from tpu_studio.workflow.comparing import Readable, Reading, judge

MOST_SETTINGS = 20  # columns


@dataclass(frozen=True)
class ComparedPage:
    """The page, and what it tells."""

    page: Page
    comparison: Comparison


def page_of_comparison(runs: Readable, names: Sequence[str]) -> ComparedPage:
    """The page of runs that are over.

    Raises:
        RunError: no such run, one that cannot be read, or ``page-run-goes-on``; BadInput as `compare`.
    """
    with ExitStack() as opened:
        readings: list[Reading] = []
        for name in names:
            readings.append(reading := Reading(runs, name))
            opened.callback(reading.close)
            reading.poll()
        return compose(readings)


def compose(readings: Sequence[Reading], chosen: Sequence[str] = ()) -> ComparedPage:
    """The page of runs that are open. Raises RunError ``page-run-goes-on``; BadInput as `compare`.

    Args:
        chosen: All runs, in whose order they are coloured, also those that are not among *readings*; none: these.
    """
    if going_on := next((reading for reading in readings if not reading.contender.is_over), None):
        raise RunError("page-run-goes-on", run=going_on.run)
    found = judge(readings)
    names = _names(readings)
    return ComparedPage(_page(found, readings, _plots(readings, names, chosen), names), found)


def _names(readings: Sequence[Reading]) -> dict[str, str]:
    """What each run is called, with its id where two are called the same."""
    called = [reading.contender.name for reading in readings]
    return {
        reading.run: name if called.count(name) == 1 else f"{name} ({reading.run})"
        for reading, name in zip(readings, called, strict=True)
    }


def _plots(readings: Sequence[Reading], names: Mapping[str, str], chosen: Sequence[str]) -> tuple[Plot, ...]:
    task = tasks.by_id(readings[0].plan.task)
    wanted = [metrics.training_loss().id]
    if all(reading.plan.task == task.id for reading in readings):
        wanted = list(dict.fromkeys([*wanted, task.loss, task.metric]))
    tones = [list(chosen).index(reading.run) if chosen else place for place, reading in enumerate(readings)]
    curves = {
        names[reading.run]: lambda name, reading=reading: reading.curve(name) if name in reading.metrics() else None
        for reading in readings
    }
    return compared(wanted, curves, tones)


def _page(found: Comparison, readings: Sequence[Reading], plots: tuple[Plot, ...], names: Mapping[str, str]) -> Page:
    document = Document(private_of({reading.folder: reading.plan for reading in readings}))
    shown = found.differing[:MOST_SETTINGS]
    metric = [metrics.by_id(found.metric).title] if found.metric else []
    head = ["Run", *metric, "Time", "Cost", *map(title_of, shown)]
    count = f"{len(readings)} runs compared"
    parts = [
        document.curves(plots),
        document.table("The runs", [_row(found, one, shown, names) for one in _ranked(found)], _more(found), head),
    ]
    if best := next((reading for reading in readings if reading.run == found.finding.best), None):
        title = f"How to repeat {names[best.run]}"
        parts.append(document.repeat(content.what_it_needs(best.plan), content.job_text(best.plan, best.folder), title))
    parts.append("<footer>Everything on this page is in the file itself; nothing is fetched.</footer>")
    title, text = found.finding.title.rstrip("."), f"{found.finding.text} {found.finding.same_money}"
    lead, pill = f"{title}. {text}".strip(), ("Compared", "neutral")
    made = document.page(title=count, pill=pill, lead=lead, numbers=(), plots=plots, parts=parts)
    inside = (
        "which run is best, by how much, and how sure that is",
        f"the curves of all, to zoom ({figures.count(sum(plot.drawn for plot in plots))} points)",
        "name, time and cost of each, and the settings that differ",
        *(["the job file of the best, to repeat it"] if found.finding.best else []),
    )
    return Page(", ".join(reading.run for reading in readings), made.encode(), plots, inside)


def _ranked(found: Comparison) -> list[Contender]:
    order = [run for side in found.sides for run in side.runs]
    return sorted(found.contenders, key=lambda one: order.index(one.run) if one.run in order else len(order))


def _row(found: Comparison, one: Contender, shown: Sequence[str], names: Mapping[str, str]) -> list[str]:
    measured = [figures.metric(found.metric, found.value(one))] if found.metric else []
    cost = marked(one.place, one.usd) if one.usd else "–"
    settings = ["–" if (value := one.settings.get(path)) in (None, "") else plain(value) for path in shown]
    return [names[one.run], *measured, figures.duration(one.time_s), cost, *settings]


def _more(found: Comparison) -> str:
    left = len(found.differing) - MOST_SETTINGS
    return f"{left} more settings differ." if left > 0 else ""
