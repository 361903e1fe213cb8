"""When the shut-off timers of one machine fire, after the first of them. Shared by the desktop and the guardian.

Google takes no deletion of a queued resource that is PROVISIONING, and a task takes HTTP 200 for done though the
operation behind it may fail: so there are many. A machine that comes late, hangs, and that nobody looks at is rented
until the next one: `LONGEST_GAP_S` at most.
"""

from __future__ import annotations

from itertools import pairwise

HOURLY = 24
OFFSETS_S: tuple[float, ...] = (0.0, 600.0, 1200.0, *(3600.0 * hour for hour in range(1, HOURLY + 1)))
LONGEST_GAP_S = max(later - sooner for sooner, later in pairwise(OFFSETS_S))
MOST_HOURS = 28 * 24.0
"""Waiting and time limit of a run together: all stops, a day after it, lie within the
30 days ahead that Cloud Tasks takes (its page of quotas)."""


def times(first: float) -> list[float]:
    """All of them, the first at *first* (seconds since 1970)."""
    return [first + offset for offset in OFFSETS_S]


def beyond_s(wait_s: float, boot_s: float, margin_s: float) -> float:
    """How long beyond its limit a machine may be charged that hangs before it has begun, with no computer on, seconds.

    It came at once, and the first stop allows for the whole waiting and the start; or it came after that, and is there
    until the next one.
    """
    return max(wait_s + boot_s, LONGEST_GAP_S) + margin_s
