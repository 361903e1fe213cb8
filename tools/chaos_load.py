"""Whether a cell of `make chaos` had the computer that it needs: how late this process was, and what waited for a core.

A clock that runs 20 to 240 times as fast makes an hour of the cloud's of every 15 to 180 seconds that a program stood
still; a cell that fails then may show that the computer was busy rather than that the app is wrong.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

BEAT_S = 0.05
LATE_S = 1.0  # one beat so late: as long as the allowance of the judgement for a loaded computer, nearly
LATE_SHARE = 0.15  # of the whole time
LOAD_PER_CORE = 4.0  # programs that want a core, for each; four cells alone make two or three in all


class Load(threading.Thread):
    """Beats every 50 ms and adds up how much later each beat came. A context; `told` says what was seen so far."""

    def __init__(self) -> None:
        super().__init__(name="load", daemon=True)
        self._over = threading.Event()
        self._began, self._waited = time.monotonic(), _waited_s()
        self.late_s = self.latest_s = 0.0
        self.beats = 0

    def __enter__(self) -> Load:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        before = time.monotonic()
        while not self._over.wait(BEAT_S):
            now = time.monotonic()
            late = max(0.0, now - before - 2 * BEAT_S)
            self.late_s, self.latest_s, self.beats = self.late_s + late, max(self.latest_s, late), self.beats + 1
            before = now

    @property
    def waited_s(self) -> float | None:
        """How long some program of this computer has waited for a core since; None: the system does not say."""
        waited = _waited_s()
        return None if waited is None or self._waited is None else waited - self._waited

    def told(self) -> dict[str, Any]:
        """Seconds: of this process late in all and at most at a time, of the computer with a program that waited for a
        core (None where the system does not say); the load of the last minute."""
        seconds = time.monotonic() - self._began
        waited_s = self.waited_s
        found: dict[str, Any] = {
            "seconds": round(seconds, 1),
            "late_s": round(self.late_s, 2),
            "latest_s": round(self.latest_s, 2),
            "waited_s": None if waited_s is None else round(waited_s, 1),
            "load_1min": round(os.getloadavg()[0], 1),
            "cores": os.cpu_count(),
        }
        crowded = os.getloadavg()[0] >= LOAD_PER_CORE * (os.cpu_count() or 1)
        found["busy"] = crowded or self.latest_s >= LATE_S or self.late_s >= LATE_SHARE * seconds
        return found


def _waited_s() -> float | None:
    """Linux: how long, since it started, at least one program had to wait for a core."""
    try:
        first = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return None
    return int(first.rpartition("total=")[2]) / 1e6
