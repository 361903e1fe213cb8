"""Somebody else writes to the run's bucket: nothing crashes, nothing of others is deleted, no money is hidden."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk
from tests.fakes.skies import RATE, Sky, cloud_plan
from tpu_studio.domain.folding import apply as see
from tpu_studio.domain.run import RunView
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.controls import AT_MOST, Controls
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import Event, decode
from tpu_studio.wire.plan import dumps
from tpu_studio.workflow.cloudruns import deskevents, mirror
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.mirror import Words, attempts
from tpu_studio.workflow.cloudruns.state import State, apply, fold
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs

PREFIX = f"runs/{RUN}/"
HUGE = "9" * 400  # an integer that no float can hold
NONSENSE: tuple[str, ...] = (
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "NaN",
    "-Infinity",
    HUGE,
    '"x"',
    "[]",
    "[[]]",
    "{}",
    '{"a":1}',
)
FIELDS: dict[str, tuple[str, ...]] = {
    "phase": ("phase", "detail", "attempt"),
    "metric": ("step", "loss", "val_loss"),
    "money": ("usd", "usd_per_hour", "since"),
    "speed": ("step", "steps", "examples", "seconds", "device_s"),
    "device": ("worker",),
    "checkpoint": ("step",),
    "notice": ("id", "level", "facts"),
    "control": ("verb",),
    "end": ("status", "reason", "steps", "final", "facts", "attempt"),
    "target": ("steps",),
    "resume": ("step", "attempt"),
    "again": ("attempt",),
    "attempt-over": ("attempt", "reason"),
    "cloud": ("name", "state", "created"),
    "deleted": ("name", "created", "billed_until", "made"),
    "waiting": ("zones", "since"),
    "intent": ("name", "action", "zone", "backend", "attempt", "try"),
    "intent-closed": ("id", "outcome", "facts"),
    "leaving": ("name", "why", "facts"),
    "opened": ("bucket",),
    "prepared": ("pieces",),
    "stops-removed": ("name",),
    "upload": ("done", "total"),
    "log": ("text",),
}


def lines() -> Iterator[bytes]:
    name = f'"name":"ts-{RUN}-a1-t1"'
    yield f'{{"t":1.0,"kind":"intent","action":"create","zone":"z",{name}}}'.encode()
    for kind, fields in FIELDS.items():
        for field in fields:
            for value in NONSENSE:
                known = "" if field == "name" else f",{name}"
                yield f'{{"t":2.0,"kind":"{kind}","action":"create"{known},"{field}":{value}}}'.encode()
                yield f'{{"t":2.0,"kind":"{kind}","step":[{value}],"loss":[{value}],"val_loss":[{value}]}}'.encode()
    for value in NONSENSE:
        yield f'{{"t":{value},"kind":"end"}}'.encode()
        yield f'{{"t":1.0,"kind":{value}}}'.encode()
        yield value.encode()
    yield b"[" * 100_000
    yield b"\xff\xfe\x00"


@pytest.fixture
def desk(tmp_path: Path, sky: Sky) -> Iterator[CloudDesk]:
    made = CloudDesk(tmp_path / "home", sky)
    yield made
    made.die()


def test_no_event_however_senseless_stops_a_fold() -> None:
    view, events = RunView(), [event for line in lines() if (event := decode(line)) is not None]
    assert len(events) > 500
    for event in events:
        view = see(view, event)
        assert view.usd_now(3.0) >= 0.0
        assert view.attempt < 10_000 or view.attempt == int(view.attempt)
        state = fold([events[0], event])
        assert state.usd(RATE, 10.0) >= 0.0
        assert 1 <= state.attempt <= 9999
    assert fold(events).machines


def test_machines_and_regions_by_the_ten_thousand_are_folded_in_one_go_and_as_one_by_one() -> None:
    """A rented run that came as a folder of 8 MB held up who drives the others: each event went through them all."""
    many = 30_000
    records = [
        *(
            {"action": "create", "name": f"ts-{RUN}-a1-t{n}", "zone": "z", "attempt": 1, "try": n}
            for n in range(1, many)
        ),
        *({"id": f"create/ts-{RUN}-a1-t{n}", "outcome": "accepted"} for n in range(1, many)),
        *({"region": f"r{n}", "answer": "shown"} for n in range(1, many)),
    ]
    kinds = [*["intent"] * (many - 1), *["intent-closed"] * (many - 1), *["gate"] * (many - 1)]
    told = [Event(float(at + 1), kind, one) for at, (kind, one) in enumerate(zip(kinds, records, strict=True))]
    state = fold(told)
    assert len(state.machines) == len(state.gates) == many - 1
    assert {one.outcome for one in state.machines} == {"accepted"}
    few = [*told[:40], *told[many - 1 : many + 29], *told[-20:]]
    by_one = State()
    for one in few:
        by_one = apply(by_one, one)
    assert by_one == fold(few)


@pytest.mark.parametrize("t", ["1e999", "NaN", "-Infinity", HUGE, "1e12", '"5"', "true", "null"])
def test_an_event_without_a_time_that_can_be_is_no_event(t: str) -> None:
    assert decode(f'{{"t":{t},"kind":"end"}}') is None


def train_a_little(desk: CloudDesk) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()


def end_of(sky: Sky) -> str:
    """The name under which the bucket takes the next bytes of the guardian's events."""
    node = next(iter(sky.nodes.values()))
    return f"{PREFIX}events/a0001-w000/{node.offset:012d}.jsonl"


