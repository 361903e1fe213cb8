"""How long one picture takes to be read and decoded on one core of this computer: the training's own code, timed."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tpu_studio.data import shards
from tpu_studio.data.arrays import Array
from tpu_studio.data.images import PictureFiles
from tpu_studio.data.imaging import BrokenImage
from tpu_studio.data.listed import listing_of
from tpu_studio.data.paths import data_path
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds
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
    read, total = _reader(job, side, channels, watch)
    pixels = np.empty((side, side, channels), dtype=np.uint8)
    count, begun, worked = 0, time.perf_counter(), time.thread_time()
    for index in range(0, total, max(1, total // AT_MOST)):
        watch.check()
        try:
            pixels[...] = read(index)
        except BrokenImage:
            continue
        count += 1
        if count >= AT_LEAST and time.perf_counter() - begun >= seconds:
            break
    return (time.thread_time() - worked) / count if count else None


def _reader(job: Job, side: int, channels: int, watch: Watch) -> tuple[Callable[[int], Array], int]:
    """What a training decodes pictures with, and how many there are; of converted data, in one of its files."""
    if kinds.by_id(job.data.kind).is_converted:
        records = shards.some_records(data_path(job), (side, side, channels))
        return records, len(records)
    listing = listing_of(job, watch)
    return PictureFiles.of(listing, side, channels), len(listing.names)
