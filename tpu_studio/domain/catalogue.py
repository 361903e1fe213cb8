"""The catalogue: TPU generations, slices, zones, prices, software that goes together, GPUs to compare with.

Used by the planner, the Plan page and the command line. The figures stand in `resources/catalogue/` (made by
``tools/make_catalogue.py``), each with source, date and confidence; a figure nobody published is absent here, never
guessed. Files are read when first asked for, each once.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from tpu_studio.domain.generations import Generation, Price, QuotaId, Slice, generation_of, region_of
from tpu_studio.wire import frameworks, loans
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.resources import resource_path

TIERS = tuple(loan.word for loan in loans.LOANS)
COMPUTE_FLEX_WAIT_S = (90.0, 7200.0)
"""How long Compute Engine lets a flex-start request wait, at least and at most, says its own refusal."""
FLEX_START_MOST_S = 7 * 86_400.0
"""A flex-start loan of either backend ends then: "duration of up to 7 days"
(cloud.google.com/tpu/docs/request-using-flex-start), and Compute Engine's own limit of such a machine."""


class PriceRow(NamedTuple):
    """Of the price list: what *price* is of."""

    generation: str
    min_chips: int
    max_chips: int
    price: Price

    def to_json(self) -> dict[str, object]:
        about = {"generation": self.generation, "region": self.price.region, "tier": self.price.tier}
        return {**about, "min_chips": self.min_chips, "max_chips": self.max_chips, **asdict(self.price)}


@dataclass(frozen=True)
class Verdict:
    """Whether a combination can be picked: ``state``: documented, unproven, impossible; ``why``: a sentence or ""."""

    state: str
    why: str = ""

    @property
    def possible(self) -> bool:
        return self.state != "impossible"


def chips(count: int) -> str:
    return "1 chip" if count == 1 else f"{count:,} chips"


def title_of(accelerator: str) -> str:
    """`Catalogue.title_of` by what came with the program, for words about a plan that is made already."""
    return catalogue().title_of(accelerator)


