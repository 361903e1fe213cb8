"""What Google told one project that it lends: areas, slices, runtime images, machine types; and how that changes what
TPU Studio knows.

Read by ``cloud.offers``, kept by ``places.renewing``. Memory and speed of a chip stand in no list of Google's: those
figures stay the dated ones. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from tpu_studio.domain.catalogue import Catalogue, catalogue
from tpu_studio.domain.generations import Generation
from tpu_studio.domain.sentences import say
from tpu_studio.wire import frameworks, loans
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.wire.records import Json, read

FORMAT = 1
FIXED = (
    "memory, bandwidth and FLOP/s of a chip",
    "the link between chips",
    "how many machines a slice has",
    "which framework versions go together",
    "GPU prices",
)
"""Figures of which Google publishes no list: they stay the dated ones that came with the program."""
_TENSORFLOW = re.compile(r"tpu-vm-tf-(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class Area:
    """One zone as the Cloud TPU API told of it on *date* (ISO).

    Attributes:
        types: Accelerator type → its topology, "" where none is told.
        images: None: that list could not be read.
    """

    date: str
    types: Mapping[str, str]
    images: tuple[str, ...] | None


@dataclass(frozen=True)
class Unread:
    """What could not be read this time, with the error's id and facts; *what*: a zone or the name of a list."""

    what: str
    id: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Offers:
    """Attributes:
    date: The day (ISO) on which Google was asked last.
    areas: By zone, also those that did not answer this time but did before: `Area.date` tells.
    zones: All that the project has; None: that list could not be read.
    machines: Compute Engine's TPU machine types by zone: name → vcpu, ram_gb, chips; None: not read.
    machines_date: The day of *machines*.
    """

    project: str
    date: str
    areas: Mapping[str, Area] = field(default_factory=dict)
    zones: tuple[str, ...] | None = None
    machines: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None
    machines_date: str = ""
    unread: tuple[Unread, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "project": self.project,
            "date": self.date,
            "zones": None if self.zones is None else list(self.zones),
            "areas": {
                zone: {
                    "date": one.date,
                    "types": dict(one.types),
                    "images": None if one.images is None else list(one.images),
                }
                for zone, one in self.areas.items()
            },
            "machines": self.machines,
            "machines_date": self.machines_date,
            "unread": [{"what": one.what, "id": one.id, "facts": dict(one.facts)} for one in self.unread],
        }

    @classmethod
    def from_json(cls, tree: Json) -> Offers:
        """Raises ValueError, KeyError or TypeError: it is none of ours."""
        if tree["format"] != FORMAT:
            raise ValueError(f"format {tree['format']}")
        found = read(cls, tree, "offers")
        lacking = [
            name
            for here in (found.machines or {}).values()
            for name, machine in here.items()
            if not {"vcpu", "ram_gb", "chips"} <= set(machine)
        ]
        if lacking:
            raise ValueError(f"{lacking[0]} lacks something")
        return found


@dataclass(frozen=True)
class Strange:
    """An accelerator type, or a machine type, that TPU Studio does not know. *generation*: "" when even that is new."""

    name: str
    generation: str
    topology: str
    zones: tuple[str, ...]

    @property
    def chips(self) -> int | None:
        """The product of the topology's sides."""
        sides = re.findall(r"\d+", self.topology)
        return math.prod(map(int, sides)) if sides else None


