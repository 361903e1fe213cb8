"""What to do next for a run in the cloud. Pure: records, what GET by name said, and the clock in; one action out.

``driver`` gathers, asks here, acts and records, one action at a time, until the answer is `Wait` or `Done`. Each action
may be done twice: names and request ids stand in the records before the call. A name is left only when GET has proved
that nothing of ours is there; a new name is tried only when none is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tpu_studio.domain.generations import region_of
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.cloudruns import gate
from tpu_studio.workflow.cloudruns.gate import Show
from tpu_studio.workflow.cloudruns.machine import Guard, Machine
from tpu_studio.workflow.cloudruns.ports import MachineSeen
from tpu_studio.workflow.cloudruns.rules import Rules
from tpu_studio.workflow.cloudruns.state import State

ELSEWHERE = (
    "no-capacity",
    "quota-exceeded",
    "not-entitled",
    "region-limit",
    "type-not-in-zone",
    "zone-not-allowed",
    "tier-not-offered",
)
"""Refusals that another zone may not repeat."""
OF_REGION = "region-limit"
"""One that every other zone of the region repeats."""
OWN_REASON = {
    "quota-exceeded": Reason.QUOTA_EXCEEDED,
    "not-entitled": Reason.NOT_ENTITLED,
    "region-limit": Reason.REGION_LIMIT,
}
"""Reasons of a launch that all zones refused, the most useful to know first."""
AGAIN = ("no-capacity", "create-rate")
"""Refusals that time may heal."""
MAKING = "provisioning"
"""In this state Google takes no deletion: it is watched, and deleted as soon as it is there."""
STARTING = "service-disabled"
"""One that was switched on a moment ago goes on refusing for a while ("wait a few minutes", says Google)."""
STARTING_S = 300.0
STOPS_FRESH_S = 600.0
"""Stops that were set earlier, by a process that then ended, are set anew: they may fire before it is there."""
SUBMITTED_S = 30.0
REPEAT_S = 600.0
"""For so long the same create call may be repeated: later, a machine of that name could have come and gone."""


@dataclass(frozen=True)
class Seen:
    """What is known at this moment besides the records.

    Attributes:
        looks: What GET by name said, in this turn or lately enough, by name; None: proved absent.
        heard: The mailbox was read in this turn, so silence is silence.
        bucket_gone: The bucket said that it is not there.
        stop: "", keep or discard.
        stop_at: When that was asked.
        extended: Numbers of the extensions that were told to this attempt, of which its guardian never said a word.
        asks_again: Those of them for which another machine is asked for.
    """

    now: float
    looks: Mapping[str, MachineSeen | None] = field(default_factory=dict)
    heard: bool = True
    bucket_gone: bool = False
    guard: Guard = field(default_factory=Guard)
    stop: str = ""
    stop_at: float = 0.0
    extended: tuple[int, ...] = ()
    asks_again: tuple[int, ...] = ()


@dataclass(frozen=True)
class Open:
    """Make the run's folder in the bucket."""


@dataclass(frozen=True)
class Prepare:
    """Upload job and data."""


@dataclass(frozen=True)
class SetStops:
    name: str
    zone: str
    number: int


@dataclass(frozen=True)
class Create:
    machine: Machine
    repeat: bool = False


@dataclass(frozen=True)
class Look:
    machine: Machine


@dataclass(frozen=True)
class Accept:
    """A create call of unknown outcome was carried out."""

    machine: Machine


@dataclass(frozen=True)
class Notice:
    """Record what GET said: the state has changed."""

    machine: Machine
    seen: MachineSeen


@dataclass(frozen=True)
class SetLeaseStops:
    machine: Machine


@dataclass(frozen=True)
class Leave:
    """It is not wanted any more."""

    machine: Machine
    why: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Delete:
    machine: Machine


@dataclass(frozen=True)
class Gone:
    """GET by name said 404: record the proof."""

    machine: Machine


@dataclass(frozen=True)
class RemoveStops:
    machine: Machine


@dataclass(frozen=True)
class NextAttempt:
    reason: Reason


@dataclass(frozen=True)
class Again:
    """An extension came when the machine had done its last step: the next attempt trains it."""

    extensions: tuple[int, ...]


@dataclass(frozen=True)
class Declare:
    """Write the end that no guardian will write."""

    reason: Reason
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Finish:
    """Everything is verified gone: result, receipt, phase done. *unheard*: an extension is left, untrained."""

    unheard: bool = False


@dataclass(frozen=True)
class Wait:
    """*seconds* by the cloud's clock; *why*: a phase detail, or "" to leave it."""

    seconds: float
    why: str = ""


@dataclass(frozen=True)
class Done:
    pass


