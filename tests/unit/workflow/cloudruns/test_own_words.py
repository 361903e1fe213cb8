"""What comes from a bucket never counts as said by this computer: there anybody writes under the name of any."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, ends, trains
from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.wire.events import encode, event
from tpu_studio.workflow import desk as desks
from tpu_studio.workflow import seals
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.mirror import Mirror
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs

GONE = (
    ("leaving", {"why": "completed", "facts": {}}),
    ("deleted", {"proof": "404", "made": True, "created": 1.0, "billed_until": 2.0}),
)
END = ("end", {"attempt": 1, "status": "finished", "reason": "completed", "steps": 9, "final": {}, "facts": {}})
DONE = ("phase", {"phase": "done", "detail": ""})


def own_file(desk: CloudDesk) -> Path:
    return desk.folder / "events" / f"desk-{desks.install_id(desk.home)}.jsonl"


def forge(desk: CloudDesk, *said: tuple[str, dict[str, object]]) -> None:
    """A range more under the name of this computer, behind what it has pushed."""
    lines = b"".join(encode(event(kind, t=desk.sky.now, **fields)) for kind, fields in said)
    path = own_file(desk)
    desk.sky._put(f"runs/{RUN}/events/{path.stem}/{path.stat().st_size:012d}.jsonl", lines)


def again(desk: CloudDesk) -> None:
    desk.die()
    desk.start()


def owner_twice(desk: CloudDesk) -> None:
    """Another computer is said to drive the run, and then it is this one again."""
    for install in ("zzzzzzzz", desks.install_id(desk.home)):
        desk.sky._put(f"runs/{RUN}/owner.json", json.dumps({"install": install, "t": 1.0}).encode())
        desk.sky.pass_time(10.0)
        desk.turn()


@pytest.mark.parametrize("then", [again, owner_twice])
@pytest.mark.parametrize("said", [GONE, (*GONE, END), (*GONE, END, DONE)], ids=["gone", "ended", "done"])
def test_a_word_under_my_own_name_in_the_bucket_is_none_of_mine(
    desk: CloudDesk, sky: Sky, said: tuple[tuple[str, dict[str, object]], ...], then: Callable[[CloudDesk], None]
) -> None:
    """A machine that hung was said to be gone, by me: it ran on for a day, its stop refused, its stops removed."""
    trains(desk)
    (name,) = sky.nodes
    sky.hang()
    for _ in range(3):
        desk.turn()
    forge(desk, *((kind, {"name": name, **fields}) for kind, fields in said))
    before = own_file(desk).read_bytes()
    then(desk)
    for _ in range(3):
        desk.turn()
    assert own_file(desk).read_bytes().startswith(before) and not desk.said("deleted")
    CloudVerbs(desk.home, desk.driver, desk.journal).stop(desk.folder, True)
    asked = sky.now
    while sky.now - asked < 900.0:
        desk.turn()
    ends(desk, "stopped-by-user")
    assert sky.created_names == [name]
    told = [one.get("facts") for one in desk.said("notice") if one.get("id") == "left-in-bucket"]
    assert told == [{"what": [f"events/{own_file(desk).stem}"]}] or then is owner_twice


def test_nor_is_a_program_that_the_next_machine_would_run(tmp_path: Path) -> None:
    """Taken back, my machine was followed by one that ran a stranger's archive, with its packages, unasked."""
    sky = Sky(steps=4000)
    desk = CloudDesk(tmp_path / "home", sky, cloud_plan(tier="spot"))
    trains(desk)
    (name,) = sky.nodes
    mine = desk.state.pieces
    forge(desk, ("prepared", {"pieces": {"bundle": {"object": "evil"}, "data": [], "trust_code": True}}))
    again(desk)
    desk.turn()
    assert sky.preempt()
    while not (set(sky.nodes) - {name}):
        desk.turn()
    assert desk.state.pieces == mine
    desk.die()


def unclear(_: Mirror) -> dict[str, object]:
    raise CloudUnclear("timeout")


EVIL = ("prepared", {"pieces": {"bundle": {"object": "evil"}, "data": [], "environment": {}}})


