"""Whether a launch's stops were shown to work: no create call without it. Pure: what reads and proofs said in.

Reads say of the runner and of the account of the shut-off timers *yes*, *no* or *unknown* (a policy hides what
groups, folders and organisations grant, and some may not read it). Who is unknown is proved by a task of its own: a
DELETE as that account of a name that never was. 404 is the answer to whoever may delete, 403 to whoever may not, which
the same task as an account without rights must show: else it proves nothing.

The runner's rights are never waived: without shut-off timers, it alone ends the bill.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.wire.reasons import Reason

HOLDS_S = 3600.0
"""What was shown holds so long, for this project, queue and backend."""
TRIED_S = 30 * 86400.0
"""What a trial showed: that a task's call reaches Google as the account of the stops. Reads cannot tell that."""
PROOF_S = 600.0
LOOK_EVERY_S = 5.0
STANDS_S = 120.0
"""So long a task of a proof stands for certain between its attempts (`cloud.evidence.RETRIES`, or the queue's own)."""
NOT_FOUND, PERMISSION_DENIED = 5, 7
GONE = -1
"""Instead of a code: the task is not there any more."""
NOWHERE = ("org-policy", "zone-not-allowed")
"""Refusals by which no shut-off timer can be had at all: no other is a reason to go without."""


@dataclass(frozen=True)
class Show:
    """Read or prove that a machine in *zone* can be stopped."""

    zone: str


@dataclass(frozen=True)
class Account:
    """*says*: yes, no or unknown. *why*: absent, disabled, conditional, no-grant, unreadable; "" for yes."""

    email: str
    says: str
    why: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """What reads say.

    Attributes:
        queue: Full name; "" where none can be had, *queue_why* and *queue_facts* being the refusal.
        stopper: None: the stops act as the runner.
    """

    queue: str
    runner: Account
    stopper: Account | None = None
    queue_why: str = ""
    queue_facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """What the records say of a region. *answer*: shown, or proving with *tasks*: name → account. *runner*: which of
    the accounts is the machine's own."""

    answer: str
    t: float
    queue: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)
    control: str = ""
    runner: str = ""


@dataclass(frozen=True)
class Go:
    """*by*: account → reads or proof."""

    by: Mapping[str, str]


@dataclass(frozen=True)
class Refuse:
    reason: Reason
    facts: Mapping[str, object]


@dataclass(frozen=True)
class Prove:
    accounts: tuple[str, ...]


def holds(shown: Shown | None, now: float) -> bool:
    return shown is not None and shown.answer == "shown" and now - shown.t < HOLDS_S


def no_stop(error: str, facts: Mapping[str, object]) -> Refuse:
    """Google refused the shut-off timer. Only where none can be had at all may a launch go without; whatever else
    it was can be put right: a service or billing that is off, a project that is to be deleted, a right."""
    reason = Reason.NO_OUTSIDE_STOP if error in NOWHERE else Reason.LAUNCH_REFUSED
    return Refuse(reason, {**facts, "error": error, "stop": True})


def judge(evidence: Evidence, *, waived: bool, proved: Collection[str] = ()) -> Go | Refuse | Prove:
    """*waived*: without shut-off timers, as agreed for this launch, which holds where none can be had; *proved*: of
    whom a proof still holds."""
    asked = [evidence.runner]
    if evidence.stopper is not None and not waived:
        asked.append(evidence.stopper)
    for one in asked:
        if one.says == "no":
            return Refuse(Reason.STOPS_UNPROVED, _of(one, evidence))
    if not evidence.queue and not (waived and evidence.queue_why in NOWHERE):
        return no_stop(evidence.queue_why, evidence.queue_facts)
    open_ones = tuple(one.email for one in asked if one.says != "yes" and one.email not in proved)
    if open_ones and not evidence.queue:
        return Refuse(Reason.STOPS_UNPROVED, _of(evidence.runner, evidence))
    if open_ones:
        return Prove(open_ones)
    return Go({one.email: "reads" if one.says == "yes" else "proof" for one in asked})


def read(shown: Shown, answers: Mapping[str, int | None], now: float) -> Go | Refuse | None:
    """*answers*: task → the code of its last attempt, None: none yet, or `GONE`. None: not told yet."""
    if not shown.control:
        return _tried(shown, answers, now)
    codes = {email: answers.get(task) for task, email in shown.tasks.items()}
    control = codes.pop(shown.control, None)
    if GONE in (control, *codes.values()) or control == NOT_FOUND:
        raw = "an account without rights was answered as one with them" if control == NOT_FOUND else "a task was gone"
        return Refuse(Reason.NO_OUTSIDE_STOP, {"error": "proof-void", "raw": raw})
    if control == PERMISSION_DENIED and all(code == NOT_FOUND for code in codes.values()):
        return Go(dict.fromkeys(codes, "proof"))
    if now - shown.t < PROOF_S:
        return None
    denied = [email for email, code in codes.items() if code == PERMISSION_DENIED]
    if denied and control == PERMISSION_DENIED:
        return _denied(denied[0], shown)
    return Refuse(Reason.NO_OUTSIDE_STOP, {"error": "proof-silent", "raw": "the tasks of the proof told nothing"})


def _tried(shown: Shown, answers: Mapping[str, int | None], now: float) -> Go | Refuse | None:
    """Of one task, where reads say yes: it can only take that back. One that is gone has shown nothing."""
    ((task, email),) = shown.tasks.items()
    code = answers.get(task)
    if code == NOT_FOUND:
        return Go({email: "trial"})
    if code == GONE:
        return Refuse(Reason.NO_OUTSIDE_STOP, {"error": "proof-void", "raw": "a task was gone"})
    if now - shown.t < PROOF_S:
        return None
    if code == PERMISSION_DENIED:
        return _denied(email, shown)
    error = "proof-silent" if code is None else "trial-refused"
    return Refuse(Reason.NO_OUTSIDE_STOP, {"error": error, "raw": f"the call of a task ended with code {code}"})


def of_runner(refuse: Refuse, shown: Shown) -> Refuse:
    """*refuse* of a launch that goes without shut-off timers, where only the runner was tried: never waived."""
    if refuse.reason is not Reason.NO_OUTSIDE_STOP:
        return refuse
    return Refuse(Reason.STOPS_UNPROVED, {**refuse.facts, "account": shown.runner, "which": "runner", "why": "unshown"})


def _denied(email: str, shown: Shown) -> Refuse:
    which = "runner" if email == shown.runner else "stopper"
    return Refuse(Reason.STOPS_UNPROVED, {"account": email, "which": which, "why": "denied"})


def _of(account: Account, evidence: Evidence) -> dict[str, Any]:
    which = "runner" if account is evidence.runner else "stopper"
    return {**account.facts, "account": account.email, "which": which, "why": account.why}