def test_garbage_where_the_guardians_events_were_due_ends_in_a_proved_deletion(desk: CloudDesk, sky: Sky) -> None:
    train_a_little(desk)
    name = end_of(sky)
    node = next(iter(sky.nodes.values()))
    node.hung = True
    sky._put(name, b"\n".join(line for line in lines() if b'"end"' not in line and b"preempted" not in line) + b"\n")
    for odd in ("zzz", "²", "-5", "1e3", "999999999999999999999", ""):
        sky._put(f"{PREFIX}events/a0001-w000/{odd}.jsonl", b"{}\n")
    sky._put(f"{PREFIX}events/a9999-w000/000000000000.jsonl", b"{}\n")
    sky._put(f"{PREFIX}heartbeat/a0001-w000.json", f'{{"t":{HUGE}}}'.encode())
    sky._put(f"{PREFIX}ledger/a0001.json", b"[" * 100_000)
    sky._put(f"{PREFIX}claims/a0001.json", b'{"name":' + HUGE.encode() + b"}")
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "machine-silent"
    assert not sky.nodes and not sky.tasks
    assert state.usd(RATE, sky.now) >= sky.usd_billed() * 0.99


def test_a_forged_end_hides_neither_the_machine_nor_its_cost(desk: CloudDesk, sky: Sky) -> None:
    train_a_little(desk)
    name, node = end_of(sky), next(iter(sky.nodes.values()))
    node.hung = True
    forged = {"t": sky.now + 1e9, "kind": "end", "attempt": 1, "status": "finished", "reason": "completed", "steps": 1}
    sky._put(name, json.dumps(forged).encode() + b"\n")
    desk.until()
    assert not sky.nodes, "an end in the future keeps no machine"
    assert desk.state.usd(RATE, sky.now) >= sky.usd_billed() * 0.99


def test_what_was_said_after_a_forged_end_counts_for_the_cost(desk: CloudDesk, sky: Sky) -> None:
    """The desktop was off: only the words tell how long the machine was there."""
    train_a_little(desk)
    name, node = end_of(sky), next(iter(sky.nodes.values()))
    began = node.created or 0.0
    sky.pass_time(600.0)
    early = {"t": began + 1.0, "kind": "end", "attempt": 1, "status": "finished", "reason": "completed", "steps": 1}
    late = {"t": began + 590.0, "kind": "log", "text": "still here"}
    sky.objects.pop(name, None)
    sky._put(name, b"\n".join(json.dumps(one).encode() for one in (early, late)) + b"\n")
    for odd in [one for one in sky.objects if one.startswith(f"{PREFIX}events/a0001-w000/") and one > name]:
        del sky.objects[odd]
    sky._forget(node)
    sky.pass_time(3_000.0)
    desk.die()
    desk.start()
    desk.until()
    assert desk.state.usd(RATE, sky.now) >= 590.0 / 3600 * RATE


