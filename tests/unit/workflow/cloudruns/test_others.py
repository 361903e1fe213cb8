"""What another computer's records may say of a run that was taken over: `others.believed`, event by event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_studio.wire.events import Event
from tpu_studio.workflow.cloudruns.others import MOST_STRANGE, Place, name_of, taken_from
from tpu_studio.workflow.cloudruns.ports import MachineSeen, Ref
from tpu_studio.workflow.cloudruns.state import State, fold

RUN, NOW = "digits-k3f7", 1_000_000.0
PLACE = Place(("us-west4-a",), "tpu", alpha=False)
FIRST = f"ts-{RUN}-a1-t1"
THERE = {FIRST: MachineSeen(Ref(FIRST, "us-west4-a"), "ready", created=NOW - 500.0)}


def intent(name: str = FIRST, t: float = NOW - 600.0, action: str = "create", **more: object) -> Event:
    facts = {"id": f"{action}/{name}", "action": action, "name": name, "zone": "us-west4-a", "backend": "tpu"}
    return Event(t, "intent", {**facts, "attempt": 1, "try": 1, **more})


def closed(what: str, outcome: str = "accepted", t: float = NOW - 590.0, **facts: object) -> Event:
    return Event(t, "intent-closed", {"id": what, "outcome": outcome, "facts": facts})


def told(*events: Event, own: tuple[Event, ...] = (), seen: dict[str, MachineSeen] | None = None) -> State:
    found = taken_from(events, own, RUN, PLACE, seen or {}, NOW)
    return fold(sorted((*found, *own), key=lambda one: one.t))


@pytest.mark.parametrize(
    "lie",
    [
        intent(t=NOW - 9000.0, zone="us-west4-b"),
        intent(t=NOW - 9000.0, backend="compute"),
        intent(t=NOW - 9000.0, attempt=5000),
        Event(NOW - 599.0, "cloud", {"name": FIRST, "state": "ready", "created": NOW + 28 * 86400.0}),
        Event(NOW - 1.0, "deleted", {"name": FIRST, "proof": "404", "made": True}),
        Event(NOW - 1.0, "stops-removed", {"name": FIRST, "left": []}),
        Event(NOW - 1.0, "leaving", {"name": FIRST, "why": "stopped-discard"}),
        closed(f"lease-stops/{FIRST}", "set"),
        closed(f"stops/{FIRST}", "set", queue="projects/evil/locations/us-west4/queues/tpu-studio-stops"),
        intent(action="delete", t=NOW - 1.0),
        intent(f"ts-{RUN}-a7-t1", t=NOW - 9000.0, attempt=7),
    ],
    ids=lambda one: f"{one.kind} {one.get('id') or one.get('name')}",
)
def test_of_a_machine_that_google_has_nothing_counts_but_that_it_was_asked_for(lie: Event) -> None:
    plain = told(intent(), closed(f"create/{FIRST}"), seen=THERE)
    assert told(intent(), closed(f"create/{FIRST}"), lie, seen=THERE) == plain or lie.t < NOW - 600.0
    machine = told(intent(), closed(f"create/{FIRST}"), lie, seen=THERE).machine
    assert machine is not None and (machine.ref, machine.attempt) == (THERE[FIRST].ref, 1)
    assert machine.created == NOW - 500.0 and machine.maybe_there
    assert not (machine.lease_stops or machine.leaving or machine.stops_removed or machine.delete_asked)
    assert not machine.ref.queue


def test_a_machine_that_waited_long_was_not_ready_before_it_was_made() -> None:
    machine = told(intent(t=NOW - 9000.0), closed(f"create/{FIRST}", t=NOW - 8999.0), seen=THERE).machine
    assert machine is not None and (machine.asked, machine.ready) == (NOW - 9000.0, NOW - 500.0)


def test_of_a_machine_that_was_asked_for_here_others_say_nothing() -> None:
    own = (intent(t=NOW - 300.0, action="stops"), closed(f"stops/{FIRST}", "set", NOW - 299.0), intent(t=NOW - 298.0))
    lies = (
        intent(t=NOW - 900.0, zone="us-west4-b"),
        Event(NOW - 1.0, "deleted", {"name": FIRST, "proof": "404"}),
        closed(f"lease-stops/{FIRST}", "set", NOW - 1.0),
    )
    assert told(*lies, own=own, seen=THERE) == told(own=own, seen=THERE)
    (machine,) = told(*lies, own=own).machines  # but where Google has it no more, when it ended
    assert machine.gone == NOW - 1.0 and (machine.ref.zone, machine.lease_stops) == ("us-west4-a", False)


def test_a_machine_that_is_over_counts_with_what_it_cost_and_no_later_than_now() -> None:
    over = Event(8e9, "deleted", {"name": FIRST, "made": True, "created": NOW - 500.0, "billed_until": 9e9})
    (machine,) = told(intent(), closed(f"create/{FIRST}"), over).machines
    assert machine.gone == NOW and machine.billed_until == NOW and machine.billed_s(NOW) == 500.0


def test_what_was_only_begun_is_none_and_of_strange_ones_there_are_few() -> None:
    assert not told(intent(action="stops"), closed(f"stops/{FIRST}", "set")).machines
    strange = [intent(f"ts-{RUN}-a1-t{n}", t=NOW - n) for n in range(1, 300)]
    assert len(told(*strange).machines) == MOST_STRANGE
    assert len(told(*strange, intent(), seen=THERE).there) == MOST_STRANGE + 1


def test_an_attempt_that_no_run_reaches_is_none() -> None:
    assert told(Event(NOW, "attempt-over", {"attempt": 9998})).attempt == 1
    assert told(Event(NOW, "attempt-over", {"attempt": 2})).attempt == 3


def test_names_are_those_of_the_run() -> None:
    assert name_of(FIRST, RUN) is not None
    for bad in (f"ts-{RUN}-a0-t1", f"ts-{RUN}-a50000-t1", f"ts-{RUN}-a1-t1x", "ts-other-a1-t1", f"ts-{RUN}-a٣-t1"):
        assert name_of(bad, RUN) is None, bad


VALUES: Any = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just(FIRST))
KEYS = ["id", "name", "zone", "backend", "attempt", "try", "action", "outcome", "created", "billed_until", "facts"]
KINDS = ["intent", "intent-closed", "cloud", "leaving", "deleted", "stops-removed", "attempt-over", "again", "phase"]
EVENTS = st.builds(
    Event, st.floats(0.0, 1e10), st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=12))
def test_whatever_others_write_the_machine_that_is_there_is_there(events: list[Event]) -> None:
    (machine,) = [one for one in told(*events, seen=THERE).machines if one.ref.name == FIRST]
    assert machine.maybe_there and machine.ref == THERE[FIRST].ref and machine.created == NOW - 500.0
    assert all(one.asked is None or one.asked <= NOW for one in told(*events, seen=THERE).machines)
