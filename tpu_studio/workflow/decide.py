"""What to do with a run, decided from what is known of it. Pure: no disk, no clock, no processes.

``runs`` gathers the facts, asks here, acts and records. Refusals are raised as RunError with an id and facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tpu_studio.domain.run import RunView
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.job import check
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.schema import BY_PATH
from tpu_studio.wire.stops import MOST_HOURS

_TRAINS_S = 60.0
_MOST_HOURS = float(BY_PATH["limits.hours"].maximum or MOST_HOURS)


@dataclass(frozen=True)
class Seen:
    """What is known of a run at one moment.

    Attributes:
        attempt: Highest attempt there is; 0 when none was ever claimed.
        alive: Its guardian lives.
        elsewhere: The latest claim was made on another computer, and the folder was not brought here by an import.
        over: Its events say that it has ended.
        reason: Why, when over.
        has_checkpoint: A committed checkpoint is there.
        used_s: Seconds that all attempts took.
        rented: On a rented machine; alive until it is verified gone.
        unwatched: Some of what it has used may have been used while nobody looked, and counts for that.
        start_s: What a machine of it takes to its first step, at best.
    """

    run: str
    attempt: int = 0
    alive: bool = False
    elsewhere: bool = False
    over: bool = False
    reason: str = ""
    has_checkpoint: bool = False
    used_s: float = 0.0
    usd: float = 0.0
    limit_hours: float | None = None
    limit_usd: float | None = None
    plan_hours: float | None = None
    plan_steps: int = 1
    steps_per_epoch: float = 1.0
    rented: bool = False
    usd_per_hour: float | None = None
    start_s: float = 0.0
    unwatched: bool = False


@dataclass(frozen=True)
class SendControl:
    """Write one control file for the guardian that lives."""

    record: dict[str, Any]


@dataclass(frozen=True)
class NewAttempt:
    """Write the control files, then start the next attempt."""

    attempt: int
    controls: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class DeclareLost:
    """Nobody guards it and it never said its end: write that end."""

    attempt: int
    reason: Reason


def stop(seen: Seen, keep: bool) -> SendControl | DeclareLost:
    if seen.over:
        raise RunError("run-is-over", run=seen.run, reason=seen.reason)
    if seen.elsewhere:
        raise RunError("run-elsewhere", run=seen.run)
    if not seen.alive:
        return DeclareLost(seen.attempt, Reason.GUARDIAN_GONE)
    return SendControl({"verb": "stop", "keep": keep, "attempt": seen.attempt})


def profile(seen: Seen, view: RunView) -> SendControl:
    """A profile of some steps that are being made now; one at a time.

    Raises:
        RunError: ``run-is-over``, ``run-elsewhere``, ``profile-stopping``, ``profile-under-way``,
            ``profile-not-training``.
    """
    if seen.over or not seen.alive:
        raise RunError("run-is-over", run=seen.run, reason=seen.reason)
    if seen.elsewhere:
        raise RunError("run-elsewhere", run=seen.run)
    if view.trained:
        raise RunError("profile-stopping", run=seen.run)
    if view.profiling:
        raise RunError("profile-under-way", run=seen.run)
    if view.phase is not Phase.TRAINING:
        raise RunError("profile-not-training", run=seen.run, phase=view.phase.value)
    return SendControl({"verb": "profile", "attempt": seen.attempt})


def extend(
    seen: Seen, epochs: float | None, *, hours: float | None = None, money_usd: float | None = None
) -> tuple[SendControl, ...] | NewAttempt:
    """More epochs: told to the guardian that lives, or a new attempt from the last checkpoint.

    The time limit grows with the work, unless *hours* says what it shall be in all; the money cap never moves by
    itself. No *epochs*: only the limits that are given change. Raises JobError for a number that no job could have,
    besides RunError.
    """
    if epochs is None:
        return (_limit(seen, hours, money_usd),)
    if not epochs > 0:
        raise RunError("extend-by-nothing", run=seen.run, epochs=epochs)
    check(BY_PATH["training.epochs"], epochs)
    _check_limits(hours, money_usd)
    if seen.elsewhere:
        raise RunError("run-elsewhere", run=seen.run)
    controls = [
        _limits(_grown_hours(seen, epochs) if hours is None else hours, money_usd),
        {"verb": "extend", "epochs": epochs},
    ]
    controls = [record for record in controls if record]
    if seen.alive and not seen.over:
        _refuse_spent(seen, money_usd, hours)
        return tuple(SendControl(record) for record in controls)
    if seen.alive and seen.rented:
        raise RunError("run-busy", run=seen.run)
    if not seen.has_checkpoint:
        raise RunError("no-checkpoint", run=seen.run, reason=seen.reason)
    _refuse_spent(seen, money_usd, hours)
    return NewAttempt(seen.attempt + 1, tuple(controls))


def _limit(seen: Seen, hours: float | None, money_usd: float | None) -> SendControl:
    """Other limits for a run that goes on."""
    record = _limits(hours, money_usd)
    if not record:
        raise RunError("extend-by-nothing", run=seen.run)
    _check_limits(hours, money_usd)
    if seen.elsewhere:
        raise RunError("run-elsewhere", run=seen.run)
    if seen.over or not seen.alive:
        raise RunError("limits-of-an-ended-run", run=seen.run)
    _refuse_spent(seen, money_usd, hours)
    return SendControl(record)


def resume(seen: Seen, *, hours: float | None = None, money_usd: float | None = None) -> NewAttempt:
    """Go on from the last checkpoint, or from the start where there is none.

    A run that had reached its time limit is granted the plan's hours once more; one that had reached its cost limit
    goes on only with a new one.
    """
    _check_limits(hours, money_usd)
    if seen.elsewhere:
        raise RunError("run-elsewhere", run=seen.run)
    if seen.alive and (not seen.over or seen.rented):
        raise RunError("run-goes-on", run=seen.run)
    if seen.over and seen.reason in (Reason.COMPLETED.value, Reason.EARLY_STOPPED.value):
        raise RunError("run-complete", run=seen.run)
    _refuse_spent(seen, money_usd, hours)
    used = seen.used_s / 3600.0
    limit = hours
    if limit is None and seen.limit_hours is not None and used >= 0.95 * seen.limit_hours:
        limit = used + (seen.plan_hours or seen.limit_hours)
    record = _limits(limit, money_usd)
    return NewAttempt(seen.attempt + 1, (record,) if record else ())


def delete(seen: Seen) -> None:
    """Raises RunError while it goes on."""
    if seen.alive and (not seen.over or seen.rented):
        raise RunError("run-goes-on", run=seen.run)
    if seen.elsewhere and not seen.over:
        raise RunError("run-elsewhere", run=seen.run)


def lost(seen: Seen) -> DeclareLost | None:
    """Whether the run has to be declared lost; None where it goes on, has ended, or belongs to another computer."""
    if seen.over or seen.alive or seen.elsewhere:
        return None
    return DeclareLost(seen.attempt, Reason.GUARDIAN_GONE if seen.attempt else Reason.START_FAILED)


def _check_limits(hours: float | None, money_usd: float | None) -> None:
    for path, value in (("limits.hours", hours), ("limits.money_usd", money_usd)):
        if value is not None:
            check(BY_PATH[path], value)


def _refuse_spent(seen: Seen, money_usd: float | None, hours: float | None) -> None:
    """A limit below what is used already would end the run at once, and its model might not be written; one just above
    it would be used up before anything is trained: the least is a machine's start and a minute of training."""
    cap = seen.limit_usd if money_usd is None else money_usd
    more_s = (0.0 if seen.alive else seen.start_s) + _TRAINS_S if seen.rented else 0.0
    least = math.ceil(round((seen.usd + (seen.usd_per_hour or 0.0) * more_s / 3600.0) * 100.0, 6)) / 100.0
    if cap is not None and (seen.usd >= cap or (seen.rented and seen.usd_per_hour and cap < least)):
        id = "money-spent" if seen.usd >= cap else "money-too-little"
        known: dict[str, object] = {"unwatched": True} if seen.unwatched else {}
        known |= {"least_usd": least} if seen.usd_per_hour and seen.rented else {}
        raise RunError(id, run=seen.run, usd=seen.usd, money_usd=cap, rented=seen.rented, **known)
    if hours is not None and seen.used_s + more_s >= hours * 3600.0:
        id = "time-spent" if seen.used_s >= hours * 3600.0 else "time-too-little"
        least_hours = math.ceil((seen.used_s + more_s + 1.0) / 36.0) / 100.0
        unwatched = {"unwatched": True} if seen.unwatched else {}
        raise RunError(id, run=seen.run, used_s=seen.used_s, hours=hours, least_hours=least_hours, **unwatched)


def _grown_hours(seen: Seen, epochs: float) -> float | None:
    if seen.limit_hours is None or seen.plan_hours is None:
        return None
    share = epochs * seen.steps_per_epoch / max(1, seen.plan_steps)
    used = 0.0 if seen.alive and not seen.over else seen.used_s / 3600.0
    return round(min(_MOST_HOURS, max(seen.limit_hours, used) + seen.plan_hours * max(share, 0.1)), 4)


def _limits(hours: float | None, money_usd: float | None) -> dict[str, object]:
    changes = {name: value for name, value in (("hours", hours), ("money_usd", money_usd)) if value is not None}
    return {"verb": "limits", **changes} if changes else {}