Action = (
    Open
    | Show
    | Prepare
    | SetStops
    | Create
    | Look
    | Accept
    | Notice
    | SetLeaseStops
    | Leave
    | Delete
    | Gone
    | RemoveStops
    | NextAttempt
    | Again
    | Declare
    | Finish
    | Wait
    | Done
)


def decide(state: State, seen: Seen, rules: Rules, run: str) -> Action:
    if state.settled:
        return Done()
    if not state.opened:
        return Declare(_stopped(seen)) if seen.stop and state.end is None else Finish() if state.end else Open()
    machine = state.machine
    for other in state.machines:  # one that answered late, after it had been proved absent, or by a word only
        if other.maybe_there and other is not machine and not (state.end and other is state.machines[-1]):
            return clear(other, seen, rules)
    if state.end is not None:
        return _clean(state, seen, rules)
    if machine is None or machine.gone is not None:
        return _ask(state, machine, seen, rules, run)
    if machine.asked is None:
        if seen.stop:
            return Declare(_stopped(seen))
        if not gate.holds(state.gates.get(machine.ref.region), seen.now):
            return Show(machine.ref.zone)
        fresh = machine.stops and abs(seen.now - machine.stops_at) < STOPS_FRESH_S
        return Create(machine) if fresh else SetStops(machine.ref.name, machine.ref.zone, machine.number)
    if machine.leaving:
        return clear(machine, seen, rules)
    if machine.ref.name not in seen.looks:
        return Look(machine)
    cloud = seen.looks[machine.ref.name]
    if machine.outcome == "refused":  # a refusal counts when nothing is there
        return Gone(machine) if cloud is None else Leave(machine, "refused")
    if machine.outcome != "accepted":
        return _unclear(machine, cloud, seen)
    return _watch(machine, cloud, seen, rules, state)