@pytest.mark.parametrize("since", ["1e30", "99999999999", "NaN", "1e999", "-5", HUGE])
def test_a_creation_time_that_is_a_lie_is_not_believed(tmp_path: Path, since: str) -> None:
    folder = tmp_path / RUN
    (folder / "events").mkdir(parents=True)
    text = '{"t":100.0,"kind":"phase","phase":"setting-up"}\n{"t":101.0,"kind":"money","usd":0,"since":' + since + "}\n"
    (folder / "events" / "a0001-w000.jsonl").write_text(text)
    assert Words(folder).guard(1).since == 0.0


def test_a_machine_hears_no_more_orders_than_there_can_be(tmp_path: Path) -> None:
    """Forty thousand of them were copied at each line, while a stop waited."""
    folder = tmp_path / RUN
    (folder / "events").mkdir(parents=True)
    told: list[object] = ["x", [], {}, None, 1.5, -1, 0, *range(1, AT_MOST + 2_000)]
    lines = [json.dumps({"t": 100.0, "kind": "control", "number": number}) for number in told]
    (folder / "events" / "a0001-w000.jsonl").write_text("\n".join(lines) + "\n")
    assert Words(folder).guard(1).heard == frozenset(range(1, AT_MOST + 1))


def test_a_range_larger_than_memory_should_hold_comes_in_pieces(
    desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "LINE_BYTES", 4096)
    monkeypatch.setattr(mirror, "READ_AT_MOST", 4096)
    asked: list[int] = []
    box = sky.side().mailbox
    whole = type(box).read

    def bounded(self: Any, name: str, *, start: int = 0) -> bytes | None:
        data = whole(self, name, start=start)
        asked.append(len(data or b""))
        return data and data[:4096]

    monkeypatch.setattr(type(box), "read", bounded)
    train_a_little(desk)
    node = next(iter(sky.nodes.values()))
    node.hung = True
    sky._put(end_of(sky), b"x" * 50_000 + b"\n" + b'{"t":5.0,"kind":"log","text":"y"}\n' * 2_000)
    desk.until()
    assert (desk.folder / "events" / "a0001-w000.jsonl").stat().st_size > 100_000
    assert not sky.nodes


def hostile_desk(sky: Sky, *records: dict[str, Any]) -> None:
    text = b"".join(json.dumps({"t": sky.now, **one}).encode() + b"\n" for one in records)
    sky._put(f"{PREFIX}events/desk-evil2345/000000000000.jsonl", text)


def test_a_take_over_deletes_nothing_that_is_not_the_runs(tmp_path: Path, sky: Sky) -> None:
    first = CloudDesk(tmp_path / "one", sky)
    train_a_little(first)
    first.die()
    bad = {"kind": "intent", "attempt": 1, "try": 1, "zone": "us-west4-a"}
    hostile_desk(
        sky,
        {**bad, "action": "create", "name": "somebody-elses", "backend": "compute"},
        {**bad, "action": "create", "name": "ts-another-run-a1-t1", "backend": "tpu"},
        {**bad, "action": "create", "name": f"ts-{RUN}-a1-t9", "backend": "no-such-plane"},
        {"kind": "again", "attempt": 10**9},
        {"kind": "attempt-over", "attempt": "many"},
    )
    for odd in ("²", "-1", "x", "1" * 40):
        sky._put(f"{PREFIX}control/{odd}.json", b"{}")
    sky._put(f"{PREFIX}control/000001.json", b'{"verb":"stop","attempt":[]}')
    sky._put(f"{PREFIX}control/000002.json", f'{{"verb":"limits","hours":{HUGE}}}'.encode())
    sky._put(f"{PREFIX}events/desk-../../../evil/000000000000.jsonl", b"{}\n")
    deleted: list[str] = []
    remove = sky._remove
    sky._remove = lambda name: (deleted.append(name), remove(name))[1]  # type: ignore[method-assign]
    home = tmp_path / "two"
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    CloudVerbs(home, driver, journal).take_over(cloud_plan(), RUN)
    for _ in range(500):
        if driver.state(RUN).settled:
            break
        sky.pass_time(max(5.0, driver.turn(RUN)))
    assert driver.state(RUN).settled
    journal.disconnect()
    assert set(deleted) <= {f"ts-{RUN}-a1-t1"}
    assert not [path for path in tmp_path.rglob("*evil*") if "desk-evil2345" not in path.name]


