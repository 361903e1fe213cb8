"""Notices that the packaged program was upgraded or removed while its window is open, and says so once.

Modules that are still to be imported come from the file that the program began with (`hold_own_file`); libraries and
pictures do not, so the window asks to be opened anew. Runs are not concerned: they have their own copy of the sources.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer

LOOK_EVERY_MS = 20_000
UPDATED = (
    "TPU Studio has been updated",
    "This window is still the version from before. Close it and open TPU Studio again; runs go on meanwhile.",
)
REMOVED = (
    "TPU Studio has been removed from this computer",
    "Runs that are going on come to their end. Runs, models and settings stay where they are.",
)


class RenewalWatch(QObject):
    """Looks at *program*, the file on disk, now and then; *tell* gets a title and a text."""

    def __init__(self, program: Path, tell: Callable[[str, str], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._program, self._tell = program, tell
        self._known = _identity(program)
        self._timer = QTimer(self, interval=LOOK_EVERY_MS, timerType=Qt.TimerType.VeryCoarseTimer)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    def look(self) -> None:
        now = _identity(self._program)
        if now == self._known:
            return
        self._known = now
        self._tell(*(UPDATED if now else REMOVED))


def packaged_program() -> Path | None:
    return Path(sys.executable) if getattr(sys, "frozen", False) else None


def _identity(program: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(program)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
