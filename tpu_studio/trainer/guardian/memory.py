"""Was it memory? The kernel kills without a word; its counters and the size of the process tell afterwards (Linux)."""

from __future__ import annotations

from pathlib import Path

_LARGE_SHARE = (
    0.8  # of the memory there is: a process of this size that gets SIGKILL was very likely the kernel's choice
)


class MemoryWatch:
    """Size of the trainer, looked at now and then, beside the kernel's count of out-of-memory kills."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._kills_before = _kills()
        self._limit = _limit_bytes()
        self.peak_bytes = 0

    def sample(self) -> None:
        self.peak_bytes = max(self.peak_bytes, _field(self._status, "VmRSS:") * 1024)

    @property
    def suspected(self) -> bool:
        """After a SIGKILL: whether the kernel did it for want of memory."""
        if not self._limit:
            return False
        share = self.peak_bytes / self._limit
        counted = any(now > before for now, before in zip(_kills(), self._kills_before, strict=True))
        return share >= _LARGE_SHARE or (counted and share >= 0.1)


def _kills() -> tuple[int, int]:
    """Out-of-memory kills so far: in our control group, on the machine."""
    return _field(_group() / "memory.events", "oom_kill"), _field(Path("/proc/vmstat"), "oom_kill")


def _limit_bytes() -> int:
    machine = _field(Path("/proc/meminfo"), "MemTotal:") * 1024
    try:
        group = int((_group() / "memory.max").read_text())
    except (OSError, ValueError):  # no limit ("max"), or no such control group
        return machine
    return min(machine, group) if machine else group


def _group() -> Path:
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return Path("/sys/fs/cgroup") / line[3:].lstrip("/")
    except OSError:
        pass  # not Linux: every counter reads 0
    return Path("/sys/fs/cgroup")


def _field(path: Path, name: str) -> int:
    try:
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) >= 2 and words[0] == name:
                return int(words[1])
    except (OSError, ValueError):
        pass  # the process is gone, or not Linux
    return 0
