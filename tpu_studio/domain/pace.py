"""What a step of a run really takes, from its speed reports; part of the fold (`domain.run`). Pure.

Left out is what is no ordinary step: the report in which a program was compiled, and the first one of each attempt. The
middle one of the reports counts, each as often as it has steps, so that a stall here or there moves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

ENOUGH_STEPS = 50  # after so many a measured pace stands in place of the estimate
MOST_REPORTS = 96  # then neighbours are put together, so that a long run costs no more than a short one
LATEST = 32  # reports by which it is judged how the run goes on
STALLS_AT_MOST = 1.25  # what lasts beyond this share of a usual step was no part of training: a computer asleep
_TENTHS = 2.5631031310892007  # standard deviations of a normal between its lowest and its highest tenth


@dataclass(frozen=True)
class SpeedReport:
    """Step time of one report, split: *waiting_s* for data, *device_s* computing, the rest of *seconds* is other.

    *mfu*: Model FLOP utilisation, 0 to 1; None where none is told (``wire.utilisation``).
    """

    t: float
    step: int
    steps: int
    examples: int
    seconds: float
    waiting_s: float
    device_s: float
    mfu: float | None = None

    @property
    def examples_per_s(self) -> float:
        return self.examples / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Steps:
    """Some steps that followed each other, and the seconds they took in all."""

    steps: int
    seconds: float
    waiting_s: float
    device_s: float

    @property
    def step_s(self) -> float:
        return self.seconds / self.steps


@dataclass(frozen=True)
class Pace:
    """Attributes:
    measured: Ordinary steps of the whole run, oldest first.
    latest: The last of them as they were reported.
    compiles: Programs compiled so far, as the latest report told.
    warm: The first report of this attempt is over.
    known_t: When `ENOUGH_STEPS` were first measured; 0 before.
    """

    measured: tuple[Steps, ...] = ()
    latest: tuple[Steps, ...] = ()
    compiles: int = 0
    warm: bool = False
    known_t: float = 0.0

    @property
    def steps(self) -> int:
        return sum(one.steps for one in self.measured)

    @property
    def known(self) -> bool:
        return self.known_t > 0

    def after(self, report: SpeedReport, compiles: int) -> Pace:
        """With one report more."""
        if report.steps <= 0 or not report.seconds > 0:
            return replace(self, compiles=max(self.compiles, compiles))
        if not self.warm or compiles > self.compiles:
            return replace(self, warm=True, compiles=max(self.compiles, compiles))
        device_s = min(max(0.0, report.device_s), report.seconds)
        waiting_s = min(max(0.0, report.waiting_s), report.seconds)
        steps = Steps(report.steps, report.seconds, waiting_s, device_s)
        measured, latest = (*self.measured, steps), (*self.latest[-LATEST + 1 :], steps)
        made = replace(self, latest=latest, measured=_thinned(measured) if len(measured) > MOST_REPORTS else measured)
        return replace(made, known_t=report.t) if not self.known and made.steps >= ENOUGH_STEPS else made

    def begun_anew(self) -> Pace:
        """Another attempt: its program is compiled and warms up again."""
        return replace(self, warm=False, compiles=0)

    @property
    def recent(self) -> Pace:
        """Of the latest reports only."""
        return replace(self, measured=self.latest)

    @property
    def step_s(self) -> float:
        """Seconds of a usual step: the median. 0 while nothing is measured."""
        return quantile([(one.step_s, one.steps) for one in self.measured], 0.5)

    @property
    def lasting_s(self) -> float:
        """Seconds of a step on average, stalls included, within `STALLS_AT_MOST` of a usual one."""
        usual, steps = self.step_s, self.steps
        mean = sum(one.seconds for one in self.measured) / steps if steps else 0.0
        return min(max(usual, mean), STALLS_AT_MOST * usual)

    @property
    def spread(self) -> float:
        """How far reports lie from each other: standard deviation of the logarithm of their step times."""
        told = [(one.step_s, one.steps) for one in self.measured]
        low, high = quantile(told, 0.1), quantile(told, 0.9)
        return math.log(high / low) / _TENTHS if low > 0 else 0.0

    @property
    def waiting_share(self) -> float:
        """Share of a usual step that waits for data, 0 to 1."""
        return quantile([(one.waiting_s / one.seconds, one.steps) for one in self.measured], 0.5)

    @property
    def device_share(self) -> float:
        """Share of a usual step that computes, 0 to 1."""
        return quantile([(one.device_s / one.seconds, one.steps) for one in self.measured], 0.5)


def quantile(weighted: Sequence[tuple[float, float]], share: float) -> float:
    """The value below which *share* of the weights lies, of (value, weight); 0 of nothing."""
    ordered = sorted(weighted)
    left = share * sum(weight for _, weight in ordered)
    for value, weight in ordered:
        left -= weight
        if left <= 0:
            return value
    return ordered[-1][0] if ordered else 0.0


def _thinned(measured: tuple[Steps, ...]) -> tuple[Steps, ...]:
    """Every two neighbours as one."""
    pairs = [measured[at : at + 2] for at in range(0, len(measured), 2)]
    return tuple(
        Steps(
            sum(one.steps for one in pair),
            sum(one.seconds for one in pair),
            sum(one.waiting_s for one in pair),
            sum(one.device_s for one in pair),
        )
        for pair in pairs
    )
