"""Google's prices of today: for plans on ``cloud`` read once a day where somebody is signed in, and kept; for practice
when the catalogue is renewed.

Without them the plan stands on the dated table that comes with the program, and says so by its date.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.renewed import use
from tpu_studio.wire import places
from tpu_studio.wire.errors import CloudUnclear, StudioError
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.runfolder import write_atomically

KEPT = timedelta(days=7)
"""Prices that are older are forgotten: the dated table is then as good."""


@dataclass(frozen=True)
class Priced:
    """What plans use now.

    Attributes:
        live: The day of Google's list; None: the dated table.
        error: Why the list of today could not be read; ``signed-out`` and ``cloud-not-ready``: nobody to ask as.
    """

    live: date | None = None
    error: StudioError | None = None


def refresh(
    home: Path,
    today: date | None = None,
    read: Callable[[Path, date], list[dict[str, object]]] | None = None,
    *,
    place: str = "",
    again: bool = False,
) -> Priced:
    """Have plans for *place* use live prices. Blocks for some seconds once a day.

    Args:
        place: "": where it is for money.
        read: Rows of the price list; default: Google's, as the active account. May raise StudioError: no harm.
        again: Also when it was read today.
    """
    today, place = today or date.today(), place or places.charging().id
    file = _file(home, place)
    kept = _kept(file, today)
    if kept is not None and kept[0] == today and not again:
        _use(place, kept[1], kept[0])
        return Priced(today)
    try:
        rows = (read or functools.partial(_read, place))(home, today)
        if not rows:
            raise CloudUnclear("unreadable-reply", raw="no price of a TPU is in Google's list")
    except StudioError as error:
        if kept is None:
            return Priced(None, error)
        _use(place, kept[1], kept[0])
        return Priced(kept[0], error)
    make_private(file.parent)
    write_atomically(file, json.dumps({"format": 1, "date": today.isoformat(), "rows": rows}).encode())
    _use(place, rows, today)
    return Priced(today)


def use_kept(home: Path, today: date, place: str) -> Priced:
    """The prices that were read before and are not too old; nobody is asked."""
    kept = _kept(_file(home, place), today)
    if kept is not None:
        _use(place, kept[1], kept[0])
    return Priced(kept[0] if kept else None)


def _file(home: Path, place: str) -> Path:
    return home / ("prices.json" if places.by_id(place).charges else f"prices-{place}.json")


def _use(place: str, rows: list[dict[str, object]], day: date) -> None:
    from tpu_studio.cloud.prices import price_file

    use(place, {"prices": price_file(rows, day)})


def _kept(file: Path, today: date) -> tuple[date, list[dict[str, object]]] | None:
    try:
        tree = read_json(file)
        day = date.fromisoformat(tree["date"])
        rows = list(tree["rows"])
        from tpu_studio.cloud.prices import with_rows

        made: Catalogue = with_rows(rows, day)
        for generation in made.generations:
            made.prices(generation, 1)  # a damaged row is found here, not in a plan
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None
    return (day, rows) if timedelta(0) <= today - day <= KEPT else None


def _read(place: str, home: Path, today: date) -> list[dict[str, object]]:
    from tpu_studio.cloud.prices import live_rows
    from tpu_studio.cloud.session import Api, Patience, session
    from tpu_studio.places.reaching import reach

    who = reach(place, home)
    with session(who.credentials, who.project) as http:
        return live_rows(Api(who.endpoints.billing, http, patience=Patience(tries=1)), today)
