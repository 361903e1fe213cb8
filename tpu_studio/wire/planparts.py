"""What a plan says of memory, price, limits, its estimate and other places. JSON only in `plan.json` (`wire.records`).

What an older version did not write is as nobody knew it then; what a newer one writes besides is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpu_studio.wire.records import Json


@dataclass(frozen=True)
class Range:
    """A figure that is not known exactly: 80 % of outcomes are meant to lie in low…high."""

    low: float
    expected: float
    high: float

    def scaled(self, factor: float) -> Range:
        return Range(self.low * factor, self.expected * factor, self.high * factor)

    def to_json(self) -> dict[str, float]:
        return {"low": self.low, "expected": self.expected, "high": self.high}


@dataclass(frozen=True)
class PlanMemory:
    """Of the fullest device.

    Attributes:
        device_bytes: Needed; *limit_bytes*: there for a program.
        by: Who says so: ``estimate`` or ``tpu-compiler``.
        params: Weights of the model.
        parts: What the needed bytes are the sum of; empty where the compiler refused, and names the whole only.
    """

    device_bytes: int
    limit_bytes: int
    by: str
    fits: bool
    tight: bool
    params: int
    parts: Mapping[str, int]

    @property
    def compiled(self) -> bool:
        return self.by == COMPILER


COMPILER = "tpu-compiler"
NO_MEMORY = PlanMemory(0, 0, "", True, False, 0, {})


@dataclass(frozen=True)
class PlanPrice:
    """Of all chips together.

    Attributes:
        as_of: The day that the price is of; None: the person gave it.
        usd_per_chip_hour, region, tier, confidence: Of a price in Google's list.
    """

    as_of: str | None
    usd_per_hour: float
    source: str = ""
    usd_per_chip_hour: float | None = None
    region: str | None = None
    tier: str | None = None
    confidence: str | None = None

    @property
    def from_job(self) -> bool:
        """It stands in the job, in no list: who wrote the job may have put anything there."""
        return self.source == "given"


@dataclass(frozen=True)
class PlanLimits:
    """What the guardian and the shut-off timers enforce; None: no such limit.

    Attributes:
        wait_hours: For a TPU; *wait_hours_away*: with nobody at a computer, where that is less.
        idle_minutes: Silence of the trainer.
        stops: Who ends the bill: guardian, outside, platform, desktop.
        margin_s: Beyond the limit until a machine is gone; *margin_boot_s*: where it hangs while it starts.
        without_outside_stop: The person goes without the shut-off timer.
    """

    money_usd: float | None
    hours: float | None
    wait_hours: float = 0.0
    wait_hours_away: float | None = None
    idle_minutes: float | None = None
    stops: tuple[str, ...] = ()
    margin_s: float = 0.0
    margin_boot_s: float = 0.0
    without_outside_stop: bool = False

    @property
    def platform(self) -> bool:
        """Google's own limit ends the machine, too."""
        return "platform" in self.stops


NO_LIMITS = PlanLimits(None, None)


@dataclass(frozen=True)
class PlanVerdict:
    """Attributes:
    worth_it: Whether the place that is planned is a sensible one; for practice, the TPU it rehearses.
    instead: computer, colab, gpu or a slice, where that is clearly better than what is planned; else None.
    """

    worth_it: bool
    instead: str | None
    why: str


@dataclass(frozen=True)
class Alternative:
    """Another place for the same job, and what it would take there; *tier* is None where there are no kinds of loan."""

    place: str
    accelerator: str
    tier: str | None
    time_s: Range
    cost_usd: Range | None


@dataclass(frozen=True)
class Basis:
    """What the estimate rests on, to compare what is measured with (``planner.own.record``).

    Attributes:
        traits, workload, own: The planner's own records, which it alone reads again.
        modelled: What the bare model said, without anything learned.
        training_s: Of the training alone, without setting up.
        floor_s: What one step takes at least; *mfu*: model FLOP utilisation. Both of a TPU only.
    """

    traits: Json | None
    workload: Json | None
    modelled: Mapping[str, Range] | None
    flops_per_example: float | None
    bytes: int | None
    timed: bool | None
    own: Json | None
    training_s: Range | None
    floor_s: float | None = None
    mfu: Range | None = None
