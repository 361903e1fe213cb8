"""Whether anybody opens a file, as Linux tells it: nothing is read of it, and nobody waits."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

IN_OPEN = 0x20  # sys/inotify.h


@contextmanager
def openings(path: Path) -> Iterator[Callable[[], bool]]:
    """Whether *path* was opened since, in this process or another; asking begins anew."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(path), IN_OPEN) < 0:
        raise OSError(ctypes.get_errno(), "inotify", str(path))

    def opened() -> bool:
        try:
            return bool(os.read(watch, 4096))
        except BlockingIOError:
            return False

    try:
        yield opened
    finally:
        os.close(watch)
