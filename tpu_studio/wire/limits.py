"""What a run may take: hours, money at the plan's price, silence; and what its earlier attempts have taken.

The guardian enforces them, the desktop raises them by control files. Pure, but for reading ledgers.

The ledger of an attempt is rewritten each minute; after a crash at most a minute of an attempt is missing from it, and
`used_before` then takes the longer of the ledger and the times in the attempt's events file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from tpu_studio.wire.events import decode, lines_in
from tpu_studio.wire.extras import NOTHING, Reserve, all_in_usd_per_hour, reserve_of
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import events_file, ledger_file
from tpu_studio.wire.shapes import fits

_DAY_S = 86_400.0
_FIRST_LINES = 1_000  # among which an attempt's first event stands


@dataclass(frozen=True)
class Limits:
    """None: no such limit, or for the price: not known.

    Attributes:
        usd_per_hour: Of everything that is charged by the hour: chips, disks, addresses; pretended on the person's own
            computer.
        reserve: What of the cap is set aside from the start for what is not charged by the hour.
    """

    hours: float | None = None
    money_usd: float | None = None
    usd_per_hour: float | None = None
    idle_minutes: float | None = None
    reserve: Reserve = NOTHING

    @property
    def reserved_usd(self) -> float:
        """Spent from the first second on."""
        return self.reserve.usd(self.hours, self.money_usd, self.usd_per_hour)

    def usd(self, elapsed_s: float) -> float:
        """Spent: what is reserved, and the time."""
        return self.reserved_usd + elapsed_s / 3600.0 * (self.usd_per_hour or 0.0)

    def reached(self, elapsed_s: float, silent_s: float) -> Reason | None:
        """The limit that *elapsed_s* over all attempts, or silence of the trainer, has reached."""
        if self.money_usd is not None and self.usd_per_hour and self.usd(elapsed_s) >= self.money_usd:
            return Reason.MONEY_LIMIT
        if self.hours is not None and elapsed_s >= self.hours * 3600.0:
            return Reason.TIME_LIMIT
        if self.idle_minutes is not None and silent_s >= self.idle_minutes * 60.0:
            return Reason.TRAINER_STUCK
        return None


def limits_of(plan: Plan, controls: Iterable[Mapping[str, object]] = ()) -> Limits:
    """The plan's limits, as changed by ``limits`` records among *controls* (the latest of each counts)."""
    price = all_in_usd_per_hour(plan.price, plan.extras)
    idle = plan.limits.idle_minutes
    found = Limits(
        plan.limits.hours,
        plan.limits.money_usd,
        price,
        idle if idle is not None else _number(plan.job.limits.idle_minutes),
        reserve_of(plan.extras),
    )
    for record in controls:
        found = changed(found, record)
    return found


def changed(limits: Limits, control: Mapping[str, object]) -> Limits:
    """*limits* after a control record; other verbs than ``limits`` leave them as they are."""
    if control.get("verb") != "limits":
        return limits
    hours, money = _number(control.get("hours")), _number(control.get("money_usd"))
    return replace(
        limits, hours=limits.hours if hours is None else hours, money_usd=limits.money_usd if money is None else money
    )


def used_before(run: Path, attempt: int) -> float:
    """Seconds that the attempts before *attempt* took."""
    return sum(max(_ledger_s(run, number), _events_s(run, number)) for number in range(1, attempt))


def _ledger_s(run: Path, attempt: int) -> float:
    try:
        record = read_json(ledger_file(run, attempt))
        elapsed_s = float(record["elapsed_s"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return 0.0  # the events file answers instead
    return elapsed_s if 0.0 <= elapsed_s <= 30 * _DAY_S else 0.0


def _events_s(run: Path, attempt: int) -> float:
    """Time between the end of waiting and the last event of an attempt, by the clock of its events."""
    path = events_file(run, attempt)
    try:
        with open_to_read(path) as file:
            started = None
            for line in islice(lines_in(file), _FIRST_LINES):
                event = decode(line)
                if event is not None and not (event.kind == "phase" and event.get("phase") == "queued"):
                    started = event.t
                    break
            if started is None:
                return 0.0
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 65_536))
            last = next((event.t for line in reversed(file.read().splitlines()) if (event := decode(line))), started)
    except OSError:
        return 0.0
    return min(max(0.0, last - started), 30 * _DAY_S)


def _number(value: object) -> float | None:
    """None too for what would limit nothing: below zero, without end, NaN."""
    return float(value) if fits(value, float) and isinstance(value, (int, float)) and 0 <= value < math.inf else None
