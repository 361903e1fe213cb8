"""The pictures of a job and what each is: the class that its folder tells, or the labels that a table gives it.

A job may say which by its task. Where it leaves that open, folders of classes come first, for beside them lies many a
table of something else: only one called `labels.csv` that gives some picture several labels, or none, counts more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tpu_studio.data import labelfile
from tpu_studio.data.folders import Listing, list_images
from tpu_studio.data.paths import check_task, data_path
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO

_OTHER = ("data-labels-no-pictures", "data-labels-unclear", "data-one-column", "data-empty", "data-not-text")
"""Why a table is none of labels, but one of something else."""


def listing_of(job: Job, watch: Watch) -> Listing:
    """Raises DataError: as `folders.list_images`, `labelfile.read`; data-task-unfit, data-labels-missing."""
    root, allowed = data_path(job), job.data.max_broken_share
    check_task(job)
    labelled = job.data.task != AUTO and tasks.by_id(job.data.task).has_labels
    if job.data.task != AUTO and not labelled:
        return list_images(root, watch)
    table = labelfile.table_in(root) if root.is_dir() else None
    if labelled:
        if table is None:
            raise DataError("data-labels-missing", path=str(root))
        return labelfile.read(root, table.file, allowed, watch)
    if table is None:
        return list_images(root, watch)
    return _either(root, table, allowed, watch)


def task_of(job: Job, listing: Listing) -> str:
    """What can be learnt from pictures that are listed so."""
    with_labels = listing.marks is not None
    return next(one for one in kinds.by_id(job.data.kind).tasks if tasks.by_id(one).has_labels == with_labels)


def _either(root: Path, table: labelfile.Table, allowed: float, watch: Watch) -> Listing:
    folders = _sorted(root, watch)
    if folders is not None and not table.named:
        return folders
    try:
        labelled = labelfile.read(root, table.file, allowed, watch)
    except DataError as error:
        if folders is not None and error.id in (*_OTHER, "data-labels-ambiguous"):  # numbers of classes, perhaps
            return folders
        if error.id in _OTHER and not table.named:
            return list_images(root, watch)  # whose trouble is the one to tell
        raise
    if folders is not None and labelled.marks is not None and np.all(labelled.marks.sum(axis=1) == 1):
        return folders  # the table says what they say
    return labelled


def _sorted(root: Path, watch: Watch) -> Listing | None:
    """As its folders have it; None where they tell no classes."""
    try:
        return list_images(root, watch)
    except DataError:
        return None
