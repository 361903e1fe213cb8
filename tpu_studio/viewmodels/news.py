"""What of the runs is worth a notification outside the window: two readings of their list compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_studio.domain import figures

if TYPE_CHECKING:
    from tpu_studio.viewmodels.runrows import RunRow

KINDS = {
    "ended": ("A run has ended", "As it should, or because you or a limit stopped it."),
    "failed": ("A run has failed", "Its page says why."),
    "granted": ("The wait for a TPU is over", "From then on a rented one is charged."),
    "taken-back": ("A TPU was taken back, and the run goes on", "With the next one, from its last checkpoint."),
    "near-cap": (
        "A run is near its spending limit",
        "At 80% of it. At the limit it is stopped, and its model is kept.",
    ),
    "unproved": ("A machine is not verified to be gone", "It may go on to cost: look at the run's page."),
}
"""Kind → its title and what it means, on the Settings page."""
SAME_AFTER_S = 60.0


@dataclass(frozen=True)
class News:
    kind: str
    run: str
    title: str
    text: str


class Lately:
    """What was told in the last minute: a machine may write that it ends, goes on and ends, without end."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], float] = {}

    def new(self, found: Iterable[News], now: float) -> tuple[News, ...]:
        """Those of *found* whose kind was not told of their run since a minute, which count as told *now* (seconds)."""
        self._told = {key: at for key, at in self._told.items() if now - at < SAME_AFTER_S}
        fresh = {(one.run, one.kind): one for one in found if (one.run, one.kind) not in self._told}
        self._told |= dict.fromkeys(fresh, now)
        return tuple(fresh.values())


def read_last(before: Mapping[str, RunRow], rows: Iterable[RunRow]) -> dict[str, RunRow]:
    """What the next reading is compared with: of a run that is still being read, what was known *before*."""
    found = {row.run: before.get(row.run) if row.unread else row for row in rows}
    return {run: row for run, row in found.items() if row is not None}


def news(before: Mapping[str, RunRow], rows: Iterable[RunRow]) -> tuple[News, ...]:
    """What has come true of each of *rows* since the reading *before*; nothing of a run that was not in it."""
    told: list[News] = []
    for row in rows:
        then = before.get(row.run)
        if then is None or row.unread:
            continue
        if row.over and not then.over:
            kind = "failed" if row.tone == "bad" else "ended"
            reached = f"{row.metric_name} {row.metric} in {row.time}." if row.metric else f"After {row.time}."
            told.append(News(kind, row.run, f"{row.name}: {row.status.lower()}", reached))
        elif row.rented and then.waiting and row.live:
            told.append(News("granted", row.run, f"{row.name} has its TPU", "It is set up now, and then it trains."))
        elif row.resumed and not then.resumed:
            told.append(
                News("taken-back", row.run, f"{row.name} goes on", "Its TPU was taken back; the next one carries on.")
            )
        if row.near_cap and not then.near_cap:
            told.append(News("near-cap", row.run, f"{row.name} is near its spending limit", near_words(row)))
        if row.unproved and not then.unproved:
            text = "Nothing proves yet that its machine is gone, so it may still cost."
            told.append(News("unproved", row.run, f"Look at {row.name}", text))
    return tuple(told)


def near_words(row: RunRow) -> str:
    """What a run near its spending limit has cost, and what happens at it."""
    so_far = f"{row.cost} of {figures.money(row.usd_limit)}"
    return f"{so_far} so far. At the limit it is stopped, and its model is kept."
