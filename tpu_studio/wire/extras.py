"""What a rented machine costs besides its chips, as a plan carries it: parts, and what of the cap is reserved for them.

Spent = reserved + rate × time. The rate holds chips and whatever else is charged by the hour (disks, addresses);
reserved from the start is the rest that our own program moves and keeps: operations on the bucket, its storage for the
30 days until the bucket's own rule deletes it, and traffic. ``planner.extras`` makes it; the guardian, the desktop, and
the stops from outside subtract it from the cap. Plans of older versions have none.

    extras = {"fixed_usd", "operations_usd_per_hour", "machine_usd_per_hour", "hours", "reserved_usd", "bucket_region",
              "kept_days": so long the bucket keeps what was deleted, absent: not at all,
              "chips_usd_per_hour": {region: of the chips, where the areas' prices differ}, "parts": [part…]}
    part = {"id": disk | address | operations | storage | traffic | tasks,
            "usd": at most, over `hours`, or null where its price is unknown (then it is in no sum), "usd_expected",
            "usd_per_hour": of `usd`, what each hour adds, "usd_per_hour_expected",
            "how": [{"amount", "unit", "what", "usd", "per"}…], "source", "as_of", "note",
            "guessed": true where we have no price for that region: more than the dearest known one}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

_TOTALS = ("fixed_usd", "operations_usd_per_hour", "machine_usd_per_hour", "hours", "reserved_usd")
_MOST_USD = 1e6


@dataclass(frozen=True)
class Reserve:
    """Attributes:
    fixed_usd: However long it takes.
    usd_per_hour: For each hour that the limits allow, whether it is used or not.
    """

    fixed_usd: float = 0.0
    usd_per_hour: float = 0.0

    def usd(self, hours: float | None, money_usd: float | None, usd_per_hour: float | None) -> float:
        """What is reserved under these limits: for the longest time that the hours or the money allow.

        Args:
            hours, money_usd: Limits of the whole run; None: no such limit.
            usd_per_hour: Rate of everything that is charged by the hour; None: unknown.
        """
        return self.fixed_usd + self.usd_per_hour * self.longest_h(hours, money_usd, usd_per_hour)

    def longest_h(self, hours: float | None, money_usd: float | None, usd_per_hour: float | None) -> float:
        """Hours until the first of the limits: fixed + (reserve + rate) × hours = money."""
        each = self.usd_per_hour + (usd_per_hour or 0.0)
        by_money = math.inf
        if money_usd is not None and usd_per_hour:
            by_money = max(0.0, money_usd - self.fixed_usd) / each
        longest = min(math.inf if hours is None else hours, by_money)
        return longest if math.isfinite(longest) else 0.0

    def to_json(self) -> dict[str, float]:
        return asdict(self)


NOTHING = Reserve()


def reserve_of(extras: Mapping[str, Any]) -> Reserve:
    return Reserve(float(extras.get("fixed_usd") or 0.0), float(extras.get("operations_usd_per_hour") or 0.0))


def chips_usd_per_hour(price: Mapping[str, Any] | None) -> float | None:
    """Of the chips alone; None: unknown."""
    chips = (price or {}).get("usd_per_hour")
    return float(chips) if isinstance(chips, (int, float)) and not isinstance(chips, bool) else None


def all_in_usd_per_hour(price: Mapping[str, Any] | None, extras: Mapping[str, Any]) -> float | None:
    """Chips, disks, addresses at most; None: the price of the chips is unknown."""
    chips = chips_usd_per_hour(price)
    return None if chips is None else chips + float(extras.get("machine_usd_per_hour") or 0.0)


def chips_usd_per_hour_in(price: Mapping[str, Any] | None, extras: Mapping[str, Any], region: str) -> float | None:
    """Of the chips in a region that was asked: the plan's own price is the dearest of them."""
    there = (extras.get("chips_usd_per_hour") or {}).get(region)
    if isinstance(there, (int, float)) and not isinstance(there, bool):
        return float(there)
    return chips_usd_per_hour(price)


def part_of(extras: Mapping[str, Any], id: str) -> Mapping[str, Any]:
    """Empty when there is none."""
    found: Mapping[str, Any] = next((part for part in extras.get("parts") or () if part.get("id") == id), {})
    return found


def read_extras(tree: Any) -> dict[str, Any]:
    """As a plan's record holds it; empty where there is none.

    Raises:
        ValueError: A figure of it is none, negative or beyond reason, or a part is no part: the plan is damaged.
    """
    if tree is None or tree == {}:
        return {}
    if not isinstance(tree, dict):
        raise ValueError("extras is no object")
    for name in _TOTALS:
        _figure(name, tree.get(name))
    parts = tree.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, dict) and part.get("id") for part in parts):
        raise ValueError("extras has no parts")
    for rate in (tree.get("chips_usd_per_hour") or {}).values():
        _figure("chips_usd_per_hour", rate)
    for part in parts:
        for name in ("usd", "usd_expected"):
            if part.get(name) is not None:
                _figure(name, part[name])
    return dict(tree)


def _figure(name: str, value: Any) -> None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST_USD
    if not good:
        raise ValueError(f"extras: {name} is {value!r}")
