"""Practice time: seconds since 1970 that run *speed* times as fast as real ones from the first start on."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from tpu_studio.practice.state import Database


class Clock:
    """It goes on over a restart: the anchor is in the database; another speed sets a new anchor."""

    def __init__(self, db: Database, speed: float = 1.0) -> None:
        if speed <= 0:
            raise ValueError(f"speed must be above 0, not {speed}")
        self.speed = speed
        anchor = db.get("practice", "clock")
        if anchor is None:
            practice = real = time.time()
        else:
            real = time.time()
            practice = anchor["practice"] + max(0.0, real - anchor["real"]) * anchor["speed"]
        db.put("practice", "clock", {"practice": practice, "real": real, "speed": speed})
        self._practice, self._monotonic = practice, time.monotonic()

    def now(self) -> float:
        """Practice seconds since 1970."""
        return self._practice + (time.monotonic() - self._monotonic) * self.speed

    def rfc3339(self, at: float | None = None) -> str:
        moment = datetime.fromtimestamp(self.now() if at is None else at, UTC)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def real_s(self, practice_s: float) -> float:
        """How long *practice_s* take on the wall."""
        return practice_s / self.speed


def parse_rfc3339(text: str) -> float:
    """Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def parse_duration(text: str) -> float:
    """Seconds of a google-duration ("14400s"). Raises ValueError."""
    if not text.endswith("s"):
        raise ValueError(f"not a duration: {text}")
    return float(text[:-1])
