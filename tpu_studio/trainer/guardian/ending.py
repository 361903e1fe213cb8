"""How an attempt ended: one `Ending` out of what the trainer said, how it died, and what it had been told. Pure."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.wire.phases import Status
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.secrets import discreet

_LOST = "distributed service detected fatal errors"  # JAX ends its own process when another worker is gone


@dataclass(frozen=True)
class Ending:
    """What the closing ``end`` event says."""

    status: str
    reason: str
    steps: int = 0
    final: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "reason": self.reason,
            "steps": self.steps,
            "final": dict(self.final),
            "facts": discreet(self.facts),
        }


@dataclass(frozen=True)
class Death:
    """How the trainer's process ended. *code* as ``subprocess`` gives it: negative is a signal, None was never
    started."""

    code: int | None
    last_words: Sequence[str] = ()
    out_of_memory: bool = False
    killed_by_us: bool = False


def ending(
    outcome: Mapping[str, object] | None,
    death: Death,
    *,
    asked: Reason | None,
    steps: int = 0,
    final: Mapping[str, object] | None = None,
    facts: Mapping[str, object] | None = None,
) -> Ending:
    """The end of an attempt.

    Args:
        outcome: Fields of the trainer's ``outcome`` event, if it managed to send one.
        asked: Why the guardian had told it to stop, if it had.
        steps, final: Last step and metric values seen, for want of an outcome.
        facts: What else the guardian knows.
    """
    known = {**(facts or {})}
    if outcome is not None:
        said = str(outcome.get("reason", ""))
        if asked is not None and said == Reason.STOPPED_BY_USER.value:
            said = asked.value
        elif asked is not None and said == Reason.TRAINER_FAILED.value and death.killed_by_us:
            said, known["killed"] = asked.value, True  # its time was up while it still wrote the result
        return Ending(
            _status(said, outcome.get("status")),
            said,
            _int(outcome.get("steps"), steps),
            _mapping(outcome.get("final")) or final or {},
            {**_mapping(outcome.get("facts")), **known},
        )
    if asked is not None:
        reason = asked
        known["killed"] = death.killed_by_us
    else:
        reason = _cause(death)
    if death.code is not None and death.code < 0:
        known["signal"] = _signal_name(-death.code)
    elif death.code is not None:
        known["exit_code"] = death.code
    if reason.status is Status.FAILED and death.last_words:
        known["raw"] = "\n".join(death.last_words)
    return Ending(reason.status.value, reason.value, steps, final or {}, known)


def may_restart(death: Death, *, asked: Reason | None, restarts: int, saved_since_start: bool) -> bool:
    """Whether a trainer that was killed from outside is started again in the same attempt.

    At most twice, and only if it has saved a checkpoint since it was started: else the next try would only do the same
    again. Memory that ran out and errors of the trainer's own are no bad luck; they end the attempt.
    """
    return (
        asked is None
        and death.code is not None
        and death.code < 0
        and not death.out_of_memory
        and not death.killed_by_us
        and restarts < 2
        and saved_since_start
        and _cause(death) is Reason.TRAINER_KILLED
    )


def _cause(death: Death) -> Reason:
    if death.out_of_memory:
        return Reason.OUT_OF_MEMORY
    if death.code == -signal.SIGABRT and any(_LOST in line for line in death.last_words):
        return Reason.WORKER_LOST
    last = death.last_words[-1] if death.last_words else ""
    if last.startswith("MemoryError") or "std::bad_alloc" in last:
        return Reason.OUT_OF_MEMORY
    if "[Errno 28]" in last:
        return Reason.DISK_FULL
    if death.code is not None and death.code < 0:
        return Reason.TRAINER_KILLED
    return Reason.TRAINER_FAILED


def _status(reason: str, said: object) -> str:
    """The status that the reason has; the trainer's own word for a reason of a newer version."""
    try:
        return Reason(reason).status.value
    except ValueError:
        return str(said) if said in [status.value for status in Status] else Status.FAILED.value


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _int(value: object, otherwise: int) -> int:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else otherwise
