"""Locks that say who is alive: the claim of an attempt, and the turnstile in which runs wait for their turn.

A guardian creates ``claims/aNNNN.json`` once and holds a lock on it for as long as it lives; the kernel lets go of the
lock when the process dies, however it dies. So anybody can ask, at any time and without a process id that may have been
given to another: is this attempt guarded? Used by the guardian, by ``local`` and by whoever declares a run lost.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tpu_studio.wire.homes import make_private
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import make_folder, open_plain, open_to_read
from tpu_studio.wire.runfolder import beside

if sys.platform != "win32":  # there the computer place is not offered yet, but run folders are read
    import fcntl


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Take the lock on an open file without waiting; True when it is ours until *fd* is closed."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(fd: int) -> None:
    """Take the lock on an open file, waiting in the kernel's own order until it is free."""
    if sys.platform != "win32":
        fcntl.flock(fd, fcntl.LOCK_EX)


def create_claim(path: Path, record: Mapping[str, object]) -> int | None:
    """Create the claim, locked from its first instant; its open descriptor, or None when somebody has it already.

    The lock is taken before the file gets its name, so nobody can see a claim that nobody holds while its owner lives.
    """
    make_private(path.parent.parent)
    make_folder(path.parent)
    temporary = beside(path, "new")
    fd = open_plain(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        try_lock(fd)
        os.write(fd, json.dumps(record, sort_keys=True).encode() + b"\n")
        os.fsync(fd)
        os.link(temporary, path)
    except FileExistsError:
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    return fd


def is_guarded(path: Path) -> bool:
    """Whether the claim's owner lives. False without a claim. The look itself holds a shared lock for an instant."""
    try:
        file = open_to_read(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):  # or a pipe, or a folder: nobody's claim
            return False
        raise
    with file:
        return not try_lock(file.fileno(), shared=True)


def read_claim(path: Path) -> dict[str, object] | None:
    """The claim's record, or None when there is none or it is no record."""
    try:
        record = read_json(path)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def this_machine() -> dict[str, str]:
    """Which computer, and which start of it, this process runs on."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return {"host": platform.node(), "boot": boot}


def claim_record(attempt: int, worker: int) -> dict[str, object]:
    return {
        "attempt": attempt,
        "worker": worker,
        "pid": os.getpid(),
        "started": round(time.time(), 3),
        **this_machine(),
    }
