"""When to ask for the next range of a run that somebody looks at: soon after the guardian wrote it, and seldom in vain.

Nobody tells when a range was written. One that comes on the first asking may have lain there for a while: the next is
asked for a little earlier, and ever more so, until it was too early; one that comes after that has just been written.
"""

from __future__ import annotations

from dataclasses import dataclass

RANGE_S = 2.0  # a guardian that is watched writes so often: asked then, an event is here within 3 s, 95 times in 100
AGAIN_S = 0.4  # after an asking in vain
EARLY_S = 0.1
SILENT_S = 3 * RANGE_S
SILENT_PAUSE_S = 1.0


@dataclass
class Rhythm:
    """Times are monotonic seconds of this computer."""

    came_at: float = float("-inf")
    missed_at: float = float("-inf")
    early_s: float = EARLY_S

    def has_just_missed(self, now: float) -> bool:
        """Then there cannot be two ranges to be had."""
        return now - self.missed_at < 2 * AGAIN_S

    def asked(self, came: bool, now: float) -> None:
        if not came:
            self.missed_at = now
            return
        self.early_s = EARLY_S if self.has_just_missed(now) else min(2 * self.early_s, RANGE_S / 2)
        self.came_at = now

    def speaks(self, now: float) -> bool:
        return now - self.came_at < SILENT_S

    def pause(self, now: float) -> float:
        """Seconds to the next asking."""
        left = self.came_at + RANGE_S - self.early_s - now
        if left > 0:
            return left
        return AGAIN_S if self.speaks(now) else SILENT_PAUSE_S
