"""The least time that one optimizer step can take on a slice, whatever the program: nothing is promised below it.

The larger of two bounds: the model's floating-point work at the chips' peak, and what a step must read and write at
least (weights and the optimizer's numbers, each once) at the full rate of the chips' memory.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.generations import Generation, Slice
from tpu_studio.planner.work import FLOAT, Work
from tpu_studio.wire.plan import Plan, Range
from tpu_studio.wire.records import Json, inner, number, whole
from tpu_studio.wire.utilisation import Utilisation


def step_floor_s(generation: Generation, *, flops: float, moved_bytes: float) -> float:
    """Args:
    flops: Of one chip and step.
    moved_bytes: Between one chip and its memory in a step, at least.
    """
    rate = generation.value("hbm_rate")
    return max(flops / generation.peak_bf16_flops, moved_bytes / (rate * 1e9) if rate else 0.0)


def planned_floor_s(
    generation: Generation, part: Slice, work: Work, *, batch: int, optimizer: str, sharded: bool = False
) -> float:
    """By the formulas of *work*: model FLOPs (Chowdhery et al. 2022, PaLM, appendix B), state read and written.

    *sharded*: each chip has its share of the state.
    """
    kept = 3 if optimizer == "adamw" else 2
    moved = 2.0 * kept * FLOAT * work.params / (part.chips if sharded else part.chips / part.devices)
    return step_floor_s(generation, flops=work.model_flops * batch / part.chips, moved_bytes=moved)


def utilisation(generation: Generation, part: Slice, work: Work) -> Utilisation:
    """What MFU on *part* is measured by."""
    return Utilisation(work.model_flops, generation.peak_bf16_flops * part.chips)


def mfu(generation: Generation, part: Slice, work: Work, *, batch: int, step_s: Range) -> Range:
    """Model FLOPs over those that the chips could do in the time of a step, 0 to 1."""
    share = utilisation(generation, part, work).mfu(batch)
    return Range(share / step_s.high, share / step_s.expected, share / step_s.low)


def mfu_bounds(plan: Plan, programs: Json, known: Catalogue) -> dict[str, dict[str, object]]:
    """*programs* of `check`, each with ``mfu_bound``: the utilisation that its own FLOPs and bytes allow at most, low
    where the chip computes and moves one after the other, high where both overlap perfectly; None: cannot be told.
    """
    return {
        name: {**inner(one), "mfu_bound": _mfu_bound(plan, name, inner(one), known)} for name, one in programs.items()
    }


def _mfu_bound(plan: Plan, name: str, program: Json, known: Catalogue) -> list[float] | None:
    rate, told = plan.examples_per_s, plan.basis.mfu if plan.basis else None
    if rate is None or not told or not program.get("flops") or not program.get("bytes_accessed"):
        return None
    part = known.slice(plan.accelerator)
    generation, cores = known.generation(part.generation), part.devices / part.chips
    hbm_rate = generation.value("hbm_rate")
    if not hbm_rate:
        return None
    # What the model's FLOPs alone take at the peak: of a step, and forward only (a third) of an evaluated batch.
    ideal_s = told.expected * plan.job.training.global_batch / rate.expected
    if name != "train":
        ideal_s *= whole(program["batch"]) / plan.job.training.global_batch / 3
    computes = number(program["flops"]) * cores / generation.peak_bf16_flops
    moves = number(program["bytes_accessed"]) * cores / (hbm_rate * 1e9)
    return [min(1.0, ideal_s / (computes + moves)), min(1.0, ideal_s / max(computes, moves))]


def not_below(plan: Plan, program: Json, known: Catalogue) -> Plan:
    """*plan*, promising no more than the compiled training step allows: ``flops`` and ``moved_bytes`` of *program*."""
    basis = plan.basis
    if basis is None or basis.floor_s is None or not program.get("flops") or plan.examples_per_s is None:
        return plan
    part = known.slice(plan.accelerator)
    moved = number(program.get("moved_bytes")) * part.devices / part.chips
    flops = number(program["flops"]) * part.devices / part.chips
    floor = max(basis.floor_s, step_floor_s(known.generation(part.generation), flops=flops, moved_bytes=moved))
    batch, rate = plan.job.training.global_batch, plan.examples_per_s
    basis = replace(basis, floor_s=floor)
    before = Range(batch / rate.high, batch / rate.expected, batch / rate.low)
    if floor <= before.low:
        return replace(plan, basis=basis)
    after = Range(*(max(floor, one) for one in (before.low, before.expected, before.high)))
    longer = [plan.steps * (new - old) for new, old in zip(_three(after), _three(before), strict=True)]
    if (told := basis.mfu) is not None:
        low, high = told.low * before.high / after.high, told.high * before.low / after.low
        basis = replace(basis, mfu=Range(low, told.expected * before.expected / after.expected, high))
    usd_per_s = plan.price.usd_per_hour / 3600 if plan.price else 0.0
    return replace(
        plan,
        examples_per_s=Range(batch / after.high, batch / after.expected, batch / after.low),
        time_s=_later(plan.time_s, longer, 1.0),
        cost_usd=_later(plan.cost_usd, longer, usd_per_s),
        basis=basis,
    )


def _later(value: Range | None, longer: list[float], each: float) -> Range | None:
    return Range(*(a + each * b for a, b in zip(_three(value), longer, strict=True))) if value else None


def _three(value: Range) -> tuple[float, float, float]:
    return value.low, value.expected, value.high
