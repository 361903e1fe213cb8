"""The quick look: what is in a data set, what it proposes to learn, and what is wrong with it, in a second or two.

Used by the window, the planner and the command line before a run. Each kind of data has its own module; this one
knows which. Large data is sampled, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable

from tpu_studio.data import digits, images, shards, tables, texts
from tpu_studio.data.looked import Broken, ColumnLook, Finding, ImageSizes, Look
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
    match job["data.kind"]:
        case "digits":
            return digits.look(job)
        case "images":
            return images.look(job, watch)
        case "table":
            return tables.look(job, watch)
        case "tfrecord":
            return shards.look(job, watch)
        case _:
            return texts.look(job, watch)


__all__ = ["Broken", "Cancelled", "ColumnLook", "Finding", "ImageSizes", "Look", "look"]
