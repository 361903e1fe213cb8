"""What others' records say of a run counts once, at its take-over: what comes into the bucket later is nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.clouddesk import RUN, CloudDesk, trains
from tests.unit.workflow.cloudruns.test_others import NOW, PLACE, THERE
from tests.unit.workflow.cloudruns.test_where_it_is import FIRST, Second
from tpu_studio.wire.errors import CloudUnclear, RunError
from tpu_studio.wire.events import Event, event
from tpu_studio.workflow.cloudruns.mirror import desk_events
from tpu_studio.workflow.cloudruns.others import ATTEMPTS_OF_OTHERS, TAKEN, taken_from
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import SendControl


@pytest.fixture
def second(desk: CloudDesk, tmp_path: Path) -> Iterator[Second]:
    desk.sky.steps = 10**6
    trains(desk)
    desk.turn()
    found = Second(tmp_path / "two", desk)
    yield found
    found.journal.disconnect()


def verbs_of(second: Second) -> CloudVerbs:
    return CloudVerbs(second.home, second.driver, second.journal)


def folder_of(second: Second) -> Path:
    return second.home / "runs" / RUN


def asked(name: str, t: float, attempt: int, number: int) -> dict[str, Any]:
    facts = {"id": f"create/{name}", "action": "create", "name": name, "zone": "us-west4-a", "backend": "tpu"}
    return event("intent", t=t, attempt=attempt, **facts, **{"try": number})


def lies(t: float) -> dict[str, dict[str, Any]]:
    other = f"ts-{RUN}-a1-t2"
    return {
        "a second try": asked(other, t, 1, 2),
        "the attempt is over": event("attempt-over", t=t, attempt=1, reason="preempted"),
        "another attempt": event("again", t=t, attempt=2),
        "the run is over": event("end", t=t, status="failed", reason="launch-refused", steps=0, final={}, facts={}),
        "all is done": event("phase", t=t, phase="done", detail=""),
        "it is gone": event("deleted", t=t, name=FIRST, proof="404", made=True),
        "stops that are left are a number": event("stops-removed", t=t, name=FIRST, left=5),
        "what nobody saw cost a word": event("notice", t=t, id="cost-unseen", facts={"usd_at_most": "x"}),
        "elsewhere": event("opened", t=t, project="evil-project", bucket="evil-bucket"),
        "exabytes": event("prepared", t=t, pieces={"data": [{"object": "data/x", "bytes": 10**18}]}),
        "taken in": event("taken-in", t=t, events=0),
    }


@pytest.mark.parametrize("later", [False, True], ids=["now", "in years"])
@pytest.mark.parametrize("lie", lies(0.0))
def test_what_comes_into_the_bucket_later_counts_for_nothing(second: Second, lie: str, later: bool) -> None:
    """By one line the machine that trains was deleted, a stop was undone, and another one rented."""
    second.take_over()
    second.turns(3)
    second.lay(lies(9e9 if later else second.sky.now)[lie])
    second.start()
    second.turns(30)
    state = second.driver.state(RUN)
    assert second.sky.created_names == [FIRST] and list(second.sky.nodes) == [FIRST]
    assert (state.attempt, state.end, state.project) == (1, None, "sky") and not second.driver.problems
    verbs_of(second).stop(folder_of(second), keep=True)
    second.start()
    second.turns(60)
    assert not second.sky.nodes and not second.sky.tasks and second.sky.created_names == [FIRST]
    (file,) = folder_of(second).rglob("receipt.json")
    receipt = json.loads(file.read_text())
    assert second.driver.state(RUN).settled and receipt["usd"] < 10.0
    assert not second.driver.problems


@pytest.mark.parametrize("lie", ["a second try", "the attempt is over", "another attempt", "it is gone", "elsewhere"])
def test_what_lay_there_before_changes_nothing_of_a_machine_that_google_has(second: Second, lie: str) -> None:
    second.lay(lies(9e9)[lie])
    second.take_over()
    second.turns(30)
    state = second.driver.state(RUN)
    assert second.sky.created_names == [FIRST] and list(second.sky.nodes) == [FIRST]
    assert state.machine is not None and (state.machine.ref.name, state.attempt) == (FIRST, 1)
    assert (state.end, state.project, state.bucket) == (None, "sky", "sky-bucket")


def test_a_journal_that_is_lost_learns_from_this_computers_records_alone(second: Second) -> None:
    """It took project and bucket from a line in the bucket, and signed in there."""
    second.take_over()
    second.turns(3)
    second.lay(lies(9e9)["elsewhere"])
    second.start()
    second.turns(1)
    second.journal.disconnect()
    for file in second.home.glob("journal.db*"):
        file.unlink()
    second.start()
    assert second.driver.unsettled() == [RUN] and second.journal.was_taken_over(RUN)
    second.turns(1)
    assert second.journal.begun_at(RUN) == ("sky", "sky-bucket")


def test_who_takes_it_back_sees_a_machine_of_any_attempt(second: Second) -> None:
    """A number in the bucket led to names that nobody else believed: two machines more were rented."""
    second.lay(*(event("attempt-over", t=second.sky.now, attempt=n) for n in (1, 999, ATTEMPTS_OF_OTHERS, 9998)))
    second.take_over()
    second.turns(3)
    assert second.sky.preempt()
    second.turns(60)
    (name,) = second.sky.nodes
    back = Second(second.desk.home, second.desk)
    back.take_over()
    back.turns(30)
    assert list(second.sky.nodes) == [name] and second.sky.most_at_once == 1
    verbs_of(back).stop(folder_of(back), keep=True)
    back.turns(60)
    assert not second.sky.nodes and not second.sky.tasks
    back.journal.disconnect()


def test_a_stop_counts_also_where_google_cannot_be_asked_what_there_is(
    second: Second, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is in its second attempt, which this computer does not know yet: a stop of its first would be none."""

    def unclear(*given: object) -> None:
        raise CloudUnclear("timeout", raw="")

    assert second.sky.preempt()
    for _ in range(30):
        second.desk.turn()
    (name,) = second.sky.nodes
    with monkeypatch.context() as patched:
        patched.setattr("tpu_studio.workflow.cloudruns.acts.Acts._labelled", unclear)
        second.take_over()
        assert second.driver.is_to_be_taken_in(RUN)
        with pytest.raises(RunError, match="stops-not-moved"):
            verbs_of(second).extend(folder_of(second), (SendControl({"verb": "limits", "hours": 9.0}),))
        verbs_of(second).stop(folder_of(second), keep=True)
        for _ in range(5):
            with pytest.raises(CloudUnclear):
                second.driver._turn(second.driver._take_up(folder_of(second)))
        assert list(second.sky.nodes) == [name]
    second.turns(60)
    assert not second.sky.nodes and not second.sky.tasks and second.sky.created_names == [FIRST, name]
    assert second.driver.state(RUN).settled


