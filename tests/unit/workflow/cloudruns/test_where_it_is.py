"""A run that was taken over: where its machines are Google says, what was asked for this computer."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.fakes.clouddesk import RUN, Second
from tpu_studio.wire.events import event
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import SendControl

FIRST, NEXT = f"ts-{RUN}-a1-t1", f"ts-{RUN}-a2-t1"


def elsewhere(t: float, **place: str) -> Mapping[str, object]:
    """That the first machine was asked for in another place, before it was."""
    place = {"zone": "us-west4-a", "backend": "tpu", **place}
    return event("intent", t=t, id=f"stops/{FIRST}", action="stops", name=FIRST, attempt=1, **{"try": 1}, **place)


@pytest.mark.parametrize("place", [{"zone": "us-west4-b"}, {"backend": "compute"}], ids=["zone", "backend"])
def test_a_machine_is_looked_for_where_google_says_that_it_is(second: Second, place: dict[str, str]) -> None:
    """Looked for in the place that the bucket told, it was verified gone: its stops were removed, the run was over."""
    asked = second.desk.state.machines[0].asked or 0.0
    second.lay(elsewhere(asked - 1000.0, **place))
    second.take_over()
    second.turns(10)
    assert second.sky.nodes and second.driver.state(RUN).end is None
    assert sorted(one for one, _ in second.sky.tasks.values()) == [FIRST] * 27
    verbs, folder = CloudVerbs(second.home, second.driver, second.journal), second.home / "runs" / RUN
    verbs.extend(folder, (SendControl({"verb": "limits", "hours": 5.0, "money_usd": 100.0}),))
    created = second.driver.state(RUN).machines[0].created or 0.0
    assert len(second.sky.tasks) == 27 and min(at for _, at in second.sky.tasks.values()) >= created + 5 * 3600.0
    verbs.stop(folder, keep=True)
    second.turns(60)
    assert not second.sky.nodes and not second.sky.tasks


def test_no_second_machine_is_asked_for_beside_one_that_is_said_to_be_elsewhere_and_gone(second: Second) -> None:
    second.take_over()
    second.turns(5)
    machine, now = second.driver.state(RUN).machines[0], second.sky.now
    second.lay(
        elsewhere((machine.asked or 0.0) - 1000.0, zone="us-west4-b"),
        event("deleted", t=now, name=FIRST, proof="404", made=True, created=machine.created, billed_until=now),
        event("attempt-over", t=now + 0.1, attempt=1, reason="preempted"),
    )
    second.start()
    second.turns(40)
    assert second.sky.most_at_once == 1


def test_a_machine_that_no_record_tells_of_is_seen_to_and_no_other_is_asked_for(second: Second) -> None:
    """Whoever writes to the bucket may also delete the events of the one before."""
    for name in [one for one in second.sky.objects if "/events/" in one]:
        del second.sky.objects[name]
    second.lay(event("opened", t=second.sky.now - 9000.0, bucket="b", project="sky"))
    second.take_over()
    second.turns(60)
    assert second.sky.created_names == [FIRST] and second.sky.nodes and second.sky.tasks
    CloudVerbs(second.home, second.driver, second.journal).stop(second.home / "runs" / RUN, keep=True)
    second.turns(120)
    assert not second.sky.nodes and not second.sky.tasks and second.driver.state(RUN).settled


@pytest.mark.parametrize("asked", [False, True], ids=["stops", "asked"])
def test_the_next_machine_is_asked_for_behind_stops_that_were_set_here(second: Second, asked: bool) -> None:
    """The bucket told that they were set, in which queue, and where the machine was asked for: it had none."""
    sky, now = second.sky, second.sky.now
    sky.vanish()
    facts = {"stops": ["x"], "queue": "projects/evil/locations/us-west4/queues/tpu-studio"}
    about = {"name": NEXT, "zone": "us-west4-b", "backend": "tpu", "attempt": 2, "try": 1}
    second.lay(
        event("attempt-over", t=now + 0.2, attempt=1, reason="preempted"),
        event("intent", t=now + 0.3, id=f"stops/{NEXT}", action="stops", **about),
        event("intent-closed", t=now + 500.0, id=f"stops/{NEXT}", outcome="set", facts=facts),
        *([event("intent", t=now + 500.0, id=f"create/{NEXT}", action="create", **about)] if asked else []),
    )
    second.take_over()
    second.turns(400 if asked else 60)
    (node,) = sky.nodes.values()
    assert node.wanted.ref.zone == "us-west4-a"
    assert len([one for one, _ in sky.tasks.values() if one == node.wanted.ref.name]) == 27
    stops = json.loads(node.wanted.metadata["ts-config"])["outside_stops"]
    assert stops["queue"] == "projects/sky/locations/us-west4/queues/tpu-studio"


@pytest.mark.parametrize("number", [1, 300])
@pytest.mark.parametrize("later", [False, True], ids=["earlier", "later"])
def test_machines_that_others_only_tell_of_keep_no_machine_from_being_seen_to(
    second: Second, number: int, later: bool
) -> None:
    """Each was looked for in its zone, which was refused: a stop was not carried out, and the run never ended."""
    second.take_over()
    second.turns(5)
    second.sky.forbidden.add("nowhere-a")
    asked = (second.driver.state(RUN).machines[0].asked or 0.0) + (10.0 if later else -500.0)
    second.lay(
        *(
            event(
                "intent",
                t=asked + n / 1000,
                id=f"create/ts-{RUN}-a1-t{n + 7}",
                action="create",
                name=f"ts-{RUN}-a1-t{n + 7}",
                zone="nowhere-a",
                attempt=1,
                **{"try": n + 7},
            )
            for n in range(number)
        )
    )
    second.start()
    second.turns(20)
    assert second.sky.nodes  # nor does it end the one that trains
    calls: list[str] = []
    second.sky.hook = lambda call, done: calls.append(call) if done else None
    CloudVerbs(second.home, second.driver, second.journal).stop(second.home / "runs" / RUN, keep=True)
    second.turns(120)
    assert not second.sky.nodes and not second.sky.tasks and second.driver.state(RUN).settled
    assert calls.count("look") < 150
