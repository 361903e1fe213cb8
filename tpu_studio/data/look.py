"""The quick look: what is in a data set, what it proposes to learn, and what is wrong with it, in a second or two.

Used by the window, the planner and the command line before a run. Each kind of data has its own module
(``readers``). Large data is sampled, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable

from tpu_studio.data.looked import Broken, ColumnLook, Finding, ImageSizes, Look
from tpu_studio.data.readers import reader_of
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.wire.job import Job


def look(
    job: Job,
    *,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Look:
    """Look at the job's data.

    Raises:
        DataError: there is nothing to train on; each id has its sentence.
        Cancelled: *cancelled* said so.
    """
    watch = Watch(progress, cancelled)
    watch.check()
    return reader_of(job).look(job, watch)


__all__ = ["Broken", "Cancelled", "ColumnLook", "Finding", "ImageSizes", "Look", "look"]
