"""Ctrl-C in the terminal and a polite kill close the window the way its own button does, whatever Qt is waiting for."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier


class SignalWatch(QObject):
    """Wakes Qt's loop by a pipe, because Python runs its handlers only between its own instructions."""

    def __init__(self, close: Callable[[], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._close = close
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._caught)
        self._notifier = QSocketNotifier(self._read, QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._woken)

    def _caught(self, number: int, frame: FrameType | None) -> None:
        """Nothing here: the pipe has the number."""

    def _woken(self) -> None:
        os.read(self._read, 64)
        self._close()
