"""A job being written: the values of a `Job`, but model and data may still be missing. Pure; edits give new drafts.

``wire.job.parse`` refuses an incomplete job because a file must be whole; the Plan page begins with nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tpu_studio.wire import bases, kinds, presets
from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.job import Job, check, job_of, number_of
from tpu_studio.wire.keys import AUTO, Key
from tpu_studio.wire.models import BY_NAME, fitting
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.schema import BY_PATH, KEYS
from tpu_studio.workflow.consent import is_imported

_OF_WHO_PAYS = ("limits.", "where.project", "where.usd_per_hour")
_EITHER = (("training.epochs", "training.steps"), ("model.name", "model.file"))


def empty() -> Job:
    return Job()


def edited(job: Job, changes: Mapping[str, object]) -> Job:
    """*job* with `table.key` → value changed; None is the default again; epochs and steps exclude each other.

    Raises:
        JobError: A value that its key cannot have; nothing is changed then.
    """
    values, given = dict(job.values), set(job.given)
    for path, value in changes.items():
        if value is None:
            values[path] = BY_PATH[path].default
            given.discard(path)
            continue
        values[path] = check(BY_PATH[path], value)
        given.add(path)
        for pair in _EITHER:
            if path in pair:
                rival = pair[1 - pair.index(path)]
                values[rival] = None
                given.discard(rival)
    if "model.name" in changes or "model.file" in changes:
        another = values["model.name"] != job.model.name and "model.preset" not in changes
        if another and bases.is_one(str(values["model.preset"])):  # which is what the other one has learned
            values["model.preset"] = BY_PATH["model.preset"].default
            given.discard("model.preset")
        _keep_fitting_options(values, given)
    return job_of(values, job.base, frozenset(given))


def of_plan(plan: Plan, folder: Path) -> Job:
    """The job behind the plan of the run in *folder*, ready to be edited: what had been chosen for the person is "auto"
    again, and so are limits, project and price of a run that was brought here as files: who pays has not asked for
    them."""
    strangers = is_imported(folder)
    values, given = dict(plan.job.values), set(plan.job.given)
    for key in KEYS:
        open_again = key.path in plan.reasons or (strangers and key.path.startswith(_OF_WHO_PAYS))
        if open_again or values[key.path] == key.default:
            values[key.path] = key.default
            given.discard(key.path)
    return job_of(values, plan.job.base, frozenset(given))


def based_on(plan: Plan, run: str) -> Job:
    """A job that begins from what *run* of that plan has learned; its data is still to be chosen."""
    return edited(empty(), {"model.name": plan.job.model.name, "model.preset": f"{bases.PREFIX}{run}"})


def is_complete(job: Job) -> bool:
    """Whether there is a model and data, so that a plan can be made."""
    return has_model(job) and has_data(job)


def has_model(job: Job) -> bool:
    return job.model.name is not None or job.model.file is not None


def has_data(job: Job) -> bool:
    return bool(job.data.kind) and (job.data.path is not None or kinds.by_id(job.data.kind).is_built_in)


def value_of(key: Key, text: str) -> object:
    """What a person typed into a field: nothing or "auto" is the default, "2,50" is 2.5 (``wire.numerals``).

    Raises:
        JobError: Not a value of this key, or one of two (``job-two-readings``).
    """
    text = text.strip()
    if not text or (text.lower() == AUTO and key.auto):
        return None
    if key.kind in ("integer", "number"):
        return number_of(key, text)
    return check(key, text)


def fitting_models(kind: str | None, task: str | None) -> tuple[ModelSpec, ...]:
    """Models of the catalogue that learn from this kind of data (None: not known yet), in order of preference."""
    return fitting(kind, task)


def first_model(kind: str, task: str | None = None) -> str | None:
    """The good first choice for this kind of data; *task*: what it is for, where that is known."""
    found = fitting_models(kind, task)
    return found[0].name if found else None


def model_fits(job: Job, kind: str, task: str | None = None) -> bool:
    """True as well for the user's own file, which only they can judge."""
    if job.model.file is not None:
        return True
    model = BY_NAME.get(str(job.model.name))
    takes = model is not None and (kind in model.takes or kinds.by_id(kind).is_converted)
    return takes and (task is None or model is None or task in model.tasks)


def absolute(job: Job, path: str) -> Path | None:
    """The file or folder under *path* (``data.path``, ``model.file``), or None when unset."""
    value = job[path]
    return Path(os.path.expanduser(Path(job.base or "/", str(value)))) if value is not None else None


def relocated(job: Job, base: str) -> Job:
    """*job* with its relative paths made absolute, so that it can be written or based anywhere."""
    lies_somewhere = job.model.folder and not presets.is_name(job.model.folder)
    named = ["data.path", "model.file", *(["model.preset"] if lies_somewhere else [])]
    paths = {path: str(found) for path in named if (found := absolute(job, path)) is not None}
    return job.with_values(paths, base=base)


def _keep_fitting_options(values: dict[str, object], given: set[str]) -> None:
    """Options that another model does not know go with the old one."""
    model = BY_NAME.get(str(values["model.name"]))
    options = values["model.options"]
    if model is None or not isinstance(options, Mapping):
        return
    known = {option.name for option in model.options}
    kept = {name: value for name, value in options.items() if name in known}
    values["model.options"] = kept
    if not kept:
        given.discard("model.options")
