"""Where else the same could be trained, how long it takes there and what it costs. Pure.

A `Way` is one of: this computer, the free TPU of Colab, each TPU slice of one machine under each kind of loan, one GPU.
The practice cloud is none: it is this computer. Used for the verdict, the alternatives and the advice of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from tpu_studio.domain.catalogue import TIERS, Catalogue
from tpu_studio.domain.generations import HBM_SHARE
from tpu_studio.domain.gpus import gpus_of
from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner import rented
from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.driving import refused
from tpu_studio.planner.estimate import Estimate, plus
from tpu_studio.planner.installing import environment_s
from tpu_studio.planner.own import NOTHING, Mine
from tpu_studio.planner.work import Memory, Work
from tpu_studio.wire import frameworks, loans, places
from tpu_studio.wire.job import Job
from tpu_studio.wire.planparts import Alternative, Range

FREE = Range(0.0, 0.0, 0.0)
GPU = "gpu"  # a way, and no place of the app's
MOST_ALTERNATIVES = 12  # slices and loans; this computer and Colab come on top


@dataclass(frozen=True)
class Way:
    """Attributes:
    place: computer, colab, cloud or gpu.
    tier: "" where there are no kinds of loan.
    cost_usd: None: the price is unknown.
    title: As it is called in a sentence.
    """

    place: str
    accelerator: str
    tier: str
    time_s: Range
    cost_usd: Range | None
    title: str
    measured: bool = False
    zones: tuple[str, ...] = ()

    @property
    def trouble_h(self) -> float:
        """What it asks of a person besides waiting, as hours."""
        if self.place == GPU:
            return assumed.GPU_TROUBLE_H
        return assumed.COLAB_TROUBLE_H if places.by_id(self.place).notebook else 0.0

    @property
    def burden_usd(self) -> float:
        """Money and waiting in one figure, to compare ways."""
        if self.cost_usd is None:
            return float("inf")
        hours = self.time_s.expected / 3600 + self.trouble_h
        return self.cost_usd.expected + hours * assumed.WAIT_USD_PER_HOUR

    def frozen(self) -> Alternative:
        """As a plan carries it."""
        return Alternative(self.place, self.accelerator, self.tier or None, self.time_s, self.cost_usd)


@dataclass(frozen=True)
class Drawn:
    """One plan as far as it is worked out for a place; ``for_devices`` resolves it again for another slice."""

    job: Job
    resolved: Resolved
    work: Work
    memory: Memory
    estimate: Estimate
    fits: bool
    for_devices: Callable[[int], Resolved]
    mine: Mine = NOTHING


@dataclass(frozen=True)
class Comparison:
    """Attributes:
    here: This computer; None where it does not fit into its memory.
    colab: None where it does not fit, or lasts longer than a free session.
    tpus: Slices of one machine that hold it, under each kind of loan, also without a known price.
    """

    here: Way | None
    colab: Way | None
    gpu: Way | None
    tpus: tuple[Way, ...]

    def tpu(self, accelerator: str, tier: str) -> Way | None:
        return next((way for way in self.tpus if (way.accelerator, way.tier) == (accelerator, tier)), None)

    def best_tpu(self, tier: str) -> Way | None:
        """The one of least burden under this kind of loan; None when none has a price."""
        priced = [way for way in self.tpus if way.tier == tier and way.cost_usd]
        return min(priced, key=lambda way: (way.burden_usd, way.accelerator), default=None)

    def alternatives(self) -> tuple[Way, ...]:
        """All but the GPU: those that nothing beats in both time and money first, quickest first; then the rest."""
        ways = [way for way in (self.here, self.colab) if way]
        ways += sorted((way for way in self.tpus if way.cost_usd), key=lambda way: way.burden_usd)[:MOST_ALTERNATIVES]
        best = [way for way in ways if not any(_beats(other, way) for other in ways)]
        return tuple(
            sorted(best, key=lambda way: way.time_s.expected)
            + sorted((way for way in ways if way not in best), key=lambda way: way.time_s.expected)
        )


def compare(here: Drawn, cloud: Drawn, known: Catalogue, own: Way | None = None) -> Comparison:
    """Args:
    here, cloud: The job resolved for this computer and for a TPU.
    known: The catalogue where TPUs are charged.
    own: What is planned on a TPU, with the plan's own figures.
    """
    computer = (
        Way(places.default().id, "cpu", "", here.estimate.time_s, FREE, "this computer", here.estimate.measured)
        if here.fits
        else None
    )
    colab = _colab(cloud, known)
    tpus = []
    if own is not None and places.by_id(own.place).notebook:
        colab = own
    elif own is not None:
        tpus.append(own)
    for way in _tpus(cloud, known):
        if own is None or (way.accelerator, way.tier) != (own.accelerator, own.tier):
            tpus.append(way)
    return Comparison(computer, colab, _gpu(cloud, known), tuple(tpus))


@lru_cache(maxsize=512)
def loan(known: Catalogue, framework: str, accelerator: str, tier: str) -> rented.Rented | None:
    """Zones and price of a slice where it costs least; None where it cannot be had like that."""
    part = known.slice(accelerator)
    if refused(places.charging().id, framework, known, accelerator):
        return None
    if known.possible(part.generation, framework, tier, "", part.chips).state != "documented":
        return None
    values: Mapping[str, object] = {
        "where.place": places.charging().id,
        "where.accelerator": accelerator,
        "where.tier": tier,
        "where.zones": [],
    }
    found = rented.choose(Job().with_values(values), framework, 0, known)
    return None if found.problem else found


@lru_cache(maxsize=8)
def _slices(known: Catalogue) -> tuple[str, ...]:
    """Slices of one machine that the app can rent."""
    return tuple(
        part.accelerator_type
        for one in known.offered()
        if one.control_plane == "cloud-tpu"
        for part in one.slices
        if part.vms == 1
    )


def _tpus(cloud: Drawn, known: Catalogue) -> Iterator[Way]:
    framework = cloud.resolved.job.training.framework
    for accelerator in _slices(known):
        loans = [found for tier in TIERS if (found := loan(known, framework, accelerator, tier))]
        if not loans:
            continue
        resolved = _resolved_for(cloud, loans[0].devices)
        if resolved is None or not _holds(loans[0], cloud.memory):
            continue
        kept = _at(cloud, resolved, loans[0])
        for found in loans:
            time = rented.with_preemptions(kept, resolved, found.tier).time_s
            usd = found.usd_per_hour
            yield Way(
                places.charging().id,
                accelerator,
                found.tier,
                time,
                time.scaled(usd / 3600) if usd else None,
                known.title_of(accelerator),
                zones=found.zones,
            )


def _at(cloud: Drawn, resolved: Resolved, found: rented.Rented) -> Estimate:
    """As if nobody took it back."""
    kept = found if loans.by_id(found.tier).usual else replace(found, tier=loans.usual().word)
    return rented.estimate(resolved, cloud.work, kept, cloud.estimate, Mine(cloud.mine.runs, "", cloud.mine.model))


def _resolved_for(cloud: Drawn, devices: int) -> Resolved | None:
    """None: the batch that was asked for cannot be shared out."""
    resolved = cloud.resolved
    parts = devices * resolved.job.training.accumulate
    if resolved.batch % parts:
        resolved = cloud.for_devices(devices)
    return None if resolved.batch % parts or 0 < resolved.train < resolved.batch else resolved


def _holds(found: rented.Rented, memory: Memory) -> bool:
    return rented.need_bytes(memory, found.devices) <= found.generation.program_bytes


def _colab(cloud: Drawn, known: Catalogue) -> Way | None:
    framework = frameworks.by_id(cloud.resolved.job.training.framework)
    if not framework.leads_on_chip:
        return None
    found = loan(known, framework.id, assumed.COLAB_ACCELERATOR, loans.usual().word)
    if found is None or not _holds(found, cloud.memory):
        return None
    training = _at(cloud, cloud.resolved, found).training_s
    time = plus(assumed.COLAB_SETUP_S, training)
    if time.high > assumed.COLAB_SESSION_S:
        return None
    return Way(places.lending().id, assumed.COLAB_ACCELERATOR, "free", time, FREE, "the free TPU of Colab")


def _gpu(cloud: Drawn, known: Catalogue) -> Way | None:
    """The single GPU of least burden: a share of its peak for the work, and the machine's start."""
    ways = []
    work, resolved = cloud.work, cloud.resolved
    needed = rented.need_bytes(cloud.memory, 1)
    share = assumed.GPU_SHARE * (assumed.GPU_FLOAT32 if resolved.job.training.precision == "float32" else 1.0)
    if found := loan(known, frameworks.for_chips().id, assumed.COLAB_ACCELERATOR, loans.usual().word):
        reached = work.flops * _at(cloud, resolved, found).examples_per_s.expected
        share = min(share, reached / found.generation.peak_bf16_flops)
    for gpu in gpus_of(known):
        peak, usd = gpu.peak_bf16_tflops_per_gpu or gpu.peak_fp16_tflops_per_gpu, gpu.on_demand_usd_per_hour
        if not peak or not usd or gpu.gpus_per_vm != 1 or needed > gpu.memory_gb * 1e9 * HBM_SHARE:
            continue
        expected = work.flops * resolved.batch / (peak * 1e12 * share)
        around, start = assumed.GPU_AROUND, assumed.GPU_STEP_S
        step = plus(Range(expected / around.low, expected, expected / around.high), start)
        setup = plus(plus(rented.BOOT_S, environment_s(frameworks.for_chips().id)), rented.COMPILE_S)
        time = plus(setup, plus(step.scaled(resolved.steps), rented.SAVE_S))
        ways.append(Way(GPU, gpu.id, loans.usual().word, time, time.scaled(usd / 3600), f"one {gpu.name}"))
    return min(ways, key=lambda way: way.burden_usd, default=None)


def _beats(one: Way, other: Way) -> bool:
    """At least as quick and as cheap, and better in one."""
    assert one.cost_usd is not None and other.cost_usd is not None
    a, b = (one.time_s.expected, one.cost_usd.expected), (other.time_s.expected, other.cost_usd.expected)
    return a[0] <= b[0] and a[1] <= b[1] and a != b