class Catalogue:
    """Args:
    files: The catalogue's files by name without ending; default: those of `resources/catalogue/`, read when needed.
    """

    def __init__(self, files: Mapping[str, Mapping[str, object]] | None = None) -> None:
        self._given = files or {}
        self._found: dict[str, Generation] = {}

    def file(self, name: str) -> Mapping[str, Any]:
        """One of the catalogue's files as it stands: generations, prices, software, gpus, vm."""
        return self._given.get(name) or _read(name)

    def given(self, name: str) -> Mapping[str, object] | None:
        """What was told of this place besides (`use`), such as the account's ``standing``."""
        return self._given.get(name)

    @cached_property
    def generations(self) -> dict[str, Generation]:
        """Oldest first, also those that are announced only."""
        return {raw["id"]: generation_of(raw) for raw in self.file("generations")["generations"]}

    @cached_property
    def sources(self) -> dict[str, dict[str, str]]:
        return {
            key: told for name in ("generations", "prices", "gpus") for key, told in self.file(name)["sources"].items()
        }

    @property
    def built_in(self) -> str:
        """The day (ISO) of the areas and slices that came with the program."""
        return str(self.file("generations")["generated"])

    @property
    def strange(self) -> tuple[str, ...]:
        """Kinds of chips that the account's lists name and nothing is known of here: they cannot be planned for."""
        return tuple(self.file("generations").get("strange", ()))

    def offered(self) -> list[Generation]:
        return [one for one in self.generations.values() if one.offered]

    def find(self, name: str) -> Generation | None:
        """By id, alias or the way an accelerator type begins (v5litepod), whatever the case."""
        found = self._found.get(name) or self._search(name)
        if found is not None:
            self._found[name] = found  # a plan asks for the same few a hundred times
        return found

    def _search(self, name: str) -> Generation | None:
        wanted = name.strip().lower().replace("tpu ", "").replace("_", "-")
        for one in self.generations.values():
            names = {one.id, *(alias.lower() for alias in one.aliases)}
            names |= {part.accelerator_type.lower().split("-")[0].split()[0] for part in one.slices}
            if wanted in names or wanted.removeprefix("tpu-") in names or wanted == f"tpu{one.id}":
                return one
        return None

    def generation(self, name: str) -> Generation:
        """Raises BadInput ``generation-unknown``."""
        found = self.find(name)
        if found is None:
            raise BadInput("generation-unknown", generation=name, known=[one.id for one in self.offered()])
        return found

    def slices(self, generation: str) -> tuple[Slice, ...]:
        """Smallest first. Raises BadInput ``generation-unknown``."""
        return self.generation(generation).slices

    def slice(self, accelerator: str) -> Slice:
        """By its accelerator type (v6e-8; v5e-8 for v5litepod-8; tpu7x 2x2x1 or tpu7x-4).

        Raises:
            BadInput: ``slice-unknown``, with the nearest and all sizes of the generation; ``generation-unknown``.
        """
        wanted = accelerator.strip().lower()
        if (known := self._slices.get(wanted)) is not None:
            return known
        generation = self.generation(wanted.replace(" ", "-").split("-")[0])
        names = [part.accelerator_type for part in generation.slices]
        raise BadInput("slice-unknown", accelerator=accelerator, nearest=_nearest(wanted, names), known=names)

    @cached_property
    def _slices(self) -> dict[str, Slice]:
        """By each of its names."""
        found: dict[str, Slice] = {}
        for one in self.offered():
            for part in one.slices:
                name = part.accelerator_type.lower()
                by_chips = f"{one.id}-{part.chips}" if one.name_counts == "chips" else part.accelerator_type
                for each in (name, by_chips, name.replace(" ", "-")):
                    found.setdefault(each, part)
        return found

    def title_of(self, accelerator: str) -> str:
        """As a person reads a slice, `v5e · 8 chips`; a name that nobody knows stays what it is."""
        try:
            part = self.slice(accelerator)
        except BadInput:
            return accelerator
        return f"{part.generation} · {chips(part.chips)}"

    def lenders(self, part: Slice) -> tuple[str, ...]:
        """Who lends it to us, as ``where.backend`` spells it, the usual one first; Compute Engine one machine only."""
        one = self.generation(part.generation)
        single = part.vms == 1 and any(machine.chips == part.chips for machine in one.machines)
        by_api = ("tpu-api",) if one.control_plane == "cloud-tpu" else ()
        return (*by_api, *(("compute-engine",) if single and one.compute_image else ()))

    def by_compute_engine(self, accelerator: str, backend: str | None) -> bool:
        """Whether Compute Engine lends it to a job that asks for *backend*; None: whoever does."""
        wanted = backend or next(iter(self.lenders(self.slice(accelerator))), "tpu-api")
        return wanted == "compute-engine"

    # ------------------------------------------------------------------------------------------------------ money

    def price(self, generation: str, chips: int, where: str, tier: str = "") -> Price | None:
        """Per chip-hour in a zone or region; None: the price is unknown. Raises BadInput ``generation-unknown``."""
        id, region, tier = self.generation(generation).id, region_of(where), tier or loans.usual().word
        for row in self._prices_at.get((id, region, tier), ()):
            if row.min_chips <= chips <= row.max_chips:
                return row.price
        return None

    def prices(self, generation: str, chips: int, tier: str = "") -> list[Price]:
        """All regions', cheapest first."""
        id, tier = self.generation(generation).id, tier or loans.usual().word
        found = [
            row.price
            for row in self.price_rows
            if row.generation == id and row.price.tier == tier and row.min_chips <= chips <= row.max_chips
        ]
        return sorted(found, key=lambda price: (price.usd_per_chip_hour, price.region))

    def storage_usd_per_gb_month(self, where: str) -> float | None:
        """Of what lies in a bucket (standard class) in a zone's region or a region; None: the price is unknown."""
        found = self.file("prices")["storage"]["gcs_standard_usd_per_gb_month"].get(region_of(where))
        return None if found is None else float(found)

    @cached_property
    def price_rows(self) -> list[PriceRow]:
        """Of Google's list where that was read, else those that came with each generation."""
        told = self.file("prices").get("rows")
        if told is None:
            shipped = self.file("generations")["generations"]
            told = [{"generation": one["id"], **row} for one in shipped for row in one["prices"]]
        names = ("usd_per_chip_hour", "region", "tier", "as_of", "source", "confidence", "note")
        return [
            PriceRow(
                row["generation"], row["min_chips"], row["max_chips"], Price(**{name: row[name] for name in names})
            )
            for row in told
        ]

    @cached_property
    def quotas(self) -> tuple[QuotaId, ...]:
        """Google's limits of all generations, those first that are looked at first."""
        ranked = sorted(self.generations.values(), key=lambda one: one.rank)
        return tuple(quota for one in ranked for quota in one.quotas)

    @cached_property
    def _prices_at(self) -> dict[tuple[str, str, str], list[PriceRow]]:
        """By generation, region and tier."""
        found: dict[tuple[str, str, str], list[PriceRow]] = {}
        for row in self.price_rows:
            found.setdefault((row.generation, row.price.region, row.price.tier), []).append(row)
        return found

    @property
    def prices_as_of(self) -> str:
        """The day most prices were read."""
        return str(self.file("prices")["generated"])

    # ------------------------------------------------------------------------------------- what can go together

    def possible(
        self, generation: str, framework: str = "", tier: str = "", zone: str = "", chips: int | None = None
    ) -> Verdict:
        """Whether all that is given goes together; what is "" or None does not matter. Impossible beats unproven."""
        found = self.find(generation)
        if found is None:
            return Verdict("impossible", f"There is no TPU generation called “{generation}”.")
        if not found.offered:
            return Verdict("impossible", f"{found.id} cannot be planned for yet: {found.status}.")
        verdicts = [
            self._size(found, chips),
            self._framework(found, framework),
            self._zone(found, zone, chips),
            self._image(found, framework, zone),
            self._tier(found, tier, zone),
        ]
        order = {"impossible": 0, "unproven": 1, "documented": 2}
        return min(verdicts, key=lambda verdict: order[verdict.state])

    def drives(self, generation: str, framework: str) -> bool:
        """Whether *framework* may train on it: the one that leads wherever it is possible, another where Google
        documents it. Raises BadInput ``generation-unknown``."""
        state = self._framework(self.generation(generation), framework).state
        return state == "documented" or (state == "unproven" and framework == frameworks.for_chips().id)

    def _size(self, found: Generation, chips: int | None) -> Verdict:
        if chips is None or found.slice_of(chips):
            return Verdict("documented")
        sizes = ", ".join(str(part.chips) for part in found.slices)
        return Verdict("impossible", f"{found.id} is lent as {sizes} chips, not {chips}.")

    def _framework(self, found: Generation, framework: str) -> Verdict:
        if not framework:
            return Verdict("documented")
        if (known := found.software.get(framework)) is not None:
            return Verdict(known.state, known.why)
        return Verdict("impossible", f"TPU Studio does not train with {framework} on {found.id}.")

    def _zone(self, found: Generation, zone: str, chips: int | None) -> Verdict:
        if not zone:
            return Verdict("documented")
        known = next((one for one in found.zones if one.zone == zone), None)
        if known is None:
            zones = ", ".join(one.zone for one in found.zones) or "no zone of your project"
            return Verdict("impossible", f"There is no {found.id} in {zone}. It is in {zones}.")
        if chips is not None and not known.lends(chips):
            lent = f"{known.min_chips} to {known.max_chips}"
            if known.sizes is not None:
                lent = ", ".join(str(size) for size in known.sizes)
            return Verdict("impossible", f"{zone} lends {lent} chips of {found.id}.")
        if not known.listed:
            return Verdict("unproven", f"{found.id} was seen in {zone}, but Google's list of zones does not name it.")
        return Verdict("documented")

    def _image(self, found: Generation, framework: str, zone: str) -> Verdict:
        """Whether the account's own list of runtime images names the one that we start there."""
        known = next((one for one in found.zones if one.zone == zone), None)
        wanted = found.software[framework].runtime if framework in found.software else ""
        if known is None or not known.images or not wanted or wanted in known.images:
            return Verdict("documented")
        why = f"{zone}'s list of runtime images does not name {wanted}, which TPU Studio starts there."
        return Verdict("unproven", why)

    def _tier(self, found: Generation, tier: str, zone: str) -> Verdict:
        if not tier or loans.by_id(tier).usual:
            return Verdict("documented")
        if tier not in TIERS:
            return Verdict("impossible", f"There is no capacity type called “{tier}”.")
        places = [one for one in found.zones if tier in one.tiers]
        if not places:
            return Verdict("impossible", f"{tier} is not documented for {found.id} in any zone.")
        if zone and all(one.zone != zone for one in places):
            return Verdict("impossible", f"{tier} of {found.id} is offered in {', '.join(one.zone for one in places)}.")
        return Verdict("documented")

    def image(self, generation: str, framework: str) -> str:
        """The runtime image of the TPU API that we start for this generation; "" where nothing is known."""
        known = self.generation(generation).software.get(framework)
        return known.runtime if known else ""


