"""The learning rate of every step, and what an extension does to it.

Warm-up grows linearly from zero to the peak over its share of the steps; then a cosine falls to zero (Loshchilov and
Hutter 2017, SGDR, without restarts), or the rate stays. Each extension is a short cosine cycle of its own, from a
peak of `AGAIN` of the first one: a rate that has fallen to nothing would learn nothing, and the full peak would undo
what was learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tpu_studio.wire import families, models
from tpu_studio.wire.plan import Plan

AGAIN = 0.3  # peak of an extension's cycle, as a share of the first peak
AGAIN_WARMUP = 0.05
FLOOR = 0.01  # the cosine ends at this share of its peak: the last steps still count


@dataclass(frozen=True)
class Schedule:
    """Attributes:
    peak: Largest learning rate.
    warmup: Share of the first cycle's steps in which the rate grows.
    cycles: Steps of each cycle: the plan's own, then one per extension.
    factor: Halved by each rollback.
    planned: Cycles that are the plan's own: two where all of a model learns after its last layer did.
    after: Peak of the plan's second cycle, as a share of the first peak.
    """

    peak: float
    warmup: float
    shape: str
    cycles: tuple[int, ...]
    factor: float = 1.0
    planned: int = 1
    after: float = 1.0

    @property
    def steps(self) -> int:
        return sum(self.cycles)

    def rates(self, first: int, count: int) -> npt.NDArray[np.float32]:
        """Learning rates of *count* steps after step *first*."""
        return np.array([self._rate(step) for step in range(first, first + count)], np.float32)

    def extended(self, steps: int) -> Schedule:
        return replace(self, cycles=(*self.cycles, steps))

    def _rate(self, step: int) -> float:
        begin = 0
        for number, length in enumerate(self.cycles):
            if step < begin + length or number == len(self.cycles) - 1:
                return self.factor * self._in_cycle(step - begin, length, number)
            begin += length
        raise AssertionError("a schedule has at least one cycle")

    def _in_cycle(self, place: int, length: int, number: int) -> float:
        extends = number >= self.planned
        again = extends and self.shape == "cosine"
        peak = self.peak * (self.after if number and self.planned > 1 else 1.0) * (AGAIN if again else 1.0)
        share = self.warmup if not extends else AGAIN_WARMUP if again else 0.0
        warm = round(share * length)
        if place < warm:
            return peak * (place + 1) / (warm + 1)
        if self.shape == "constant":
            return peak
        done = (place - warm) / max(1, length - warm)
        return peak * (FLOOR + (1.0 - FLOOR) * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done))))


def extension_steps(epochs: float, steps_per_epoch: float) -> int:
    """Steps of so many more times through the data."""
    return max(1, round(epochs * steps_per_epoch))


def of_plan(plan: Plan) -> Schedule:
    """That of the plan's own steps: in two cycles where all of a model learns after its last layer did."""
    training, after = plan.job.training, 1.0
    cycles: tuple[int, ...] = (plan.steps,)
    if plan.job.model.starts_from and training.freeze == "head-first" and training.unfreeze_at < plan.steps:
        cycles = (training.unfreeze_at, plan.steps - training.unfreeze_at)
        after = families.by_id(models.spec(plan.job.model.id).family).rate_after
    peak, warmup = float(training.learning_rate), float(training.warmup)
    return Schedule(peak, warmup, training.schedule, cycles, planned=len(cycles), after=after)
