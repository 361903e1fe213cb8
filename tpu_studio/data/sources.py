"""Opens a job's data for training: two sources, the description for predict, and what was left out.

Used by the trainer. The same job and files give the same split and the same arrays, on every machine.
"""

from __future__ import annotations

from collections.abc import Callable

from tpu_studio.data.looked import Look
from tpu_studio.data.opened import ArraySource, Opened, Source
from tpu_studio.data.readers import reader_of
from tpu_studio.data.table_encoding import untransform
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO

MEMORY_BUDGET_BYTES = 2 * 2**30


def open_data(
    job: Job,
    look: Look | None = None,
    *,
    memory_budget_bytes: int = MEMORY_BUDGET_BYTES,
    workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Opened:
    """Open the job's data; what is "auto" in it follows the same rules as in the look.

    Args:
        look: What was planned with. Its proposals (target, task, sizes) hold where the job says "auto".
        memory_budget_bytes: Decoded data up to this size is kept in memory.
        workers: Threads that decode pictures.

    Raises:
        DataError: as `look.look`, and data-too-broken once everything is read.
        Cancelled: *cancelled* said so.
    """
    watch = Watch(progress, cancelled)
    watch.check()
    if look is not None:
        job = as_looked(job, look)
    return reader_of(job).open(job, memory_budget_bytes, workers, watch)


def as_looked(job: Job, look: Look) -> Job:
    """*job* with every "auto" about its data as the look resolved it."""
    found = {
        "data.task": look.task,
        "data.target": look.target or None,
        "data.image_size": look.image_size,
        "data.sequence_length": look.sequence_length,
    }
    return job.with_values(
        {path: value for path, value in found.items() if value is not None and job[path] in (None, AUTO)}
    )


__all__ = ["ArraySource", "Cancelled", "Opened", "Source", "open_data", "untransform"]
