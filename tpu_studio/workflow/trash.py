"""Deleted runs: moved aside, brought back, and in the end removed for good.

Moving is a rename: it needs no room, and a crash leaves the run here or there. Who moves something holds the lock of
the trash. What is removed for good gets a hidden name first: nobody brings back what a crash left half removed, and
whoever uses the trash next removes the rest.
"""

from __future__ import annotations

import errno
import itertools
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire import plan as plans
from tpu_studio.wire.claims import wait_for_lock
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.runfolder import PLAN

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_FLAT = 100  # folders in folders, of which rmtree makes no trouble


@dataclass(frozen=True)
class Deleted:
    """A run in the trash: its id, what it was called, and when it was deleted (seconds since 1970)."""

    run: str
    name: str
    at: float


def listed(trash: Path) -> list[Deleted]:
    """Deleted last first."""
    try:
        folders = [path for path in trash.iterdir() if path.is_dir() and not path.name.startswith(".")]
        found = [Deleted(path.name, _name(path), path.stat().st_mtime) for path in folders]
    except FileNotFoundError:
        return []  # nothing was ever deleted, or another window empties it right now
    return sorted(found, key=lambda one: -one.at)


def _name(folder: Path) -> str:
    try:
        return plans.read(folder).job.name
    except (OSError, RunError):
        return folder.name  # damaged before it was deleted


def put(folder: Path, trash: Path, name: str = "") -> None:
    """Move *folder* into *trash*, under *name* or its own; one that lies there under the same name, deleted longer ago,
    gets another one: it may be another copy of the run, and is not lost by the deletion of this one.

    Raises OSError, FileNotFoundError when it is not there any more.
    """
    with _alone(trash):
        os.utime(folder)  # when it was deleted; before it lies where old ones are removed
        there = trash / (name or folder.name)
        if os.path.lexists(there):
            os.rename(there, trash / free_name(folder.name, [path.name for path in trash.iterdir()], folder.parent))
        os.rename(folder, there)
        os.utime(there)
    with suppress(OSError):  # the run itself is where it shall be
        finish(trash)


def free_name(run: str, taken: Collection[str], runs: Path) -> str:
    """`digits-k3f7-2`, or the next number that neither *taken* nor the folder *runs* has."""
    names = (f"{run}-{number}" for number in itertools.count(2))
    return next(name for name in names if name not in taken and not os.path.lexists(runs / name))


def take_back(run: str, trash: Path, runs: Path) -> None:
    """Raises RunError: ``run-not-in-trash``, ``run-exists``; OSError."""
    with _alone(trash):
        source = trash / run
        if run != Path(run).name or run.startswith(".") or not source.is_dir():
            raise RunError("run-not-in-trash", run=run)
        if (runs / run).exists():
            raise RunError("run-exists", run=run)
        make_private(runs)
        os.rename(source, runs / run)


def remove_older(trash: Path, seconds: float, now: float) -> list[str]:
    """Remove for good what was deleted so long ago; the ids. Raises OSError."""
    if not trash.is_dir():
        return []
    with _alone(trash):
        gone = [one.run for one in listed(trash) if now - one.at >= seconds]
        for run in gone:
            _hide(trash / run, trash)
    finish(trash)
    return sorted(gone)


def remove_now(folder: Path, trash: Path) -> None:
    """Remove *folder*, a run's or one in *trash*, for good. Raises OSError; FileNotFoundError: it is not there."""
    try:
        with _alone(trash):
            os.stat(folder)
            hidden = _hide(folder, trash)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        (folder / PLAN).unlink(missing_ok=True)  # a name needs room, too: what a crash leaves is seen to be torn
        remove(folder)
        return
    if hidden is not None:
        remove(hidden)
    with suppress(OSError):  # of another, which was to go before
        finish(trash)


def finish(trash: Path) -> None:
    """Remove what was to be removed for good; what does not go keeps nothing else. Raises OSError of the last that did
    not go."""
    left: OSError | None = None
    for path in trash.iterdir():
        if path.name.startswith("."):
            try:
                remove(path)
            except OSError as error:
                left = error
    if left is not None:
        raise left


def remove(folder: Path) -> None:
    """Delete *folder* for good, if it is there. Symlinks in it, or in its place, are removed, not followed."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    while folder.is_dir():
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            continue  # another removes it as well
        except RecursionError:  # folders in folders, deeper than Python calls itself: one must not keep all others
            with suppress(FileNotFoundError):
                _flatten(folder)


def _flatten(folder: Path) -> None:
    """Move what lies deep in *folder* up to its top, so that no way in it is long."""
    todo = [(folder, 0)]
    while todo:
        at, depth = todo.pop()
        for entry in list(os.scandir(at)):
            if not entry.is_dir(follow_symlinks=False):
                continue
            if depth < _FLAT:
                todo.append((Path(entry.path), depth + 1))
            else:
                todo.append((Path(entry.path).rename(folder / secrets.token_hex(8)), 0))


def _hide(folder: Path, trash: Path) -> Path | None:
    """What it is called now; None where it was not there."""
    if not folder.is_dir():
        return None
    hidden = trash / f".{folder.name}-{secrets.token_hex(4)}"
    os.rename(folder, hidden)
    return hidden


@contextmanager
def _alone(trash: Path) -> Iterator[None]:
    """Raises OSError."""
    make_private(trash)
    fd = os.open(trash, os.O_RDONLY | os.O_CLOEXEC)
    try:
        wait_for_lock(fd)
        yield
    finally:
        os.close(fd)
