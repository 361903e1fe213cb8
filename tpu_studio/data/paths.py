"""Where a job's data is: its path made absolute, and the trouble a path can be; and the one task of its kind."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from tpu_studio.wire import kinds
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.owncode import in_a_share, located


def data_path(job: Job) -> Path:
    """The absolute path of the job's data; relative ones are relative to ``job.base``.

    Raises:
        DataError: data-missing, data-loop, data-not-a-file, data-in-a-share, data-link-outside.
    """
    given = job.data.path
    if given is None:
        raise DataError("data-missing", path="")
    if in_a_share(str(given)):
        raise DataError("data-in-a-share", path=str(given))
    path = Path(job.base, os.path.expanduser(str(given)))  # the home of somebody unknown stays a name
    if in_a_share(path):  # the base of a run's plan is a stranger's, too
        raise DataError("data-in-a-share", path=str(path))
    _check_here(path)
    if not os.path.isabs(os.path.expanduser(str(given))) and _is_led_away(Path(job.base or "."), path):
        raise DataError("data-link-outside", path=str(path))
    try:
        check_ordinary(path)
    except ValueError as error:
        raise DataError("data-missing", path=str(path), raw=str(error)) from error
    return path.absolute()


def _check_here(path: Path) -> None:
    """Raises DataError where a link leads to another computer: to look through it would already ask that one."""
    try:
        if located(path) is not None:
            return
    except OSError as error:
        raise path_error(path, error) from error
    raise DataError("data-in-a-share", path=str(path))


def _is_led_away(base: Path, path: Path) -> bool:
    """Whether *path*, in *base* by its name, is elsewhere by a link, which nobody sees where the job names it: whoever
    sent the job may have laid it. The folder itself may be a link, and a name that leads out of it can be read."""
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(base)) and leads_outside(base, path)


def leads_outside(root: Path, path: Path) -> bool:
    """Whether *path*, which lies below *root* by its name, is really elsewhere. Links are read before they are
    followed: one to another computer is not looked through."""
    try:
        if located(path) is None and located(root) is not None:
            return True
    except OSError as error:
        return error.errno != errno.ELOOP  # of links in a circle whoever opens one says so
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def check_ordinary(path: Path) -> None:
    """Raises DataError unless *path* is a file or folder: reading a pipe or a device might never end."""
    try:
        kind = path.stat().st_mode
    except OSError as error:
        raise path_error(path, error) from error
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise DataError("data-not-a-file", path=str(path))


def path_error(path: Path, error: OSError) -> DataError:
    """What a failed access to *path* means."""
    if error.errno == errno.ELOOP:
        return DataError("data-loop", path=str(path))
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return DataError("data-missing", path=str(path))
    return DataError("data-unreadable", path=str(path), raw=str(error))


def only_task(job: Job) -> str:
    """What can be learnt from data of a kind that allows one task only.

    Raises:
        DataError: data-task-unfit when the job asks for another.
    """
    check_task(job)
    return kinds.by_id(job.data.kind).tasks[0]


def check_task(job: Job) -> None:
    """Raises DataError ``data-task-unfit`` when the job asks for what this kind of data does not allow."""
    allowed, task = kinds.by_id(job.data.kind).tasks, job.data.task
    if task not in (AUTO, *allowed):
        raise DataError("data-task-unfit", task=task, kind=job.data.kind, allowed=list(allowed))
