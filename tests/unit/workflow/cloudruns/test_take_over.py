"""Another computer takes a rented run over: one machine, one driver, whatever happens in between."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, ends, killed_at, trains
from tests.fakes.skies import Lost, Sky, cloud_plan
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.runfolder import OWNER, PLAN
from tpu_studio.workflow import desk as desk_files
from tpu_studio.workflow.bringing import bring
from tpu_studio.workflow.cloudruns import believed
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.ports import CloudSide
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import NewAttempt, SendControl


def second(tmp_path: Path, sky: Sky) -> tuple[CloudVerbs, Driver, JournalFile]:
    home = tmp_path / "two"
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    return CloudVerbs(home, driver, journal), driver, journal


def at_home(desk: CloudDesk) -> CloudVerbs:
    return CloudVerbs(desk.home, desk.driver, desk.journal)


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


@pytest.mark.parametrize("also", ["nothing", "a proof of its deletion", "no answer of the bucket"])
def test_a_stop_is_carried_out_here_whoever_is_said_to_drive_the_run(desk: CloudDesk, sky: Sky, also: str) -> None:
    """One small file in the bucket, of anybody who can write there, ended the stop and the deletion of my own run."""
    trains(desk)
    (name,) = sky.nodes
    sky.hang()
    desk.stop()
    sky._put(f"runs/{RUN}/{OWNER}", b'{"install": "zzzzzzzz", "host": "x", "t": 1.0}')
    if also == "a proof of its deletion":
        line = encode(event("deleted", t=9e9, name=name, proof="404", made=True, billed_until=1.0))
        sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", line)
    desk.turn()
    assert desk.driver.problems[RUN].id == "run-taken-over" and sky.nodes

    def lost(call: str, done: bool) -> None:
        if also == "no answer of the bucket" and call in ("get", "list", "put"):
            raise Lost

    sky.hook = lost
    asked = sky.now
    while sky.now - asked < 900.0:
        desk.turn()
    assert sky.nodes == {} and sky.created_names == [name]
    assert [told.get("why") for told in desk.said("leaving")] == ["stopped-keep"]
    sky.hook = lambda call, done: None
    desk.turn()
    assert [told.get("name") for told in desk.said("deleted") if told.get("zone")] == [name]
    at_home(desk).take_over(cloud_plan(), RUN)  # taken back, it is finished
    ends(desk, "stopped-by-user")
    assert sky.created_names == [name]


@pytest.mark.parametrize("again", [False, True], ids=["at work", "the program begun again"])
@pytest.mark.parametrize("stop", ["before", "after"])
@pytest.mark.parametrize(
    "said",
    [("phase", {"phase": "done", "detail": ""}), ("again", {"attempt": 9000})],
    ids=["it is over", "it is another attempt"],
)
def test_nor_by_a_word_that_it_is_over_or_another_attempt(
    desk: CloudDesk, sky: Sky, stop: str, said: tuple[str, dict[str, object]], again: bool
) -> None:
    trains(desk)
    sky.hang()
    if stop == "before":
        desk.stop()
    sky._put(f"runs/{RUN}/{OWNER}", b'{"install": "zzzzzzzz", "host": "x", "t": 1.0}')
    line = encode(event(said[0], t=9e9, **said[1]))
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", line)
    for _ in range(3):
        desk.turn()
    assert desk.driver.problems[RUN].id == "run-taken-over" and sky.nodes
    if again:
        desk.driver._runs.clear()
        desk.driver.problems.clear()
        desk.turn()
    if stop == "after":
        desk.stop()
    asked = sky.now
    while sky.now - asked < 900.0:
        desk.turn()
    assert sky.nodes == {}
    assert [told.get("why") for told in desk.said("leaving")] == ["stopped-keep"]


def test_without_a_stop_from_here_the_machine_is_the_other_computers(taken: Driver, desk: CloudDesk, sky: Sky) -> None:
    sky.hang()
    for _ in range(20):
        sky.pass_time(120.0)
        desk.turn()
    assert len(sky.nodes) == 1 and not desk.said("leaving")
    settle(taken, sky)


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


ELSEWHERE = event("opened", t=9e9, bucket="strangers-bucket", project="strangers-project")


def placed(sky: Sky, home: Path) -> tuple[CloudVerbs, Driver, JournalFile, list[tuple[str, str]]]:
    """A desktop, and the projects and buckets that it goes to besides the chosen one."""
    asked: list[tuple[str, str]] = []

    def at(plan: Plan, project: str, bucket: str) -> CloudSide:
        asked.append((project, bucket))
        return sky.side()

    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": replace(sky.place(), at=at)}, journal=journal)
    return CloudVerbs(home, driver, journal), driver, journal, asked


def test_a_copy_that_somebody_sent_of_it_tells_a_take_over_nothing(tmp_path: Path, desk: CloudDesk, sky: Sky) -> None:
    """One more file in it named another project and bucket: job and data went there."""
    trains(desk)
    sent, home = tmp_path / "sent" / RUN, tmp_path / "two"
    shutil.copytree(desk.folder, sent)
    (sent / "events" / "desk-zzzzzzzz.jsonl").write_bytes(encode(ELSEWHERE))
    bring(sent, home / "runs", desk_files.install_id(home), 1.0)
    verbs, driver, journal, asked = placed(sky, home)
    verbs.take_over(cloud_plan(), RUN)
    settle(driver, sky)
    assert {bucket for _, bucket in asked} == {"sky-bucket"}
    assert not (home / "runs" / RUN / "events" / "desk-zzzzzzzz.jsonl").exists()
    assert (home / "trash" / RUN).is_dir()  # the copy can be looked at still
    journal.disconnect()


def test_a_folder_put_in_the_place_of_a_run_of_ours_leads_to_no_other_bucket(desk: CloudDesk, sky: Sky) -> None:
    """The journal knows where the run was begun, whatever the files in its folder say."""
    trains(desk)
    desk.die()
    shutil.rmtree(desk.folder / "events")
    (desk.folder / "events").mkdir()
    (desk.folder / "events" / "desk-zzzzzzzz.jsonl").write_bytes(encode(ELSEWHERE))
    _, driver, journal, asked = placed(sky, desk.home)
    for _ in range(3):
        sky.pass_time(max(5.0, driver.turn(RUN)))
    assert {bucket for _, bucket in asked} == {"sky-bucket"}
    journal.disconnect()
    desk.start()


def test_what_a_take_over_would_go_by_is_told_first_and_changes_nothing(
    tmp_path: Path, desk: CloudDesk, sky: Sky
) -> None:
    trains(desk)
    verbs, _, journal = second(tmp_path, sky)
    objects = dict(sky.objects)
    offer = verbs.offer(cloud_plan(), RUN)
    assert (offer.plan.run, offer.agreed) == (RUN, False)
    assert sky.objects == objects and not (tmp_path / "two" / "runs").exists()
    verbs.take_over(cloud_plan(), RUN)
    assert verbs.offer(cloud_plan(), RUN).agreed
    journal.disconnect()


def raised_by_a_machine(sky: Sky, number: int = 1) -> None:
    sky._put(f"runs/{RUN}/control/{number:06d}.json", b'{"verb":"limits","hours":600.0,"money_usd":90000.0}')


def test_limits_that_lie_in_the_bucket_are_part_of_what_is_offered_also_on_the_runs_own_computer(
    tmp_path: Path, desk: CloudDesk, sky: Sky
) -> None:
    """The yes was to the plan's limits, and was not even asked for of a run that was launched here."""
    trains(desk)
    verbs, _, journal = second(tmp_path, sky)
    own = at_home(desk)
    assert own.offer(cloud_plan(), RUN).agreed
    raised_by_a_machine(sky)
    for one in (verbs, own):
        offer = one.offer(cloud_plan(), RUN)
        assert (offer.limits.money_usd, offer.limits.hours, offer.agreed) == (90_000.0, 600.0, False)
    raised_by_a_machine(sky, 3)  # behind a gap nobody reads it
    assert len(own.offer(cloud_plan(), RUN).changes) == 1
    journal.disconnect()


