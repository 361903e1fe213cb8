"""The job of a plan: without "auto", its paths whole."""

from __future__ import annotations

import os

from tpu_studio.planner.auto import Resolved
from tpu_studio.wire import presets
from tpu_studio.wire.job import Job, ResolvedJob, resolved_of


def whole_job(job: Job, resolved: Resolved, rows_file: str = "") -> ResolvedJob:
    """*rows_file*: `Look.rows_file`."""
    values = dict(resolved.values)
    for path in ("data.path", "model.file"):
        if isinstance(value := values[path], str):
            values[path] = whole_path(value, job.base)
    if rows_file:
        values["data.path"] = rows_file
    if (folder := resolved.job.model.folder) and not presets.is_name(folder):
        values["model.preset"] = str(presets.path_of(folder, job.base))
    given = frozenset(path for path, value in values.items() if value is not None and value not in ({}, []))
    return resolved_of(values, job.base, given)


def whole_path(value: str, base: str) -> str:
    """*value* of a job, relative to its *base*; "" stays."""
    found = os.path.expanduser(value)  # as where the data is looked at
    return found if not found or os.path.isabs(found) else os.path.normpath(os.path.join(base or os.sep, found))
