"""The answer of `estimate`: how fast a described workload runs on a described slice, and what holds it back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.generations import Generation
from tpu_studio.planner.throughput.families import UNKNOWN, family_of
from tpu_studio.planner.throughput.model import NEAR_PEAK, Parameters, Prediction, predict, shipped
from tpu_studio.planner.throughput.terms import size
from tpu_studio.planner.throughput.workload import Notice, Workload, precision_of
from tpu_studio.wire.plan import Range


@dataclass(frozen=True)
class Throughput:
    """Attributes:
    unit: What the rate counts.
    limited_by: compute, memory, network, input or overhead.
    step_time_s: Of one step; None where the batch is unknown.
    notices: What the answer had to take for granted.
    """

    units_per_s: Range
    mfu: Range
    limited_by: str
    unit: str
    step_time_s: Range | None
    notices: tuple[Notice, ...] = ()

    def with_step(self, step: Range) -> Throughput:
        """As if a step took that long; nothing comes nearer to the chips' peak than `NEAR_PEAK`."""
        before = self.step_time_s
        if before is None:
            return self
        most = max(NEAR_PEAK, self.mfu.high)
        faster = (before.high / step.high, before.expected / step.expected, before.low / step.low)
        mfu = [min(most, one * by) for one, by in zip(_three(self.mfu), faster, strict=True)]
        by = [new / old for new, old in zip(mfu, _three(self.mfu), strict=True)]
        rate = Range(*(one * times for one, times in zip(_three(self.units_per_s), by, strict=True)))
        slower = Range(before.low / by[2], before.expected / by[1], before.high / by[0])
        return replace(self, units_per_s=rate, mfu=Range(*mfu), step_time_s=slower)

    def to_json(self) -> dict[str, Any]:
        return {
            "units_per_s": self.units_per_s.to_json(),
            "mfu": self.mfu.to_json(),
            "limited_by": self.limited_by,
            "unit": self.unit,
            "step_time_s": self.step_time_s.to_json() if self.step_time_s else None,
            "notices": [notice.to_json() for notice in self.notices],
        }


def estimate(
    workload: Workload, catalogue: Catalogue, parameters: Parameters | None = None, notices: Sequence[Notice] = ()
) -> Throughput:
    """Args:
    parameters: Default: those that came with the program.
    notices: What reading the workload told already; they come first in the answer.
    """
    fitted = parameters or shipped()
    generations = [catalogue.generation(workload.generation)] if workload.generation else catalogue.offered()
    sized = [size(replace(workload, generation=one.id), catalogue) for one in generations]
    predictions = [predict(one, fitted) for one in sized]
    likely = predictions[len(predictions) // 2]
    told = [*notices, *_doubts(workload, generations)]
    rate = _widest([one.units_per_s for one in predictions])
    step = None
    if workload.global_batch is not None:
        units = workload.global_batch * (workload.sequence_length or 0 if sized[0].unit == "token" else 1)
        step = Range(units / rate.high, units / rate.expected, units / rate.low) if units else None
    return Throughput(
        rate, _widest([one.mfu for one in predictions]), _limit(predictions, likely), sized[0].unit, step, tuple(told)
    )


def _three(value: Range) -> tuple[float, float, float]:
    return value.low, value.expected, value.high


def _widest(ranges: Sequence[Range]) -> Range:
    """One range over all; expected in the middle of their logarithms."""
    middle = math.exp(sum(math.log(one.expected) for one in ranges) / len(ranges))
    return Range(min(one.low for one in ranges), middle, max(one.high for one in ranges))


def _limit(predictions: Sequence[Prediction], likely: Prediction) -> str:
    told = [one.limited_by for one in predictions]
    return max(told, key=lambda limit: (told.count(limit), limit == likely.limited_by))


def _doubts(workload: Workload, generations: Sequence[Generation]) -> list[Notice]:
    """What the numbers themselves make doubtful."""
    doubts = []
    one = generations[0] if workload.generation else None
    if workload.chips is None:
        doubts.append(Notice("workload-chips-assumed", {"chips": generations[0].slices[0].chips}))
    elif one is not None and not _is_slices(one, workload.chips):
        sizes = [part.chips for part in one.slices]
        doubts.append(Notice("workload-not-a-slice", {"chips": workload.chips, "generation": one.id, "sizes": sizes}))
    family = family_of(workload.family)
    if workload.params is None and workload.flops_per_unit_train is None:
        doubts.append(Notice("workload-size-assumed", {"params": family.params, "family": family.name}))
    if family is UNKNOWN and workload.unit is None:
        doubts.append(Notice("workload-unit-assumed", {"unit": family.unit}))
    if one is not None and precision_of(workload.precision) in ("int8", "fp8"):
        precision = precision_of(workload.precision) or ""
        if one.peak_flops(precision) <= one.peak_bf16_flops:
            doubts.append(Notice("workload-precision-not-faster", {"precision": precision, "generation": one.id}))
    return doubts


def _is_slices(generation: Generation, chips: int) -> bool:
    """A slice that is lent, or several equal ones joined over the data-centre network."""
    if generation.slice_of(chips):
        return True
    return any(chips % part.chips == 0 and chips > generation.max_chips // 2 for part in generation.slices[-3:])
