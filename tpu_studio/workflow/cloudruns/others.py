"""What other computers' records may say of a run at its take-over: whoever writes to the bucket can write some.

It is taken in once (`Records.take_in`), as this computer's own record from then on; what comes into the bucket later
counts for nothing. Of a machine that this computer asked for, nothing is taken. Of one that Google has, that it was
asked for: where it is and since when, Google says, and no later attempt than it is begun. Of others as far as the plan
allows: in its zones, by their own names, no later than now, and few of those that nobody saw to an end. What was shown
of stops, whether they were set at a lease's end, or a deletion was asked for, this computer finds out itself. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tpu_studio.wire.events import Event
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.cloudruns import brought
from tpu_studio.workflow.cloudruns.ports import MachineSeen, Ref

ATTEMPTS_OF_OTHERS = TRIES_OF_OTHERS = 1000
"""More than a run has, and few enough that as many can follow."""
MOST_STRANGE = 8
TAKEN = "taken"
"""Field of each event that was taken in: another computer did that."""
_COUNTED = frozenset({"attempt-over", "again"})
_OF_MACHINES = frozenset({"intent", "intent-closed", "cloud", "leaving", "deleted", "stops-removed"})
_REASONS = frozenset(one.value for one in Reason)
_SHORT = 200  # letters of a word
_FEW, _MANY = 100, 1000  # events of a machine, and machines that are over


@dataclass(frozen=True)
class Place:
    """Where the plan lets machines be: of `asking.rules_of`."""

    zones: Sequence[str]
    backend: str
    alpha: bool


@dataclass(frozen=True)
class Name:
    """Of a machine: ``ts-<run>-a<attempt>-t<try>``."""

    text: str
    attempt: int
    number: int


def name_of(text: str, run: str) -> Name | None:
    """None: it is no name of *run*'s."""
    found = re.fullmatch(rf"ts-{re.escape(run)}-a([1-9]\d{{0,3}})-t([1-9]\d{{0,4}})", text, re.ASCII)
    return Name(text, int(found[1]), int(found[2])) if found else None


def asked_here(own: Iterable[Event]) -> set[str]:
    """Names of machines that this computer has at least set stops for."""
    begun = (one for one in own if one.kind == "intent" and one.get("action") in ("stops", "create"))
    return {str(one.get("name")) for one in begun if not one.get(TAKEN)}


def taken_from(
    others: Iterable[Event],
    own: Sequence[Event],
    run: str,
    place: Place,
    seen: Mapping[str, MachineSeen],
    now: float,
    bytes_of: Callable[[str], int] = lambda name: 0,
    since: float = 0.0,
) -> list[Event]:
    """What counts of them, in the order of its times, each field of it a kind that is known.

    Args:
        others, own: Of other computers, and this one's.
        seen: Machines of the run's that Google tells of now by its label.
        now: Seconds since 1970.
        bytes_of: An object of the bucket → its size, as the bucket says.
        since: When the run was planned: nothing is earlier.
    """
    begun = max((name.attempt for one in seen if (name := name_of(one, run))), default=0)
    of_run: dict[tuple[object, ...], Event] = {}
    by_name: dict[str, list[Event]] = {name: [] for name in seen}
    for event in others:
        event = replace(event, t=max(since, min(event.t, now)))
        if event.kind in _OF_MACHINES:
            by_name.setdefault(_about(event), []).append(event)
        elif event.kind in _COUNTED:
            of_run.setdefault((event.kind, _number(event.get("attempt"))), event)
        else:  # the last of each: of ends and phases, of one meaning
            of_run[event.kind, event.kind == "phase" and event.get("phase") == "done"] = event
    kept = [event for told in of_run.values() for event in _of_run(told, begun, bytes_of)]
    here = asked_here(own)
    watched = {_about(one) for one in own if one.kind in ("leaving", "deleted") and not one.get(TAKEN)} | seen.keys()
    reached = max([1, begun, *_reached(kept), *_reached(own)])
    first: dict[int, float] = {}
    strange: list[tuple[float, int, list[Event]]] = []
    over: list[list[Event]] = []
    for text, told in by_name.items():
        name = name_of(text, run)
        if name is None:
            continue
        if text in here:
            kept += _end_of_ours(told, own, text, now) if text not in seen else ()
            continue
        if text in seen:
            events = list(_of_google(name, told, seen[text], now))
            first[name.attempt] = min(events[0].t, first.get(name.attempt, now))
            kept += events
        elif name.attempt <= min(reached, ATTEMPTS_OF_OTHERS) and name.number <= TRIES_OF_OTHERS:
            events = list(_of_others(name, told, place, now, watched=text in watched))
            if {one.kind for one in events} >= {"deleted", "stops-removed"}:
                over.append(events)
            elif events:
                strange.append((max(one.t for one in events), name.attempt, events))
    kept += [one for events in over[-_MANY:] for one in events]
    for _, attempt, events in sorted(strange, key=lambda one: one[0])[-MOST_STRANGE:]:
        before = first.get(attempt, now + 1.0) - 1.0  # the one that Google has is the newest of its attempt
        kept += [replace(one, t=min(one.t, before)) for one in events]
    marked = [replace(one, fields={**one.fields, TAKEN: True}) for one in kept]
    return sorted(marked, key=lambda one: one.t)