def test_a_plan_of_another_run_is_not_taken_over(tmp_path: Path, sky: Sky) -> None:
    sky._put(f"{PREFIX}plan.json", dumps(cloud_plan().launched("somebody-elses-run", sky.now, "test")))
    journal = JournalFile(tmp_path / "journal.db")
    driver = Driver(tmp_path, places={"practice": sky.place()}, journal=journal)
    with pytest.raises(RunError) as refused:
        CloudVerbs(tmp_path, driver, journal).take_over(cloud_plan(), RUN)
    journal.disconnect()
    assert refused.value.id == "run-unknown"


def test_result_names_that_no_file_can_have_keep_no_run_from_being_settled(desk: CloudDesk, sky: Sky) -> None:
    (desk.folder / "result").mkdir(parents=True)
    (desk.folder / "result" / "out").symlink_to(desk.home.parent)
    odd = (
        "x" * 300,
        "a",
        "a/b",
        "a/b/c",
        "\0",
        "..%2f..%2fx",
        "\u2025/x",
        "..\u2215x",
        "con\n",
        "out/evil",
        "/",
        "C:/x",
        "receipt.json/x",
    )
    for name in odd:
        sky._put(f"{PREFIX}result/{name}", b"evil")
    (desk.folder / "result" / "receipt.json").mkdir()  # as an older version has taken it in
    (desk.folder / "result" / "receipt.json" / "x").write_bytes(b"evil")
    desk.until()
    assert json.loads((desk.folder / "result" / "receipt.json").read_bytes())["run"] == RUN
    assert (desk.folder / "result" / "model.txt").read_bytes() == b"model"
    assert not (desk.home.parent / "evil").exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"verb":"stop","attempt":"x"}',
        f'{{"verb":"limits","hours":{HUGE}}}',
        '{"verb":"limits","money_usd":NaN}',
        '{"verb":"extend","epochs":-1}',
        "[" * 100_000,
        "7",
        "",
    ],
)
def test_a_control_that_cannot_be_obeyed_is_obeyed_by_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / "000001.json").write_text(text)
    assert [one["verb"] for one in Controls(tmp_path, 1).read()] == ["unreadable"]


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, "7", ""])
def test_a_control_that_is_no_record_and_was_changed_in_the_bucket_stops_no_turn(
    desk: CloudDesk, sky: Sky, text: str
) -> None:
    train_a_little(desk)
    control = desk.folder / "control" / "000001.json"
    control.parent.mkdir(exist_ok=True)
    control.write_text(text)
    theirs = b'{"verb":"stop","attempt":1,"keep":true,"t":1.0}'
    sky._put(f"{PREFIX}control/000001.json", theirs)
    box = sky.place().connect(desk.plan).mailbox
    mirror.Mirror(desk.folder, "aaaaaaaa", box).controls.push()
    assert control.read_bytes() == theirs
    assert not (control.parent / "000002.json").exists()


def test_more_events_and_results_than_a_run_writes_stay_in_the_bucket_and_that_is_told(
    desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "RESULT_AT_MOST", 100)
    train_a_little(desk)
    sky._put(f"{PREFIX}result/zz-flood", b"x" * 101)
    desk.until()
    assert (desk.folder / "result" / "model.txt").read_bytes() == b"model"
    assert not (desk.folder / "result" / "zz-flood").exists()
    notices = [one for one in deskevents.desk_events(desk.folder) if one.kind == "notice"]
    told = [one for one in notices if one.get("id") == "left-in-bucket"]
    assert len(told) == 1 and "result" in told[0].get("facts")["what"]


