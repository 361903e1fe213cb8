"""What is known of TPU generations: chips, machines, slices, areas, software, limits; each figure with its source.

All of one generation stands in one record of `resources/catalogue/generations.json`, which ``tools/make_catalogue.py``
makes: another is added there. Read by `domain.catalogue`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HBM_SHARE = 0.9  # of a device's memory that a program can have, where nobody knows it better
SERVING, TRAINING = "serving", "training"  # Google's two limits of one kind of chip (`domain.quota`)


@dataclass(frozen=True)
class Figure:
    """A published number. ``confidence``: high, medium, low, unverified; ``source``: a key of `Catalogue.sources`."""

    value: float
    unit: str
    source: str
    date: str
    confidence: str
    note: str = ""


@dataclass(frozen=True)
class Machine:
    """A kind of TPU VM: processors and memory that stand beside its chips."""

    machine_type: str
    chips: int
    vcpu: int
    ram_gb: float
    confidence: str


@dataclass(frozen=True)
class Slice:
    """Chips that can be lent together.

    Attributes:
        vms: Machines to log in to; data is split over them.
        devices: What the framework counts.
        use: Which of Google's limits it draws (``domain.quota``); "": the generation has one for all sizes.
    """

    generation: str
    accelerator_type: str
    chips: int
    topology: str
    vms: int
    devices: int
    confidence: str
    note: str = ""
    use: str = ""


@dataclass(frozen=True)
class Zone:
    """Attributes:
    listed: Google's own list of zones names it; others were only seen.
    tiers: How chips are lent there.
    sizes: Chips of the slices that the account's own list names there; None: nobody asked, all between the two.
    images: Runtime images that it names there; None: nobody asked.
    as_of: The day (ISO) on which the account was told so; "": the table that came with the program.
    """

    zone: str
    min_chips: int
    max_chips: int
    listed: bool
    tiers: tuple[str, ...]
    sizes: tuple[int, ...] | None = None
    images: tuple[str, ...] | None = None
    as_of: str = ""

    @property
    def region(self) -> str:
        return region_of(self.zone)

    def lends(self, chips: int) -> bool:
        return self.min_chips <= chips <= self.max_chips and (self.sizes is None or chips in self.sizes)


@dataclass(frozen=True)
class Software:
    """A framework on a generation.

    Attributes:
        state: documented, unproven or impossible; *why*: a sentence or "".
        image: The runtime image of the TPU API that Google names for it; *runtime*: the one that we start; "": none.
    """

    state: str
    why: str
    image: str
    runtime: str


@dataclass(frozen=True)
class QuotaId:
    """Google's limit of one generation and tier; *region* is "" where there is no such limit.

    Attributes:
        use: Which slices of v5e it is for (``domain.quota``); "": all of the generation.
        title: As Google's list displays it, without the place; "": not known. An id that is spelled otherwise is found
            by it.
    """

    generation: str
    tier: str
    zone: str
    region: str
    unit: str = "chips"
    use: str = ""
    title: str = ""


@dataclass(frozen=True)
class Generation:
    """One family of chips.

    Attributes:
        title: As Google's pages spell it.
        offered: Whether anything of it can be rented and is known well enough to plan for.
        in_short: For whom it is; *rank*: those first that are looked at first.
        compute_image: Of Compute Engine; "": that does not lend it to us.
        pods_only: Google has no price of its own for a single machine.
        priced_chips: Chips of one unit of Google's price list: 4 in the list of Cloud TPU itself (8 cores), which has
            the old ones; 1 in Compute Engine's.
        persistent_disk: Its machines on Compute Engine start from a disk of this kind too, not from hyperdisks only.
        compiles: Somebody has seen the TPU compiler accept a program for it.
        compiler: How that is asked for this chip, beyond the topology (``topologies.get_topology_desc``).
        serving_chips: Slices that draw the limit for serving; () where one limit is for all.
        software: By framework.
    """

    id: str
    aliases: tuple[str, ...]
    offered: bool
    status: str
    interconnect: str
    control_plane: str
    api_type: str
    name_counts: str
    max_chips: int
    figures: Mapping[str, Figure]
    machines: tuple[Machine, ...]
    slices: tuple[Slice, ...]
    zones: tuple[Zone, ...]
    title: str = ""
    in_short: str = ""
    rank: int = 0
    compute_image: str = ""
    pods_only: bool = False
    priced_chips: int = 1
    persistent_disk: bool = True
    compiles: bool = True
    compiler: Mapping[str, str] = field(default_factory=dict)
    serving_chips: tuple[int, ...] = ()
    software: Mapping[str, Software] = field(default_factory=dict)
    quotas: tuple[QuotaId, ...] = ()

    def value(self, name: str) -> float | None:
        """A figure's value by its name (peak_bf16 in TFLOP/s, hbm in GiB, hbm_rate in GB/s …); None: unknown."""
        figure = self.figures.get(name)
        return None if figure is None else figure.value

    @property
    def peak_bf16_flops(self) -> float:
        """Dense bf16 peak of a chip, FLOP/s. Only of generations that are offered."""
        return self.figures["peak_bf16"].value * 1e12

    def peak_flops(self, precision: str) -> float:
        """Dense peak of a chip at *precision* (int8, fp8, else bf16), FLOP/s; bf16's where it has no faster."""
        faster = self.value(f"peak_{precision}")
        return self.peak_bf16_flops if faster is None else faster * 1e12

    @property
    def hbm_bytes_per_device(self) -> int:
        return int(self.figures["hbm_per_device"].value * 2**30)

    @property
    def program_bytes(self) -> int:
        """What a program can have of one device's memory."""
        known = self.value("program")
        return int(known * 2**30) if known else int(self.hbm_bytes_per_device * HBM_SHARE)

    @property
    def matrix_unit(self) -> int:
        """Rows and columns of one matrix unit: 128 or 256."""
        return int(self.figures["matrix_unit"].value)

    @property
    def devices_per_chip(self) -> int:
        return int(self.figures["devices_per_chip"].value)

    def slice_of(self, chips: int) -> Slice | None:
        return next((one for one in self.slices if one.chips == chips), None)

    def vms_for(self, chips: int) -> int:
        """Machines that *chips* hang off, also for sizes that are several slices or none that is lent."""
        known = self.slice_of(chips)
        most = max((machine.chips for machine in self.machines), default=4)
        return known.vms if known else max(1, -(-chips // min(4, most)))

    def vcpus_for(self, chips: int) -> int:
        """Processors of all machines together."""
        return self.vms_for(chips) * self._machine_for(chips).vcpu

    def ram_bytes_for(self, chips: int) -> int:
        """Memory of one of the machines; 0: not known."""
        return round(self._machine_for(chips).ram_gb * 2**30) if self.machines else 0

    def _machine_for(self, chips: int) -> Machine:
        each = max(1, chips // self.vms_for(chips))
        fitting = [machine for machine in self.machines if machine.chips >= each] or list(self.machines)
        return min(fitting, key=lambda machine: machine.chips)


@dataclass(frozen=True)
class Price:
    """Attributes:
    as_of: The day the price was read (ISO): it may have changed since.
    """

    usd_per_chip_hour: float
    region: str
    tier: str
    as_of: str
    source: str
    confidence: str
    note: str = ""

    def usd_per_hour(self, chips: int) -> float:
        return self.usd_per_chip_hour * chips


def use_of(chips: int, serving_chips: tuple[int, ...]) -> str:
    """``serving`` or ``training``; "" where the generation has one limit for all sizes."""
    return "" if not serving_chips else SERVING if chips in serving_chips else TRAINING


def region_of(zone: str) -> str:
    """us-west4-a → us-west4; a region stays what it is."""
    head, _, tail = zone.rpartition("-")
    return head if head and not tail[-1:].isdigit() else zone


def generation_of(raw: Mapping[str, Any]) -> Generation:
    """One of ``generations.json``. Raises KeyError, TypeError: it lacks something."""
    machine_keys = ("machine_type", "chips", "vcpu", "ram_gb", "confidence")
    serving = tuple(raw["serving_chips"])
    slice_keys = ("accelerator_type", "chips", "topology", "vms", "devices", "confidence", "note")
    return Generation(
        id=raw["id"],
        aliases=tuple(raw["aliases"]),
        offered=raw["offered"],
        status=raw["status"],
        interconnect=raw["interconnect"] or "",
        control_plane=raw["control_plane"] or "",
        api_type=raw["api_type"] or "",
        name_counts=raw["name_counts"] or "",
        max_chips=raw["max_chips"] or 0,
        figures={name: Figure(**figure) for name, figure in raw["figures"].items()},
        machines=tuple(Machine(**{key: one[key] for key in machine_keys}) for one in raw["machine_types"]),
        slices=tuple(
            Slice(raw["id"], **{key: one[key] for key in slice_keys}, use=use_of(one["chips"], serving))
            for one in raw["slices"]
        ),
        zones=tuple(_zone(one) for one in raw["zones"]),
        title=raw.get("title") or raw["id"],
        in_short=raw["in_short"],
        rank=raw["rank"],
        compute_image=raw["compute_image"],
        pods_only=raw.get("pods_only", False),
        priced_chips=raw.get("priced_chips", 1),
        persistent_disk=raw.get("persistent_disk", True),
        compiles=raw["compiles"],
        compiler=raw.get("compiler", {}),
        serving_chips=serving,
        software={
            name: Software(one["state"], one["why"], one["image"], one["runtime"])
            for name, one in raw["software"].items()
        },
        quotas=tuple(QuotaId(raw["id"], **one) for one in raw["quotas"]),
    )


def _zone(raw: Mapping[str, Any]) -> Zone:
    sizes, images = raw.get("sizes"), raw.get("images")
    return Zone(
        raw["zone"],
        raw["min_chips"],
        raw["max_chips"],
        raw["listed"],
        tuple(raw["tiers"]),
        None if sizes is None else tuple(sizes),
        None if images is None else tuple(images),
        raw.get("as_of", ""),
    )
