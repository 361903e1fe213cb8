"""This computer as the planner sees it: cores and memory. The one place of the package that asks the system, once."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_UNKNOWN_MEMORY = 8 << 30  # a plain laptop, where the system does not tell


@dataclass(frozen=True)
class Computer:
    """Attributes:
    cores: Processor cores that this process may use.
    memory_bytes: Memory that can be had: the machine's, or less where a container sets a limit.
    """

    cores: int
    memory_bytes: int


@lru_cache(maxsize=1)
def this_computer() -> Computer:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return Computer(cores, min(_physical_memory(), _container_limit()))


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return _windows_memory() if sys.platform == "win32" else _UNKNOWN_MEMORY


def _container_limit() -> int:
    """The memory limit of a Linux control group, version 2 or 1; unlimited elsewhere."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = Path("/sys/fs/cgroup", name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            return int(text)
    return sys.maxsize


def _windows_memory() -> int:
    import ctypes

    class Status(ctypes.Structure):  # MEMORYSTATUSEX of the Windows API
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in (
                "total",
                "available",
                "total_page",
                "available_page",
                "total_virtual",
                "available_virtual",
                "extended",
            )
        ]

    status = Status()
    status.length = ctypes.sizeof(status)
    kernel: object = getattr(ctypes, "windll").kernel32  # noqa: B009  (absent from the stubs of other systems)
    if not getattr(kernel, "GlobalMemoryStatusEx")(ctypes.byref(status)):  # noqa: B009
        return _UNKNOWN_MEMORY
    return int(status.total)
