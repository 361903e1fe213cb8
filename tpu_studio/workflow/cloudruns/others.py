"""What other computers' records may say of a run that was taken over: whoever writes to the bucket can write some.

Of a machine that this computer asked for, nothing. Of one that Google has, that it was asked for: where it is and
since when, Google says. Of others as far as the plan allows: in its zones, by their own names, no later than now, and
few of those that nobody saw to an end. What was shown of stops, whether they were set at a lease's end, or a deletion
was asked for, this computer finds out itself. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tpu_studio.wire.events import Event
from tpu_studio.workflow.cloudruns.ports import MachineSeen, Ref

ATTEMPTS_OF_OTHERS = 1000
"""More than a run has, and few enough that as many can follow."""
MOST_STRANGE = 8
_ANY = frozenset({"opened", "prepared", "end", "phase", "taken-over"})
_COUNTED = frozenset({"attempt-over", "again"})
_OF_MACHINES = frozenset({"intent", "intent-closed", "cloud", "leaving", "deleted", "stops-removed"})
_TIMES = ("created", "billed_until", "billed_least", "billed_most", "spoke", "first")


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
    found = re.fullmatch(rf"ts-{re.escape(run)}-a([1-9]\d{{0,3}})-t([1-9]\d{{0,3}})", text)
    name = Name(text, int(found[1]), int(found[2])) if found else None
    return name if name and name.attempt <= ATTEMPTS_OF_OTHERS else None


def asked_here(own: Iterable[Event]) -> set[str]:
    """Names of machines that this computer has at least set stops for."""
    begun = (one for one in own if one.kind == "intent" and one.get("action") in ("stops", "create"))
    return {str(one.get("name")) for one in begun}


def believed(
    others: Iterable[Event],
    own: Sequence[Event],
    run: str,
    place: Place,
    seen: Mapping[str, MachineSeen],
    now: float,
) -> list[Event]:
    """All that counts, in the order of its times.

    Args:
        others, own: Of other computers, and this one's.
        seen: Machines of the run's that Google has told of by its label, also of those that went since.
        now: Seconds since 1970.
    """
    kept: list[Event] = []
    by_name: dict[str, list[Event]] = {name: [] for name in seen}
    for event in others:
        event = replace(event, t=min(event.t, now))
        if event.kind in _ANY:
            kept.append(event)
        elif event.kind in _COUNTED:
            kept += [event] if _number(event.get("attempt"), 0) <= ATTEMPTS_OF_OTHERS else []
        elif event.kind in _OF_MACHINES:
            by_name.setdefault(_about(event), []).append(event)
    here = asked_here(own)
    watched = {_about(one) for one in own if one.kind in ("leaving", "deleted")} | seen.keys()
    reached = max([1, *_reached(kept), *_reached(own), *(name.attempt for one in seen if (name := name_of(one, run)))])
    strange: list[tuple[float, list[Event]]] = []
    for text, told in by_name.items():
        name = name_of(text, run)
        if name is None or text in here or name.attempt > reached:
            continue
        if text in seen:
            kept += _of_google(name, told, seen[text], now)
        elif events := list(_of_others(name, told, place, now, watched=text in watched)):
            over = {one.kind for one in events} >= {"deleted", "stops-removed"} or text in watched
            if over:
                kept += events
            else:
                strange.append((max(one.t for one in events), events))
    for _, events in sorted(strange, key=lambda one: one[0])[-MOST_STRANGE:]:
        kept += events
    return sorted((*kept, *own), key=lambda one: one.t)


def _reached(events: Iterable[Event]) -> Iterator[int]:
    """Attempts that are said to have begun."""
    for one in events:
        if one.kind in _COUNTED:
            yield _number(one.get("attempt"), 0) + (one.kind == "attempt-over")


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


def _of_others(name: Name, told: Sequence[Event], place: Place, now: float, *, watched: bool) -> Iterator[Event]:
    """As far as the plan allows. *watched*: this computer has told of its end."""
    asked = [one for one in told if one.kind == "intent" and one.get("action") == "create"]
    allowed = [one for one in asked if one.get("zone") in place.zones and one.get("backend", "tpu") == place.backend]
    if not allowed:
        return
    ref = Ref(name.text, str(allowed[0].get("zone")), place.backend, alpha=place.alpha)
    yield _asked(name, ref, allowed[0].t)
    for one in told:
        if one.kind == "intent-closed" and str(one.get("id")).startswith("create/"):
            yield replace(one, t=max(one.t, allowed[0].t))
        elif one.kind in ("cloud", "leaving", "deleted", "stops-removed") and not watched:
            times = {key: _within(one.get(key), now) for key in _TIMES if key in one.fields}
            yield replace(one, t=max(one.t, allowed[0].t), fields={**one.fields, **times})


def _asked(name: Name, ref: Ref, t: float) -> Event:
    of_name = {"id": f"create/{name.text}", "name": name.text, "attempt": name.attempt, "try": name.number}
    where = {"zone": ref.zone, "backend": ref.backend, "alpha": ref.alpha}
    return Event(t, "intent", {"action": "create", **of_name, **where})


def _within(value: object, now: float) -> object:
    is_time = isinstance(value, (int, float)) and not isinstance(value, bool)
    return min(float(value), now) if is_time else None  # type: ignore[arg-type]


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise
