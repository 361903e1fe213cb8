"""How long this machine may stay: time and money over all attempts, by the cloud's clock. Pure, but for one file.

The bare-shell timer of the startup script reads the file: absolute unix seconds at which it deletes the machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tpu_studio.wire.extras import NOTHING, Reserve
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import write_atomically

_TIMER_SHARE = 0.8  # of the margin: the timer comes before the stops from outside


@dataclass(frozen=True)
class Lease:
    """Attributes:
    since: When this machine began to cost money, seconds since 1970.
    lease_s: How long it may stay from then on.
    earlier_s: What the attempts before this one took, and may have taken while nobody looked: that counts, too.
    spent_usd: What they cost, without what is reserved.
    unseen_usd: What they may have cost besides, while nobody looked: it counts towards the limit, and is no cost told.
    usd_per_hour: All that is charged by the hour.
    reserve: Of the cap, from the start; spent before the first second.
    """

    since: float
    lease_s: float
    earlier_s: float = 0.0
    spent_usd: float = 0.0
    usd_per_hour: float | None = None
    money_usd: float | None = None
    reserve: Reserve = NOTHING
    unseen_usd: float = 0.0

    @property
    def reserved_usd(self) -> float:
        return self.reserve.usd((self.earlier_s + self.lease_s) / 3600.0, self.money_usd, self.usd_per_hour)

    @property
    def money_end(self) -> float:
        """When the money is used up; infinity when no end can be told."""
        if self.money_usd is None or not self.usd_per_hour:
            return math.inf
        left = self.money_usd - self.reserved_usd - self.spent_usd - self.unseen_usd
        return self.since + max(0.0, left) / self.usd_per_hour * 3600.0

    @property
    def end(self) -> float:
        return min(self.since + self.lease_s, self.money_end)

    def own_s(self, now: float) -> float:
        return max(0.0, now - self.since)

    def own_usd(self, now: float) -> float:
        return self.own_s(now) / 3600.0 * (self.usd_per_hour or 0.0)

    def usd(self, now: float) -> float:
        return self.reserved_usd + self.spent_usd + self.own_usd(now)

    def over(self, now: float) -> tuple[Reason, dict[str, Any]] | None:
        if now < self.end:
            return None
        unseen = {"unseen_usd": round(self.unseen_usd, 6)} if self.unseen_usd >= 0.01 else {}
        if self.money_end <= self.since + self.lease_s:
            return Reason.MONEY_LIMIT, {"money_usd": self.money_usd, **unseen}
        return Reason.TIME_LIMIT, {"hours": round((self.earlier_s + self.lease_s) / 3600.0, 4), **unseen}

    def changed(self, control: Mapping[str, object]) -> Lease:
        """After a ``limits`` control: hours and money of the whole run; other verbs change nothing."""
        if control.get("verb") != "limits":
            return self
        hours, money = _number(control.get("hours")), _number(control.get("money_usd"))
        lease_s = self.lease_s if hours is None else max(1.0, hours * 3600.0 - self.earlier_s)
        return replace(self, lease_s=lease_s, money_usd=self.money_usd if money is None else money)

    def no_longer(self, than: Lease) -> Lease:
        """With no more time and money than *than* has."""
        limits = [one for one in (self.money_usd, than.money_usd) if one is not None]
        return replace(self, lease_s=min(self.lease_s, than.lease_s), money_usd=min(limits, default=None))


def write_deadline(path: Path, lease: Lease, margin_s: float) -> int:
    """What the bare-shell timer obeys from now on."""
    at = int(lease.end + _TIMER_SHARE * margin_s)
    write_atomically(path, f"{at}\n".encode())
    return at


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
