"""A sign-in that ends while a rented run goes on: a notice that stays until somebody has signed in again, and one
press to do it. The run itself is told apart from it: it goes on, and ends at its limits and at the stops of its lender.

One object for the window; asked every few seconds, for the drivers' troubles are theirs to keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_studio.viewmodels.problem import SIGNED_OUT
from tpu_studio.wire import places
from tpu_studio.wire.errors import StudioError

if TYPE_CHECKING:
    from tpu_studio.app.studio import Studio


@dataclass(frozen=True)
class Ended:
    """Which runs nobody can see to, by the place whose sign-in has ended."""

    place: str
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        more = " and more" if len(self.names) > 2 else ""
        return f"Sign in again: {' and '.join(self.names[:2])}{more} cannot be seen to"

    @property
    def text(self) -> str:
        lender = "the practice cloud" if places.by_id(self.place).rehearses else "Google"
        goes, it = ("It goes", "it") if len(self.names) == 1 else ("They go", "them")
        return (
            f"The sign-in has ended. {goes} on at {lender}; this computer can neither follow nor stop {it} meanwhile. "
            "The machine's own limit and the shut-off timers still hold, and no checkpoint is lost."
        )


def ended(troubles: Mapping[str, StudioError], rows: Mapping[str, tuple[str, str]]) -> tuple[Ended, ...]:
    """Of the troubles by run, those that signing in again ends. *rows*: place and name of each run that goes on."""
    found: dict[str, list[str]] = {}
    for run, trouble in troubles.items():
        if trouble.id in SIGNED_OUT and run in rows:
            place, name = rows[run]
            found.setdefault(place, []).append(name)
    return tuple(Ended(place, tuple(names)) for place, names in found.items())


class SignedOutWatch:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._told: dict[str, tuple[Ended, int]] = {}  # by place; a notice that was closed is not told anew

    def look(self) -> None:
        services = self._studio.services
        rows = {
            row.run: (row.place_id, row.name)
            for row in self._studio.runs.state.value.rows or ()
            if row.rented and (not row.over or row.unproved)
        }
        now = {one.place: one for one in ended(dict(services.driver.problems) if services else {}, rows)}
        shell = self._studio.shell
        for place in [place for place in self._told if now.get(place) != self._told[place][0]]:
            shell.close_notice(self._told.pop(place)[1])
        for place, one in now.items():
            if place not in self._told:
                number = shell.notify(
                    one.title,
                    one.text,
                    tone="bad",
                    lasting=True,
                    action="Sign in again",
                    act=lambda place=place: self._again(place),  # type: ignore[misc]
                )
                self._told[place] = (one, number)

    def _again(self, place: str) -> None:
        self._studio.shell.go("account")
        self._studio.account.sign_in_again(place)