def _ask(state: State, last: Machine | None, seen: Seen, rules: Rules, run: str) -> Action:
    """No machine of this attempt is there: settle the last one, then ask in the next zone."""
    if last is not None and not last.stops_removed and not last.unclear and not may_come(last, seen.now):
        return RemoveStops(last)
    if last is not None:
        over = _over(last)
        if over is None and seen.guard.spoke:  # it had claimed the attempt: no other machine can
            over = NextAttempt(Reason.MACHINE_GONE)
        if over is not None:
            return over
    if seen.stop:
        return Declare(_stopped(seen))
    if seen.bucket_gone:
        return Declare(Reason.BUCKET_GONE)
    tried = state.tried
    waited = seen.now - state.since
    waited_out = bool(state.since) and waited >= rules.wait_s
    if waited_out and tried and not state.used_s(seen.now):  # what may have come unseen is said with it
        return Declare(Reason.NO_CAPACITY, {"waited_s": waited, "zones": list(rules.zones)})
    if rules.usd_per_hour and _is_money_spent(state, seen.now, rules):
        return Declare(Reason.MONEY_LIMIT, {"result": False})
    if rules.hours is not None and state.limited_s(seen.now) >= rules.hours * 3600.0:
        return Declare(Reason.TIME_LIMIT, {"result": False})
    if state.pieces is None:  # a proof goes on beside the upload
        return Prepare() if region_of(rules.zones[0]) in state.gates else Show(rules.zones[0])
    refused = _refused(state, rules, seen.now)
    if refused is not None:
        return refused
    if waited_out and (tried or not is_proving(state)):
        return Declare(Reason.NO_CAPACITY, {"waited_s": waited, "zones": list(rules.zones)})
    round_over = bool(tried) and len(tried) % len(rules.zones) == 0
    starting = last is not None and last.refusal == STARTING
    pause = (
        rules.rate_s
        if last is not None and last.refusal in ("create-rate", STARTING)
        else rules.round_s * min(5, len(tried) // len(rules.zones))
        if round_over
        else 0.0
    )
    if last is not None and last.gone is not None and seen.now - last.gone < pause:
        return Wait(pause - (seen.now - last.gone), "submitted" if starting else "waiting-for-capacity")
    latest = _latest(rules, tried)
    open_zones = [zone for zone in rules.zones if zone not in latest or latest[zone].refusal in ("", *AGAIN)]
    open_zones = open_zones or list(rules.zones)
    zone = _next_zone(open_zones, last, tried)
    if not gate.holds(state.gates.get(region_of(zone)), seen.now):
        return Show(zone)
    number = state.next_try
    return SetStops(f"ts-{run}-a{state.attempt}-t{number}", zone, number)


def is_proving(state: State) -> bool:
    return any(one.answer == "proving" for one in state.gates.values())


def may_be_starting(refusal: str, state: State, now: float) -> bool:
    """Whether a refusal may be that of a service which is only just being switched on."""
    return refusal == STARTING and now - state.since < STARTING_S


def _refused(state: State, rules: Rules, now: float) -> Declare | None:
    """A refusal that neither time nor another zone can heal."""
    tried = state.tried
    if not tried:
        return None
    last = tried[-1]
    facts = {**last.refusal_facts, "error": last.refusal, "zone": last.ref.zone}
    if may_be_starting(last.refusal, state, now):
        return None
    if last.refusal and last.refusal not in (*ELSEWHERE, *AGAIN):
        return Declare(Reason.LAUNCH_REFUSED, facts)
    latest = _latest(rules, tried)
    refusals = {latest[zone].refusal if zone in latest else "" for zone in rules.zones}
    if refusals & {"", *AGAIN}:
        return None
    for id, reason in OWN_REASON.items():
        for one in tried:
            if one.refusal == id:
                return Declare(reason, {**one.refusal_facts, "error": id, "zone": one.ref.zone})
    return Declare(Reason.LAUNCH_REFUSED, facts)


def _latest(rules: Rules, tried: Sequence[Machine]) -> dict[str, Machine]:
    """What each zone answered last; a zone that was not asked, what another one answered for their region."""
    found = {one.ref.zone: one for one in tried}
    for one in [one for one in found.values() if one.refusal == OF_REGION]:
        for zone in rules.zones:
            if region_of(zone) == region_of(one.ref.zone):
                found.setdefault(zone, one)
    return found


def _next_zone(zones: Sequence[str], last: Machine | None, tried: Sequence[Machine]) -> str:
    """The one that was asked longest ago; the same again after "too fast"."""
    if last is not None and last.refusal == "create-rate" and last.ref.zone in zones:
        return last.ref.zone
    asked = {one.ref.zone: one.number for one in tried}
    return min(zones, key=lambda zone: (asked.get(zone, 0), list(zones).index(zone)))


def _over(machine: Machine) -> Action | None:
    """What a machine that is gone means for the run; None: ask for the next one."""
    match machine.leaving:
        case "preempted":
            return NextAttempt(Reason.PREEMPTED)
        case "vanished":
            return Declare(Reason.MACHINE_GONE)
        case "bucket-gone":
            return Declare(Reason.BUCKET_GONE, machine.leaving_facts)
        case "silent":
            return Declare(Reason.MACHINE_SILENT, machine.leaving_facts)
        case "never-spoke":
            return Declare(Reason.MACHINE_NEVER_SPOKE, machine.leaving_facts)
        case "stopped-keep":
            return Declare(Reason.STOPPED_BY_USER, machine.leaving_facts)
        case "stopped-discard":
            return Declare(Reason.DISCARDED, machine.leaving_facts)
        case "waited":
            return Declare(Reason.NO_CAPACITY, machine.leaving_facts)
    return None


def clear(machine: Machine, seen: Seen, rules: Rules) -> Action:
    """Delete it until GET proves it gone."""
    if machine.ref.name not in seen.looks:
        return Look(machine)
    cloud = seen.looks[machine.ref.name]
    if cloud is None:
        return Gone(machine)
    if _is_news(machine, cloud) or (cloud.state != machine.state and MAKING in (cloud.state, machine.state)):
        return Notice(machine, cloud)
    asked, comes = machine.delete_asked, machine.state != MAKING and cloud.state != "leaving"
    late = asked is not None and comes and asked < machine.changed  # Google took no deletion while it was being made
    if asked is None or late or seen.now - asked >= rules.delete_again_s:
        return Delete(machine)
    return Wait(2.0)


def _is_news(machine: Machine, cloud: MachineSeen) -> bool:
    """Billing has begun, or has ended while the request is still there."""
    if cloud.created is not None:
        return machine.created is None or (cloud.over and machine.node_gone is None)
    ends = cloud.state in ("leaving", "preempted", "failed")
    return ends and machine.created is not None and machine.node_gone is None


def _unclear(machine: Machine, cloud: MachineSeen | None, seen: Seen) -> Action:
    """Nobody knows whether the create call was carried out: the same call again is safe, another name is not."""
    if cloud is not None:
        return Accept(machine)
    if seen.guard.spoke:  # it lived, and is gone already
        return Accept(machine)
    if seen.stop:
        return Leave(machine, f"stopped-{seen.stop}")
    if seen.now - (machine.asked or 0.0) >= REPEAT_S:
        return Leave(machine, "lost")
    return Create(machine, repeat=True)


def may_come(machine: Machine, now: float) -> bool:
    """Whether a create call without an answer may still be on its way, of this computer or of the one before: a machine
    that comes when its stops are gone, and hangs, would be charged for ever."""
    asked = machine.asked is not None and not machine.outcome and not machine.made
    return asked and now - (machine.asked or 0.0) < REPEAT_S


def _watch(machine: Machine, cloud: MachineSeen | None, seen: Seen, rules: Rules, state: State) -> Action:
    now, guard = seen.now, seen.guard
    if cloud is None:
        if machine.ready is None and machine.created is None and not guard.spoke:
            return Leave(machine, "waited-out" if not seen.stop else f"stopped-{seen.stop}")
        return Leave(machine, "preempted" if guard.preempted else "vanished")
    if cloud.state != machine.state or _is_news(machine, cloud):
        return Notice(machine, cloud)
    if seen.bucket_gone:
        return Leave(machine, "bucket-gone", {"result": False})
    match cloud.state:
        case "preempted":
            return Leave(machine, "preempted")
        case "failed":
            if machine.ready is not None:
                return Leave(machine, "vanished")
            id, facts = cloud.error or ("no-capacity", {})
            if id == "timed-out":  # it has waited as long as its request allows, and was looked at after that only
                id = "no-capacity"
            return Leave(machine, "failed", {**facts, "error": id})
        case "leaving":
            return Wait(3.0)
        case "waiting" | "provisioning" if seen.stop:
            return Leave(machine, f"stopped-{seen.stop}", {"result": False})
        case "waiting":
            waited = now - state.since
            if waited >= rules.wait_s:
                return Leave(machine, "waited", {"waited_s": waited, "zones": list(rules.zones)})
            if len(rules.zones) > 1 and machine.accepted is not None and now - machine.accepted >= rules.hunt_s:
                return Leave(machine, "hunt", {"error": "no-capacity"})
            if machine.accepted is not None and now - machine.accepted < SUBMITTED_S:
                return Wait(3.0)  # it is being looked at: not a shortage yet
            return Wait(10.0, "waiting-for-capacity")
        case "provisioning":
            if now - max(state.since, machine.accepted or 0.0) >= rules.wait_s + rules.boot_s:
                return Leave(machine, "waited", {"waited_s": now - state.since, "zones": list(rules.zones)})
            return Wait(3.0)
        case "ready":
            return _guarded(machine, seen, rules)
    return Wait(10.0)  # an unheard-of state is neither good nor bad


def _guarded(machine: Machine, seen: Seen, rules: Rules) -> Action:
    now, guard = seen.now, seen.guard
    if not machine.lease_stops:
        return SetLeaseStops(machine)
    since = max(guard.spoke, machine.ready or 0.0)
    if seen.heard and not guard.spoke and now - since >= rules.boot_s:
        return Leave(machine, "never-spoke", {"silent_s": now - since})
    if seen.heard and guard.spoke and now - since >= rules.silence_s:
        return Leave(machine, "silent", {"silent_s": now - since})
    if seen.stop and now - max(seen.stop_at, machine.ready or 0.0) >= rules.stop_s:
        return Leave(machine, f"stopped-{seen.stop}", {"result": False})
    return Wait(5.0)


def _clean(state: State, seen: Seen, rules: Rules) -> Action:
    """The run is over: everything that was made has to be verified gone."""
    last = state.machines[-1] if state.machines else None
    if last is not None and last.maybe_there:
        if last.ref.name not in seen.looks:
            return Look(last)
        cloud = seen.looks[last.ref.name]
        if cloud is not None and _is_news(last, cloud):
            return Notice(last, cloud)
        itself = _deletes_itself(state) and state.end is not None and abs(seen.now - state.end.t) < rules.self_delete_s
        if cloud is not None and last.delete_asked is None and itself and not seen.stop:
            return Wait(1.0)
        return clear(last, seen, rules)
    for machine in state.machines:
        if machine.stops_removed:
            continue
        coming = may_come(machine, seen.now)
        if (machine.unclear or coming) and machine.ref.name not in seen.looks:
            return Look(machine)
        late = seen.looks.get(machine.ref.name)
        if late is not None:
            return Notice(machine, late)
        return Wait(10.0) if coming else RemoveStops(machine)
    done = state.end is not None and state.end.get("reason") == Reason.COMPLETED.value
    if seen.asks_again and done and not seen.stop and not _is_spent(state, seen.now, rules):
        return Again(seen.asks_again)
    return Finish(unheard=bool(seen.extended))


def _deletes_itself(state: State) -> bool:
    """Whether its guardian has written the end, and may delete its machine."""
    end = state.end
    return not state.declared and end is not None and end.get("reason") != Reason.CANNOT_DELETE_ITSELF.value


def _is_spent(state: State, now: float, rules: Rules) -> bool:
    """Whether time or money is used up: another machine would end at once."""
    time = rules.hours is not None and state.limited_s(now) >= rules.hours * 3600.0
    return time or _is_money_spent(state, now, rules)


def _is_money_spent(state: State, now: float, rules: Rules) -> bool:
    usd = rules.reserved_usd + state.limited_usd(rules.usd_per_hour, now)
    return rules.money_usd is not None and usd >= rules.money_usd


def _stopped(seen: Seen) -> Reason:
    return Reason.DISCARDED if seen.stop == "discard" else Reason.STOPPED_BY_USER