def test_a_result_that_grows_while_it_is_listed_is_counted_by_the_bytes_that_come(
    tmp_path: Path, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "RESULT_AT_MOST", 100)
    for name, size in (("a", 60), ("b", 60), ("c", 30)):
        sky._put(f"{PREFIX}result/{name}", b"x" * size)
    box = sky.side().mailbox
    told = [replace(one, size=1) for one in box.list(f"{PREFIX}result/")]
    monkeypatch.setattr(type(box), "list", lambda self, prefix, start="": told if "/result/" in prefix else [])
    (tmp_path / RUN).mkdir()
    one = mirror.Mirror(tmp_path / RUN, "aaaaaaaa", box)
    assert one.result() == 2 and one.left_out == {"result"}
    assert sorted(path.name for path in (tmp_path / RUN / "result").iterdir()) == ["a", "c"]


@pytest.mark.parametrize("place", ["claims", "ledger", "heartbeat", "control", "events", "result", "result/deep"])
def test_nothing_that_comes_down_is_written_through_a_link_in_the_runs_folder(
    tmp_path: Path, sky: Sky, place: str
) -> None:
    folder, mine = tmp_path / RUN, tmp_path / "mine"
    mine.mkdir()
    (mine / "a0001.json").write_text("mine")
    (folder / place).parent.mkdir(parents=True)
    (folder / place).symlink_to(mine)
    names = ("claims/a0001.json", "ledger/a0001.json", "heartbeat/a0001-w000.json", "control/000001.json")
    for name in (*names, "events/a0001-w000/000000000000.jsonl", "result/a", "result/deep/a", "result/deep/b/c"):
        sky._put(PREFIX + name, b'{"from":"the bucket"}\n')
    box = sky.side().mailbox
    one = mirror.Mirror(folder, "aaaaaaaa", box)
    for act in (
        lambda: one.records(1),
        lambda: one.heartbeat(1),
        one.controls.pull,
        one.controls.push,
        lambda: one.pull(1, 1, catch_up=True),
        one.desk_files,
        one.restore,
        one.result,
    ):
        with suppress(OSError):
            act()
    assert [(path.name, path.read_text()) for path in mine.rglob("*")] == [("a0001.json", "mine")]


def test_a_pipe_in_the_place_of_a_ledger_is_not_waited_for(tmp_path: Path, sky: Sky) -> None:
    (tmp_path / RUN / "ledger").mkdir(parents=True)
    os.mkfifo(tmp_path / RUN / "ledger" / "a0001.json")
    sky._put(f"{PREFIX}ledger/a0001.json", b"{}")
    mirror.Mirror(tmp_path / RUN, "aaaaaaaa", sky.side().mailbox).records(1)
    assert (tmp_path / RUN / "ledger" / "a0001.json").read_bytes() == b"{}"


def test_events_beyond_the_limit_are_left_in_the_bucket(tmp_path: Path) -> None:
    class Endless:
        def read(self, name: str, start: int = 0) -> bytes:
            return b'{"t":1.0,"kind":"log"}\n' * 10

    one = mirror.Mirror(tmp_path / RUN, "aaaaaaaa", cast(Any, Endless()))
    path = tmp_path / RUN / "events" / "a0001-w000.jsonl"
    (tmp_path / RUN).mkdir()
    assert one._pull_file("a0001-w000", path, False, at_most=1000)
    assert 1000 <= path.stat().st_size <= 1300 and one.left_out == {"events/a0001-w000"}


def test_one_event_a_time_and_all_of_them_leave_the_driver_upright(desk: CloudDesk, sky: Sky) -> None:
    """A desktop's own file that was damaged, by whatever hand."""
    train_a_little(desk)
    path = desk.folder / "events" / "desk-other234.jsonl"
    logging.disable(logging.INFO)
    try:
        for event in [e for line in lines() if (e := decode(line)) is not None and _harmless(e)]:
            record = {"t": event.t, "kind": event.kind, **event.fields}
            path.write_text(json.dumps(record) + "\n")
            assert desk.driver.turn(RUN) >= 0.0
    finally:
        logging.disable(logging.NOTSET)