@pytest.mark.parametrize("then", ["mine again", "nobody's", "mine, and the program begun again", "not to be read"])
@pytest.mark.parametrize("said", [GONE, (EVIL,), (("again", {"attempt": 7}),), (END, DONE)])
def test_nor_what_another_is_said_to_have_said_while_it_was_said_to_drive_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: tuple[tuple[str, dict[str, object]], ...], then: str
) -> None:
    """For a moment; its records came down, and stayed: they counted when the run was mine again, or nobody's."""
    sky = Sky(steps=400)
    desk = CloudDesk(tmp_path / "home", sky, cloud_plan(tier="spot"))
    trains(desk)
    (name,) = sky.nodes
    mine = desk.state.pieces
    lines = b"".join(encode(event(kind, t=sky.now + 1.0, **{"name": name, **fields})) for kind, fields in said)
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", lines)
    named = {} if then == "nobody's" else {"install": desks.install_id(desk.home), "t": 1.0}
    for owner in ({"install": "zzzzzzzz", "t": 1.0}, named):
        sky._put(f"runs/{RUN}/owner.json", json.dumps(owner).encode())
        if owner == named and then in ("mine, and the program begun again", "not to be read"):
            desk.die()
            desk.start()
        with monkeypatch.context() as patched:
            if owner == named and then == "not to be read":
                patched.setattr(Mirror, "holder", unclear)
            for _ in range(3):
                sky.pass_time(10.0)
                desk.turn()
                assert owner != named or desk.driver._runs[RUN].state.pieces == mine
    desk.turn()
    assert (desk.folder / "events" / "desk-zzzzzzzz.jsonl").exists()
    assert (desk.state.pieces, desk.state.attempt, desk.state.settled) == (mine, 1, False)
    assert desk.driver.unsettled() == [RUN] and list(sky.nodes) == [name]
    ends(desk)
    assert sky.created_names == [name]
    desk.die()


def test_a_lost_journal_learns_that_a_run_was_taken_over(tmp_path: Path, desk: CloudDesk, sky: Sky) -> None:
    """Else what the computer before has rented would be forgotten."""
    trains(desk)
    home = tmp_path / "two"
    journal = JournalFile(home / "journal.db")
    CloudVerbs(home, Driver(home, places={"practice": sky.place()}, journal=journal), journal).take_over(
        cloud_plan(), RUN
    )
    journal.disconnect()
    (home / "journal.db").unlink()
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    assert driver.unsettled() == [RUN] and journal.was_taken_over(RUN)
    assert [one.ref.name for one in driver.state(RUN).there] == list(sky.nodes)
    journal.disconnect()


def test_nor_an_attempt_more_of_a_run_that_is_over(desk: CloudDesk, sky: Sky) -> None:
    """It rented three machines more for a run that had ended while the program was closed."""
    trains(desk)
    desk.turn()
    desk.die()
    forge(desk, *(("again", {"attempt": number}) for number in (2, 3, 4)))
    sky.pass_time(1500.0)
    desk.start()
    ends(desk)
    assert len(sky.created_names) == 1 and desk.state.attempt == 1


def test_what_this_computer_has_said_comes_back_to_a_disk_that_lost_it(desk: CloudDesk, sky: Sky) -> None:
    """Also behind a line that a crash has torn, and though somebody has written behind it."""
    trains(desk)
    with own_file(desk).open("ab") as file:
        file.write(b'{"t":1.0,"kind":"log","te')
    notice = {"id": "x", "level": "info", "facts": {}, "key": desks.seal_key(desk.home)}
    desks.write_event(desk.folder, desks.install_id(desk.home), "notice", t=sky.now, **notice)  # type: ignore[arg-type]
    desk.turn()
    desk.die()
    whole = own_file(desk).read_bytes()
    torn = whole.index(b'"te\n') + 4
    forge(desk, *GONE, DONE)
    for left in (0, 40, torn, len(whole) - 7):
        own_file(desk).write_bytes(whole[:left])
        desk.start()
        desk.turn()
        desk.die()
        came = own_file(desk).read_bytes()
        assert [one for one in came.splitlines() if one.strip()][:5] == whole.splitlines()[:5]
        assert len(came) >= len(whole) and came[torn : len(whole)] == whole[torn:]
    desk.start()
    ends(desk)
    assert len(sky.created_names) == 1


def test_the_seal_is_of_this_run_this_place_and_this_computer(tmp_path: Path) -> None:
    key, line = desks.seal_key(tmp_path), encode(event("again", t=1.0, attempt=2))
    sealed = seals.sealed(key, RUN, 70, line)
    assert seals.is_sealed(key, RUN, 70, sealed)
    for other in ((b"x" * 32, RUN, 70), (b"", RUN, 70), (key, "digits-aaaa", 70), (key, RUN, 71)):
        assert not seals.is_sealed(*other, sealed)
    assert not seals.is_sealed(b"", RUN, 70, seals.sealed(b"", RUN, 70, line))
    assert not seals.is_sealed(key, RUN, 70, sealed.replace(b'"attempt":2', b'"attempt":3'))
    assert (tmp_path / "install-id").stat().st_mode & 0o077 == 0