@pytest.mark.parametrize("on", ["another computer", "its own"])
def test_what_comes_into_the_bucket_after_the_yes_raises_nothing(
    tmp_path: Path, desk: CloudDesk, sky: Sky, on: str
) -> None:
    trains(desk)
    others, driver, journal = second(tmp_path, sky)
    verbs, driver = (others, driver) if on == "another computer" else (at_home(desk), desk.driver)
    offer = verbs.offer(cloud_plan(), RUN)
    raised_by_a_machine(sky)
    folder = verbs.take_over(cloud_plan(), RUN, offer=offer)
    for _ in range(3):
        sky.pass_time(max(5.0, driver.turn(RUN)))
    assert (folder / "control" / "000001.json").exists()
    assert believed.limits(folder, offer.plan) == offer.limits == limits_of(offer.plan)
    journal.disconnect()


def test_a_plan_that_is_another_one_after_the_yes_is_not_taken_over(tmp_path: Path, desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    verbs, _, journal = second(tmp_path, sky)
    offer = verbs.offer(cloud_plan(), RUN)
    dearer = replace(offer.plan, limits=replace(offer.plan.limits, money_usd=90_000.0))
    sky._put(f"runs/{RUN}/{PLAN}", dumps(dearer))
    with pytest.raises(RunError, match="run-changed"):
        verbs.take_over(cloud_plan(), RUN, offer=offer)
    assert not (tmp_path / "two" / "runs" / RUN).exists() and journal.plan_of(RUN) is None
    journal.disconnect()


def test_a_plan_for_another_place_is_not_taken_over(tmp_path: Path, sky: Sky) -> None:
    sky._put(f"runs/{RUN}/{PLAN}", dumps(cloud_plan(place="cloud").launched(RUN, sky.now, "1")))
    verbs, _, journal = second(tmp_path, sky)
    with pytest.raises(RunError, match="run-unknown"):
        verbs.take_over(cloud_plan(), RUN)
    journal.disconnect()


def test_a_new_machine_runs_what_the_computer_brings_that_took_the_run_over(
    tmp_path: Path, desk: CloudDesk, sky: Sky
) -> None:
    """The bucket told which program, where a machine asks and when it ends; all of it went into its config."""
    trains(desk)
    (name,) = sky.nodes
    data = [{"object": "data/of-the-first", "bytes": 7}]
    theirs = {"bundle": {"object": "evil"}, "data": data, "environment": {}}
    told = {**theirs, "endpoints": {"storage": "https://x.example"}, "outside_stops": None, "lease_s": 1e9}
    told["data"] = [{**data[0], "bytes": 10**18}]  # how large it is the bucket says
    sky._put(data[0]["object"], bytes(7))
    line = encode(event("prepared", t=sky.now + 1.0, pieces=told))
    sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", line)
    verbs, driver, journal = second(tmp_path, sky)
    verbs.take_over(cloud_plan(), RUN)
    assert sky.preempt()
    for _ in range(60):
        sky.pass_time(max(5.0, driver.turn(RUN)))
        if set(sky.nodes) - {name}:
            break
    (node,) = (one for other, one in sky.nodes.items() if other != name)
    config = json.loads(node.wanted.metadata["ts-config"])
    assert config["bundle"] == {} and config["data"] == data
    assert config["endpoints"] == dict(sky.side().endpoints) and config["lease_s"] < 1e6
    assert config["outside_stops"]["queue"].endswith("/queues/tpu-studio")
    settle(driver, sky)
    journal.disconnect()
