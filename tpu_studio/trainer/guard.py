"""A watch over a person's own code while it builds a model: whoever hangs is named, with file and line.

A thread cannot be stopped from outside, so when the time is up the program tells the outcome and leaves at once.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

LIMIT_S = 60.0


@contextmanager
def within(seconds: float, leave: Callable[[dict[str, object]], None]) -> Iterator[None]:
    """What runs inside ends in time, or *leave* gets the facts in another thread and ends the process."""
    timer = threading.Timer(seconds, leave, args=({"seconds": seconds},))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class BuildWatch:
    """``with BuildWatch(leave) as watch: … with watch.over(file): build()``. Use from the main thread.

    *leave* gets the facts in another thread when the time is up; it tells them and ends the process.
    """

    def __init__(self, leave: Callable[[dict[str, object]], None], limit_s: float = LIMIT_S) -> None:
        self._leave, self._limit_s = leave, limit_s
        self._main = threading.get_ident()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> BuildWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @contextmanager
    def over(self, file: str | None) -> Iterator[None]:
        """Watch what runs inside; *file* is the person's own, None for a model of ours, which is not watched."""
        if file is None:
            yield
            return
        self._timer = threading.Timer(self._limit_s, self._time_is_up, args=(file,))
        self._timer.daemon = True
        self._timer.start()
        try:
            yield
        finally:
            self._timer.cancel()

    def _time_is_up(self, file: str) -> None:
        facts: dict[str, object] = {"error": "model-stuck", "file": file, "seconds": self._limit_s}
        line = line_in(file, sys._current_frames().get(self._main))
        if line is not None:
            facts["line"] = line
        self._leave(facts)


def line_in(file: str, frame: types.FrameType | None) -> int | None:
    """The line of *file* that is being run in *frame* or a caller of it."""
    while frame is not None:
        if os.path.realpath(frame.f_code.co_filename) == os.path.realpath(file):
            return frame.f_lineno
        frame = frame.f_back
    return None