def adopted(seen: Mapping[str, MachineSeen], run: str, now: float) -> list[Event]:
    """Of machines that Google has and no record here tells of: that they were asked for, and what Google says."""
    named = [(name, one) for text, one in seen.items() if (name := name_of(text, run))]
    told = [event for name, one in named for event in _of_google(name, (), one, now)]
    for name, one in named:  # those before it are over
        facts = {"attempt": name.attempt - 1, "reason": ""}
        told += [Event(min(now, one.created or now) - 0.001, "attempt-over", facts)] if name.attempt > 1 else []
    return [replace(one, fields={**one.fields, TAKEN: True}) for one in told]


def _of_run(event: Event, begun: int, bytes_of: Callable[[str], int]) -> Iterator[Event]:
    """*begun*: the newest attempt of which Google has a machine: no later one was begun; 0: it has none."""
    attempt = _number(event.get("attempt"))
    match event.kind:
        case "attempt-over" if 1 <= attempt <= ATTEMPTS_OF_OTHERS and not 0 < begun <= attempt:
            yield replace(event, fields={"attempt": attempt, "reason": _word(event.get("reason"))})
        case "again" if 2 <= attempt <= ATTEMPTS_OF_OTHERS and not 0 < begun < attempt:
            given = event.get("extensions")
            numbers = [one for one in given if type(one) is int] if isinstance(given, list) else []
            yield replace(event, fields={"attempt": attempt, "extensions": numbers[:ATTEMPTS_OF_OTHERS]})
        case "prepared":
            if (pieces := _pieces(event.get("pieces"), bytes_of)) is not None:
                yield replace(event, fields={"pieces": pieces})
        case "end" if _word(event.get("reason")) in _REASONS:
            ends = {name: _word(event.get(name)) for name in ("status", "reason")}
            yield replace(event, fields={**ends, "attempt": max(1, attempt), "steps": 0, "final": {}, "facts": {}})
        case "phase":
            yield replace(event, fields={name: _word(event.get(name)) for name in ("phase", "detail")})


def _pieces(given: object, bytes_of: Callable[[str], int]) -> dict[str, object] | None:
    """What was brought to the bucket; what it is as large as, the bucket says."""
    if not isinstance(given, dict):
        return None
    try:
        return brought.measured(given, bytes_of)
    except (TypeError, ValueError):
        return None


def _reached(events: Iterable[Event]) -> Iterator[int]:
    """Attempts that are said to have begun."""
    for one in events:
        if one.kind in _COUNTED:
            yield _number(one.get("attempt")) + (one.kind == "attempt-over")


def _about(event: Event) -> str:
    if event.kind == "intent-closed":
        return str(event.get("id") or "").partition("/")[2]
    return str(event.get("name") or "")


