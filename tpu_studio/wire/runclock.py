"""The time that a run is told in: the computer's clock, which a person or a time server may set back, never set back.

Used by the guardian of a run on one's own computer, for its events and those of its trainer. A machine that is rented
has the cloud's clock instead (trainer/guardian/vm/clock.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from tpu_studio.wire.events import decode
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import events_names

SLACK_S = 0.1  # two clocks are never read at the same instant
_TAIL = 65_536


def steady_s() -> float:
    """Seconds that pass also while the computer sleeps, where the system tells them, from some instant on."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class RunClock:
    """Goes on with *wall*, and with *steady* where *wall* falls behind what was shown.

    A clock set forward is followed: nobody can tell it from a computer that was asleep.
    """

    def __init__(
        self, after: float = 0.0, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] = steady_s
    ) -> None:
        """*after*: nothing is earlier; seconds since 1970."""
        self._wall, self._steady = wall, steady
        self._shown, self._at = after, steady()

    def now(self) -> float:
        """Seconds since 1970."""
        return self.at(self._wall())

    def at(self, said: float) -> float:
        """What this clock showed when the computer's showed *said*, a moment ago; never later than now."""
        wall, steady = self._wall(), self._steady()
        due = self._shown + steady - self._at
        now = wall if wall > due - SLACK_S else due
        self._shown, self._at = now, steady
        return said if now == wall else min(said + now - wall, now)


def latest_event_s(run: Path) -> float:
    """Time of the latest event in *run*'s files, by their last lines; 0 when there is none."""
    latest = 0.0
    for path in events_names(run):
        try:
            with open_to_read(path) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                lines = file.read().splitlines()
        except OSError:
            continue  # what cannot be read shows no time
        latest = max(latest, next((said.t for line in reversed(lines) if (said := decode(line))), 0.0))
    return latest