@dataclass(frozen=True)
class Changes:
    """How *offers* differ from the catalogue that came with the program.

    Attributes:
        strange: New to TPU Studio.
        more, gone: (generation, zone): where it is lent besides, or no more.
        gone_slices: (generation, accelerator type): no zone of the project lends it, and every zone was asked.
        machines: Sentences about machine types whose processors or memory are others.
        images: (zone, image that TPU Studio starts there and the zone's list does not name).
        tensorflow: The newest TensorFlow that a runtime image is named after, "" where none is.
    """

    strange: tuple[Strange, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    gone: tuple[tuple[str, str], ...] = ()
    gone_slices: tuple[tuple[str, str], ...] = ()
    machines: tuple[str, ...] = ()
    images: tuple[tuple[str, str], ...] = ()
    tensorflow: str = ""


def renewed(known: Catalogue, offers: Offers) -> dict[str, object]:
    """``generations.json`` of *known*, the one that came with the program, with what *offers* tell.

    A zone that was never read keeps its dated row. In a new one loans other than on demand count where they have a
    price, for the API does not tell how chips are lent.
    """
    raw = known.file("generations")
    strange = dict.fromkeys(
        one.name.rpartition("-")[0] or one.name for one in _strange_types(known, offers) if not one.generation
    )
    return {
        **raw,
        "generations": [_generation(known, tree, offers) for tree in raw["generations"]],
        "strange": list(strange),
    }


def _generation(known: Catalogue, tree: Mapping[str, Any], offers: Offers) -> dict[str, object]:
    one = known.generations[tree["id"]]
    if not one.offered:
        return dict(tree)
    found = _by_zone(known, one, offers)
    gone = _gone(one, offers, found)
    zones = [row for row in tree["zones"] if row["zone"] not in found and row["zone"] not in gone]
    dated = {row["zone"]: row for row in tree["zones"]}
    for zone, (sizes, day) in found.items():
        area = offers.areas.get(zone)
        row = dated.get(zone) or {"zone": zone, "tiers": _tiers(known, one, zone, sizes[0])}
        zones.append(
            {
                **row,
                "min_chips": sizes[0],
                "max_chips": sizes[-1],
                "sizes": sizes,
                "listed": True,
                "as_of": day,
                "images": None if area is None else area.images,
                "source": "account",
                "date": day,
                "confidence": "high",
            }
        )
    machines = [_machine(row, offers) for row in tree["machine_types"]]
    return {**tree, "zones": zones, "machine_types": machines}


def _by_zone(known: Catalogue, one: Generation, offers: Offers) -> dict[str, tuple[list[int], str]]:
    """Zones that lend slices of *one* that we know: their chips, smallest first, and the day."""
    chips = {part.accelerator_type: part.chips for part in one.slices}
    found: dict[str, tuple[list[int], str]] = {}
    if one.control_plane == "cloud-tpu":
        for zone, area in offers.areas.items():
            if sizes := sorted({chips[name] for name in area.types if name in chips}):
                found[zone] = (sizes, area.date)
        return found
    names = {machine.machine_type for machine in one.machines}
    for zone, here in (offers.machines or {}).items():
        if names & set(here):  # of a slice that is several machines this list says nothing
            found[zone] = (sorted(chips.values()), offers.machines_date)
    return found


def _gone(one: Generation, offers: Offers, found: Mapping[str, object]) -> list[str]:
    """Zones of *one* that were asked, or that the project does not have, and that lend nothing of it."""
    if one.control_plane != "cloud-tpu":
        return [] if offers.machines is None else [row.zone for row in one.zones if row.zone not in found]
    missing = set() if offers.zones is None else {row.zone for row in one.zones} - set(offers.zones)
    return [row.zone for row in one.zones if row.zone not in found and row.zone in missing | set(offers.areas)]


def _tiers(known: Catalogue, one: Generation, zone: str, chips: int) -> list[str]:
    others = (loan.word for loan in loans.LOANS if not loan.usual)
    priced = [tier for tier in others if known.price(one.id, chips, zone, tier)]
    return [loans.usual().word, *priced]


def _machine(row: Mapping[str, Any], offers: Offers) -> dict[str, Any]:
    told = next(
        (here[row["machine_type"]] for here in (offers.machines or {}).values() if row["machine_type"] in here), None
    )
    if told is None:
        return dict(row)
    return {
        **row,
        "vcpu": int(told["vcpu"]),
        "ram_gb": float(told["ram_gb"]),
        "source": "account",
        "date": offers.machines_date,
        "confidence": "high",
    }


def changes(known: Catalogue, offers: Offers) -> Changes:
    """*known*: the catalogue that came with the program."""
    more: list[tuple[str, str]] = []
    gone: list[tuple[str, str]] = []
    slices: list[tuple[str, str]] = []
    machines: list[str] = []
    images: list[tuple[str, str]] = []
    for one in known.offered():
        found = _by_zone(known, one, offers)
        dated = {row.zone for row in one.zones}
        more += [(one.id, zone) for zone in sorted(found) if zone not in dated]
        left = dated - set(_gone(one, offers, found))
        gone += [(one.id, zone) for zone in sorted(dated - left)]
        if one.control_plane == "cloud-tpu" and found and left <= set(found):  # every one that is left was asked
            lent = {name for zone in found for name in offers.areas[zone].types}
            slices += [(one.id, part.accelerator_type) for part in one.slices if part.accelerator_type not in lent]
        for machine in one.machines:
            new = _machine(
                {"machine_type": machine.machine_type, "vcpu": machine.vcpu, "ram_gb": machine.ram_gb}, offers
            )
            if (new["vcpu"], round(new["ram_gb"])) != (machine.vcpu, round(machine.ram_gb)):
                machines.append(
                    f"{machine.machine_type} has {new['vcpu']} processors and {new['ram_gb']:g} GB, "
                    f"not {machine.vcpu} and {machine.ram_gb:g}."
                )
        software = one.software.get(frameworks.for_chips().id)
        wanted = software.runtime if software else ""
        for zone in sorted(found):
            area = offers.areas.get(zone)
            if area is not None and area.images and wanted and wanted not in area.images:
                images.append((zone, wanted))
    return Changes(
        (*_strange_types(known, offers), *_strange_machines(known, offers)),
        tuple(more),
        tuple(gone),
        tuple(slices),
        tuple(machines),
        tuple(images),
        _newest_tensorflow(offers.areas.values()),
    )


def _strange_types(known: Catalogue, offers: Offers) -> list[Strange]:
    usual = {part.accelerator_type for one in known.offered() for part in one.slices}
    found: dict[str, tuple[str, list[str]]] = {}
    for zone in sorted(offers.areas):
        for name, topology in offers.areas[zone].types.items():
            if name not in usual:
                found.setdefault(name, (topology, []))[1].append(zone)
    told = []
    for name, (topology, zones) in found.items():
        one = known.find(name.rpartition("-")[0] or name)
        told.append(Strange(name, one.id if one is not None and one.offered else "", topology, tuple(zones)))
    return sorted(told, key=lambda one: (bool(one.generation), one.generation, one.chips or 0, one.name))


def _strange_machines(known: Catalogue, offers: Offers) -> list[Strange]:
    usual = {machine.machine_type for one in known.generations.values() for machine in one.machines}
    found: dict[str, list[str]] = {}
    for zone in sorted(offers.machines or {}):
        for name in (offers.machines or {})[zone]:
            if name not in usual:
                found.setdefault(name, []).append(zone)
    return [Strange(name, "", "", tuple(zones)) for name, zones in sorted(found.items())]


def _newest_tensorflow(areas: Iterable[Area]) -> str:
    versions = [
        tuple(map(int, version))
        for area in areas
        for image in area.images or ()
        for version in _TENSORFLOW.findall(image)
    ]
    return ".".join(map(str, max(versions))) if versions else ""


def lines(told: Changes) -> list[str]:
    """*told* in sentences, what is new first; empty: nothing differs."""
    found = []
    for one in told.strange:
        if one.generation:
            continue
        shape = f", {one.chips} chips as {one.topology}" if one.chips else ""
        where = ", ".join(one.zones)
        found.append(
            f"{one.name} is new to TPU Studio ({where}{shape}): its memory and speed are not known here, "
            "so it cannot be planned for."
        )
    sizes: dict[str, list[str]] = {}
    for one in told.strange:
        if one.generation:
            sizes.setdefault(one.generation, []).append(one.name)
    for generation, names in sizes.items():
        found.append(f"New to TPU Studio, sizes of {generation}: {', '.join(names)}. They cannot be planned for.")
    found += [f"{generation} is lent in {', '.join(zones)} too." for generation, zones in _grouped(told.more)]
    found += [
        f"{generation} is not lent to your project in {', '.join(zones)}." for generation, zones in _grouped(told.gone)
    ]
    found += [f"No zone lends your project {', '.join(names)}." for _, names in _grouped(told.gone_slices)]
    found += told.machines
    found += [
        f"The runtime image {image}, which TPU Studio starts, is not in the list of {', '.join(zones)}."
        for image, zones in _grouped((image, zone) for zone, image in told.images)
    ]
    return found


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return list(found.items())


def unread_lines(offers: Offers | None) -> list[str]:
    """What could not be read, why, and what counts instead: a line for each reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in offers.unread if offers else ():
        before = offers.areas.get(one.what) if offers else None
        counts = f"what they said on {before.date} counts" if before else "the built-in figures count"
        why = say(CloudUnclear(one.id, **one.facts)).title
        by_reason.setdefault((why, counts), []).append(one.what)
    return [f"Not read: {', '.join(names)}. {why}; {counts}." for (why, counts), names in by_reason.items()]


def fixed_line() -> str:
    return f"Google publishes no list of {', '.join(FIXED[:-1])}, or {FIXED[-1]}: these come with the app."


def age(offers: Offers | None, today: date) -> str:
    """`Zones and slices: from your project my-project, read today`, or that they are built in, with the day."""
    if offers is None:
        return f"Zones and slices: built in, {day_words(catalogue().built_in)}."
    partly = f"; {len(offers.unread)} of its lists could not be read" if offers.unread else ""
    return f"Zones and slices: from your project {offers.project}, {day_words(offers.date, today)}{partly}."


def day_words(day: str, today: date | None = None) -> str:
    """21 Nov 2026, or with *today* also today and yesterday; what is no date stays what it is."""
    try:
        meant = date.fromisoformat(day)
    except ValueError:
        return day
    days = (today - meant).days if today else 9
    return {0: "today", 1: "yesterday"}.get(days, f"{meant.day} {meant:%b %Y}")
