"""Which rented runs get turns: by this computer's journal and its own records, whatever others have filled or said."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from pathlib import Path

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, ends, trains
from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import encode, event
from tpu_studio.workflow import desk as desks
from tpu_studio.workflow.bringing import bring
from tpu_studio.workflow.cloudruns import deskevents, mirror
from tpu_studio.workflow.cloudruns import driver as drivers
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.machine import Guard
from tpu_studio.workflow.cloudruns.mirror import Words
from tpu_studio.workflow.cloudruns.state import LONGEST_LOAN_S
from tpu_studio.workflow.cloudruns.steward import Steward
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs

OVER = (
    event("end", t=8e9, attempt=2, status="finished", reason="completed", steps=9, final={}, facts={}),
    event("phase", t=9e9, phase="done", detail=""),
)


def drive(desk: CloudDesk, seconds: float = 900.0) -> None:
    """As the steward does: turns for what is in the list."""
    asked = desk.sky.now
    while desk.sky.now - asked < seconds:
        if RUN in desk.driver.unsettled():
            desk.turn()
        desk.sky.pass_time(60.0)


def test_a_run_is_seen_to_until_its_own_records_say_that_it_is_over(desk: CloudDesk) -> None:
    assert desk.driver.unsettled() == [RUN]
    trains(desk)
    assert desk.driver.unsettled() == [RUN]
    ends(desk)
    assert desk.driver.unsettled() == []


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("stop", ["before", "after"])
def test_a_word_that_it_is_over_takes_no_run_from_who_drives_it_here(
    desk: CloudDesk, sky: Sky, attempt: int, stop: str
) -> None:
    """With the receipt of an earlier attempt here, and the program begun again, its stop was not carried out."""
    trains(desk)
    if attempt == 2:
        desk.stop()
        ends(desk, "stopped-by-user")
        install = desks.install_id(desk.home)
        desks.write_event(desk.folder, install, "again", t=sky.now, attempt=2)
        desks.write_event(desk.folder, install, "phase", t=sky.now, phase="queued", detail="submitted", attempt=2)
        while not (desk.folder / "events" / "a0002-w000.jsonl").exists():
            desk.turn()
    sky.hang()
    if stop == "before":
        desk.stop()
    sky._put(f"runs/{RUN}/owner.json", b'{"install": "zzzzzzzz", "host": "x", "t": 1.0}')
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", b"".join(map(encode, OVER)))
    for _ in range(3):
        desk.turn()
    desk.die()
    desk.start()
    assert desk.driver.unsettled() == [RUN] and sky.nodes
    if stop == "after":
        desk.stop()
    drive(desk)
    assert sky.nodes == {} and desk.driver.is_over(desk.folder)
    assert drivers.OTHERS_WORD_S in (desk.turn(), desk.turn())


@pytest.mark.parametrize("until", ["it waits for capacity", "its machine goes meanwhile"])
def test_a_word_that_it_is_over_is_asked_for_again_and_taken_back_it_is_driven_on(
    desk: CloudDesk, sky: Sky, until: str
) -> None:
    if until == "it waits for capacity":
        sky.refuse = {"us-west4-a": ["no-capacity"] * 12}
        for _ in range(6):
            desk.turn()
        assert not sky.nodes
    else:
        trains(desk)
        sky.hang()
        sky.pass_time(600.0)
        desk.turn()
    mine = sky.objects[f"runs/{RUN}/owner.json"]
    sky._put(f"runs/{RUN}/owner.json", b'{"install": "zzzzzzzz", "host": "x", "t": 1.0}')
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", b"".join(map(encode, OVER)))
    for _ in range(3):
        desk.turn()
    if sky.nodes:
        sky.vanish()
        for _ in range(3):
            desk.turn()
    sky.objects[f"runs/{RUN}/owner.json"] = mine
    desk.die()
    desk.start()
    assert desk.driver.unsettled() == [RUN]
    drive(desk, 7200.0)
    assert desk.driver.unsettled() == [] and desk.driver.own(desk.folder).settled
    assert desk.state.end is not None and desk.state.end.get("reason") == "completed"
    assert abs(desk.state.usd(12.0, sky.now) - sky.usd_billed()) < 0.5 and sky.tasks == {}


def test_a_run_that_another_computer_took_over_and_ended_is_only_asked_for_now_and_then(
    tmp_path: Path, desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it cost is as that one tells it. A month later nothing can be left of it."""
    trains(desk)
    journal = JournalFile(tmp_path / "two" / "journal.db")
    driver = Driver(tmp_path / "two", places={"practice": sky.place()}, journal=journal)
    CloudVerbs(tmp_path / "two", driver, journal).take_over(cloud_plan(), RUN)
    while not driver.state(RUN).settled:
        sky.pass_time(max(5.0, driver.turn(RUN)))
        desk.turn()
        assert RUN in desk.driver.unsettled()
    drive(desk, 300.0)
    assert driver.unsettled() == [] and desk.driver.is_over(desk.folder)
    assert drivers.OTHERS_WORD_S in (desk.turn(), desk.turn())
    monkeypatch.setattr(time, "time", lambda: sky.now + LONGEST_LOAN_S + 3600.0)
    assert desk.driver.unsettled() == []
    mine, theirs = desk.state, driver.state(RUN)
    assert [one.billed_until for one in mine.machines] == [one.billed_until for one in theirs.machines]
    assert RUN not in desk.driver.problems
    journal.disconnect()


