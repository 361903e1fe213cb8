"""What stands on the page of a run, in the words of Run page, plan's page and receipt. Nothing is cut here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.domain.jobfile import dumps
from tpu_studio.planner.report.page import run_rows, setting_rows
from tpu_studio.viewmodels import draft
from tpu_studio.viewmodels.onepage.private import name_of
from tpu_studio.viewmodels.receipt import facts_in
from tpu_studio.viewmodels.runrented import NOT_CHECKED
from tpu_studio.viewmodels.runstate import RunPageState
from tpu_studio.wire import bases, frameworks, hub, places, presets
from tpu_studio.wire.job import job_of
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.phases import Status
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import inner
from tpu_studio.wire.runfolder import result_folder
from tpu_studio.wire.schema import BY_PATH

_HERE_ONLY = ("where.project",)  # of a job, and of no use to anybody else
MOST_ENTRIES = 500
"""Of a table or list in the job: beyond, writing it takes seconds, and nobody reads it on a page."""
_FILES = ("data.path", "model.file")
Row = tuple[str, str, str]


@dataclass(frozen=True)
class Money:
    """What it cost: (label, value, more) each, under *title*; *text* says what cannot be seen from the rows."""

    title: str
    text: str
    rows: tuple[Row, ...] = ()


def lead_of(state: RunPageState) -> str:
    """What it reached, and how it ended, in a few sentences."""
    ending, end = state.ending, state.view.end
    if ending is None or end is None:
        return state.finding
    if end.status is Status.FAILED:
        return f"{ending.title}. {ending.meaning}".strip()
    return f"{state.finding} {ending.title}.".strip()


def numbers_of(state: RunPageState) -> tuple[Row, ...]:
    return tuple((one.label, f"{one.value} {one.unit}".strip(), one.context) for one in state.numbers)


def plan_rows(plan: Plan) -> tuple[tuple[str, str], ...]:
    return tuple(run_rows(plan))


def settings_of(plan: Plan) -> tuple[Row, ...]:
    return tuple(setting_rows(plan))


def money_of(state: RunPageState, plan: Plan) -> Money:
    place = places.by_id(plan.place)
    if not place.rents:
        return Money("Cost", f"It ran {'in ' if place.notebook else 'on '}{place.short}: nothing was charged.")
    copied = f"This is a copy of somebody's run, and says so itself. {NOT_CHECKED}" if state.strangers else ""
    try:
        rows = tuple((fact.label, fact.value, fact.more) for fact in facts_in(state.folder))
    except (OSError, ValueError):
        removal = state.removal
        told = f"{removal.title}. {removal.text}" if removal is not None else "What it cost is not known yet."
        return Money("Cost", f"There is no receipt. {told} {copied}".strip())
    return Money("Receipt", copied, rows)


def job_text(plan: Plan, folder: Path) -> str:
    """The job file of the run in *folder*, as somebody else would write it: names without ways to them, no project, and
    no table or list that is too long for a page (`too_long`)."""
    job, left_out = draft.of_plan(plan, folder), (*_HERE_ONLY, *too_long(plan))
    values, given = dict(job.values), set(job.given) - set(left_out)
    for path in left_out:
        values[path] = BY_PATH[path].default
    for path in _FILES:
        if isinstance(value := values[path], str):
            values[path] = name_of(value)
    if plan.job.model.folder:
        values["model.preset"] = _beside(plan.job.model.folder)
    return dumps(job_of(values, "", frozenset(given)))


def _beside(preset: str) -> str:
    """What a model begins from, as it lies beside somebody else's job file."""
    if bases.is_run(preset):
        return f"./{bases.run_of(preset)}/{bases.MODEL}"
    return preset if hub.is_name(preset) else f"./{name_of(preset)}"


def too_long(plan: Plan) -> tuple[str, ...]:
    """Keys of the job that have more than `MOST_ENTRIES` entries."""
    values = plan.job.values.items()
    return tuple(path for path, one in values if isinstance(one, (Mapping, list, tuple)) and len(one) > MOST_ENTRIES)


def what_it_needs(plan: Plan) -> str:
    """What must lie beside the job file, before the command is given."""
    job = plan.job
    needed = [f"the data “{name_of(job.data.path)}”"] if job.data.path else []
    needed += [f"the model’s own Python “{name_of(job.model.file)}”"] if job.model.file else []
    if bases.is_run(job.model.folder):
        needed.append(f"the result of the run {bases.run_of(job.model.folder)}, in a folder of that name,")
    elif job.model.folder and not presets.is_name(job.model.folder):
        needed.append(f"the folder of pretrained weights “{name_of(job.model.folder)}”")
    beside = f", with {' and '.join(needed)} beside it, which this page does not hold" if needed else ""
    more = "".join(f" Of {path} there is too much for a page: it has to be written anew." for path in too_long(plan))
    return f"Save these lines as job.tpujob{beside}.{more} Then, with TPU Studio:"


def versions_of(plan: Plan, folder: Path) -> tuple[tuple[str, str], ...]:
    """Of the program, and of what trained, as its result says."""
    told = [("TPU Studio", plan.app)] if plan.app else []
    told.append(("Trained with", frameworks.title_of(plan.framework)))
    try:
        packages = inner(inner(read_json(result_folder(folder) / "model.json")).get("versions"))
    except (OSError, ValueError):
        return tuple(told)
    return (*told, *((str(name), str(version)) for name, version in packages.items()))
