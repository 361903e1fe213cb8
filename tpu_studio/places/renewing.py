"""The catalogue of a place: what came with the program, renewed from a signed-in account and kept.

Renewed by the verb ``catalogue --refresh`` and by the button in the window, never by itself: it asks some sixty
questions. What was read is kept in the home, with its day and its project, and used until another project is chosen or
a newer program brings a newer table.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tpu_studio.domain import offers as offered
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.offers import Changes, Offers
from tpu_studio.domain.renewed import use
from tpu_studio.places.pricing import Priced
from tpu_studio.wire import places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.runfolder import write_atomically


@dataclass(frozen=True)
class Renewed:
    """Attributes:
    offers: What the project's lists said; None: they were never read, or of another project: the built-in table counts.
    priced: The prices that plans use.
    """

    place: str
    offers: Offers | None
    priced: Priced

    @property
    def changes(self) -> Changes:
        return Changes() if self.offers is None else offered.changes(catalogue(), self.offers)


def kept(place: str, home: Path, today: date | None = None) -> Renewed:
    """Have plans at *place* use what was read before; nobody is asked. Prices of ``cloud`` renew by themselves."""
    from tpu_studio.places import pricing, standing

    today = today or date.today()
    found = _read_kept(place, home)
    _use(place, found)
    standing.use_kept(place, home)
    return Renewed(place, found, pricing.use_kept(home, today, place))


def refresh(
    place: str,
    home: Path,
    *,
    told: Callable[[int, int, str], None] = lambda done, total, what: None,
    cancelled: Callable[[], bool] = lambda: False,
    today: date | None = None,
) -> Renewed:
    """Ask Google (or the practice cloud) again. Blocks for up to a minute.

    Raises:
        SignedOut, NotReady: There is nobody to ask as; what was there before stays.
        CloudRefused, CloudUnclear: Not one area could be read; likewise.
    """
    from tpu_studio.cloud import offers as reading
    from tpu_studio.cloud.session import Api, Patience, session
    from tpu_studio.places import pricing
    from tpu_studio.places.reaching import reach

    today = today or date.today()
    who = reach(place, home)
    before = _read_kept(place, home)
    zones = sorted({zone.zone for one in catalogue().offered() for zone in one.zones})
    with session(who.credentials, who.project) as http:
        patience = Patience(tries=2)
        found = reading.read(
            Api(who.endpoints.tpu, http, patience=patience),
            Api(who.endpoints.compute, http, patience=patience),
            who.project,
            zones,
            today,
            before=before,
            told=told,
            cancelled=cancelled,
        )
    make_private(home)
    write_atomically(_file(place, home), json.dumps(found.to_json()).encode())
    if cancelled():
        priced = pricing.use_kept(home, today, place)
    else:
        priced = pricing.refresh(home, today, place=place, again=True)
    _use(place, found)
    return Renewed(place, found, priced)


class Renewing:
    """Implements ``viewmodels.catalogue.CataloguePort`` for a home."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def kept(self, place: str) -> Renewed:
        return kept(place, self._home)

    def refresh(self, place: str, told: Callable[[int, int, str], None], cancelled: Callable[[], bool]) -> Renewed:
        return refresh(place, self._home, told=told, cancelled=cancelled)


def _use(place: str, found: Offers | None) -> None:
    use(place, {"generations": None if found is None else offered.renewed(catalogue(), found)})


def _file(place: str, home: Path) -> Path:
    return home / f"catalogue-{place}.json"


def _read_kept(place: str, home: Path) -> Offers | None:
    try:
        found = Offers.from_json(read_json(_file(place, home)))
        offered.renewed(catalogue(), found)  # what is damaged is found here, not in a plan
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None
    if found.date < catalogue().built_in:
        return None
    return found if places.by_id(place).rehearses or found.project == _project(home) else None


def _project(home: Path) -> str:
    from tpu_studio.places.known import cloud_known

    try:
        return cloud_known(home).project
    except StudioError:
        return ""
