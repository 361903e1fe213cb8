"""When plots repaint: each at most 4 times a second, only those that are visible and changed, one at a time.

Between two plots the window lives on, so that a page of plots never holds it up for longer than one of them takes. All
slow down when painting is slow (software drawing at 2x), so that plots never take more than a third of the time of the
window; nothing runs when nothing changes. What a person did (other curves, a zoom) is shown at once.
"""

from __future__ import annotations

import math
import time
from typing import Protocol

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from shiboken6 import isValid

FASTEST_MS = 250
SLOWEST_MS = 2000
APART_MS = 30
SHARE = 3  # painting may take one third of the time


class Painted(Protocol):
    def isVisible(self) -> bool: ...

    def refresh(self) -> float:
        """Bring the picture up to date now; the seconds that it took, its last painting included."""
        ...


class Cadence(QObject):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[int, Painted] = {}
        self._done: dict[int, tuple[float, float]] = {}  # plot → when it was refreshed, and the seconds that took
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._beat)
        self._turn = 0.0
        self.interval_ms = FASTEST_MS

    def want(self, plot: Painted, *, at_once: bool = False) -> None:
        """*plot* has changed. Hidden plots come round when they are shown: they ask again in their showEvent."""
        self._waiting[id(plot)] = plot
        if at_once:
            self._done.pop(id(plot), None)
        self._plan()

    def forget(self, plot: Painted) -> None:
        self._waiting.pop(id(plot), None)
        self._done.pop(id(plot), None)

    def _due(self, key: int) -> float:
        """When a plot may be refreshed, in monotonic seconds."""
        done = self._done.get(key)
        return 0.0 if done is None else max(done[0] + self.interval_ms / 1000, self._turn + APART_MS / 1000)

    def _plan(self) -> None:
        if not self._waiting:
            return
        wait_ms = max(math.ceil((min(map(self._due, self._waiting)) - time.monotonic()) * 1000), 0)
        if not self._timer.isActive() or self._timer.remainingTime() > wait_ms:
            self._timer.start(wait_ms)

    def _beat(self) -> None:
        """Refresh the plot that has waited longest."""
        if not self._waiting:
            return
        key = min(self._waiting, key=self._due)
        plot = self._waiting.pop(key)
        if (not isinstance(plot, QObject) or isValid(plot)) and plot.isVisible():
            spent = plot.refresh()
            self._turn = time.monotonic()
            self._done[key] = (self._turn, spent)
            recent = self._turn - 2 * SLOWEST_MS / 1000
            self._done = {key: done for key, done in self._done.items() if done[0] >= recent}
            wanted = sum(spent for _, spent in self._done.values()) * 1000 * SHARE
            self.interval_ms = int(min(max(wanted, FASTEST_MS), SLOWEST_MS))
        self._plan()


_cadence: Cadence | None = None


def cadence() -> Cadence:
    global _cadence
    if _cadence is None or not isValid(_cadence):
        _cadence = Cadence(QCoreApplication.instance())
    return _cadence