def test_a_home_that_has_lost_its_key_is_another_computer(tmp_path: Path, desk: CloudDesk, sky: Sky) -> None:
    """Its records come to the new one as another's, by a take-over, and its machine with them."""
    trains(desk)
    desk.turn()
    desk.die()
    home = tmp_path / "new"
    home.mkdir()
    mine = desks.install_id(desk.home)
    (home / "install-id").write_text(f"{mine}\n{'x' * 64}\n")  # damaged
    assert desks.install_id(home) != mine
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    folder = CloudVerbs(home, driver, journal).take_over(cloud_plan(), RUN)
    assert (folder / "events" / f"desk-{mine}.jsonl").exists()
    assert [one.ref.name for one in driver.state(RUN).there] == list(sky.nodes)
    journal.disconnect()
    desk.start()


def test_a_run_is_taken_over_again_by_the_computer_whose_folder_of_it_is_gone(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    desk.turn()
    said = own_file(desk).read_bytes()
    desk.folder.rename(desk.home / "elsewhere")
    again(desk)
    CloudVerbs(desk.home, desk.driver, desk.journal).take_over(cloud_plan(), RUN)
    assert own_file(desk).read_bytes().startswith(said)
    ends(desk)
    assert len(sky.created_names) == 1


def in_bucket(desk: CloudDesk) -> bytes:
    """What another computer would read of this one's records."""
    found, at = b"", 0
    while one := desk.sky.objects.get(f"runs/{RUN}/events/{own_file(desk).stem}/{at:012d}.jsonl"):
        found, at = found + one[0], at + len(one[0])
    return found


@pytest.mark.parametrize("restarted", [False, True], ids=["at work", "begun again"])
@pytest.mark.parametrize("far", [99_999_999, 999_999_999_999_999])
@pytest.mark.parametrize("what", [b"", b"\n", b'{"t":1.0,"kind":"x"}\n'])
def test_ranges_that_others_lay_under_my_name_keep_no_record_from_the_bucket_and_no_machine(
    desk: CloudDesk, sky: Sky, far: int, restarted: bool, what: bytes
) -> None:
    """One at an offset that no file has: reading there failed, and with it each deletion."""
    trains(desk)
    sky.hang()
    for _ in range(3):
        desk.turn()
    for at in (own_file(desk).stat().st_size, far):
        sky._put(f"runs/{RUN}/events/{own_file(desk).stem}/{at:012d}.jsonl", what)
    if restarted:
        again(desk)
    desk.stop()
    asked = sky.now
    while sky.now - asked < 900.0:
        desk.turn()
    ends(desk, "stopped-by-user")
    assert in_bucket(desk) == own_file(desk).read_bytes()


def test_nor_do_they_keep_a_run_from_its_beginning(desk: CloudDesk, sky: Sky) -> None:
    sky._put(f"runs/{RUN}/events/{own_file(desk).stem}/999999999999999.jsonl", b"\n")
    ends(desk)
    assert in_bucket(desk) == own_file(desk).read_bytes()


def test_a_deletion_waits_for_no_disk_and_no_bucket(desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(desk)
    sky.hang()
    desk.stop()

    def broken(self: Mirror) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    with monkeypatch.context() as patch:
        patch.setattr(Mirror, "push_desk", broken)
        asked = sky.now
        while sky.now - asked < 900.0:
            desk.turn()
        assert sky.nodes == {}
    ends(desk, "stopped-by-user")


@pytest.mark.parametrize("stop", ["before", "after"])
def test_the_bucket_does_not_say_that_a_run_was_brought_here_as_files(desk: CloudDesk, sky: Sky, stop: str) -> None:
    """One word more in its record of who drives a run: then the stop was not carried out, and its cost not counted."""
    trains(desk)
    sky.hang()
    if stop == "before":
        desk.stop()
    sky._put(f"runs/{RUN}/owner.json", b'{"install": "zzzzzzzz", "host": "x", "t": 1.0, "imported": true}')
    for _ in range(3):
        desk.turn()
    assert desk.driver.problems[RUN].id == "run-taken-over" and "imported" not in desks.read_owner(desk.folder)
    if stop == "after":
        desk.stop()
    asked = sky.now
    while sky.now - asked < 900.0:
        desk.turn()
    assert sky.nodes == {}
