"""How many steps a call makes: few at first, then as many as keep a call short, by how long calls took.

A stop is heard between two calls, so a call must not be long; how long a step takes is known only once some were made.
So the first calls make one step, and each length that was measured may be doubled. Used by `loop`.
"""

from __future__ import annotations

from collections import deque

CALL_S = 0.25  # a call takes about this long at most; two are under way at once


class Pace:
    """`at_once` is read by the feed's thread, `took` called by the loop's."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.at_once = 1
        self._step_s: deque[float] = deque(maxlen=3)

    def took(self, count: int, seconds: float) -> None:
        """A call of *count* steps took so long. The shortest of the last three counts: a computer may stand still."""
        self._step_s.append(seconds / count)
        in_time = int(CALL_S / max(min(self._step_s), 1e-9))
        grown = max(self.at_once, 2 * count)
        self.at_once = max(1, min(self.most, grown, in_time))