def _harmless(event: Event) -> bool:
    """Not an end or a proof in so many words: those would be obeyed, by right."""
    return (
        event.kind in ("intent", "intent-closed", "cloud", "again", "attempt-over", "leaving") and len(event.fields) < 5
    )


@pytest.mark.parametrize("kind", ["link", "pipe", "a copy", "linked folder"])
def test_no_other_file_goes_up_as_a_control_and_no_pipe_is_waited_for(
    tmp_path: Path, desk: CloudDesk, sky: Sky, kind: str
) -> None:
    train_a_little(desk)
    (tmp_path / "mine").mkdir()
    secret = tmp_path / "mine" / "000001.json"
    secret.write_text('{"refresh_token": "1//SECRET"}')
    control = desk.folder / "control" / "000001.json"
    if kind == "linked folder":
        control.parent.symlink_to(secret.parent)
    else:
        control.parent.mkdir(exist_ok=True)
        {"link": lambda: control.symlink_to(secret), "pipe": lambda: os.mkfifo(control)}.get(
            kind, lambda: os.link(secret, control)
        )()
    desk.turn()
    assert not [name for name, stored in sky.objects.items() if b"SECRET" in stored[0]]
    assert sky.nodes and RUN not in desk.driver.problems


def test_what_another_desktop_is_said_to_have_done_with_a_run_of_ours_counts_for_nothing(
    desk: CloudDesk, sky: Sky
) -> None:
    """One line in the bucket told that the machine was deleted, another which code the next one runs."""
    train_a_little(desk)
    (name,) = sky.nodes
    told = [
        {"kind": "deleted", "name": name, "proof": "404", "made": True, "billed_until": 1.0},
        {"kind": "prepared", "pieces": {"bundle": {"object": "x", "sha256": "0" * 64, "bytes": 1}}},
        {"kind": "gate", "region": "us-west4", "answer": "shown"},
    ]
    lines = b"".join(json.dumps({"t": 9e9, **one}).encode() + b"\n" for one in told)
    sky._put(f"{PREFIX}events/desk-zzzzzzzz/000000000000.jsonl", lines)
    desk.die()
    desk.start()
    for _ in range(3):
        desk.turn()
    assert desk.state.machine is not None and desk.state.machine.gone is None
    assert desk.state.pieces is not None and not desk.state.pieces.get("bundle")
    assert desk.until().end is not None and not sky.nodes


def test_of_attempts_by_the_thousand_the_first_and_the_last_are_asked_for() -> None:
    assert attempts(0) == [] and attempts(1) == [1] and attempts(100) == list(range(1, 101))
    assert attempts(120) == [*range(1, 51), *range(71, 121)]
    assert attempts(9000) == [*range(1, 51), *range(8951, 9001)]


def test_a_later_model_of_as_many_bytes_takes_the_place_of_the_earlier_one(tmp_path: Path, sky: Sky) -> None:
    (tmp_path / RUN).mkdir()
    one = mirror.Mirror(tmp_path / RUN, "aaaaaaaa", sky.side().mailbox)
    for model in (b"first", b"other"):
        sky._put(f"{PREFIX}result/model.keras", model)
        assert one.result() == 1
        assert (tmp_path / RUN / "result" / "model.keras").read_bytes() == model


def test_a_result_that_is_here_is_not_paid_for_again(tmp_path: Path, sky: Sky, monkeypatch: pytest.MonkeyPatch) -> None:
    sky._put(f"{PREFIX}result/model.keras", b"model")
    (tmp_path / RUN).mkdir()
    box = sky.side().mailbox
    one = mirror.Mirror(tmp_path / RUN, "aaaaaaaa", box)
    assert one.result() == 1
    monkeypatch.setattr(type(box), "download", lambda *_a, **_k: pytest.fail("downloaded twice"))
    assert one.result() == 1
