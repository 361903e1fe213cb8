"""A run as seen on screen: what is known of it from its events. Pure; knows no clock, no disk, no words.

Here stand the latest and best values, the phases with their times, the speed, the money, the chips, and what happened;
``domain.folding`` makes them of the events. The store keeps the metric points themselves in columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tpu_studio.domain.chips import Chips, Memory, chips_of
from tpu_studio.domain.interruptions import Interruption
from tpu_studio.domain.pace import Pace, SpeedReport
from tpu_studio.domain.profiles import Profile, profile_of
from tpu_studio.wire.phases import Phase, Status

HISTORY_EVERY_S = 5.0


@dataclass(frozen=True)
class Happened:
    """One line of "what happened": the kind of the event (or ``best``, ``first-step``) and its facts."""

    t: float
    kind: str
    facts: Mapping[str, object]


@dataclass(frozen=True)
class End:
    t: float
    status: Status
    reason: str
    steps: int
    final: Mapping[str, float]
    facts: Mapping[str, object]


@dataclass(frozen=True)
class Span:
    """Seconds since 1970 between which a phase lasted; *end* is None while it lasts. *spent* adds earlier attempts."""

    start: float
    end: float | None = None
    spent: float = 0.0

    def seconds(self, now: float) -> float:
        return self.spent + max(0.0, (now if self.end is None else self.end) - self.start)


@dataclass(frozen=True)
class RunView:
    """What is known of a run from its events.

    Attributes:
        steps_planned: Steps in all, extensions included; 0 while unknown.
        last, best: Latest and best value of each metric, with the step of the best.
        bests: Of each metric, the best values in the order in which they came, the present one last: a run that is
            resumed before its best goes back to the one that it had there.
        loss_history: (t, loss) at least 5 s apart, for "was 0.468 ten minutes ago".
        speeds: The latest reports, oldest first.
        pace: What a step takes, of all reports.
        seconds_training, examples: Sums over all reports.
        flops_used: Over the reports that told MFU, the sum of MFU · seconds, and of those seconds.
        usd, usd_per_hour, usd_at: Latest money event.
        usd_between: At least and at most, where no record tells when a machine went; None: *usd* says it all.
        seen_t: Time of the latest event of any kind.
        devices: The latest ``device`` event of each worker of the present attempt.
        busy: Sum and number of the duty cycles told; `memory_most`: used and total bytes of the fullest chip ever seen.
        begun: Times at which training began, and began again when the run was taken up.
        rented: It runs on a rented machine.
        machine: What was last seen of it: name, zone, state, created; empty while there is none.
        waiting: Zones asked, since when, why there is no machine yet; empty while there is one.
        attempts: (attempt, time of its first word, step it began at): marks on the one curve.
        interruptions: Machines that were lost while it went on, oldest first.
        unproved: Names of machines that were asked for and not yet verified gone.
        deleting: Names of those whose deletion was asked for.
        uploaded: Bytes done and in all while job and data are uploaded.
        fetched: Bytes done and in all of what a machine fetches just now.
        profiling: A profile was asked for and is not there yet; *profile_from*: the step it begun at, None before.
        profile: The newest one, as its event tells it; `profile_failed`: why the one asked for last was not made.
    """

    steps_planned: int = 0
    attempt: int = 0
    phase: Phase = Phase.PLANNED
    detail: str = ""
    spans: Mapping[Phase, Span] = field(default_factory=dict)
    started_t: float = 0.0
    seen_t: float = 0.0
    step: int = 0
    last: Mapping[str, float] = field(default_factory=dict)
    best: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    bests: Mapping[str, tuple[tuple[float, int], ...]] = field(default_factory=dict)
    loss_history: tuple[tuple[float, float], ...] = ()
    speeds: tuple[SpeedReport, ...] = ()
    pace: Pace = field(default_factory=Pace)
    seconds_training: float = 0.0
    examples: int = 0
    flops_used: tuple[float, float] = (0.0, 0.0)
    checkpoint_step: int | None = None
    usd: float = 0.0
    usd_per_hour: float | None = None
    usd_at: float = 0.0
    usd_between: tuple[float, float] | None = None
    devices: Mapping[int, Mapping[str, object]] = field(default_factory=dict)
    busy: tuple[float, int] = (0.0, 0)
    memory_most: tuple[float, float] = (0.0, 0.0)
    happened: tuple[Happened, ...] = ()
    log_lines: int = 0
    stopping: bool = False
    end: End | None = None
    begun: tuple[float, ...] = ()
    rented: bool = False
    machine: Mapping[str, object] = field(default_factory=dict)
    waiting: Mapping[str, object] = field(default_factory=dict)
    attempts: tuple[tuple[int, float, int], ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    unproved: tuple[str, ...] = ()
    deleting: tuple[str, ...] = ()
    uploaded: tuple[int, int] = (0, 0)
    fetched: tuple[int, int] = (0, 0)
    profiling: bool = False
    profile_from: int | None = None
    profile: Mapping[str, object] = field(default_factory=dict)
    profile_failed: Mapping[str, object] = field(default_factory=dict)

    @property
    def profiled(self) -> Profile | None:
        return profile_of(self.profile)

    @property
    def settled(self) -> bool:
        """Over, and nothing rented is left: what was made is proved deleted and the receipt is written."""
        return self.end is not None and (not self.rented or self.phase is Phase.DONE)

    @property
    def chips(self) -> Chips:
        """What the workers tell of their TPU chips now."""
        return chips_of(self.devices)

    @property
    def duty_cycle(self) -> float | None:
        """Share of the time in which the TPU computed, 0 to 1, over all that was told so far; None: nothing was."""
        total, number = self.busy
        return total / number if number else None

    @property
    def mfu(self) -> float | None:
        """Model FLOP utilisation, 0 to 1, over the latest reports; when over, over the whole run; None: not told."""
        told = [(report.mfu, report.seconds) for report in self.speeds if report.mfu is not None]
        seconds = sum(each for _, each in told)
        if not self.over and seconds > 0:
            return sum(mfu * each for mfu, each in told) / seconds
        used, seconds = self.flops_used
        return used / seconds if seconds > 0 else None

    @property
    def fullest(self) -> Memory | None:
        """The memory of the fullest chip when it was fullest; None: nothing was told."""
        return Memory(*self.memory_most) if self.memory_most[1] else None

    def forecast_usd(self) -> float | None:
        """What the run will have cost when its remaining steps are done at the present pace; None when unknown."""
        left = self.time_left_s()
        if left is None or self.usd_per_hour is None:
            return None
        return self.usd + left / 3600.0 * self.usd_per_hour

    def usd_now(self, now: float) -> float:
        """Cost so far, carried on from the latest money event while a machine may still be charged."""
        if not self.usd_per_hour or self.settled or (self.rented and not self.unproved):
            return self.usd
        return self.usd + max(0.0, now - self.usd_at) / 3600.0 * self.usd_per_hour

    @property
    def over(self) -> bool:
        return self.end is not None

    @property
    def status(self) -> str:
        """``finished``, ``stopped`` or ``failed`` when over, else the phase."""
        return self.end.status.value if self.end else self.phase.value

    @property
    def progress(self) -> float:
        """Share of the planned steps done, 0 to 1."""
        return min(1.0, self.step / self.steps_planned) if self.steps_planned else 0.0

    @property
    def examples_per_s(self) -> float | None:
        """Over the latest reports; over the whole run when it is over; None before the first report."""
        if self.over and self.seconds_training > 0:
            return self.examples / self.seconds_training
        seconds = sum(report.seconds for report in self.speeds)
        return sum(report.examples for report in self.speeds) / seconds if seconds > 0 else None

    @property
    def steps_per_s(self) -> float | None:
        """Over the latest reports; over the whole run when it is over; None before the first report."""
        steps = sum(report.steps for report in self.speeds)
        examples = sum(report.examples for report in self.speeds)
        if self.over and examples > 0:
            return (self.examples_per_s or 0.0) * steps / examples
        seconds = sum(report.seconds for report in self.speeds)
        return steps / seconds if seconds > 0 else None

    @property
    def waiting_share(self) -> float | None:
        """Share of the step time spent waiting for data, 0 to 1, over the latest reports."""
        seconds = sum(report.seconds for report in self.speeds)
        return sum(report.waiting_s for report in self.speeds) / seconds if seconds > 0 else None

    @property
    def device_share(self) -> float | None:
        seconds = sum(report.seconds for report in self.speeds)
        return sum(report.device_s for report in self.speeds) / seconds if seconds > 0 else None

    def seconds(self, now: float) -> float:
        """Time the run was at work, to its end or to *now*; time between an end and carrying on does not count."""
        return sum(span.seconds(self.end.t if self.end else now) for span in self.spans.values())

    def working_s(self, now: float) -> float:
        """`seconds` without the wait for one's turn on this computer: what the person's limit of time counts."""
        queued = self.spans.get(Phase.QUEUED)
        waited = queued.seconds(self.end.t if self.end else now) if queued is not None and not self.rented else 0.0
        return self.seconds(now) - waited

    @property
    def trained(self) -> bool:
        """No step is to come: it was told to stop, saves its result, or is over."""
        return self.over or self.stopping or self.phase is Phase.SAVING

    def time_left_s(self) -> float | None:
        """Seconds the remaining steps take at the present pace, with their share of checks; None when unknown, or when
        none is to come."""
        pace = self.steps_per_s
        if self.trained or not pace or not self.steps_planned:
            return None
        step_s = self.pace.recent.lasting_s if self.pace.known else 1.0 / pace
        return max(0, self.steps_planned - self.step) * step_s * self.wall_per_step_time()

    def wall_per_step_time(self) -> float:
        """How much longer training lasts than its steps alone: checks on unseen data and copies come between them."""
        span = self.spans.get(Phase.TRAINING)
        if span is None or self.seconds_training < 3.0:  # too early to tell
            return 1.0
        return max(1.0, span.seconds(max(self.seen_t, span.start)) / self.seconds_training)

    def loss_before(self, seconds: float) -> tuple[float, float] | None:
        """(age in s, loss) of the sample nearest to *seconds* before the latest one, if one is old enough."""
        if len(self.loss_history) < 2:
            return None
        latest = self.loss_history[-1][0]
        old = [sample for sample in self.loss_history if latest - sample[0] >= seconds]
        t, loss = old[-1] if old else self.loss_history[0]
        return latest - t, loss
