"""Whether data is still what it was when it was looked at, by the fingerprint of the look; nothing is decoded.

Used by the trainer before it opens the data of a plan: the split and the order rest on it.
"""

from __future__ import annotations

import hashlib

from tpu_studio.data.looked import Look
from tpu_studio.data.paths import data_path, path_error
from tpu_studio.data.readers import reader_of
from tpu_studio.wire import kinds
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job


def check_unchanged(job: Job, look: Look) -> None:
    """Do nothing while *job*'s data has the fingerprint in *look*.

    Raises:
        DataError: ``data-changed`` with the path; ``data-missing`` and the like when it is not there.
    """
    if look.fingerprint and not kinds.by_id(job.data.kind).is_built_in and fingerprint_of(job) != look.fingerprint:
        raise DataError("data-changed", path=str(data_path(job)))


def fingerprint_of(job: Job) -> str:
    """The fingerprint that a look at *job*'s data would take now; "" for the data that comes with the program."""
    return "" if kinds.by_id(job.data.kind).is_built_in else reader_of(job).fingerprint(job)


def stamp_of(job: Job) -> str:
    """Of *job*'s data as its files are now: names, sizes, and when each was written and changed, by the system's clock.
    Where a fingerprint stays the same, as of a picture that was edited to equal size, this does not. Nothing is read.

    Raises:
        DataError: As a look.
    """
    digest = hashlib.sha256()
    for path, name in [] if kinds.by_id(job.data.kind).is_built_in else reader_of(job).files(job):
        try:
            seen = path.stat()
        except OSError as error:
            raise path_error(path, error) from error
        told = f"{name}\0{seen.st_size} {seen.st_mtime_ns} {seen.st_ctime_ns} {seen.st_ino}\n"
        digest.update(told.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
