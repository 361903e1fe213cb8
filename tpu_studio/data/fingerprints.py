"""Whether data is still what it was when it was looked at, by the fingerprint of the look; nothing is decoded.

Used by the trainer before it opens the data of a plan: the split and the order rest on it.
"""

from __future__ import annotations

from tpu_studio.data import described, shards, tables, texts
from tpu_studio.data.folders import list_images
from tpu_studio.data.looked import Look
from tpu_studio.data.paths import data_path, path_error
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job


def check_unchanged(job: Job, look: Look) -> None:
    """Do nothing while *job*'s data has the fingerprint in *look*.

    Raises:
        DataError: ``data-changed`` with the path; ``data-missing`` and the like when it is not there.
    """
    if look.fingerprint and job["data.kind"] != "digits" and fingerprint_of(job) != look.fingerprint:
        raise DataError("data-changed", path=str(data_path(job)))


def fingerprint_of(job: Job) -> str:
    """The fingerprint that a look at *job*'s data would take now; "" for the data that comes with the program."""
    match job["data.kind"]:
        case "digits":
            return ""
        case "images":
            return list_images(data_path(job), Watch()).fingerprint()
        case "table":
            path = data_path(job)
            try:
                return tables.fingerprint(path)
            except OSError as error:
                raise path_error(path, error) from error
        case "tfrecord":
            return shards.fingerprint(described.read_dataset(data_path(job)))
        case _:
            return texts.fingerprint_of_text(data_path(job))