def sent(desk: CloudDesk, folder: Path) -> Path:
    """A copy of the rented run as if it went on, with megabytes of lines that say nothing."""
    shutil.copytree(desk.folder, folder)
    plan = json.loads((folder / "plan.json").read_bytes())
    (folder / "plan.json").write_text(json.dumps({**plan, "run": folder.name}))
    with (folder / "events" / "a0001-w000.jsonl").open("ab") as file:
        file.write(b"\n" * (2 << 20))
    return folder


def test_runs_that_came_as_files_hold_up_none_of_mine_and_nothing_of_them_is_read(
    tmp_path: Path, desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line ends in imported rented runs kept all threads, and mine got no turn."""
    trains(desk)
    runs = desk.home / "runs"
    copies = [sent(desk, tmp_path / "sent" / f"digits-j{number:03d}") for number in range(3)]
    for folder in copies:
        bring(folder, runs, desks.install_id(desk.home), sky.now)
    shutil.copytree(copies[0], runs / "digits-hand")  # put there by hand
    read: list[str] = []
    real = mirror.open_to_read

    def opened(path: Path) -> object:
        read.append(path.parent.parent.name)
        return real(path)

    monkeypatch.setattr(mirror, "open_to_read", opened)
    guard = Words.guard

    def heard(self: Words, attempt: int) -> Guard:
        read.append(self._folder.name)
        return guard(self, attempt)

    monkeypatch.setattr(Words, "guard", heard)
    assert desk.driver.unsettled() == [RUN]
    for name in ("digits-j000", "digits-hand"):
        assert desk.driver.turn(name) > 0
        told = desk.driver.trouble(name)
        assert isinstance(told, RunError) and told.id == "run-imported"
    assert desk.driver.recover() == []
    desk.turn()
    assert set(read) == {RUN}


def test_the_steward_drives_what_is_in_the_list_of_the_driver(desk: CloudDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[str] = []
    monkeypatch.setattr(desk.driver, "turn", lambda run: turns.append(run) or 0.0)

    async def some() -> None:
        keeping = asyncio.create_task(Steward(desk.driver).keep())
        while not turns:
            await asyncio.sleep(0.01)
        keeping.cancel()

    asyncio.run(some())
    assert turns == [RUN]


def test_lines_that_say_nothing_are_not_read_as_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was tried as JSON: a machine's megabyte of line ends took five seconds."""
    (tmp_path / "events").mkdir()
    noise, said = b"\n" * 1000 + b"x\n{\n" * 1000, encode(event("phase", t=5.0, phase="training"))
    for name in ("a0001-w000", "desk-aaaaaaaa"):
        (tmp_path / "events" / f"{name}.jsonl").write_bytes(noise + said + noise)
    tried: list[bytes] = []
    real = mirror.decode
    for module in (mirror, deskevents):
        monkeypatch.setattr(module, "decode", lambda line: (tried.append(line), real(line))[1])
    deskevents._short_event.cache_clear()
    assert Words(tmp_path).guard(1).spoke == 5.0
    assert [one.kind for one in deskevents.desk_events(tmp_path)] == ["phase"]
    assert len(tried) == 2
