"""Screens and verbs go by the records that the driver goes by: no word of others hides a machine that is there."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, trains
from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.cli import running
from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.trainer.guardian.child import LINE_AT_MOST
from tpu_studio.viewmodels.runrows import RunRow, rows_of
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import LINE_BYTES, Event, encode, event, from_record
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow import desk as desks
from tpu_studio.workflow import trash
from tpu_studio.workflow.bringing import bring
from tpu_studio.workflow.cloudruns import believed, deskevents, mirror
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.mirror import Words
from tpu_studio.workflow.cloudruns.state import AHEAD_S, NOTICES_OF_DESKTOPS
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.runs import Runs


def over(name: str, t: float, attempt: int = 1) -> list[bytes]:
    """That all is over, as a desktop and a machine would say it."""
    told = (
        event("leaving", t=t, name=name, why="completed", facts={}),
        event("deleted", t=t + 0.1, name=name, proof="404", made=True, created=t - 60.0, billed_until=t),
        event("end", t=8e9, attempt=attempt, status="finished", reason="completed", steps=44, final={}, facts={}),
        event("money", t=8e9 + 1, usd=0.01, usd_per_hour=0.0, proved=True, settled=True),
        event("phase", t=9e9, phase="done", detail="", attempt=attempt),
    )
    return [*map(encode, told), encode(event("log", t=t, text="still here"))]


def hanging(desk: CloudDesk, sky: Sky) -> str:
    """Name of its machine, which trains no more and says nothing."""
    trains(desk)
    sky.hang()
    for _ in range(3):
        desk.turn()
    (name,) = sky.nodes
    return name


def runs_of(desk: CloudDesk) -> Runs:
    index = Index(desk.home, counts=desk.driver.counts)
    return Runs(desk.home, places={}, journal=desk.journal, index=index, driver=desk.driver)


def row(desk: CloudDesk) -> RunRow:
    (known,) = rows_of([Index(desk.home, counts=desk.driver.counts).glance(desk.folder)])
    return known


def is_shown(desk: CloudDesk) -> bool:
    known = row(desk)
    return known.may_stop and not known.over and known.tone != "ok"


@pytest.mark.parametrize("stays", [False, True], ids=["for a moment", "and nobody has looked since"])
def test_another_that_is_said_to_drive_it_hides_no_machine_and_keeps_no_stop(
    desk: CloudDesk, sky: Sky, stays: bool
) -> None:
    name, path = hanging(desk, sky), f"runs/{RUN}/owner.json"
    mine = sky.objects[path]
    sky._put(path, b'{"install": "zzzzzzzz", "host": "x", "t": 1.0}')
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", b"".join(over(name, sky.now)))
    for _ in range(3):
        sky.pass_time(10.0)
        desk.turn()
    assert is_shown(desk)
    sky.objects[path] = mine
    if not stays:
        for _ in range(3):
            desk.turn()
    assert is_shown(desk) and not desk.driver.is_over(desk.folder)
    with pytest.raises(RunError, match="run-goes-on"):
        runs_of(desk).delete(RUN)
    desk.stop()
    for _ in range(20):
        sky.pass_time(60.0)
        desk.turn()
    assert sky.nodes == {} and desk.driver.own(desk.folder).settled and row(desk).status == "Stopped by you"


@pytest.mark.parametrize("how", ["plain", "escaped", "carriage return", "two in one line", "behind a long line"])
def test_a_machine_cannot_say_what_only_the_screens_hear(
    desk: CloudDesk, sky: Sky, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain, it ends the run: it is deleted. In any other way it says nothing to anybody. That it is gone, or what
    it has cost, is not its to say in any."""
    name = hanging(desk, sky)
    lines = over(name, sky.now)
    if how == "escaped":
        lines = [line.replace(b'"end"', b'"\\u0065nd"').replace(b'"kind"', b'"k\\u0069nd"') for line in lines]
    elif how == "carriage return":
        lines = [line.replace(b'"kind":"end"', b'\r"kind":"end"') for line in lines]
    elif how == "two in one line":
        lines = [b'{"x":[{}\n', b"{}]}\n", b",".join(line[:-1] for line in lines[:2]) + b"\n", *lines[3:]]
        lines.insert(3, encode(event("log", t=1.0))[:-1] + b"," + over(name, sky.now)[2])
    elif how == "behind a long line":
        lines = [b"x" * (4 << 20) + lines[2]]
    size = (desk.folder / "events" / "a0001-w000.jsonl").stat().st_size
    sky._put(f"runs/{RUN}/events/a0001-w000/{size:012d}.jsonl", b"".join(lines))
    for _ in range(4):
        sky.pass_time(60.0)
        desk.turn()
    if how in ("plain", "carriage return"):
        assert sky.nodes == {} and desk.state.end is not None
    else:
        assert list(sky.nodes) == [name] and desk.state.end is None and is_shown(desk)
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    assert following.view.over == (desk.state.end is not None)
    assert sky.nodes or following.view.usd != 0.01


