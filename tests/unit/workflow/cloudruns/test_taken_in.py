"""What others' records say of a run counts once, at its take-over: what comes into the bucket later is nothing."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.clouddesk import RUN, CloudDesk, Second, trains
from tests.unit.workflow.cloudruns.test_others import NOW, PLACE, THERE
from tests.unit.workflow.cloudruns.test_where_it_is import FIRST
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, RunError
from tpu_studio.wire.events import Event, event
from tpu_studio.workflow.cloudruns import believed
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.others import ATTEMPTS_OF_OTHERS, TAKEN, taken_from
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import SendControl


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


def test_a_stop_reaches_the_machine_where_google_does_not_list_what_there_is(
    second: Second, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One zone's list that does not answer kept it from the bucket, and the machine went on to its stops."""

    def unclear(*given: object) -> None:
        raise CloudUnclear("timeout", raw="")

    monkeypatch.setattr("tpu_studio.workflow.cloudruns.acts.Acts._labelled", unclear)
    second.take_over()
    verbs_of(second).stop(folder_of(second), keep=True)
    with pytest.raises(CloudUnclear):
        second.driver._turn(second.driver._take_up(folder_of(second)))
    (word,) = (data for name, (data, *_) in second.sky.objects.items() if "/control/" in name)
    assert json.loads(word)["verb"] == "stop"


@pytest.mark.parametrize("name", ["", ".", "..", "data/../x", "data/x\n", "runs/x", "data/" + "x" * 5000])
def test_an_object_that_no_bucket_can_name_keeps_nothing_from_being_taken_in(second: Second, name: str) -> None:
    stat = second.sky.side().mailbox.__class__.stat

    def strict(self: object, name: str) -> object:
        assert name.startswith(("data/", "runs/")) and ".." not in name and "\n" not in name
        return stat(self, name)

    pieces = {"bundle": {}, "data": [{"object": name, "bytes": 5}], "environment": {}}
    second.lay(event("prepared", t=9e9, pieces=pieces))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(second.sky.side().mailbox.__class__, "stat", strict)
        second.take_over()
    assert not second.driver.is_to_be_taken_in(RUN)


