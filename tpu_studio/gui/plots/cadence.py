"""When plots repaint: at most 4 times a second, only those that are visible and changed, all in one beat.

The beat slows down when painting is slow (software drawing at 2x), so that plots never take more than a third of the
time of the window; it stops when nothing changes.
"""

from __future__ import annotations

import time
from typing import Protocol

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from shiboken6 import isValid

FASTEST_MS = 250
SLOWEST_MS = 2000
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
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._beat)
        self._last = 0.0
        self.interval_ms = FASTEST_MS

    def want(self, plot: Painted) -> None:
        """*plot* has changed. Hidden plots come round when they are shown: they ask again in their showEvent."""
        self._waiting[id(plot)] = plot
        if not self._timer.isActive():
            since = (time.monotonic() - self._last) * 1000
            self._timer.start(max(int(self.interval_ms - since), 0))

    def forget(self, plot: Painted) -> None:
        self._waiting.pop(id(plot), None)

    def _beat(self) -> None:
        waiting, self._waiting = self._waiting, {}
        spent = 0.0
        for plot in waiting.values():
            if isinstance(plot, QObject) and not isValid(plot):
                continue
            if plot.isVisible():
                spent += plot.refresh()
        self._last = time.monotonic()
        wanted = spent * 1000 * SHARE
        self.interval_ms = int(min(max(wanted, FASTEST_MS), SLOWEST_MS))


_cadence: Cadence | None = None


def cadence() -> Cadence:
    global _cadence
    if _cadence is None or not isValid(_cadence):
        _cadence = Cadence(QCoreApplication.instance())
    return _cadence
