"""What the window says of money by itself: the month in the sidebar, the ways on Home, what is not verified gone;
and has Google's prices read where somebody is signed in.

One object for the window; nothing of Qt but the sidebar it tells.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.domain import figures
from tpu_studio.viewmodels.home import CloudKnown
from tpu_studio.viewmodels.money import is_charged, month_of
from tpu_studio.wire import places

if TYPE_CHECKING:
    from tpu_studio.app.studio import Studio
    from tpu_studio.viewmodels.accountview import AccountView
    from tpu_studio.viewmodels.runs import RunsView
    from tpu_studio.viewmodels.sweep import SweepRow

UNPROVED_AFTER_S = 120.0
_log = logging.getLogger(__name__)


class MoneyWatch:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._known = CloudKnown()
        self._notices: dict[str, int] = {}
        self._seen: tuple[object, ...] = ()
        self._swept = False
        self._ends = [
            studio.runs.state.subscribe(self._runs_changed),
            studio.account.state.subscribe(self._account_changed, now=False),
        ]
        self.look()

    def close(self) -> None:
        for end in self._ends:
            end()

    def look(self) -> None:
        """Read anew what is remembered of the account."""
        home = self._studio.home

        def read(found: tuple[CloudKnown, float | None]) -> None:
            self._known_now(*found)
            self._sweep(found[0])

        self._studio.tasks.submit(lambda: _read(home), done=read)

    def _sweep(self, known: CloudKnown) -> None:
        """Once after each start, where somebody is signed in: is anything of ours left that no run needs?"""
        rows = self._studio.runs.state.value.rows
        if self._swept or not (known.signed_in and known.project) or rows is None:
            return
        self._swept = True
        mine = [row for row in rows if row.rented and not row.copy]  # what came as files needs nothing at Google
        home, going_on = self._studio.home, tuple(row.run for row in mine if not row.over)
        self._studio.tasks.submit(lambda: _left(home, going_on), done=self._tell_left, failed=_not_swept)

    def _tell_left(self, left: Sequence[SweepRow]) -> None:
        if not left:
            return
        usd = sum(row.item.usd_per_hour or 0.0 for row in left)
        things = "1 thing" if len(left) == 1 else f"{len(left)} things"
        self._studio.shell.notify(
            "Something of TPU Studio may still cost money",
            f"No run that goes on needs {things} in Google Cloud: about {figures.money(usd)} an hour.",
            tone="bad",
            lasting=True,
            action="Look at it",
            act=lambda: self._studio.open_sheet("sweep"),
        )

    def _known_now(self, known: CloudKnown, from_usd: float | None) -> None:
        self._known = known
        self._studio.home_model.know(known, from_usd)
        if known.signed_in and known.project:
            self._studio.prices.look(again=True)
        self._runs_changed(self._studio.runs.state.value)

    def _account_changed(self, view: AccountView) -> None:
        if view.checking:
            return
        if places.by_id(view.place).rehearses:
            self._look_after((view.place, view.choices.bucket))
            return
        left = len(view.needed) - view.passed if view.rows else None
        self._studio.home_model.account_looked(left, [row.id for row in view.needed if row.state == "fail"])
        self._look_after((view.who, view.choices, view.quota))  # plans go by the areas that were read just now

    def _look_after(self, seen: tuple[object, ...]) -> None:
        if seen != self._seen:
            self._seen = seen
            self.look()

    def _runs_changed(self, view: RunsView) -> None:
        rows = view.rows or ()
        money = month_of(rows, self._known.monthly_usd, time.time())
        sidebar = self._studio.window.sidebar
        sidebar.money.set_money(money.spent, money.share, money.cap)
        sidebar.show_money(self._known.signed_in or any(is_charged(row) for row in rows))
        self._tell_unproved(view)
        self._sweep(self._known)

    def _tell_unproved(self, view: RunsView) -> None:
        """A lasting notice for each run that is over while its machine is not verified gone; taken away when it is."""
        shell, now = self._studio.shell, time.time()
        late = {
            row.run: row
            for row in view.rows or ()
            if row.unproved and row.rented and row.ended is not None and now - row.ended > UNPROVED_AFTER_S
        }
        for run, row in late.items():
            if run in self._notices:
                continue
            would = "would still be charged" if places.by_id(row.place_id).rehearses else "may still be charged"
            self._notices[run] = shell.notify(
                f"{row.name}: the TPU is not verified to be gone",
                f"The run is over, but its machine {would}{_rate(row.usd_per_hour)}. "
                "Deleting is tried again until Google answers that nothing is there.",
                tone="bad",
                lasting=True,
                action="Show",
                act=lambda run=run, name=row.name: shell.open_run(run, name),  # type: ignore[misc]
            )
        for run in [run for run in self._notices if run not in late]:
            shell.close_notice(self._notices.pop(run))


def _left(home: Path, going_on: Sequence[str]) -> list[SweepRow]:
    """What costs money, is ours, and is needed by no run; blocks for some seconds."""
    from tpu_studio.places.sweeping import Sweeping
    from tpu_studio.viewmodels.sweep import row_of

    rows = [row_of(item, going_on) for item in Sweeping(home).look(places.charging().id).items]
    return [row for row in rows if row.deletable and row.item.usd_per_hour != 0.0]


def _not_swept(error: Exception) -> None:
    _log.info("the sweep at the start could not be made: %s", error)  # the Account page says what is missing


def _rate(usd_per_hour: float | None) -> str:
    return f": {figures.money(usd_per_hour)} an hour" if usd_per_hour else ""


def _read(home: Path) -> tuple[CloudKnown, float | None]:
    from tpu_studio.places.known import bucket_known, cloud_known, practice_is_bare
    from tpu_studio.viewmodels.home import lowest_usd_per_hour

    bare, (_, days) = practice_is_bare(home), bucket_known(places.rehearsing().id, home)
    return replace(cloud_known(home), practice_bare=bare, practice_kept_days=days), lowest_usd_per_hour()
