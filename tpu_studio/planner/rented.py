"""A rented TPU for a plan: which slice, which zones, at what price, how long it takes there. Pure.

``auto`` is the cheapest slice of one machine that holds the model, in the region where it costs least. Prices are the
catalogue's dated ones, or live ones that are handed in; unknown stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import Catalogue, chips
from tpu_studio.domain.generations import Generation, Price, Slice, region_of
from tpu_studio.domain.standing import standing_of
from tpu_studio.planner import areas
from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner.assumptions import SPOT_LASTS_H, spot_time
from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.estimate import Estimate, learned, plus
from tpu_studio.planner.floor import mfu, planned_floor_s
from tpu_studio.planner.installing import environment_s
from tpu_studio.planner.own import NOTHING, Mine
from tpu_studio.planner.own.likeness import Traits
from tpu_studio.planner.throughput import Throughput, Workload
from tpu_studio.planner.throughput import estimate as throughput
from tpu_studio.planner.work import Memory, Work
from tpu_studio.wire import frameworks, kinds, loans, places
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.planparts import PlanPrice, Range
from tpu_studio.wire.reading import decoding_processes

BOOT_S = Range(90.0, 180.0, 420.0)  # from the node's creation to the guardian's first word
COMPILE_S = Range(10.0, 30.0, 120.0)
SAVE_S = Range(5.0, 15.0, 60.0)
PRACTICE_SETUP_S = Range(4.0, 10.0, 40.0)  # a practice machine is a process on this computer
NO_TIME = Range(0.0, 0.0, 0.0)
PRACTICE_HOURS_LEAST = 0.5
PRACTICE_LIMIT_WHY = (
    "Half an hour at least: a practice machine trains on this computer, which may be busy, and nothing is charged"
)


@dataclass(frozen=True)
class Rented:
    """Attributes:
    known: The catalogue that it was chosen from.
    zones: In the order in which they are asked; all of one region.
    price: None: unknown.
    reasons: `table.key` → why.
    problem: Id of what is wrong with the choice, "" when nothing is; with its words.
    backend: Who lends it, as ``where.backend`` spells it.
    usd_by_region: What it costs an hour in each region, where they differ; the price is the dearest.
    """

    known: Catalogue
    slice: Slice
    zones: tuple[str, ...]
    tier: str
    price: Price | None
    reasons: dict[str, str]
    problem: str = ""
    why: str = ""
    backend: str = ""
    usd_by_region: tuple[tuple[str, float], ...] = ()

    @property
    def usd_per_hour(self) -> float | None:
        return None if self.price is None else self.price.usd_per_hour(self.slice.chips)

    @property
    def generation(self) -> Generation:
        return self.known.generation(self.slice.generation)

    @property
    def title(self) -> str:
        """`v5e · 8 chips`"""
        return self.known.title_of(self.slice.accelerator_type)

    @property
    def devices(self) -> int:
        return self.slice.devices

    @property
    def region(self) -> str:
        return region_of(self.zones[0]) if self.zones else ""


def choose(job: Job, framework: str, need_bytes: int, known: Catalogue) -> Rented:
    """Args:
    need_bytes: What one device has to hold: weights, optimizer, activations of its share.

    Raises:
        BadInput: ``slice-unknown``, ``generation-unknown``.
    """
    tier, place = job.where.tier, job.where.place
    given = list(job.where.zones)
    reasons: dict[str, str] = {}
    if job.where.accelerator == AUTO:
        lender = job.where.backend or "tpu-api"
        part, fits = _smallest(known, framework, tier, given, place, need_bytes, lender)
        reasons["where.accelerator"] = (
            f"The cheapest TPU that holds the model{areas.of_those(known, part, tier)}: {chips(part.chips)} with "
            f"{figures.size(known.generation(part.generation).program_bytes)} for a program on each."
            if fits
            else "The largest TPU of one machine; the model may not fit."
        )
    else:
        part = known.slice(job.where.accelerator)
    verdict = known.possible(part.generation, framework, tier, given[0] if given else "", part.chips)
    zones = tuple(given) or areas.areas(known, part, tier, place)
    if not given and zones:
        reasons["where.zones"] = areas.why(known, part, tier, zones)
    price = _dearest(known, part, zones, tier)
    problem, why = ("", "") if verdict.possible else ("accelerator-impossible", verdict.why)
    if not zones and not problem:
        problem, why = "accelerator-impossible", f"No zone lends {known.title_of(part.accelerator_type)} as {tier}."
    backend = _backend(job, known, part)
    if not backend and not problem:
        problem, why = "accelerator-impossible", _not_lent(job, known, part)
    regions = _by_region(known, part, zones, tier)
    return Rented(known, part, zones, tier, price, reasons, problem, why, backend, regions)


def _dearest(known: Catalogue, part: Slice, zones: Sequence[str], tier: str) -> Price | None:
    """Of all areas that may be asked: the cap holds wherever it comes from. None: one of them has no known price."""
    prices = [known.price(part.generation, part.chips, zone, tier) for zone in zones]
    found = [price for price in prices if price is not None]
    return max(found, key=lambda price: price.usd_per_chip_hour) if found and len(found) == len(prices) else None


def likeliest(rented: Rented) -> Price | None:
    """Where the list has no price for one of the areas: the dearest of the others, else of this tier anywhere, else of
    any. A job that names an area which nobody knows gets no say in the price by it. None: this TPU has no price."""
    return _likeliest(rented.known, rented.slice, rented.zones, rented.tier)


def _likeliest(known: Catalogue, part: Slice, zones: Sequence[str], tier: str) -> Price | None:
    here = [known.price(part.generation, part.chips, zone, tier) for zone in zones]
    tiers = [known.prices(part.generation, part.chips, loan.word) for loan in loans.LOANS]
    choices = (here, known.prices(part.generation, part.chips, tier), [one for some in tiers for one in some])
    told = ([one for one in some if one is not None] for some in choices)
    return next((max(some, key=lambda price: price.usd_per_chip_hour) for some in told if some), None)


def _by_region(known: Catalogue, part: Slice, zones: Sequence[str], tier: str) -> tuple[tuple[str, float], ...]:
    regions = dict.fromkeys(region_of(zone) for zone in zones)
    prices = {region: known.price(part.generation, part.chips, region, tier) for region in regions}
    if len(regions) < 2 or None in prices.values():
        return ()
    return tuple((region, price.usd_per_hour(part.chips)) for region, price in prices.items() if price is not None)


def _backend(job: Job, known: Catalogue, part: Slice) -> str:
    """Whom *part* is rented from; "": nobody lends it to us like that."""
    lenders, wanted = known.lenders(part), job.where.backend
    return next((one for one in lenders if wanted in (None, one)), "")


def _not_lent(job: Job, known: Catalogue, part: Slice) -> str:
    if job.where.backend == "tpu-api":
        return f"The Cloud TPU API does not lend {part.generation}: Compute Engine does."
    if known.generation(part.generation).compute_image:
        size = part.accelerator_type
        return f"Compute Engine lends {part.generation} to TPU Studio as single machines, and {size} is several."
    return f"Compute Engine does not lend {part.generation}: leave where.backend away."


@dataclass(frozen=True)
class _Lent:
    """A slice of one machine that can be had. *usd*: an hour, infinite where unknown; *doubt*: see `areas.doubt`."""

    part: Slice
    program_bytes: int
    usd: float
    doubt: int


@lru_cache(maxsize=64)
def _lent(
    known: Catalogue, framework: str, tier: str, zones: tuple[str, ...], place: str, backend: str
) -> tuple[_Lent, ...]:
    """Those of least doubt first."""
    found = []
    for one in known.offered():
        if not known.possible(one.id, framework, tier).possible or not known.drives(one.id, framework):
            continue
        for part in one.slices:
            places = [zone for zone in zones if known.possible(one.id, "", tier, zone, part.chips).possible]
            if part.vms != 1 or (zones and not places) or backend not in known.lenders(part):
                continue
            where = tuple(places) or areas.areas(known, part, tier, place)
            if not where:
                continue
            price = known.price(one.id, part.chips, where[0], tier)
            usd = price.usd_per_hour(part.chips) if price else math.inf
            found.append(_Lent(part, one.program_bytes, usd, areas.doubt(standing_of(known), part, tier, where)))
    return tuple(sorted(found, key=lambda one: one.doubt))


def _smallest(
    known: Catalogue, framework: str, tier: str, zones: Sequence[str], place: str, need_bytes: int, backend: str
) -> tuple[Slice, bool]:
    """The cheapest slice of one machine whose devices hold *need_bytes*; else the one with the most memory."""
    lent = _lent(known, framework, tier, tuple(zones), place, backend)
    fitting = [one for one in lent if one.program_bytes >= need_bytes]
    if fitting:
        return min(fitting, key=lambda one: (one.doubt, one.usd, one.part.chips)).part, True
    if not lent:
        return known.slice("v5litepod-1"), False
    most = max(lent, key=lambda one: (known.generation(one.part.generation).hbm_bytes_per_device, one.part.chips))
    return most.part, False


def need_bytes(memory: Memory, devices: int) -> int:
    """Of one device in data-parallel training: everything but the batch is there on each."""
    return memory.on_device(devices)


def estimate(
    resolved: Resolved,
    work: Work,
    rented: Rented,
    here: Estimate,
    mine: Mine = NOTHING,
    *,
    sharded: bool = False,
    brought: Range = NO_TIME,
) -> Estimate:
    """Time on the slice, from the node's creation to its deletion: that is what is charged.

    On the practice cloud the machine is a process on this computer: the steps take what they take *here*.

    Args:
        mine: Runs of before; those at the same kind of place correct what the model says.
        sharded: Each chip holds its share of weights and optimizer.
        brought: Seconds until what the model begins from is there.
    """
    if places.by_id(resolved.job.where.place).rehearses:
        why = "The practice machine trains on this computer's processor, so it takes as long as here."
        if here.lesson:
            why = f"{here.lesson.words} The practice machine is this computer's processor."
        return replace(here, setup_s=plus(plus(PRACTICE_SETUP_S, brought), here.setup_s), why=why)
    workload = workload_of(resolved, work, rented)
    answer = _throughput(workload, rented.known)
    assert answer.step_time_s is not None
    installing = environment_s(resolved.job.training.framework)
    modelled = {"step_s": answer.step_time_s, "setup_s": installing, "compile_s": COMPILE_S}
    traits = traits_of(resolved, work, rented.devices, workload, mine)
    lesson = mine.runs.correct("step_s", traits, answer.step_time_s)
    if lesson:
        answer = answer.with_step(lesson.seconds)
    unit = float(resolved.job.data.sequence_length) if answer.unit == "token" else 1.0
    chip = answer.units_per_s.scaled(1.0 / unit)
    host = _read_rate(resolved, rented)
    per_s = Range(*(min(a, b) for a, b in zip(_three(chip), _three(host), strict=True))) if host else chip
    waiting = max(0.0, 1.0 - host.expected / chip.expected) if host else 0.0
    optimizer = resolved.job.training.optimizer
    least = planned_floor_s(
        rented.generation, rented.slice, work, batch=resolved.batch, optimizer=optimizer, sharded=sharded
    )
    step = Range(*(max(least, resolved.batch / rate) for rate in (per_s.high, per_s.expected, per_s.low)))
    per_s = Range(*(resolved.batch / one for one in (step.high, step.expected, step.low)))
    rounds = max(1.0, resolved.steps / max(1, resolved.job.training.evaluate_every))
    checking = step.scaled(rounds * resolved.validation / max(1, resolved.batch) / 3.0)
    training = plus(plus(step.scaled(resolved.steps), checking), SAVE_S)
    environment, compiling = (learned(mine.runs, name, traits, modelled[name]) for name in ("setup_s", "compile_s"))
    setup = plus(plus(plus(BOOT_S, brought), environment), compiling)
    why = f"From published measurements of similar work on {rented.slice.generation}; limited by {answer.limited_by}."
    if lesson:
        why = f"{lesson.words} Beside them, published measurements of similar work; limited by {answer.limited_by}."
    if waiting:
        why = (
            f"Reading a picture took {1000.0 * (resolved.read_s or 0.0):.2g} ms on one core here; read as fast "
            f"there, the TPU waits {figures.share(waiting)} of the time."
        )
    share = mfu(rented.generation, rented.slice, work, batch=resolved.batch, step_s=step)
    made = Estimate(per_s, setup, training, False, why, waiting, modelled, lesson, least, share)
    return with_preemptions(made, resolved, rented.tier)


def _read_rate(resolved: Resolved, rented: Rented) -> Range | None:
    """Pictures a second that the slice's machines can read while it trains; None where nothing is read or known."""
    if resolved.read_s is None:
        return None
    vms = rented.slice.vms
    cores = max(1, rented.generation.vcpus_for(rented.slice.chips) // vms)
    one = decoding_processes(cores) * vms / resolved.read_s
    return assumed.READING_TOGETHER.scaled(one)


def _three(value: Range) -> tuple[float, float, float]:
    return value.low, value.expected, value.high


@lru_cache(maxsize=256)
def _throughput(workload: Workload, known: Catalogue) -> Throughput:
    """Asked again for the same work with each edit that changes something else."""
    return throughput(workload, known)


def with_preemptions(found: Estimate, resolved: Resolved, tier: str) -> Estimate:
    """On spot also what is trained again after the machine was taken back, as often as `assumptions` has it."""
    if not loans.by_id(tier).spare:
        return found
    interval_s = resolved.job.training.checkpoint_every * resolved.batch / found.examples_per_s.expected
    why = f"{found.why} Counts on Google taking the machine back every {SPOT_LASTS_H.expected:.0f} hours."
    return replace(found, training_s=spot_time(found.training_s, found.setup_s, interval_s), why=why)


def workload_of(resolved: Resolved, work: Work, rented: Rented) -> Workload:
    length = resolved.job.data.sequence_length if resolved.rule.reads_tokens else None
    pictures = kinds.by_id(resolved.job.data.kind).has_pictures
    return Workload(
        generation=rented.slice.generation,
        chips=rented.slice.chips,
        family=resolved.rule.throughput,
        params=float(work.params),
        flops_per_unit_train=work.flops / (length or 1),
        precision=resolved.job.training.precision,
        unit="token" if resolved.rule.reads_tokens else "image" if pictures else "example",
        sequence_length=length,
        image_size=resolved.job.data.image_size if pictures else None,
        global_batch=resolved.batch,
        framework=resolved.job.training.framework,
    )


def traits_of(resolved: Resolved, work: Work, devices: int, workload: Workload | None, mine: Mine) -> Traits:
    """What own runs are compared by. *workload*: None on a processor, also a practice machine's."""
    job = resolved.job
    pictures, text = kinds.by_id(job.data.kind).has_pictures, resolved.rule.reads_tokens
    chips = workload.chips if workload and workload.chips else devices
    return Traits(
        place=job.where.place,
        generation=(workload.generation or "") if workload else "",
        framework=job.training.framework,
        precision=job.training.precision,
        family=resolved.family,
        model=mine.model or str(job.model.name),
        batch_per_chip=resolved.batch / chips,
        chips=chips,
        params=float(max(1, work.params)),
        length=float(job.data.sequence_length if text else job.data.image_size if pictures else 1) or 1.0,
        per_call=job.training.steps_per_call,
        key=mine.key,
    )


def start_s(place: str) -> float:
    """Seconds from a machine's creation to its first step, at best."""
    return (
        PRACTICE_SETUP_S.low
        if places.by_id(place).rehearses
        else BOOT_S.low + environment_s(frameworks.for_chips().id).low + COMPILE_S.low
    )


def usd_of(hours: float, usd_per_hour: float) -> float:
    """What *hours* cost, in whole cents upwards."""
    return math.ceil(hours * usd_per_hour * 100.0) / 100.0


def cents_up(usd: float) -> float:
    return math.ceil(round(usd * 100.0, 6)) / 100.0


def listed_usd_per_hour(plan: Plan, known: Catalogue) -> float | None:
    """What the machine of *plan* costs an hour by the list in *known*: as `likeliest` has it; None: unknown.

    Raises BadInput: no such machine is known."""
    wanted = known.slice(plan.accelerator)
    price = _likeliest(known, wanted, plan.job.where.zones, plan.job.where.tier)
    return None if price is None else price.usd_per_hour(wanted.chips)


def price_of(rented: Rented, given_usd: float | None, *, charges: bool) -> PlanPrice | None:
    """As plans carry it.

    Args:
        given_usd: A price per hour that the job itself gives. A job may be a stranger's, or may have been rehearsed.
        charges: For money: then the job's price may only be dearer than the list's, so that the cap holds, and an area
            without a price is counted as the others are.
    """
    price = (rented.price or likeliest(rented)) if charges else rented.price
    listed = 0.0 if price is None else round(price.usd_per_hour(rented.slice.chips), 6)
    if given_usd and (not charges or given_usd >= listed):
        return PlanPrice(None, given_usd, "given")
    if price is None:
        return None
    return PlanPrice(
        as_of=price.as_of,
        usd_per_hour=listed,
        source=price.source,
        usd_per_chip_hour=price.usd_per_chip_hour,
        region=price.region,
        tier=price.tier,
        confidence=price.confidence,
    )