@pytest.mark.parametrize("others", [0, 100], ids=["one", "hundred"])
def test_who_may_not_list_looks_for_each_machine_also_for_one_that_is_said_to_be_gone(
    second: Second, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """Its stops were removed, and another one was rented beside it."""

    def refused(*given: object) -> None:
        raise CloudRefused("permission-missing", raw="tpu.nodes.list")

    monkeypatch.setattr("tests.fakes.skysides.Machines.find", refused)
    now = second.sky.now
    more = [(f"ts-{RUN}-a1-t{n}", 1 + n) for n in range(2, 2 + others)]
    gone = [
        line
        for name, number in [(FIRST, 1), *more]
        for line in (
            asked(name, now - 500.0, 1, number),
            event("deleted", t=now, name=name, proof="404", made=True),
            event("stops-removed", t=now, name=name, left=[]),
        )
    ]
    second.lay(*gone, event("attempt-over", t=now, attempt=1))
    second.take_over()
    if others:
        assert second.driver.is_to_be_taken_in(RUN)
        return
    second.turns(40)
    assert list(second.sky.nodes) == [FIRST] and second.sky.most_at_once == 1 and len(second.sky.tasks) >= 27


def test_limits_that_were_agreed_to_count_from_the_first_moment_on(
    second: Second, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of the bucket that failed behind the change of owner left the run driven by the plan's limits."""
    desk = second.desk
    CloudVerbs(desk.home, desk.driver, desk.journal).extend(
        desk.folder, (SendControl({"verb": "limits", "hours": 9.0, "money_usd": 5.0}),)
    )
    desk.turn()

    def unclear(*given: object) -> None:
        raise CloudUnclear("timeout", raw="")

    with monkeypatch.context() as patched:
        patched.setattr("tpu_studio.workflow.cloudruns.mirror.Mirror.desk_files", unclear)
        with pytest.raises(CloudUnclear):
            second.take_over()
    found = believed.limits(folder_of(second), second.desk.plan)
    assert (found.hours, found.money_usd) == (9.0, 5.0)


@pytest.mark.parametrize("id", ["bad-request", "permission-missing"], ids=["given with each call", "in Cloud KMS"])
@pytest.mark.parametrize("what", ["events/a0001-w000/", "claims/a0001", "events/desk-zzzzzzzz/"])
def test_an_object_that_google_gives_nobody_holds_up_no_stop(
    second: Second, monkeypatch: pytest.MonkeyPatch, what: str, id: str
) -> None:
    """Somebody laid it there under a key of his own: each turn ended with it, and the machine went on to its stops."""
    box = second.sky.side().mailbox.__class__
    read = box.read

    def keyed(self: Any, name: str, **more: Any) -> bytes | None:
        if what in name:
            raise CloudRefused(id, raw="Permission denied on Cloud KMS key, or the key of a customer")
        found: bytes | None = read(self, name, **more)
        return found

    second.lay(event("notice", t=second.sky.now, id="x"))
    monkeypatch.setattr(box, "read", keyed)
    second.take_over()
    second.turns(3)
    verbs_of(second).stop(folder_of(second), keep=True)
    second.start()
    begun = second.sky.now
    while second.sky.nodes and second.sky.now < begun + 1500.0:
        second.turns(1)
    assert not second.sky.nodes


def test_a_run_that_is_over_brings_its_model_its_curve_and_its_receipt(desk: CloudDesk, tmp_path: Path) -> None:
    """It was “done” after no step, without a cost, and its model stayed in the bucket until that forgot it."""
    desk.until()
    second = Second(tmp_path / "two", desk)
    second.take_over()
    folder = folder_of(second)
    assert sorted(path.name for path in (folder / "result").iterdir()) == sorted(
        path.name for path in (desk.folder / "result").iterdir()
    )
    assert (folder / "events" / "a0001-w000.jsonl").read_bytes() == (
        desk.folder / "events" / "a0001-w000.jsonl"
    ).read_bytes()
    state = second.driver.state(RUN)
    assert state.settled and state.end is not None and state.end.get("reason") == "completed"
    second.journal.disconnect()


def test_a_machine_of_a_later_attempt_that_google_alone_tells_of_is_the_one_of_now(second: Second) -> None:
    second.take_over()
    second.turns(2)
    assert second.sky.preempt()
    second.turns(40)
    (name,) = second.sky.nodes
    own = next((folder_of(second) / "events").glob(f"desk-{second.driver._records.install}.jsonl"))
    lines = own.read_bytes().splitlines(True)
    own.write_bytes(b"".join(lines[: 1 + max(n for n, line in enumerate(lines) if b'"taken-in"' in line)]))
    for stored in [one for one in second.sky.objects if f"desk-{second.driver._records.install}/" in one]:
        del second.sky.objects[stored]
    second.start()
    second.turns(20)
    assert list(second.sky.nodes) == [name] and second.sky.most_at_once == 1
    assert second.driver.state(RUN).attempt == 2


def test_nothing_is_earlier_than_the_plan() -> None:
    told = [Event(t, "attempt-over", {"attempt": 1}) for t in (0.0, NOW - 5.0)]
    assert [one.t for one in taken_from(told, (), RUN, PLACE, {}, NOW, since=NOW - 100.0)] == [NOW - 100.0]


@pytest.mark.parametrize("error", [CloudUnclear("timeout", raw=""), CloudRefused("permission-missing", raw="storage")])
def test_a_stop_is_carried_out_where_the_program_was_only_just_started_and_the_bucket_says_nothing(
    desk: CloudDesk, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Each turn ended before anything was decided, and a machine that hung went on to its shut-off timers."""
    desk.sky.steps = 10**6
    trains(desk)
    desk.turn()
    desk.sky.hang()
    desk.die()
    desk.start()

    def says_nothing(*given: object, **more: object) -> None:
        raise error

    box = desk.sky.side().mailbox.__class__
    for call in ("read", "list", "stat", "write", "create"):
        monkeypatch.setattr(box, call, says_nothing)
    verbs = CloudVerbs(desk.home, desk.driver, desk.journal)
    verbs.stop(desk.folder, keep=True)
    begun = desk.sky.now
    while desk.sky.nodes and desk.sky.now < begun + 3000.0:
        with suppress(CloudUnclear, CloudRefused):
            desk.driver._turn(desk.driver._take_up(desk.folder))
        desk.sky.pass_time(20.0)
    assert not desk.sky.nodes


def test_a_finished_run_is_taken_in_once_its_model_came(
    desk: CloudDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call that failed left it “completed”, without a model, for good."""
    desk.until()
    second = Second(tmp_path / "two", desk)

    def unclear(*given: object, **more: object) -> None:
        raise CloudUnclear("timeout", raw="")

    with monkeypatch.context() as patched:
        patched.setattr("tpu_studio.workflow.cloudruns.mirror.Mirror.result", unclear)
        second.take_over()
    assert second.driver.is_to_be_taken_in(RUN) and second.driver.unsettled() == [RUN]
    second.turns(3)
    assert list((folder_of(second) / "result").iterdir()) and second.driver.state(RUN).settled
    second.journal.disconnect()


def keyed(name: str) -> Any:
    """`Mailbox.download` of a bucket in which *name* lies under a key of somebody's."""

    def wrap(download: Any) -> Any:
        def refusing(self: Any, wanted: str, *given: Any, **more: Any) -> Any:
            if name in wanted:
                raise CloudRefused("permission-missing", raw="Permission denied on Cloud KMS key")
            return download(self, wanted, *given, **more)

        return refusing

    return wrap


def test_what_a_run_has_left_keeps_no_machine_from_its_end(second: Second, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines said that it was over, and one object could not be read: no machine of it was ever known here, and a
    hung one went on to its stops."""
    box = second.sky.side().mailbox.__class__
    second.sky.side().mailbox.write(f"runs/{RUN}/result/evil.bin", b"x")
    now = second.sky.now
    second.lay(lies(now)["the run is over"], lies(now)["all is done"])
    monkeypatch.setattr(box, "download", lambda *_, **more: (_ for _ in ()).throw(CloudUnclear("timeout", raw="")))
    second.take_over()
    second.turns(3)
    assert not second.driver.is_to_be_taken_in(RUN)
    for node in second.sky.nodes.values():
        node.hung = True
    begun = second.sky.now
    with suppress(RunError):  # it is over by its records, and its machine ends with that
        verbs_of(second).stop(folder_of(second), keep=True)
    second.start()
    while second.sky.nodes and second.sky.now < begun + 1500.0:
        second.turns(1)
    assert not second.sky.nodes


def test_an_object_of_a_result_that_google_gives_nobody_leaves_the_rest(
    desk: CloudDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.until()
    second = Second(tmp_path / "two", desk)
    box = second.sky.side().mailbox.__class__
    second.sky.side().mailbox.write(f"runs/{RUN}/result/a.bin", b"x")
    monkeypatch.setattr(box, "download", keyed("a.bin")(box.download))
    second.take_over()
    assert not second.driver.is_to_be_taken_in(RUN)
    kept = {one.name for one in (folder_of(second) / "result").iterdir()}
    assert kept and "a.bin" not in kept
    second.journal.disconnect()


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


@settings(max_examples=100, deadline=None)
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