@cache
def catalogue() -> Catalogue:
    """The catalogue that came with the program."""
    return Catalogue()


@dataclass(frozen=True)
class Catalogues:
    """What plans are made with: a value, so that the same arguments give the same plan.

    Attributes:
        shipped: Came with the program.
        renewed: By place: what Google told of prices and offers that count there.
    """

    shipped: Catalogue
    renewed: Mapping[str, Catalogue] = field(default_factory=dict)

    def at(self, place: str) -> Catalogue:
        return self.renewed.get(place) or self.shipped


SHIPPED = Catalogues(catalogue())
"""As nobody has read anything yet."""


def _nearest(wanted: str, names: list[str]) -> str:
    """Of *names* the one whose number is nearest to that of *wanted*; without numbers, the one most like it."""
    number = wanted.rpartition("-")[2]
    counted = {name: int(count) for name in names if (count := name.rpartition("-")[2]).isdecimal()}
    if number.isdecimal() and counted:
        return min(counted, key=lambda name: abs(counted[name] - int(number)))
    return next(iter(difflib.get_close_matches(wanted, names, n=1, cutoff=0.0)), "")


@cache
def _read(name: str) -> Mapping[str, Any]:
    record: Mapping[str, object] = json.loads(resource_path("catalogue", f"{name}.json").read_text("utf-8"))
    return record