@pytest.mark.parametrize("odd", [["x"], {"a": 1}, 3, None])
def test_a_line_whose_id_is_no_word_hides_no_machine(desk: CloudDesk, sky: Sky, odd: object) -> None:
    """`show` and `watch` of the run that is rented ended in a mistake of the program."""
    hanging(desk, sky)
    lines = [{"kind": "notice", "id": odd, "level": "info", "facts": {}}, {"kind": "phase", "phase": odd, "attempt": 1}]
    size = (desk.folder / "events" / "a0001-w000.jsonl").stat().st_size
    data = b"".join(json.dumps({"t": sky.now, **line}).encode() + b"\n" for line in lines)
    sky._put(f"runs/{RUN}/events/a0001-w000/{size:012d}.jsonl", data)
    desk.turn()
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    assert following.view.phase is not Phase.DONE and not following.view.over and is_shown(desk)


@pytest.mark.parametrize("kind", ["end", "phase", "resume"])
@pytest.mark.parametrize("attempt", [1, 3])
def test_the_end_of_another_attempts_machine_is_not_that_of_the_run(
    desk: CloudDesk, sky: Sky, attempt: int, kind: str
) -> None:
    trains(desk)
    sky.preempt()
    while not (desk.folder / "events" / "a0002-w000.jsonl").exists():
        sky.pass_time(max(5.0, desk.turn()))
    before = event(kind, t=sky.now, attempt=9, phase="training", step=1, status="failed", reason="crashed", steps=1)
    with (desk.folder / "events" / f"a{attempt:04d}-w000.jsonl").open("ab") as file:
        file.writelines([encode(before), *over("ts-digits-k3f7-a2-t1", sky.now, attempt=2)])
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    assert not following.view.over and row(desk).may_stop


@pytest.mark.parametrize("lost", [False, True], ids=["as it was taken", "and its own events were lost"])
def test_what_the_other_agreed_to_or_was_shown_counts_for_nothing_after_a_take_over(
    tmp_path: Path, sky: Sky, lost: bool
) -> None:
    plan = cloud_plan().launched(RUN, sky.now, "test")
    waived = replace(plan, limits=replace(plan.limits, without_outside_stop=True))
    sky._put(f"runs/{RUN}/plan.json", dumps(waived))
    sky._put(f"runs/{RUN}/owner.json", b'{"install": "zzzzzzzz", "host": "x", "t": 1.0}')
    shown = event("gate", t=sky.now, region="us-west4", answer="shown", queue="q", runner="r", accounts=[], tasks={})
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", encode(shown))
    home = tmp_path / "two"
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    folder = CloudVerbs(home, driver, journal).take_over(cloud_plan(), RUN)
    if lost:
        (folder / "events" / f"desk-{desks.install_id(home)}.jsonl").unlink()
    state = driver.state(RUN)
    assert not state.waived(waived.limits) and not state.gates
    for _ in range(40):
        sky.pass_time(max(5.0, driver.turn(RUN)))
        if any(node.created for node in sky.nodes.values()):
            break
    assert sky.nodes and sky.tasks
    journal.disconnect()


LINES: Sequence[bytes] = (b'{"kind""end"\n', b'{"t":1,"kind":"control","number":1}\n')


