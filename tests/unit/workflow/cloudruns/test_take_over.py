"""Another computer takes a rented run over: one machine, one driver, whatever happens in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, ends, killed_at, trains
from tests.fakes.skies import Lost, Sky, cloud_plan
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.runfolder import OWNER, PLAN
from tpu_studio.workflow import desk as desk_files
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import NewAttempt, SendControl


def second(tmp_path: Path, sky: Sky) -> tuple[CloudVerbs, Driver, JournalFile]:
    home = tmp_path / "two"
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    return CloudVerbs(home, driver, journal), driver, journal


def settle(driver: Driver, sky: Sky) -> None:
    for _ in range(500):
        if driver.state(RUN).settled:
            return
        sky.pass_time(max(5.0, driver.turn(RUN)))
    raise AssertionError(driver.state(RUN))


@pytest.fixture
def taken(tmp_path: Path, desk: CloudDesk, sky: Sky) -> Iterator[Driver]:
    """The driver of a second computer, which has taken the training run over."""
    trains(desk)
    verbs, driver, journal = second(tmp_path, sky)
    verbs.take_over(cloud_plan(), RUN)
    yield driver
    journal.disconnect()


def test_after_a_take_over_the_first_computer_stops_driving_at_its_next_turn(
    taken: Driver, desk: CloudDesk, sky: Sky
) -> None:
    said = desk.said("phase")
    desk.turn()
    told = desk.driver.problems[RUN]
    assert told.id == "run-taken-over"
    assert told.facts["host"] and told.facts["t"] > 0
    before = dict(sky.objects)
    sky.hang()
    sky.pass_time(3000.0)
    for _ in range(20):
        desk.turn()
    assert len(sky.nodes) == 1  # it is the other's to delete
    assert set(sky.objects) == set(before) and desk.said("phase")[: len(said)] == said
    with pytest.raises(RunError, match="run-taken-over"):
        CloudVerbs(desk.home, desk.driver, desk.journal).stop(desk.folder, True)
    settle(taken, sky)
    assert sky.nodes == {} and sky.tasks == {}
    desk.until()  # and it follows to the end
    assert desk.said("deleted")
    assert RUN not in desk.driver.problems


def test_who_has_not_heard_of_a_take_over_moves_no_stop(taken: Driver, desk: CloudDesk, sky: Sky) -> None:
    """Its disk still says that the run is its own: the bucket is asked first, and told is who took it, and when."""
    stops = dict(sky.tasks)
    verbs = CloudVerbs(desk.home, desk.driver, desk.journal)
    extension = (SendControl({"verb": "limits", "hours": 9.0}), SendControl({"verb": "extend", "epochs": 2}))
    with pytest.raises(RunError, match="run-taken-over") as refused:
        verbs.extend(desk.folder, extension)
    told, owner = refused.value.facts, json.loads(sky.objects[f"runs/{RUN}/{OWNER}"][0])
    assert stops and sky.tasks == stops
    assert (told["host"], told["t"], told["bucket"]) == (owner["host"], owner["t"], "sky-bucket")
    assert not (desk.folder / "control").exists()
    taken_verbs = CloudVerbs(taken.home, taken, desk.journal)
    taken_verbs.extend(taken.home / "runs" / RUN, extension)  # there it goes on
    assert sky.tasks and not set(stops) & set(sky.tasks)


def test_who_has_not_heard_of_a_take_over_begins_no_attempt(tmp_path: Path, desk: CloudDesk, sky: Sky) -> None:
    ends(desk)
    verbs, driver, journal = second(tmp_path, sky)
    verbs.take_over(cloud_plan(), RUN)
    driver.turn(RUN)
    said = len(desk.said("again"))
    with pytest.raises(RunError, match="run-taken-over"):
        CloudVerbs(desk.home, desk.driver, desk.journal).again(desk.folder, NewAttempt(2, ({"verb": "extend"},)))
    assert len(desk.said("again")) == said and not (desk.folder / "control").exists()
    journal.disconnect()


def test_where_it_cannot_be_read_who_drives_no_stop_is_moved(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    stops = dict(sky.tasks)

    def lost(call: str, done: bool) -> None:
        if call == "get":
            raise Lost

    sky.hook = lost
    with pytest.raises(RunError, match="stops-not-moved"):
        CloudVerbs(desk.home, desk.driver, desk.journal).extend(
            desk.folder, (SendControl({"verb": "limits", "hours": 9.0}),)
        )
    assert stops and sky.tasks == stops
    sky.hook = lambda call, done: None


def test_taken_back_the_first_drives_again(taken: Driver, desk: CloudDesk) -> None:
    desk.turn()
    CloudVerbs(desk.home, desk.driver, desk.journal).take_over(cloud_plan(), RUN)
    taken.turn(RUN)
    assert taken.problems[RUN].id == "run-taken-over"
    ends(desk)


def test_a_stop_asked_for_before_the_take_over_was_known_reaches_the_machine(
    taken: Driver, desk: CloudDesk, sky: Sky
) -> None:
    desk.stop()
    desk.turn()
    settle(taken, sky)
    end = taken.state(RUN).end
    assert end is not None and end.get("reason") == "stopped-by-user"


@pytest.mark.parametrize("at", range(1, 30))
def test_a_take_over_that_is_killed_anywhere_leaves_one_machine_and_one_driver(
    tmp_path: Path, desk: CloudDesk, sky: Sky, at: int
) -> None:
    trains(desk)
    desk.die()
    verbs, driver, journal = second(tmp_path, sky)
    with killed_at(sky, at):
        verbs.take_over(cloud_plan(), RUN)
    journal.disconnect()
    verbs, driver, journal = second(tmp_path, sky)
    desk.start()
    for _ in range(3):
        if (tmp_path / "two" / "runs" / RUN / PLAN).exists():
            driver.turn(RUN)
        desk.turn()
    driving = json.loads(sky.objects[f"runs/{RUN}/{OWNER}"][0])["install"]
    (settle(driver, sky) if driving == desk_files.install_id(tmp_path / "two") else desk.until())
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]
    assert sky.nodes == {} and sky.tasks == {}
    journal.disconnect()


def test_a_take_over_puts_a_damaged_plan_right(tmp_path: Path, desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    desk.die()
    verbs, driver, journal = second(tmp_path, sky)
    folder = tmp_path / "two" / "runs" / RUN
    folder.mkdir(parents=True)
    (folder / PLAN).write_bytes(b"{")
    verbs.take_over(cloud_plan(), RUN)
    assert (folder / PLAN).read_bytes() == (desk.folder / PLAN).read_bytes()
    settle(driver, sky)
    journal.disconnect()
    desk.start()


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"install": 3}'])
def test_an_owner_file_that_names_nobody_keeps_no_run_from_being_driven(
    desk: CloudDesk, sky: Sky, content: bytes | None
) -> None:
    name = f"runs/{RUN}/{OWNER}"
    while name not in sky.objects:
        desk.turn()
    if content is None:
        del sky.objects[name]
    else:
        sky._put(name, content)
    ends(desk)
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]
