"""The job of a plan: without "auto", its paths whole."""

from __future__ import annotations

import os

from tpu_studio.planner.auto import Resolved
from tpu_studio.wire.job import Job


def whole_job(job: Job, resolved: Resolved) -> Job:
    values = dict(resolved.values)
    for path in ("data.path", "model.file"):
        if isinstance(values[path], str) and not os.path.isabs(values[path]):
            values[path] = os.path.normpath(os.path.join(job.base or os.sep, values[path]))
    given = frozenset(path for path, value in values.items() if value is not None and value not in ({}, []))
    return Job(values, job.base, given)
