"""What time it is for the bill: the ``Date`` of the metadata server's replies, carried on by the monotonic clock.

The machine's own clock may be wrong and may be set; neither changes this one. A practice cloud may run faster than
time and says so in ``X-Practice-Speed``.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

_DRIFT_S = 2.0  # Date has whole seconds, and a reply takes a moment


class CloudClock:
    """Never runs back."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._monotonic, self._wall = monotonic, wall
        self._lock = threading.Lock()
        self._base: float | None = None
        self._at = 0.0
        self._latest = 0.0
        self.speed = 1.0

    def hear(self, headers: Mapping[str, str]) -> None:
        """Take over what a reply of the metadata server says (names in lower case)."""
        try:
            said = parsedate_to_datetime(headers["date"]).timestamp()
        except (KeyError, TypeError, ValueError):
            return
        with self._lock:
            self.speed = _speed(headers.get("x-practice-speed"))
            shown = self._shown()
            # It is never earlier than what was said: each reply brings this clock nearer to the true time.
            if self._base is None or said > shown or shown - said > _DRIFT_S * self.speed:
                self._base, self._at = said, self._monotonic()

    def now(self) -> float:
        """Seconds since 1970. Before the first reply: the machine's own clock."""
        with self._lock:
            if self._base is None:
                return self._wall()
            self._latest = max(self._latest, self._shown())
            return self._latest

    def at(self, wall: float) -> float:
        """What this clock said when the machine's own clock said *wall*, a moment ago."""
        return self.now() - (self._wall() - wall) * self.speed

    def _shown(self) -> float:
        return 0.0 if self._base is None else self._base + (self._monotonic() - self._at) * self.speed


def _speed(text: str | None) -> float:
    try:
        speed = float(text or 1.0)
    except ValueError:
        return 1.0
    return speed if math.isfinite(speed) and 0.0 < speed <= 1e5 else 1.0
