"""How long one picture takes to be read and decoded on one core of this computer: the training's own code, timed."""

from __future__ import annotations

import time
from collections.abc import Callable

from tpu_studio.data.folders import list_images
from tpu_studio.data.imaging import BrokenImage, decode
from tpu_studio.data.paths import data_path
from tpu_studio.data.watching import Watch
from tpu_studio.wire.job import Job

SECONDS = 0.6
AT_LEAST, AT_MOST = 8, 400  # pictures


def seconds_a_picture(
    job: Job, side: int, channels: int, *, seconds: float = SECONDS, cancelled: Callable[[], bool] | None = None
) -> float | None:
    """Of pictures spread evenly over the data, made *side* pixels wide; None where none of them can be decoded.

    The processor's time, which tells of another machine what a busy or a cold disk here does not.

    Raises:
        DataError: as a look at the data does. Cancelled: *cancelled* said so.
    """
    watch = Watch(None, cancelled)
    listing = list_images(data_path(job), watch)
    stride = max(1, len(listing.names) // AT_MOST)
    count, begun, worked = 0, time.perf_counter(), time.thread_time()
    for index in range(0, len(listing.names), stride):
        watch.check()
        try:
            decode(listing.path(index), side, channels)
        except BrokenImage:
            continue
        count += 1
        if count >= AT_LEAST and time.perf_counter() - begun >= seconds:
            break
    return (time.thread_time() - worked) / count if count else None
