"""A run as seen on screen: the fold over its events. Pure; knows no clock, no disk, no words.

The store feeds `apply` with events in the order of their times and keeps the metric points themselves in columns; here
stand the latest and best values, the phases with their times, the speed, the money, and what happened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tpu_studio.wire.events import Event
from tpu_studio.wire.phases import Phase, Status

HAPPENED_AT_MOST = 500
HISTORY_EVERY_S = 5.0
SPEED_WINDOW = 8


@dataclass(frozen=True)
class Happened:
    """One line of "what happened": the kind of the event (or ``best``, ``first-step``) and its facts."""

    t: float
    kind: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class End:
    t: float
    status: Status
    reason: str
    steps: int
    final: Mapping[str, float]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """Seconds since 1970 between which a phase lasted; *end* is None while it lasts. *spent* adds earlier attempts."""

    start: float
    end: float | None = None
    spent: float = 0.0

    def seconds(self, now: float) -> float:
        return self.spent + max(0.0, (now if self.end is None else self.end) - self.start)


@dataclass(frozen=True)
class SpeedReport:
    """Step time of one report, split: *waiting_s* for data, *device_s* computing, the rest of *seconds* is other."""

    t: float
    step: int
    steps: int
    examples: int
    seconds: float
    waiting_s: float
    device_s: float

    @property
    def examples_per_s(self) -> float:
        return self.examples / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class RunView:
    """What is known of a run from its events.

    Attributes:
        steps_planned: Steps in all, extensions included; 0 while unknown.
        last, best: Latest and best value of each metric, with the step of the best.
        loss_history: (t, loss) at least 5 s apart, for "was 0.468 ten minutes ago".
        speeds: The latest reports, oldest first.
        seconds_training, examples: Sums over all reports.
        usd, usd_per_hour, usd_at: Latest money event.
        seen_t: Time of the latest event of any kind.
        rented: It runs on a rented machine.
        machine: What was last seen of it: name, zone, state, created; empty while there is none.
        waiting: Zones asked, since when, why there is no machine yet; empty while there is one.
        attempts: (attempt, time of its first word, step it began at): marks on the one curve.
        unproved: Names of machines that were asked for and not yet proved gone.
        deleting: Names of those whose deletion was asked for.
        uploaded: Bytes done and in all while job and data are uploaded.
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
    loss_history: tuple[tuple[float, float], ...] = ()
    speeds: tuple[SpeedReport, ...] = ()
    seconds_training: float = 0.0
    examples: int = 0
    checkpoint_step: int | None = None
    usd: float = 0.0
    usd_per_hour: float | None = None
    usd_at: float = 0.0
    devices: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    happened: tuple[Happened, ...] = ()
    log_lines: int = 0
    stopping: bool = False
    end: End | None = None
    rented: bool = False
    machine: Mapping[str, Any] = field(default_factory=dict)
    waiting: Mapping[str, Any] = field(default_factory=dict)
    attempts: tuple[tuple[int, float, int], ...] = ()
    unproved: tuple[str, ...] = ()
    deleting: tuple[str, ...] = ()
    uploaded: tuple[int, int] = (0, 0)

    @property
    def settled(self) -> bool:
        """Over, and nothing rented is left: what was made is proved deleted and the receipt is written."""
        return self.end is not None and (not self.rented or self.phase is Phase.DONE)

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

    def time_left_s(self) -> float | None:
        """Seconds the remaining steps take at the present pace, with their share of checks; None when unknown."""
        pace = self.steps_per_s
        if self.over or not pace or not self.steps_planned:
            return None
        return max(0, self.steps_planned - self.step) / pace * self._wall_per_step_time()

    def _wall_per_step_time(self) -> float:
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


def higher_is_better(metric: str) -> bool:
    return metric.endswith(("accuracy", "r2"))


def apply(view: RunView, event: Event) -> RunView:
    """The view after *event*. Unknown kinds, and events whose fields make no sense, only move ``seen_t``."""
    view = replace(view, seen_t=max(view.seen_t, event.t), started_t=view.started_t or event.t)
    fold = _FOLDS.get(event.kind)
    try:
        return fold(view, event) if fold else view
    except (TypeError, ValueError, ArithmeticError):
        return view