def _of_google(name: Name, told: Sequence[Event], seen: MachineSeen, now: float) -> Iterator[Event]:
    """That it was asked for, when, and what Google says of it."""
    asked = [one.t for one in told if one.kind == "intent" and one.get("action") == "create"]
    t = min([*asked, now if seen.created is None else seen.created])
    yield _asked(name, seen.ref, t)
    yield Event(t + 0.001, "intent-closed", {"id": f"create/{name.text}", "outcome": "accepted"})
    facts = {"name": name.text, "state": seen.state, "created": seen.created, "over": seen.over}
    yield Event(max(t + 0.002, seen.created or 0.0), "cloud", facts)  # it was not ready before: its start is waited for


def _end_of_ours(told: Sequence[Event], own: Sequence[Event], text: str, now: float) -> Iterator[Event]:
    """What another, who drove the run meanwhile, says of the end of a machine that was asked for here and that Google
    has no more: when it ended, no earlier than it was seen here."""
    mine = [one for one in own if _about(one) == text]
    ends = [one for one in told if one.kind == "deleted"]
    if not ends or any(one.kind == "deleted" for one in mine):
        return
    seen_at = max([one.t for one in mine if one.kind == "cloud" and not one.get("over")], default=0.0)
    begun = min(one.t for one in mine)
    known = _known(ends[-1], begun, now)
    billed = {key: value for key, value in known.items() if key.startswith("billed") and isinstance(value, float)}
    later = {key: max(seen_at, value) for key, value in billed.items()}
    yield replace(ends[-1], t=max(ends[-1].t, seen_at), fields={"name": text, **known, **later})


def _of_others(name: Name, told: Sequence[Event], place: Place, now: float, *, watched: bool) -> Iterator[Event]:
    """As far as the plan allows. *watched*: this computer has told of its end."""
    asked = [one for one in told if one.kind == "intent" and one.get("action") == "create"]
    allowed = [one for one in asked if one.get("zone") in place.zones and one.get("backend", "tpu") == place.backend]
    if not allowed:
        return
    begun = allowed[0].t
    told = [*told[:_FEW], *told[max(_FEW, len(told) - _FEW) :]]
    yield _asked(name, Ref(name.text, str(allowed[0].get("zone")), place.backend, alpha=place.alpha), begun)
    for one in told:
        one = replace(one, t=max(one.t, begun))
        if one.kind == "intent-closed" and str(one.get("id")).startswith("create/"):
            words = {key: _word(one.get(key)) for key in ("id", "outcome", "error")}
            yield replace(one, fields={**words, "facts": {}})
        elif not watched and one.kind in ("cloud", "leaving", "deleted", "stops-removed"):
            yield replace(one, fields={"name": name.text, **_known(one, begun, now)})


def _known(event: Event, begun: float, now: float) -> dict[str, object]:
    """Fields of an event of a machine that was asked for at *begun*."""

    def times(*names: str) -> dict[str, object]:
        return {key: _within(event.get(key), begun, now) for key in names}

    match event.kind:
        case "cloud":
            switches = {key: event.get(key) is True for key in ("over", "by_service")}
            return {"state": _word(event.get("state")), **switches, **times("created")}
        case "leaving":
            return {"why": _word(event.get("why")), "facts": {}}
        case "deleted":
            of_bill = times("created", "billed_until", "billed_least", "billed_most", "spoke", "first")
            counted = {key: _within(event.get(key), 0.0, now - begun) for key in ("counted_s", "counted_money_s")}
            return {"made": event.get("made") is True, "proof": _word(event.get("proof")), **of_bill, **counted}
        case _:
            left = event.get("left")
            return {"left": [_word(one) for one in left][:ATTEMPTS_OF_OTHERS] if isinstance(left, list) else []}


def _asked(name: Name, ref: Ref, t: float) -> Event:
    of_name = {"id": f"create/{name.text}", "name": name.text, "attempt": name.attempt, "try": name.number}
    where = {"zone": ref.zone, "backend": ref.backend, "alpha": ref.alpha}
    return Event(t, "intent", {"action": "create", **of_name, **where})


def _within(value: object, least: float, most: float) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return max(least, min(float(value), most)) if is_number else None  # type: ignore[arg-type]


def _number(value: object) -> int:
    return value if type(value) is int else 0


def _word(value: object) -> str:
    return value[:_SHORT] if isinstance(value, str) else ""
