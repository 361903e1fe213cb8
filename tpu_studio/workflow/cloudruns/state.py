"""What a run's own records say about its machines: a fold over the desktops' events and the guardians' ends. Pure.

The events are those of ``events/desk-*.jsonl`` (docs/cloud.md), of all computers that ever drove the run, so a second
one knows what the first did. `State` is what ``decide`` decides on, together with what GET by name says.

    intent {id, action, name, zone, backend, alpha, attempt, try, request_id}
    intent-closed {id, outcome, error, facts}
    opened {bucket, project}   prepared {pieces}   cloud {name, state, raw, created}   still-waiting {name}
    leaving {name, why, facts}
    deleted {name, proof, made, created, billed_until, billed_least, billed_most,
    counted_s, counted_money_s}   stops-removed {name, left}
    attempt-over {attempt, reason}   again {attempt, extensions}   taken-over {}   settled {}
    gate {region, backend, answer (shown | proving | proved | refused), queue, runner, accounts, tasks, control,
         codes}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tpu_studio.wire.events import Event
from tpu_studio.wire.planparts import PlanLimits
from tpu_studio.workflow.cloudruns import brought
from tpu_studio.workflow.cloudruns.gate import Shown
from tpu_studio.workflow.cloudruns.machine import Guard, Machine
from tpu_studio.workflow.cloudruns.ports import Ref

ATTEMPTS_AT_MOST = 9998
LONGEST_LOAN_S = 30 * 86_400.0  # no shut-off timer is set later
TAKEN_OVER, TAKEN_IN = "taken-over", "taken-in"
"""This computer's own event: from here on the records of those before count, also where the journal is lost."""