@pytest.mark.parametrize("line", LINES)
def test_short_lines_by_the_megabyte_hold_up_a_look_for_a_moment_only(
    desk: CloudDesk, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look ends where its time is over, and the next one goes on; the end that stands behind all is heard."""
    trains(desk)
    path = desk.folder / "events" / "a0001-w000.jsonl"
    end = event("end", t=9.0, status="failed", reason="crashed", steps=1, final={}, facts={})
    with path.open("ab") as file:
        file.write(line * ((4 << 20) // len(line)) + encode(end))
    clock = [0.0]

    def tick() -> float:
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(mirror.time, "monotonic", tick)
    words, looks = Words(desk.folder, 1.5), 0
    while words.guard(1).end is None:
        looks += 1
        assert looks < 10
    assert looks > 1


def test_a_copy_is_deleted_however_much_is_in_it_and_nothing_of_it_is_read(
    tmp_path: Path, desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    trains(desk)
    shutil.copytree(desk.folder, sent := tmp_path / "digits-copy")
    told = json.loads((sent / "plan.json").read_bytes())
    (sent / "plan.json").write_text(json.dumps({**told, "run": "digits-copy"}))
    bring(sent, desk.home / "runs", desks.install_id(desk.home), sky.now)

    def refuse(*_: object) -> None:
        raise AssertionError("it is read")

    monkeypatch.setattr(mirror, "open_to_read", refuse)
    monkeypatch.setattr(deskevents, "open_to_read", refuse)
    runs = runs_of(desk)
    monkeypatch.setattr(runs._index, "summary", refuse)
    monkeypatch.setattr(runs._index, "follow", refuse)
    runs.delete("digits-copy")
    assert [one.run for one in trash.listed(desk.home / "trash")] == ["digits-copy"]


def test_of_a_copy_of_a_run_that_was_mine_no_list_reads_what_fills_it(
    tmp_path: Path, desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id is one that the journal knows."""
    desk.until()
    shutil.copytree(desk.folder, sent := tmp_path / RUN)
    runs = runs_of(desk)
    runs.delete(RUN)
    bring(sent, desk.home / "runs", desks.install_id(desk.home), sky.now)
    desk.die()
    desk.start()

    def refuse(*_: object) -> None:
        raise AssertionError("it is read")

    monkeypatch.setattr(mirror, "open_to_read", refuse)
    monkeypatch.setattr(deskevents, "open_to_read", refuse)
    assert desk.driver.unsettled() == [] and desk.driver.is_over(desk.folder)
    assert desk.driver.counts(desk.folder) == "*"


def test_a_run_that_was_deleted_is_not_lost_by_the_deletion_of_a_copy_of_it(desk: CloudDesk, tmp_path: Path) -> None:
    desk.until()
    shutil.copytree(desk.folder, sent := tmp_path / RUN)
    shutil.rmtree(sent / "events")
    runs = runs_of(desk)
    runs.delete(RUN)
    runs.import_folder(sent)
    runs.delete(RUN)
    assert {one.run for one in runs.deleted()} == {RUN, f"{RUN}-2"}
    assert (desk.home / "trash" / f"{RUN}-2" / "events").is_dir()
    assert runs.undo_delete(RUN) == RUN and not (desk.folder / "events").exists()


def test_watch_and_stop_ask_the_bucket_before_they_believe_that_a_waiting_run_is_over(
    desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `watch` alone, without a window: nobody else turns it."""
    sky.refuse = {"us-west4-a": ["no-capacity"] * 40}
    for _ in range(4):
        desk.turn()
    path = f"runs/{RUN}/owner.json"
    mine = sky.objects[path]
    sky._put(path, b'{"install": "zzzzzzzz", "host": "x", "t": 1.0}')
    lines = over("ts-digits-k3f7-a1-t1", sky.now)[2:]
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", b"".join(lines))
    for _ in range(3):
        desk.turn()
    sky.objects[path] = mine
    desk.die()
    desk.start()
    desk.stop()  # taken, though this disk still says that another drives the run, and that it is over
    assert believed.stops(desk.folder, 1)
    looks, real = [], desk.driver.turn

    def turn(run: str) -> float:
        looks.append(run)
        sky.pass_time(max(5.0, real(run)))
        return 0.0

    monkeypatch.setattr(desk.driver, "turn", turn)
    monkeypatch.setattr(running, "POLL_S", 0.0)
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    quiet = SimpleNamespace(as_json=False, say=print, progress=lambda *_, **__: None, answer=print)
    running._until_over(SimpleNamespace(driver=desk.driver), RUN, following, quiet)  # type: ignore[arg-type]
    assert looks and desk.driver.own(desk.folder).settled and following.view.settled


def test_a_machine_does_not_say_what_an_hour_of_it_costs(desk: CloudDesk, sky: Sky) -> None:
    """With "nothing" in its own file the cost so far stood still for as long as it trained."""
    sky.steps = 40_000
    trains(desk)
    (node,) = sky.nodes.values()
    assert desk.plan.price is not None
    sky._say(node, event("money", t=sky.now, usd=0.2, usd_per_hour=desk.plan.price.usd_per_hour, since=node.created))
    sky._say(node, event("money", t=sky.now + 1.0, usd=0.01, usd_per_hour=0.0))
    for _ in range(20):
        sky.pass_time(55.0)
        desk.turn()
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    assert sky.nodes and abs(following.view.usd_now(sky.now) - sky.usd_billed()) < 0.1 * sky.usd_billed()


@pytest.mark.parametrize(
    "line",
    [
        b'{"x":"' + b"y" * (LINE_BYTES + 1) + b'",',
        b'{"x":"\\ud800",',
        b'{"x":"\xed\xa0\x80",',
        b'{"x":1e999,',
        b"\xef\xbb\xbf{",
        b"[{",
    ],
    ids=[
        "longer than any",
        "half a surrogate",
        "the same in bytes",
        "beyond all numbers",
        "behind a mark",
        "in a list",
    ],
)
def test_the_driver_hears_no_end_that_the_screens_do_not(desk: CloudDesk, sky: Sky, line: bytes) -> None:
    end = event("end", t=sky.now, attempt=1, status="finished", reason="completed", steps=44, final={}, facts={})
    trains(desk)
    with (desk.folder / "events" / "a0001-w000.jsonl").open("ab") as file:
        file.write(line + encode(end)[1:])
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    assert Words(desk.folder).guard(1).end is following.view.end is None


def test_a_line_of_a_guardian_is_read_by_both_however_long(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    facts = {"x": "y" * LINE_AT_MOST}
    end = event("end", t=sky.now, attempt=1, status="finished", reason="completed", steps=44, final={}, facts=facts)
    with (desk.folder / "events" / "a0001-w000.jsonl").open("ab") as file:
        file.write(encode(end))
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    assert Words(desk.folder).guard(1).end is not None and following.view.over


@pytest.mark.parametrize("phase", ["queued", "provisioning", "cleaning-up"])
def test_a_machine_that_is_paid_for_does_not_say_that_it_is_waited_for(desk: CloudDesk, sky: Sky, phase: str) -> None:
    """Home said "waits for a TPU, free so far" of it, and no page counted it as going on."""
    trains(desk)
    with (desk.folder / "events" / "a0001-w000.jsonl").open("ab") as file:
        file.write(encode(event("phase", t=sky.now + 1.0, phase=phase, attempt=1)))
    assert not row(desk).waiting and row(desk).live


def test_an_end_that_is_shown_before_the_driver_hears_it_is_over_with_the_next_attempt() -> None:
    """Its time was beyond all that came: the next attempt stayed "Finished" for good."""
    end = event("end", t=8e9, attempt=1, status="finished", reason="completed", steps=44, final={}, facts={})
    next_one = event("attempt-over", t=200.0, attempt=1, reason="preempted")
    trains_again = event("phase", t=210.0, phase="training", attempt=2)
    view = RunView()
    for record in (event("opened", t=1.0), end, next_one, trains_again):
        view = apply(view, cast("Event", from_record(record)))
    assert view.end is None and view.attempt == 2 and view.phase is Phase.TRAINING


def test_of_a_machine_that_is_proved_gone_and_paid_nothing_is_heard() -> None:
    """Six hundred notices pushed the proof out of what happened, one line of money took the bill's place."""
    late = [event("notice", t=8e9 + n, id="input-bound", facts={}, machine_of=1) for n in range(600)]
    free = event("money", t=9e9, usd=0.0, usd_per_hour=12.0, machine_of=1)
    gone = event("deleted", t=300.0, name="ts-r-a1-t1", made=True, created=100.0)
    over_ = event("end", t=290.0, attempt=1, status="finished", reason="completed", steps=44, machine_of=1)
    paid = event("money", t=301.0, usd=0.5, usd_per_hour=0.0, settled=True)
    done = event("phase", t=302.0, phase="done", attempt=1)
    asked = event("intent", t=90.0, action="create", name="ts-r-a1-t1")
    for told in ([asked, over_, gone, paid, done, *late, free], [asked, over_, gone, *late, free, paid, done]):
        view = RunView()
        for record in told:
            view = apply(view, cast("Event", from_record(record)))
        assert view.settled and view.usd == 0.5 and any(one.kind == "deleted" for one in view.happened)
    assert apply(view, cast("Event", from_record(late[0]))).seen_t == view.seen_t


def test_what_a_machine_says_is_no_later_than_it_was_heard(desk: CloudDesk, sky: Sky) -> None:
    """A wait that counts from the year 2223 never ends, and a row that was seen then shows 71,759 days."""
    trains(desk)
    end = event("end", t=8e9, attempt=1, status="finished", reason="completed", steps=44, final={}, facts={})
    with (desk.folder / "events" / "a0001-w000.jsonl").open("ab") as file:
        file.write(encode(event("log", t=8e9, text="x")) + encode(end))
    heard = Words(desk.folder).guard(1)
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    assert heard.end is not None and heard.end.t == heard.spoke < time.time() + 2 * AHEAD_S
    assert following.view.end is not None and following.view.seen_t < time.time() + 2 * AHEAD_S


def test_a_machine_does_not_give_notice_in_the_name_of_a_desktop(desk: CloudDesk, sky: Sky) -> None:
    """ "…is deleted, and that is verified", of one that Google refused to delete. Which notices are a desktop's, the
    sources of the driver say."""
    said: set[str] = set()
    for source in (Path(mirror.__file__).parent).glob("*.py"):
        text = source.read_text(encoding="utf-8")
        said.update(re.findall(r'"notice",\s*(?:t=\w+,\s*key=[^\n]*\s*)?id="([a-z-]+)"', text))
        for call in re.findall(r"_tell_once\(run, ([^\n]*)", text):
            said.update(one for one in re.findall(r'"([a-z-]+)"', call) if one not in ("warning", "info", "error"))
    assert said | {"preempted"} == NOTICES_OF_DESKTOPS | {"preempted"}
    trains(desk)
    with (desk.folder / "events" / "a0001-w000.jsonl").open("ab") as file:
        file.writelines(encode(event("notice", t=sky.now, id=id, level="info", facts={})) for id in sorted(said))
        file.write(encode(event("notice", t=sky.now, id="input-bound", level="info", facts={})))
    following = Index(desk.home, counts=desk.driver.counts).follow(desk.folder)
    following.poll()
    shown = [one.facts.get("id") for one in following.view.happened if one.kind == "notice"]
    assert [id for id in shown if id not in ("price-by-list", "price-not-known", "stops-tried")] == ["input-bound"]


@pytest.mark.parametrize("reason", ["completed", "out-of-memory", "stopped-by-user"])
def test_a_machine_that_says_to_be_over_and_stays_is_deleted_by_a_stop(desk: CloudDesk, sky: Sky, reason: str) -> None:
    trains(desk)
    (node,) = sky.nodes.values()
    node.hung = True  # it says its end, and works on
    status = Reason(reason).status.value
    sky._say(node, event("end", t=sky.now, attempt=1, status=status, reason=reason, steps=40, final={}, facts={}))
    while desk.state.end is None:
        desk.driver.turn(RUN)
        sky.pass_time(5.0)
    assert sky.nodes
    said = sky.now
    CloudVerbs(desk.home, desk.driver, desk.journal).stop(desk.folder, keep=True)
    while sky.nodes:
        desk.turn()
    assert sky.now - said < 60.0
    desk.until()
    with pytest.raises(RunError) as caught:
        CloudVerbs(desk.home, desk.driver, desk.journal).stop(desk.folder, keep=True)
    assert caught.value.id == "run-is-over"


def test_a_stop_is_taken_also_of_a_machine_that_was_asked_for_before_a_take_over(
    desk: CloudDesk, sky: Sky, tmp_path: Path
) -> None:
    trains(desk)
    home = tmp_path / "two"
    driver = Driver(home, places={"practice": sky.place()}, journal=(journal := JournalFile(home / "journal.db")))
    verbs = CloudVerbs(home, driver, journal)
    verbs.take_over(desk.plan, RUN)
    (node,) = sky.nodes.values()
    node.hung = True
    end = {"status": "failed", "reason": "out-of-memory", "steps": 40, "final": {}, "facts": {}}
    sky._say(node, event("end", t=sky.now, attempt=1, **end))
    while driver.state(RUN).end is None:
        driver.turn(RUN)
        sky.pass_time(5.0)
    assert sky.nodes
    verbs.stop(home / "runs" / RUN, keep=True)
    while sky.nodes:
        sky.pass_time(max(1.0, driver.turn(RUN)))
    journal.disconnect()


@pytest.mark.parametrize(
    "more",
    [(), ("stops-removed",), ("stops-removed", "attempt-over"), ("stops-removed", "end")],
    ids=["gone", "stops too", "attempt too", "run too"],
)
def test_after_a_take_over_nobodys_word_takes_the_stops_from_a_machine_that_is_there(
    desk: CloudDesk, sky: Sky, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """Whoever writes to the bucket lays a `deleted` behind the other computer's events, and *more*; this one is started
    anew. Another machine was asked for then, and this one was left to its stops."""
    trains(desk)
    desk.turn()
    home = tmp_path / "two"
    driver = Driver(home, places={"practice": sky.place()}, journal=(journal := JournalFile(home / "journal.db")))
    CloudVerbs(home, driver, journal).take_over(desk.plan, RUN)

    for _ in range(5):
        sky.pass_time(max(5.0, driver.turn(RUN)))
    machine = driver.state(RUN).machine
    assert machine is not None
    name = machine.ref.name
    others = sorted(one for one in sky.objects if "/events/desk-" in one and desks.install_id(home) not in one)
    folder = others[-1].rpartition("/")[0]
    size = sum(len(sky.objects[one][0]) for one in others if one.startswith(f"{folder}/"))
    told = {"proof": "404", "made": True, "created": machine.created, "billed_until": (machine.created or 0.0) + 5}
    line = encode(event("deleted", t=sky.now, name=name, zone=machine.ref.zone, **told))
    facts: dict[str, dict[str, object]] = {
        "stops-removed": {"name": name, "left": []},
        "attempt-over": {"attempt": 1, "reason": "preempted"},
        "end": {"reason": "completed"},
    }
    line += b"".join(encode(event(kind, t=sky.now + 0.1, **facts[kind])) for kind in more)
    journal.disconnect()
    sky._put(f"{folder}/{size:012d}.jsonl", line)
    driver = Driver(home, places={"practice": sky.place()}, journal=(journal := JournalFile(home / "journal.db")))
    for _ in range(30):
        sky.pass_time(max(5.0, driver.turn(RUN)))
    assert [one for one, _ in sky.tasks.values() if one == name] or name not in sky.nodes
    assert sky.most_at_once == 1 and (len(sky.created_names) == 1 or "attempt-over" in more)
    while sky.nodes or not driver.state(RUN).settled:
        sky.pass_time(max(5.0, driver.turn(RUN)))
    assert not sky.tasks  # and they go with it
    journal.disconnect()