def _phase(view: RunView, event: Event) -> RunView:
    try:
        phase = Phase(event.get("phase"))
    except ValueError:
        return view  # a phase of a newer version: kept in the file, not shown
    detail = str(event.get("detail") or "")
    if view.end is not None:
        if phase in (Phase.CLEANING_UP, Phase.DONE):  # after the end comes the proof that nothing is left
            happened = view.happened
            if phase is not view.phase:
                happened = _and(happened, Happened(event.t, "phase", {"phase": phase.value, "detail": detail}))
            return replace(view, phase=phase, detail=detail, happened=happened)
        if event.t <= view.end.t:
            return view  # the desktop declared the end after this was written
        view = replace(view, end=None, stopping=False, speeds=())
    spans = dict(view.spans)
    for known, span in spans.items():
        if span.end is None and known != phase:
            spans[known] = replace(span, end=max(span.start, event.t))
    before = spans.get(phase)
    if before is None or before.end is not None:
        spans[phase] = Span(event.t, None, before.seconds(event.t) if before else 0.0)
    attempt = int(event.get("attempt") or view.attempt or 0)
    happened = view.happened
    if phase != view.phase or phase is Phase.QUEUED:
        happened = _and(happened, Happened(event.t, "phase", {"phase": phase.value, "detail": detail}))
    waiting = view.waiting if phase is Phase.QUEUED else {}
    return replace(view, phase=phase, detail=detail, spans=spans, attempt=attempt, happened=happened, waiting=waiting)


def _metric(view: RunView, event: Event) -> RunView:
    steps = event.get("step")
    if not isinstance(steps, list) or not steps:
        return view
    last, best, happened, history = dict(view.last), dict(view.best), view.happened, view.loss_history
    step = view.step
    for name, values in event.fields.items():
        if name == "step" or not isinstance(values, list) or not values:
            continue
        value = values[-1]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        last[name] = float(value)
        if name == "loss":
            if view.step == 0 and not view.last:
                happened = _and(happened, Happened(event.t, "first-step", {}))
            step = max(step, int(steps[-1]))
            if math.isfinite(value) and (not history or event.t - history[-1][0] >= HISTORY_EVERY_S):
                history = (*history[-400:], (event.t, float(value)))
        if name.startswith("val_") and math.isfinite(value):
            known = best.get(name)
            if known is None or (value > known[0] if higher_is_better(name) else value < known[0]):
                best[name] = (float(value), int(steps[-1]))
                if known is not None:
                    happened = _and(
                        happened,
                        Happened(event.t, "best", {"metric": name, "value": float(value), "step": int(steps[-1])}),
                    )
    return replace(view, step=step, last=last, best=best, happened=happened, loss_history=history)


def _speed(view: RunView, event: Event) -> RunView:
    report = SpeedReport(
        event.t,
        _int(event.get("step")),
        _int(event.get("steps")),
        _int(event.get("examples")),
        _float(event.get("seconds")),
        _float(event.get("waiting_for_data_s")),
        _float(event.get("device_s")),
    )
    return replace(
        view,
        speeds=(*view.speeds[-SPEED_WINDOW + 1 :], report),
        step=max(view.step, report.step),
        seconds_training=view.seconds_training + report.seconds,
        examples=view.examples + report.examples,
    )


def _resume(view: RunView, event: Event) -> RunView:
    step = _int(event.get("step"))
    best = {name: found for name, found in view.best.items() if found[1] <= step}
    return replace(
        view,
        step=step,
        best=best,
        speeds=(),
        attempt=_int(event.get("attempt")) or view.attempt,
        happened=_and(view.happened, Happened(event.t, "resume", {"step": step})),
    )


def _checkpoint(view: RunView, event: Event) -> RunView:
    step = _int(event.get("step"))
    return replace(
        view, checkpoint_step=step, happened=_and(view.happened, Happened(event.t, "checkpoint", {"step": step}))
    )


def _notice(view: RunView, event: Event) -> RunView:
    facts = event.get("facts")
    return replace(
        view,
        happened=_and(
            view.happened,
            Happened(
                event.t,
                "notice",
                {
                    "id": str(event.get("id")),
                    "level": str(event.get("level", "info")),
                    **(facts if isinstance(facts, dict) else {}),
                },
            ),
        ),
    )


def _money(view: RunView, event: Event) -> RunView:
    rate = event.get("usd_per_hour")
    return replace(
        view,
        usd=max(view.usd, _float(event.get("usd"))),
        usd_at=event.t,
        usd_per_hour=max(0.0, _float(rate)) if isinstance(rate, (int, float)) else view.usd_per_hour,
    )


def _device(view: RunView, event: Event) -> RunView:
    return replace(view, devices={**view.devices, _int(event.get("worker")): dict(event.fields)})


def _target(view: RunView, event: Event) -> RunView:
    happened = view.happened
    if view.steps_planned and view.steps_planned != _int(event.get("steps")):
        happened = _and(happened, Happened(event.t, "extended", {"steps": _int(event.get("steps"))}))
    return replace(view, steps_planned=_int(event.get("steps")) or view.steps_planned, happened=happened)


