"""What a rented machine costs besides its chips, as a plan carries it: parts, and what of the cap is reserved for them.

Spent = reserved + rate × time. The rate holds chips and whatever else is charged by the hour (disks, addresses);
reserved from the start is the rest that our own program moves and keeps: operations on the bucket, its storage for the
30 days until the bucket's own rule deletes it, and traffic. ``planner.extras`` makes it; the guardian, the desktop, and
the shut-off timers subtract it from the cap. Plans of older versions have none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tpu_studio.wire.planparts import PlanPrice
from tpu_studio.wire.records import read

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


@dataclass(frozen=True)
class How:
    """One line of how a part is worked out: an amount, and *usd* for each *per*; without a *per* the amount alone."""

    amount: float
    unit: str
    what: str
    usd: float | None
    per: str


@dataclass(frozen=True)
class ExtraPart:
    """Attributes:
    id: disk, address, operations, storage, traffic or tasks.
    usd: At most, over `Extras.hours`; None: its price is unknown, and it is in no sum.
    usd_per_hour: Of `usd`, what each hour adds.
    source, as_of: Where the rates are from, and of when.
    guessed: We have no price for that region: more than the dearest known one.
    """

    id: str
    usd: float | None
    usd_expected: float | None
    usd_per_hour: float
    how: tuple[How, ...]
    source: str
    as_of: str
    note: str
    usd_per_hour_expected: float | None = None
    guessed: bool = False


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Attributes:
    hours: That *reserved_usd* and the parts are reckoned over.
    kept_days: So long the bucket keeps what was deleted; 0: not at all.
    chips_usd_per_hour: Region → of the chips, where the areas' prices differ; None: the person gave one price.
    """

    fixed_usd: float
    operations_usd_per_hour: float
    machine_usd_per_hour: float
    hours: float
    reserved_usd: float
    bucket_region: str
    kept_days: int = 0
    parts: tuple[ExtraPart, ...]
    chips_usd_per_hour: Mapping[str, float] | None = None

    def part(self, id: str) -> ExtraPart | None:
        return next((part for part in self.parts if part.id == id), None)

    def usd(self, id: str) -> float | None:
        """Of a part, at most; None: unknown."""
        part = self.part(id)
        return part.usd if part else None


def reserve_of(extras: Extras | None) -> Reserve:
    return Reserve(extras.fixed_usd, extras.operations_usd_per_hour) if extras else NOTHING


def all_in_usd_per_hour(price: PlanPrice | None, extras: Extras | None) -> float | None:
    """Chips, disks, addresses at most; None: the price of the chips is unknown."""
    return None if price is None else price.usd_per_hour + (extras.machine_usd_per_hour if extras else 0.0)


def chips_usd_per_hour_in(price: PlanPrice | None, extras: Extras | None, region: str) -> float | None:
    """Of the chips in a region that was asked: the plan's own price is the dearest of them. None: unknown."""
    there = extras.chips_usd_per_hour if extras else None
    usual = price.usd_per_hour if price else None
    return (there or {}).get(region, usual)


def read_extras(tree: object) -> Extras | None:
    """As a plan's record holds it; None where there is none.

    Raises:
        ValueError: A figure of it is none, negative or beyond reason, or a part is no part: the plan is damaged.
    """
    if tree is None or tree == {}:
        return None
    extras = read(Extras, tree, "extras")
    for name in _TOTALS:
        _reasonable(name, getattr(extras, name))
    for rate in (extras.chips_usd_per_hour or {}).values():
        _reasonable("chips_usd_per_hour", rate)
    for part in extras.parts:
        _reasonable(part.id, part.usd or 0.0)
        _reasonable(part.id, part.usd_expected or 0.0)
    return extras


def _reasonable(name: str, usd: float) -> None:
    if not 0 <= usd <= _MOST_USD:
        raise ValueError(f"extras: {name} is {usd!r}")
