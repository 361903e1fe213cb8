"""``catalogue``: what TPU Studio knows of TPUs, from where, of which day; ``--refresh`` asks the account's project."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.domain import offers as offered
from tpu_studio.domain.catalogue import Catalogue, catalogue
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.domain.sentences import say

if TYPE_CHECKING:
    from tpu_studio.places.renewing import Renewed

FAILED = 1


def catalogue_(arguments: Arguments, output: Output) -> int:
    """Exit code 1 when something could not be read: for that the earlier figures still count. Raises as `refresh`."""
    from tpu_studio.places import renewing
    from tpu_studio.wire.homes import home_folder

    home, place, today = home_folder(), str(arguments.on), date.today()
    if not arguments.refresh:
        found = renewing.kept(place, home, today)
    else:
        stop = _Stop()
        with stop:
            found = renewing.refresh(
                place,
                home,
                today=today,
                cancelled=stop.asked,
                told=lambda done, total, what: output.progress(done / total, f"Asking {what}…" if what else ""),
            )
    known = catalogue_at(place)
    output.answer(as_json(found, known), as_text(found, known, today))
    return FAILED if arguments.refresh and (_unread(found) or found.priced.error) else 0


class _Stop:
    """Ctrl-C while it reads: the question under way is ended, what was read is kept."""

    def __init__(self) -> None:
        self._asked = False

    def asked(self) -> bool:
        return self._asked

    def __enter__(self) -> None:
        import signal

        def stop(number: int, frame: object) -> None:
            self._asked = True

        self._before = signal.signal(signal.SIGINT, stop)

    def __exit__(self, *raised: object) -> None:
        import signal

        signal.signal(signal.SIGINT, self._before)


def _unread(found: Renewed) -> tuple[offered.Unread, ...]:
    return () if found.offers is None else found.offers.unread


def as_json(found: Renewed, known: Catalogue) -> dict[str, object]:
    """Each figure with its source and day; ``source`` “account”: the project's own list."""
    offers, built_in = found.offers, catalogue().built_in
    told = found.changes
    return {
        "place": found.place,
        "project": offers.project if offers else "",
        "built_in": built_in,
        "refreshed": offers.date if offers else None,
        "prices": {
            "as_of": known.prices_as_of,
            "source": "live" if found.priced.live else "built-in",
            "rows": [row.to_json() for row in known.price_rows],
        },
        "generations": list(known.file("generations")["generations"]),
        "runtime_versions": {zone: list(area.images) for zone, area in offers.areas.items() if area.images is not None}
        if offers
        else {},
        "machine_types": offers.machines if offers else None,
        "newest_tensorflow_image": told.tensorflow or None,
        "new": [
            {
                "name": one.name,
                "generation": one.generation or None,
                "topology": one.topology or None,
                "chips": one.chips,
                "zones": list(one.zones),
            }
            for one in told.strange
        ],
        "gone": [{"generation": generation, "zone": zone} for generation, zone in told.gone]
        + [{"generation": generation, "accelerator_type": name} for generation, name in told.gone_slices],
        "differs": offered.lines(told),
        "unread": [{"what": one.what, "id": one.id, "facts": dict(one.facts)} for one in _unread(found)]
        + (
            [{"what": "prices", "id": found.priced.error.id, "facts": found.priced.error.facts}]
            if found.priced.error
            else []
        ),
        "not_refreshable": list(offered.FIXED),
        "sources": known.sources
        | {"account": {"title": "The lists of your own project", "date": offers.date if offers else ""}},
    }


def as_text(found: Renewed, known: Catalogue, today: date) -> str:
    offers = found.offers
    rows = [["generation", "slices", "zones", "from your account", "cheapest, a chip-hour", "price of"]]
    for one in known.offered():
        prices = [price for part in one.slices[:1] for price in known.prices(one.id, part.chips)]
        own = sum(1 for zone in one.zones if zone.as_of)
        cheapest = f"${prices[0].usd_per_chip_hour:.4g} in {prices[0].region}" if prices else "not known"
        rows.append(
            [one.id, str(len(one.slices)), str(len(one.zones)), str(own), cheapest, prices[0].as_of if prices else ""]
        )
    lines = [offered.age(offers, today), table(rows, right=(1, 2, 3))]
    if offers is not None and (differs := offered.lines(found.changes)):
        lines += ["", "Other than in the built-in table:", *(f"  {line}" for line in differs)]
    lines += offered.unread_lines(offers)
    if found.priced.error is not None:
        lines.append(f"Prices could not be read: {say(found.priced.error).title}. Those of {known.prices_as_of} count.")
    lines += ["", offered.fixed_line()]
    return "\n".join(lines)
