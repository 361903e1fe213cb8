"""Whether a process that a test has ended is gone. A process may end between any two looks at it."""

from __future__ import annotations

import psutil


def alive(pid: int) -> bool:
    """A zombie, which only waits to be reaped, is not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
