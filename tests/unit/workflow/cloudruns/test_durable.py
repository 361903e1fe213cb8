"""What a rented run survives: its plan or the journal damaged, a full disk, an extension cut off.

Its machine may be charged for all the while, so it stays known, driven and deletable.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, Killed, ends, killed_at, trains
from tests.fakes.skies import Sky
from tpu_studio.domain.sentences import say
from tpu_studio.store.index import Index
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, NotReady, RunError, SignedOut
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import desk as desk_files
from tpu_studio.workflow.cloudruns import believed, bucketcontrols
from tpu_studio.workflow.cloudruns import mirror as mirrors
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.ports import CloudSide
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import SendControl
from tpu_studio.workflow.runs import Runs


def runs_of(desk: CloudDesk) -> Runs:
    return Runs(desk.home, places={}, journal=desk.journal, index=Index(desk.home), driver=desk.driver)


def mended(desk: CloudDesk) -> list[object]:
    return [one.get("facts") for one in desk.said("notice") if one.get("id") == "plan-mended"]


DAMAGES = [b"", b'{"format": 1, "job": {', b"\xff\x00\xfe" * 50, None]


def damage(folder: Path, content: bytes | None) -> None:
    if content is None:
        (folder / PLAN).unlink()
    else:
        (folder / PLAN).write_bytes(content)


# ------------------------------------------------------------------------------------------------------------ plan.json


@pytest.mark.parametrize("content", DAMAGES)
def test_a_damaged_plan_comes_back_from_the_journal_and_the_run_is_stopped(
    desk: CloudDesk, sky: Sky, content: bytes | None
) -> None:
    trains(desk)
    frozen = (desk.folder / PLAN).read_bytes()
    desk.die()
    damage(desk.folder, content)
    desk.start()
    runs_of(desk).stop(RUN)
    assert (desk.folder / PLAN).read_bytes() == frozen
    assert mended(desk) == [{"source": "journal"}]
    ends(desk, "stopped-by-user")


@pytest.mark.parametrize("content", DAMAGES)
def test_where_the_journal_is_lost_too_it_comes_back_from_the_bucket(
    desk: CloudDesk, sky: Sky, content: bytes | None
) -> None:
    trains(desk)
    desk.die()
    damage(desk.folder, content)
    (desk.home / "journal.db").write_bytes(b"no database" * 500)
    desk.start()
    runs_of(desk).stop(RUN)
    assert mended(desk) == [{"source": "bucket"}]
    ends(desk, "stopped-by-user")


@pytest.mark.parametrize("content", DAMAGES)
def test_damaged_while_it_is_driven_it_is_put_back_at_the_next_turn(
    desk: CloudDesk, sky: Sky, content: bytes | None
) -> None:
    trains(desk)
    frozen = (desk.folder / PLAN).read_bytes()
    damage(desk.folder, content)
    ends(desk)
    assert (desk.folder / PLAN).read_bytes() == frozen


def test_the_steward_finds_a_damaged_plan_at_its_start(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    desk.die()
    damage(desk.folder, None)
    desk.start()
    assert desk.driver.recover() == []
    assert [node.wanted.ref.name for node in sky.nodes.values()] == ["ts-digits-k3f7-a1-t1"]  # it trains on
    ends(desk)


def test_a_plan_of_another_run_in_the_bucket_is_not_put_in_its_place(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    desk.die()
    (desk.home / "journal.db").unlink()
    damage(desk.folder, b"")
    name = f"runs/{RUN}/{PLAN}"
    other = json.loads(sky.objects[name][0]) | {"run": "other-aaaa"}
    sky._put(name, json.dumps(other).encode())
    desk.start()
    with pytest.raises(RunError, match="plan-unreadable"):
        desk.turn()
    assert (desk.folder / PLAN).read_bytes() == b""


# ------------------------------------------------------------------------------------------------------------- journal


def test_a_lost_journal_learns_the_open_create_call_from_the_run_folder(desk: CloudDesk, sky: Sky) -> None:
    def die(call: str, done: bool) -> None:
        if (call, done) == ("create", True):
            raise Killed

    sky.hook = die
    with pytest.raises(Killed):
        desk.until()
    sky.hook = lambda call, done: None
    desk.die()
    (desk.home / "journal.db").write_bytes(b"\xee" * 9000)
    desk.start()
    assert desk.journal.put_aside is not None
    runs_of(desk).reconcile()
    [intent] = desk.journal.open_intents()
    assert (intent.action, intent.facts["id"]) == ("create", "create/ts-digits-k3f7-a1-t1")
    assert intent.facts["request_id"] == sky.nodes["ts-digits-k3f7-a1-t1"].wanted.request_id
    ends(desk)
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]


def test_a_journal_that_is_lost_while_the_run_is_driven_keeps_no_machine(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    (desk.home / "journal.db").write_bytes(b"\xee" * 9000)
    sky.hang()
    ends(desk, "machine-silent")
    assert desk.journal.put_aside is not None


# ----------------------------------------------------------------------------------------------------------- the disk


class Disk:
    """Full while *full*: nothing more is taken, by events files, run folder or journal. Of another *code*: only the
    run's folder takes nothing."""

    def __init__(self, patch: pytest.MonkeyPatch, desk: CloudDesk) -> None:
        self.full, self.code = False, errno.ENOSPC
        for module, name in (
            (desk_files, "append_whole"),
            (mirrors, "append_whole"),
            (mirrors, "write_inside"),
            (desk_files, "write_atomically"),
            (bucketcontrols, "create_inside"),
            (bucketcontrols, "write_inside"),
        ):
            patch.setattr(module, name, self._refusing(getattr(module, name)))
        patch.setattr(desk.journal, "_execute", self._refusing_writes(desk.journal._execute))

    def _refusing(self, real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if self.full:
                raise OSError(self.code, os.strerror(self.code))
            return real(*arguments)

        return call

    def _refusing_writes(self, real: Any) -> Any:
        def call(sql: str, values: Any) -> Any:
            if self.full and self.code == errno.ENOSPC and not sql.startswith("SELECT"):
                raise NotReady("disk-full", raw="database or disk is full")
            return real(sql, values)

        return call


@pytest.fixture
def disk(desk: CloudDesk, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch, desk)


def test_before_a_machine_is_rented_a_full_disk_is_told_with_what_it_means_and_what_to_do(
    desk: CloudDesk, sky: Sky, disk: Disk
) -> None:
    disk.full = True
    desk.turn()
    assert sky.nodes == {}
    said = say(desk.driver.problems[RUN])
    assert said.title.startswith("This computer's disk is full")
    assert "No machine is rented now" in said.meaning and "Free some space" in said.action
    disk.full = False
    trains(desk)
    assert sky.nodes and RUN not in desk.driver.problems


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_on_a_full_or_read_only_disk_the_run_is_driven_on_and_its_hung_machine_deleted(
    desk: CloudDesk, sky: Sky, disk: Disk, code: int
) -> None:
    disk.code = code
    trains(desk)
    desk.turn()
    disk.full = True
    sky.hang()
    for _ in range(300):
        desk.turn()
        if not sky.nodes:
            break
    assert sky.nodes == {}
    assert desk.driver.problems[RUN].id == "run-not-recorded"
    assert desk.driver.problems[RUN].facts["full"] is (code == errno.ENOSPC)
    assert "limits hold as before" in say(desk.driver.problems[RUN]).meaning
    disk.full = False
    ends(desk, "machine-silent")
    kinds = [one.kind for one in desk.said("leaving")] + [one.kind for one in desk.said("deleted")]
    assert kinds == ["leaving", "deleted"]


def test_what_a_machine_says_while_the_disk_is_full_is_fetched_later_whole(
    desk: CloudDesk, sky: Sky, disk: Disk
) -> None:
    trains(desk)
    disk.full = True
    for _ in range(60):
        desk.turn()
    disk.full = False
    ends(desk)
    assert [e.get("step") for e in desk.mirrored() if e.kind == "metric"] == [[n] for n in range(1, 41)]


def test_on_a_full_disk_nothing_is_rented(desk: CloudDesk, sky: Sky, disk: Disk) -> None:
    disk.full = True
    for _ in range(30):
        desk.turn()
    assert sky.created_names == [] and sky.tasks == {}
    disk.full = False
    ends(desk)


def test_on_a_full_disk_a_person_can_stop_it(
    desk: CloudDesk, sky: Sky, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    trains(desk)
    disk.full = True

    def no_room(*arguments: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(believed, "send", no_room)
    CloudVerbs(desk.home, desk.driver, desk.journal).stop(desk.folder, True)
    for _ in range(60):
        desk.turn()
    assert sky.nodes == {}
    disk.full = False
    ends(desk, "stopped-by-user")


@pytest.mark.parametrize("place", ["practice", "cloud"])
def test_a_stop_that_nothing_takes_is_told_as_a_run_that_goes_on(
    desk: CloudDesk, sky: Sky, disk: Disk, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """It was said that nothing was changed and nothing charged, of a machine that goes on."""
    trains(desk)
    disk.full = True
    frozen = plans.read(desk.folder)
    monkeypatch.setattr(plans, "read", lambda folder: replace(frozen, place=place))

    def no_room(*arguments: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def no_answer(call: str, done: bool) -> None:
        raise CloudUnclear("timed-out")

    monkeypatch.setattr(believed, "send", no_room)
    sky.hook = no_answer
    with pytest.raises(RunError) as refused:
        CloudVerbs(desk.home, desk.driver, desk.journal).stop(desk.folder, True)
    said = say(refused.value)
    assert refused.value.id == "stop-not-sent" and "was not told to stop" in said.title
    assert ("is charged for" in said.meaning) == (place == "cloud") and "until its limits end it" in said.meaning
    assert "No space left" in said.meaning and "stop it again" in said.action


def test_an_event_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, room = os.write, [70]

    def short(fd: int, data: Any) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        some = bytes(data)[: min(11, room[0])]
        room[0] -= len(some)
        return real(fd, some)

    monkeypatch.setattr(desk_files.os, "write", short)
    desk_files.write_event(tmp_path, "abcdefgh", "phase", t=1.0, phase="queued")
    path = tmp_path / "events" / "desk-abcdefgh.jsonl"
    whole = path.read_bytes()
    assert whole.endswith(b"\n") and json.loads(whole)["phase"] == "queued"
    with pytest.raises(OSError, match="No space"):
        desk_files.write_event(tmp_path, "abcdefgh", "phase", t=2.0, phase="provisioning")
    assert path.read_bytes() == whole


def test_signed_out_under_a_run_it_says_so_and_goes_on_when_signed_in(
    desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    trains(desk)
    desk.die()
    desk.start()

    def nobody(call: str, done: bool) -> None:
        raise SignedOut("signed-out")

    sky.hook = nobody
    for _ in range(4):
        desk.turn()
    assert desk.driver.problems[RUN].id == "signed-out"
    runs_of(desk).stop(RUN)  # is taken down all the same
    sky.hook = lambda call, done: None
    ends(desk, "stopped-by-user")


@pytest.mark.parametrize("error", [SignedOut("signed-out"), CloudRefused("permission-missing")])
def test_who_signs_in_is_asked_for_at_the_very_next_turn(desk: CloudDesk, sky: Sky, error: Exception) -> None:
    """Credentials that were made before keep the old sign-in for ever."""
    signed_in, place = [False], sky.place()
    desk.die()
    desk.start()

    def connect(plan: Plan) -> CloudSide:
        if not signed_in[0]:
            raise error
        return sky.side()

    desk.driver = Driver(desk.home, places={"practice": place}, journal=desk.journal)
    trains(desk)
    desk.driver._places["practice"] = replace(place, connect=connect)

    def nobody(call: str, done: bool) -> None:
        raise error

    sky.hook = nobody
    for _ in range(7):
        wait = desk.turn()
    assert wait <= 8.0 or not isinstance(error, SignedOut)
    sky.hook, signed_in[0] = lambda call, done: None, True
    desk.turn()
    assert RUN not in desk.driver.problems
    ends(desk)


# --------------------------------------------------------------------------------------------------------- extensions


def extend(desk: CloudDesk) -> None:
    limits = {"verb": "limits", "hours": 5.0, "money_usd": 100.0}
    orders = (SendControl(limits), SendControl({"verb": "extend", "epochs": 2}))
    CloudVerbs(desk.home, desk.driver, desk.journal).extend(desk.folder, orders)


def test_an_extension_that_the_ending_guardian_did_not_hear_is_trained_by_the_next_machine(
    desk: CloudDesk, sky: Sky
) -> None:
    trains(desk)
    sky.pass_time(60.0)
    desk.turn()
    extend(desk)  # the guardian of this sky hears of no extension: as one that is ending
    sky.pass_time(100.0)
    for _ in range(200):
        desk.turn()
        if desk.state.attempt > 1:
            break
    sky.steps = 48
    ends(desk)
    assert desk.state.attempt == 2
    assert sky.created_names == ["ts-digits-k3f7-a1-t1", "ts-digits-k3f7-a2-t1"]
    assert "extended-at-the-end" in [one.get("id") for one in desk.said("notice")]


def test_an_extension_that_nobody_can_train_is_told(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    sky.pass_time(60.0)
    desk.turn()
    extend(desk)
    desk.stop()
    ends(desk, "stopped-by-user")
    assert desk.state.attempt == 1
    assert "extension-unheard" in [one.get("id") for one in desk.said("notice")]


@pytest.mark.parametrize("at", range(1, 27))
def test_an_extension_that_is_killed_anywhere_leaves_stops_and_a_run_that_ends(
    desk: CloudDesk, sky: Sky, at: int
) -> None:
    trains(desk)
    with killed_at(sky, at):
        extend(desk)
    assert len(sky.tasks) >= 3  # whatever was done, a machine that hangs now is deleted from outside
    desk.die()
    desk.start()
    runs_of(desk).reconcile()
    sky.steps = 48
    ends(desk)


def test_stops_that_an_extension_left_behind_still_delete_a_machine_that_hangs(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)

    def die(call: str, done: bool) -> None:
        if call == "remove-stop":
            raise Killed

    sky.hook = die
    with pytest.raises(Killed):
        extend(desk)
    sky.hook = lambda call, done: None
    desk.die()
    sky.hang()
    sky.pass_time(6 * 3600.0)  # this computer is off
    assert sky.nodes == {}
    desk.start()
    runs_of(desk).reconcile()
    ends(desk, "machine-gone")
