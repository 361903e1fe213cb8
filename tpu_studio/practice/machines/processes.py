"""Every process of one machine: found, signalled, frozen, ended; daemons in sessions of their own included.

Two nets, as each misses something: descendants of the supervisor, which on Linux is the foster parent of every orphan
below it (prctl), and every process whose environment carries the machine's tag. A process must leave both to escape:
throw its environment away and, on a system without foster parents, its parent too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

import psutil

TAG = "PRACTICE_VM"
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PAUSE_S = 0.005
_GONE = (psutil.NoSuchProcess, psutil.ZombieProcess)


def adopt_orphans() -> bool:
    """Become the parent of orphans below this process; False where the system has no such thing (macOS)."""
    if not sys.platform.startswith("linux"):
        return False
    return int(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0


def members(tag: str, supervisor: int | None) -> list[psutil.Process]:
    """Every living process of the machine, without the supervisor itself and without zombies."""
    found: dict[int, psutil.Process] = {}
    if supervisor is not None:
        with contextlib.suppress(psutil.Error):
            found.update((child.pid, child) for child in psutil.Process(supervisor).children(recursive=True))
    found.update((process.pid, process) for process in tagged({tag}))
    found.pop(os.getpid(), None)
    found.pop(supervisor or -1, None)
    return [process for process in found.values() if _lives(process)]


def tagged(tags: set[str]) -> list[psutil.Process]:
    """Processes of this user whose environment has one of *tags*."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(TAG) in tags:
                found.append(process)
    return found


def send(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            process.send_signal(number)


def end(tag: str, supervisor: int | None, within_s: float = 20.0) -> bool:
    """Kill until two looks in a row find nothing; False when something was left after *within_s*."""
    give_up = time.monotonic() + within_s
    quiet = 0
    while quiet < 2:
        found = members(tag, supervisor)
        send(found, signal.SIGKILL)
        quiet = 0 if found else quiet + 1
        if found and time.monotonic() > give_up:
            return False
        if found:
            time.sleep(_PAUSE_S)
    return True


def freeze(tag: str, supervisor: int | None, within_s: float = 5.0) -> bool:
    """Stop every process where it stands, until a look finds none that moves (a child may be born meanwhile)."""
    give_up = time.monotonic() + within_s
    while True:
        moving = [process for process in members(tag, supervisor) if not stands_still(process)]
        if not moving:
            return True
        send(moving, signal.SIGSTOP)
        if time.monotonic() > give_up:
            return False
        time.sleep(_PAUSE_S)


def stands_still(process: psutil.Process) -> bool:
    """It is stopped, or waits where no signal reaches it (vfork) for a child that is."""
    status = _status(process)
    if status != psutil.STATUS_DISK_SLEEP:
        return status == psutil.STATUS_STOPPED
    try:
        return any(_status(child) == psutil.STATUS_STOPPED for child in process.children())
    except psutil.Error:
        return False


def is_running(pid: int, created: float) -> bool:
    """Whether *pid* is still the process that began at *created* (psutil's create_time)."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - created) < 0.5 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _lives(process: psutil.Process) -> bool:
    return _status(process) not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD, "")


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except _GONE:
        return ""