def test_a_take_over_by_an_earlier_version_is_taken_in_at_the_next_turn(second: Second) -> None:
    second.take_over()
    own = next((folder_of(second) / "events").glob(f"desk-{second.driver._records.install}.jsonl"))
    own.write_bytes(b"".join(line for line in own.read_bytes().splitlines(True) if b'"take' not in line))
    second.start()
    assert second.driver.is_to_be_taken_in(RUN)
    second.turns(10)
    kinds = [one.kind for one in desk_events(folder_of(second), second.driver._records.install)]
    assert kinds.count("taken-in") == 1 and second.driver.state(RUN).machine is not None
    assert list(second.sky.nodes) == [FIRST]


VALUES: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just(FIRST)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["object", "bytes", "data"]), inner),
    max_leaves=5,
)
KINDS = ["intent", "intent-closed", "cloud", "leaving", "deleted", "stops-removed", "attempt-over", "again", "end"]
KEYS = ["id", "name", "zone", "attempt", "try", "action", "outcome", "created", "billed_until", "left", "why", "made"]
EVENTS = st.builds(
    Event,
    st.floats(0.0, 1e10),
    st.sampled_from([*KINDS, "prepared", "opened", "phase", "notice", "gate", "taken-over", "taken-in"]),
    st.dictionaries(st.sampled_from([*KEYS, "counted_s", "spoke", "reason", "phase", "pieces", "usd_at_most"]), VALUES),
)
TYPES = {
    "left": list,
    "made": bool,
    "over": bool,
    "attempt": int,
    "why": str,
    "reason": str,
    "state": str,
    "phase": str,
    "zone": str,
    "extensions": list,
}


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=10), st.booleans())
def test_what_is_taken_in_is_of_known_kinds_and_no_later_than_now(events: list[Event], there: bool) -> None:
    for one in taken_from(events, (), RUN, PLACE, THERE if there else {}, NOW):
        assert one.t <= NOW and one.get(TAKEN) is True
        assert one.kind in {*KINDS, "prepared", "phase"}
        for key, value in one.fields.items():
            assert isinstance(value, TYPES.get(key, object)), (one.kind, key, value)
            if key in ("created", "billed_until", "spoke") and value is not None:
                assert isinstance(value, float) and value <= NOW


@pytest.mark.parametrize("tells", [False, True], ids=["Google tells of no end", "Google tells of ends"])
def test_who_takes_it_back_counts_its_own_machine_as_the_other_saw_it_end(second: Second, tells: bool) -> None:
    """It counted up to now, moved the stops of the machine that trains to an earlier time, and they ended it."""
    second.sky.tells_ends = tells
    second.take_over()
    second.turns(3)
    assert second.sky.preempt()
    begun = second.sky.now
    while second.sky.now < begun + 3600.0:
        second.turns(1)
    (name,) = second.sky.nodes
    seen = second.driver.state(RUN)
    back = Second(second.desk.home, second.desk)
    back.take_over()
    back.turns(3)
    found, now = back.driver.state(RUN), second.sky.now
    assert list(second.sky.nodes) == [name] and found.machine is not None and found.machine.ref.name == name
    first = found.of(FIRST)
    assert first is not None and first.billed_s(now) == pytest.approx(seen.machines[0].billed_s(now), abs=120.0)
    assert found.limited_s(now) < seen.limited_s(now) + 300.0
    back.journal.disconnect()
