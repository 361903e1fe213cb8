"""What the sidebar says of money: spent this month on Google Cloud, and how that stands to the monthly cap. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.viewmodels.runrows import RunRow
from tpu_studio.wire import places


@dataclass(frozen=True)
class MonthMoney:
    """*share*: of the cap, None without one."""

    spent: str
    share: float | None
    cap: str


def month_of(rows: Iterable[RunRow], cap: float | None, now: float) -> MonthMoney:
    """Proved and running cost of the runs that were started in this month; practice costs nothing, and a copy of
    somebody's run nothing here. Of what is not known exactly the most counts against the cap."""
    this = time.localtime(now)[:2]
    counted = [row for row in rows if is_charged(row) and time.localtime(row.created)[:2] == this]
    usd, most = sum(row.usd for row in counted), sum(row.most for row in counted)
    spent = figures.money_between(usd, most)
    if not cap:
        return MonthMoney(spent, None, "No monthly cap is set")
    return MonthMoney(spent, most / cap, f"Your monthly cap is {figures.money(cap)}")


def is_charged(row: RunRow) -> bool:
    return places.by_id(row.place_id).charges and not row.copy