@dataclass(frozen=True)
class State:
    """Attributes:
    machines: Oldest first; only the last one may be there.
    since: When this attempt began to ask for a machine.
    end: End of the run: the guardian's or, where it could say none, the desktop's.
    declared: The end was written by a desktop.
    gates: What was shown of the stops, by region (`gate`).
    waiver_over: The run was begun again or taken over since its launch: what was agreed to for that one launch, to go
        without shut-off timers, holds no more.
    extensions: Numbers of those for which another machine was asked for by itself: each is enough for one.
    """

    opened: bool = False
    bucket: str = ""
    project: str = ""
    pieces: Mapping[str, object] | None = None
    prepared: float = 0.0
    attempt: int = 1
    since: float = 0.0
    machines: tuple[Machine, ...] = ()
    end: Event | None = None
    declared: bool = False
    settled: bool = False
    phase: tuple[str, str] = ("", "")
    preempted_over: int = 0
    gates: Mapping[str, Shown] = field(default_factory=dict)
    waiver_over: bool = False
    taken_in: bool = False
    extensions: frozenset[int] = frozenset()

    def waived(self, limits: PlanLimits) -> bool:
        """Whether the next machine may be without shut-off timers; *limits*: the plan's."""
        return limits.without_outside_stop and not self.waiver_over

    @property
    def machine(self) -> Machine | None:
        """The newest of this attempt."""
        return next((one for one in reversed(self.machines) if one.attempt == self.attempt), None)

    @property
    def there(self) -> tuple[Machine, ...]:
        return tuple(one for one in self.machines if one.maybe_there)

    def of(self, name: str) -> Machine | None:
        return next((one for one in self.machines if one.ref.name == name), None)

    def without(self, machine: Machine) -> State:
        return replace(self, machines=tuple(one for one in self.machines if one.ref.name != machine.ref.name))

    @property
    def tried(self) -> tuple[Machine, ...]:
        """Of this attempt, oldest first."""
        return tuple(one for one in self.machines if one.attempt == self.attempt)

    @property
    def next_try(self) -> int:
        return 1 + max((one.number for one in self.machines if one.attempt == self.attempt), default=0)

    def usd(self, usd_per_hour: float | None, now: float) -> float:
        return sum(one.billed_s(now) for one in self.machines) / 3600.0 * (usd_per_hour or 0.0)

    def usd_between(self, usd_per_hour: float | None, now: float) -> tuple[float, float]:
        """At least and at most; what nobody saw is no part of it."""
        spans = [one.billed_between_s(now) for one in self.machines]
        rate = (usd_per_hour or 0.0) / 3600.0
        return sum(least for least, _ in spans) * rate, sum(most for _, most in spans) * rate

    def used_s(self, now: float) -> float:
        return sum(one.billed_s(now) for one in self.machines)

    def limited_s(self, now: float) -> float:
        """Of all machines: what is left of the limit of time begins here."""
        return sum(one.limited_s(now) for one in self.machines)

    def limited_money_s(self, now: float) -> float:
        """Of all machines: what is left of the limit of money begins here."""
        return sum(one.limited_money_s(now) for one in self.machines)

    def limited_usd(self, usd_per_hour: float | None, now: float) -> float:
        return self.limited_money_s(now) / 3600.0 * (usd_per_hour or 0.0)


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after *events* of desktops, which must come in the order of their times. One that makes no sense (the
    bucket may hold anybody's) changes nothing."""
    state = state or State()
    grown = _Grown({one.ref.name: one for one in state.machines}, dict(state.gates))
    for event in events:
        known = _FOLDS.get(event.kind)
        with suppress(TypeError, ValueError, ArithmeticError):
            state = known(state, event, grown) if known else state
    return replace(state, machines=tuple(grown.machines.values()), gates=grown.gates)


@dataclass(frozen=True)
class _Grown:
    """What may be many, while events are folded: changed in place, for a copy with each of them would take hours of a
    folder that somebody filled. The state's own *machines* and *gates* are as before the fold meanwhile."""

    machines: dict[str, Machine]
    gates: dict[str, Shown]

    def put(self, machine: Machine) -> None:
        self.machines[machine.ref.name] = machine

    def of(self, event: Event) -> Machine | None:
        return self.machines.get(str(event.get("name") or ""))

    def has_tried(self, attempt: int) -> bool:
        """Whether the newest machine is of *attempt*."""
        newest = next(reversed(self.machines.values()), None)
        return newest is not None and newest.attempt == attempt


def with_guard(state: State, guard: Guard) -> State:
    """The guardian's end of this attempt, where the desktop has not declared one."""
    if state.end is None and guard.end is not None:
        return replace(state, end=guard.end, declared=False)
    return state


def apply(state: State, event: Event) -> State:
    """The state after *event*."""
    return fold([event], state)


def _attempt_of(event: Event, otherwise: int) -> int:
    """Raises ValueError for a number that no attempt can have."""
    number = int(event.get("attempt") or otherwise)
    if not 1 <= number <= ATTEMPTS_AT_MOST:
        raise ValueError(number)
    return number


def _time(value: Any) -> float | None:
    """A time that an event tells, None for anything else."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e11
    return float(value) if good else None


def _prepared(state: State, event: Event, grown: _Grown) -> State:
    """Raises TypeError, ValueError for pieces that are none."""
    pieces = event.get("pieces") if isinstance(event.get("pieces"), dict) else {}
    brought.check(pieces)
    return replace(state, pieces=pieces, prepared=event.t)


def _intent(state: State, event: Event, grown: _Grown) -> State:
    name, action = str(event.get("name") or ""), event.get("action")
    if action not in ("stops", "create", "delete"):
        return state
    known = grown.of(event)
    if known is None:
        alpha = event.get("alpha") is True
        ref = Ref(name, str(event.get("zone")), str(event.get("backend") or "tpu"), alpha=alpha)
        if ref.backend not in ("tpu", "compute"):
            raise ValueError(ref.backend)
        known = Machine(ref, _attempt_of(event, 1), int(event.get("try") or 1))
        grown.put(known)
    if action == "create":
        grown.put(replace(known, asked=event.t, request_id=str(event.get("request_id") or ""), stops=True))
    if action == "delete":
        grown.put(replace(known, delete_asked=event.t))
    return state


def _closed(state: State, event: Event, grown: _Grown) -> State:
    action, _, name = str(event.get("id") or "").partition("/")
    known, outcome = grown.machines.get(name), str(event.get("outcome") or "")
    if known is None:
        return state
    facts = event.get("facts")
    facts = facts if isinstance(facts, dict) else {}
    if action == "stops":
        ref = replace(known.ref, queue=str(facts.get("queue") or known.ref.queue))
        grown.put(replace(known, ref=ref, stops=outcome == "set", stops_at=event.t))
    elif action == "lease-stops":
        grown.put(replace(known, lease_stops=True))
    elif action == "create":
        grown.put(
            replace(
                known,
                outcome=outcome,
                error=str(event.get("error") or ""),
                facts=facts,
                accepted=event.t if outcome == "accepted" else known.accepted,
                made=known.made or outcome == "accepted",
            )
        )
    elif action == "delete" and outcome == "accepted":
        grown.put(replace(known, delete_taken=True))
    elif action == "delete" and outcome == "failed":
        grown.put(replace(known, delete_failed=known.delete_failed + 1))
    return state


def _cloud(state: State, event: Event, grown: _Grown) -> State:
    known = grown.of(event)
    if known is None:
        return state
    seen, created = str(event.get("state") or ""), _time(event.get("created"))
    if seen == "unclear":
        grown.put(replace(known, unclear=True))
        return state
    over = event.get("over") is True or (created is None and seen in ("leaving", "preempted", "failed"))
    works = created is not None and seen != "leaving"
    grown.put(
        replace(
            known,
            gone=None,
            stops_removed=known.stops_removed and known.gone is None,
            made=True,
            state=seen,
            taken_back=event.get("by_service") is True,
            changed=known.changed if seen == known.state else event.t,
            # A node that vanishes while provisioning is not billed: the one in its place is.
            created=created or known.created if known.ready is None else known.created or created,
            first=known.first or created,
            coming=known.coming or (event.t if seen == "provisioning" and created is None else None),
            node_gone=known.node_gone or event.t if over else None if works else known.node_gone,
            ready=event.t if seen == "ready" and known.ready is None else known.ready,
        )
    )
    return state


def _still_waiting(state: State, event: Event, grown: _Grown) -> State:
    known = grown.of(event)
    if known is not None:
        grown.put(replace(known, waited=event.t))
    return state


def _leaving(state: State, event: Event, grown: _Grown) -> State:
    known = grown.of(event)
    facts = event.get("facts")
    if known is None or known.leaving:
        return state
    grown.put(replace(known, leaving=str(event.get("why")), leaving_facts=facts if isinstance(facts, dict) else {}))
    return state


def _deleted(state: State, event: Event, grown: _Grown) -> State:
    known = grown.of(event)
    if known is None or known.gone:
        return state
    created = _time(event.get("created")) if known.created is None else known.created
    grown.put(
        replace(
            known,
            gone=event.t,
            made=known.made or bool(event.get("made")),
            created=created,
            billed_until=_time(event.get("billed_until")),
            billed_least=_time(event.get("billed_least")),
            billed_most=_time(event.get("billed_most")),
            counted_s=_time(event.get("counted_s")) or 0.0,
            counted_money_s=_time(event.get("counted_money_s")) or 0.0,
            spoke=_time(event.get("spoke")),
            first=_time(event.get("first")) or known.first,
        )
    )
    return state


def _stops_removed(state: State, event: Event, grown: _Grown) -> State:
    known = grown.of(event)
    if known is not None:
        grown.put(replace(known, stops_removed=True))
    return state


def _attempt_over(state: State, event: Event, grown: _Grown) -> State:
    attempt = _attempt_of(event, state.attempt)
    return replace(
        state, attempt=max(state.attempt, attempt + 1), since=event.t, preempted_over=state.preempted_over + 1
    )


def _gate(state: State, event: Event, grown: _Grown) -> State:
    region, answer = str(event.get("region") or ""), str(event.get("answer") or "")
    tasks = event.get("tasks")
    tasks = {str(name): str(who) for name, who in tasks.items()} if isinstance(tasks, dict) else {}
    grown.gates.pop(region, None)
    if answer == "refused":
        return state
    answer = "proving" if answer == "proving" else "shown"
    queue, control = str(event.get("queue") or ""), str(event.get("control") or "")
    grown.gates[region] = Shown(answer, event.t, queue, tasks, control, str(event.get("runner") or ""))
    waits = answer == "shown" and not grown.has_tried(state.attempt)  # a proof is no waiting for capacity
    return replace(state, since=event.t) if waits else state


def _taken_over(state: State, event: Event, grown: _Grown) -> State:
    return replace(state, waiver_over=True, taken_in=False)


def _taken_in(state: State, event: Event, grown: _Grown) -> State:
    return replace(state, taken_in=True)


def _again(state: State, event: Event, grown: _Grown) -> State:
    attempt = _attempt_of(event, state.attempt + 1)
    return replace(
        state,
        attempt=max(state.attempt, attempt),
        since=event.t,
        end=None,
        declared=False,
        settled=False,
        waiver_over=True,
        extensions=state.extensions | _numbers(event.get("extensions")),
    )


def _numbers(value: object) -> frozenset[int]:
    return frozenset(one for one in value if isinstance(one, int)) if isinstance(value, list) else frozenset()


def _end(state: State, event: Event, grown: _Grown) -> State:
    return state if state.end is not None and state.declared else replace(state, end=event, declared=True)


def _phase(state: State, event: Event, grown: _Grown) -> State:
    phase = (str(event.get("phase")), str(event.get("detail") or ""))
    settled = state.settled or phase[0] == "done"
    return replace(state, phase=phase, since=state.since or event.t, settled=settled)


_FOLDS = {
    "opened": lambda s, e, _: replace(s, opened=True, bucket=str(e.get("bucket")), project=str(e.get("project"))),
    "prepared": _prepared,
    "intent": _intent,
    "intent-closed": _closed,
    "cloud": _cloud,
    "still-waiting": _still_waiting,
    "leaving": _leaving,
    "deleted": _deleted,
    "stops-removed": _stops_removed,
    "attempt-over": _attempt_over,
    "again": _again,
    "gate": _gate,
    "end": _end,
    "phase": _phase,
    TAKEN_OVER: _taken_over,
    TAKEN_IN: _taken_in,
}
AHEAD_S = 3600.0  # what a machine's clock may be ahead of this computer's
OF_DESKTOPS = frozenset(_FOLDS) - {"end", "phase"}
"""Kinds that a desktop alone tells; a machine tells of ends and phases, too."""
NOTICES_OF_DESKTOPS = frozenset(
    {
        "being-made",
        "cost-unseen",
        "counts-unseen",
        "delete-failing",
        "delete-proved",
        "extended-at-the-end",
        "extension-unheard",
        "left-in-bucket",
        "limits-not-believed",
        "outside-stops-shared",
        "plan-mended",
        "price-by-list",
        "price-not-known",
        "stops-left",
        "stops-missing",
        "stops-tried",
    }
)
"""What a desktop alone gives notice of (a test reads which these are)."""