def _log(view: RunView, event: Event) -> RunView:
    return replace(view, log_lines=view.log_lines + 1)


def _control(view: RunView, event: Event) -> RunView:
    stopping = view.stopping or event.get("verb") == "stop"
    return replace(
        view, stopping=stopping, happened=_and(view.happened, Happened(event.t, "control", dict(event.fields)))
    )


def _end(view: RunView, event: Event) -> RunView:
    if view.end is not None and event.t <= view.end.t:
        return view
    try:
        status = Status(event.get("status"))
    except ValueError:
        status = Status.FAILED
    final = event.get("final")
    facts = event.get("facts")
    end = End(
        event.t,
        status,
        str(event.get("reason", "")),
        _int(event.get("steps")) or view.step,
        {
            name: float(value)
            for name, value in (final if isinstance(final, dict) else {}).items()
            if isinstance(value, (int, float))
        },
        {"saved_step": view.checkpoint_step, **(facts if isinstance(facts, dict) else {})},
    )
    spans = {
        phase: replace(span, end=max(span.start, event.t)) if span.end is None else span
        for phase, span in view.spans.items()
    }
    return replace(
        view,
        end=end,
        phase=Phase.CLEANING_UP if view.rented else Phase.DONE,
        detail="",
        spans=spans,
        stopping=False,
        happened=_and(view.happened, Happened(event.t, "end", {"status": status.value, "reason": end.reason})),
    )


def _intent(view: RunView, event: Event) -> RunView:
    name, action = str(event.get("name") or ""), event.get("action")
    if action == "create" and name not in view.unproved:
        happened = _and(view.happened, Happened(event.t, "asked", {"name": name, "zone": event.get("zone")}))
        return replace(view, rented=True, unproved=(*view.unproved, name), happened=happened)
    if action == "delete" and name not in view.deleting:
        return replace(view, rented=True, deleting=(*view.deleting, name))
    return view


def _cloud(view: RunView, event: Event) -> RunView:
    name = str(event.get("name") or "")
    unproved = view.unproved if name in view.unproved else (*view.unproved, name)
    return replace(view, rented=True, unproved=unproved, machine=dict(event.fields))


def _waiting(view: RunView, event: Event) -> RunView:
    return replace(view, rented=True, waiting=dict(event.fields))


def _deleted(view: RunView, event: Event) -> RunView:
    name, happened = str(event.get("name") or ""), view.happened
    if event.get("made"):
        happened = _and(happened, Happened(event.t, "deleted", dict(event.fields)))
    return replace(
        view,
        unproved=tuple(one for one in view.unproved if one != name),
        deleting=tuple(one for one in view.deleting if one != name),
        machine={} if view.machine.get("name") == name else view.machine,
        happened=happened,
    )


def _attempt_over(view: RunView, event: Event) -> RunView:
    number = _int(event.get("attempt"))
    happened = _and(view.happened, Happened(event.t, "attempt-over", dict(event.fields)))
    mark = (number + 1, event.t, view.step)
    return replace(
        view, attempt=max(view.attempt, number + 1), attempts=(*view.attempts, mark), speeds=(), happened=happened
    )


def _again(view: RunView, event: Event) -> RunView:
    mark = (_int(event.get("attempt")), event.t, view.step)
    return replace(view, attempt=max(view.attempt, mark[0]), attempts=(*view.attempts, mark), end=None, speeds=())


def _upload(view: RunView, event: Event) -> RunView:
    return replace(view, rented=True, uploaded=(_int(event.get("done")), _int(event.get("total"))))


def _opened(view: RunView, event: Event) -> RunView:
    return replace(view, rented=True)


_FOLDS = {
    "intent": _intent,
    "cloud": _cloud,
    "waiting": _waiting,
    "deleted": _deleted,
    "attempt-over": _attempt_over,
    "again": _again,
    "upload": _upload,
    "opened": _opened,
    "phase": _phase,
    "metric": _metric,
    "speed": _speed,
    "resume": _resume,
    "checkpoint": _checkpoint,
    "notice": _notice,
    "money": _money,
    "device": _device,
    "log": _log,
    "control": _control,
    "end": _end,
    "target": _target,
}


def _and(happened: tuple[Happened, ...], new: Happened) -> tuple[Happened, ...]:
    return (*happened[-HAPPENED_AT_MOST + 1 :], new)


def _int(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else 0


def _float(value: Any) -> float:
    return (
        float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        else 0.0
    )
