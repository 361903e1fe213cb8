"""The life of a cloud run against a cloud in memory: what is asked, in which order, and that nothing is left."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, ends, trains
from tests.fakes.skies import RATE, Lost, Sky, cloud_plan
from tpu_studio.domain.sentences import say, say_notice
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import BadInput, CloudRefused, RunError
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.stops import beyond_s
from tpu_studio.workflow.cloudruns import asking, driver
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.rhythm import Rhythm
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import NewAttempt, SendControl


def nothing_left(desk: CloudDesk) -> None:
    assert desk.sky.nodes == {}
    assert desk.sky.tasks == {}
    assert len(desk.sky.created_names) == len(set(desk.sky.created_names))
    assert desk.journal.open_intents() == []


def receipt(desk: CloudDesk) -> dict:  # type: ignore[type-arg]
    return json.loads((desk.folder / "result" / "receipt.json").read_bytes())  # type: ignore[no-any-return]


def test_a_run_trains_on_a_rented_machine_and_nothing_is_left(desk: CloudDesk, sky: Sky) -> None:
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "completed"
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]
    nothing_left(desk)
    assert (desk.folder / "result" / "model.txt").read_bytes() == b"model"
    assert [e.get("step") for e in desk.mirrored() if e.kind == "metric"] == [[n] for n in range(1, 41)]
    told = receipt(desk)
    assert [one["name"] for one in told["made"]] == sky.created_names
    assert told["stops_left"] == []
    assert told["usd"] == pytest.approx(sky.usd_billed(), abs=RATE / 3600 * 20)
    phases = [str(event.get("phase")) for event in desk.said("phase")]
    assert list(dict.fromkeys(phases)) == ["queued", "provisioning", "cleaning-up", "done"]


def test_a_machine_whose_guardian_has_ended_is_looked_at_in_every_turn(
    desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was seen of it while it trained says nothing any more: its bill ends now."""
    monkeypatch.setattr(driver, "LOOK_EVERY_S", (1e9, 1e9))
    monkeypatch.setattr(Rhythm, "has_just_missed", lambda *_: False)  # all that was said is heard in the next turn
    trains(desk)
    while sky.nodes:
        desk.turn()
    gone = sky.now
    ends(desk)
    assert sky.now - gone <= 60.0


def test_the_stops_stand_before_anything_is_asked_for(desk: CloudDesk, sky: Sky) -> None:
    calls: list[str] = []
    sky.hook = lambda call, done: calls.append(call) if done else None
    desk.until("machines")
    while "create" not in calls:
        desk.turn()
    assert calls[: calls.index("create")].count("set-stop") == 27
    assert all(at > sky.now + 2 * 3600 for _, at in sky.tasks.values())


def test_the_intent_is_in_journal_folder_and_bucket_before_the_call(desk: CloudDesk, sky: Sky) -> None:
    found: list[tuple[bool, bool, bool]] = []

    def look(call: str, done: bool) -> None:
        if call == "create" and not done:
            journal = any(one.action == "create" for one in desk.journal.open_intents())
            folder = any(event.get("action") == "create" for event in desk.said("intent"))
            bucket = any(b'"action":"create"' in data for data, _, _ in sky.objects.values())
            found.append((journal, folder, bucket))

    sky.hook = look
    desk.until()
    assert found == [(True, True, True)]


def test_without_stops_from_outside_nothing_is_rented(desk: CloudDesk, sky: Sky) -> None:
    def refuse(call: str, done: bool) -> None:
        if call == "set-stop" and not done:
            raise CloudRefused("permission-missing", raw="no")

    sky.hook = refuse
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "launch-refused"
    assert sky.created_names == []


def test_preempted_it_goes_on_from_the_last_copy_as_the_next_attempt(desk: CloudDesk, sky: Sky) -> None:
    while len(desk.state.machines) < 1 or not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    sky.pass_time(60.0)
    assert sky.preempt()
    state = desk.until()
    assert state.attempt == 2
    assert [one.ref.name for one in state.machines] == ["ts-digits-k3f7-a1-t1", "ts-digits-k3f7-a2-t1"]
    assert desk.said("attempt-over")[0].get("reason") == "preempted"
    assert desk.mirrored(1)[-1].get("id") == "preempted"
    assert next(e for e in desk.mirrored(2) if e.kind == "resume").get("step") >= 10
    assert len(receipt(desk)["made"]) == 2
    nothing_left(desk)


def test_stop_while_waiting_ends_it_at_once_and_costs_nothing(desk: CloudDesk, sky: Sky) -> None:
    sky.waiting_s = 1e9
    while not sky.nodes:
        desk.turn()
    desk.stop()
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "stopped-by-user"
    assert sky.usd_billed() == 0.0
    nothing_left(desk)


def test_stop_while_training_is_the_guardians_to_obey(desk: CloudDesk, sky: Sky) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    desk.stop()
    state = desk.until()
    assert not state.declared
    assert state.end is not None
    assert state.end.get("reason") == "stopped-by-user"
    nothing_left(desk)


def test_discarded_it_leaves_no_copy_in_the_bucket_and_the_receipt_prices_what_stays(desk: CloudDesk, sky: Sky) -> None:
    def copies() -> list[str]:
        return [name for name in sky.objects if "/checkpoints/" in name]

    while not copies():
        desk.turn()
    sky._put("data/other.tar", b"shared")
    desk.stop(keep=False)
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "discarded"
    assert copies() == []
    assert "data/other.tar" in sky.objects
    told = receipt(desk)
    assert told["kept_bytes"] > 0
    assert told["kept_usd_per_month"] == pytest.approx(told["kept_bytes"] / 2**30 * 0.023, abs=1e-6)  # us-west4


def test_a_machine_that_falls_silent_is_deleted(desk: CloudDesk, sky: Sky) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    assert sky.hang()
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "machine-silent"
    nothing_left(desk)


def test_a_machine_that_never_speaks_is_deleted(desk: CloudDesk, sky: Sky) -> None:
    sky.never_boots = True
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "machine-never-spoke"
    nothing_left(desk)


def test_a_machine_that_is_gone_without_a_word_is_told(desk: CloudDesk, sky: Sky) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    sky._remove("ts-digits-k3f7-a1-t1")
    sky.pass_time(60.0)
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "machine-gone"
    nothing_left(desk)


@pytest.mark.parametrize("applied", [False, True])
def test_a_create_call_without_an_answer_is_never_made_under_another_name(
    desk: CloudDesk, sky: Sky, applied: bool
) -> None:
    lost = [3]

    def lose(call: str, done: bool) -> None:
        if call == "create" and done is applied and lost[0]:
            lost[0] -= 1
            raise Lost

    sky.hook = lose
    desk.until()
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]
    nothing_left(desk)


def test_a_deletion_that_fails_is_tried_until_it_is_proved_and_said_with_its_price(desk: CloudDesk, sky: Sky) -> None:
    fails = [6]

    def refuse(call: str, done: bool) -> None:
        if call == "delete" and not done and fails[0]:
            fails[0] -= 1
            raise CloudRefused("permission-missing", raw="no")

    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    sky.hook = refuse
    sky.hang()
    desk.until()
    notices = {event.get("id"): event for event in desk.said("notice")}
    assert notices["delete-failing"].get("facts")["usd_per_hour"] == RATE
    assert "delete-proved" in notices
    nothing_left(desk)


def test_a_torn_append_is_mended_and_nothing_comes_twice(desk: CloudDesk, sky: Sky) -> None:
    path = desk.folder / "events" / "a0001-w000.jsonl"
    while not path.exists() or path.stat().st_size < 300:
        desk.turn()
    desk.die()
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 17)
    desk.start()
    desk.until()
    assert [e.get("step") for e in desk.mirrored() if e.kind == "metric"] == [[n] for n in range(1, 41)]


def test_the_raw_trace_of_a_profile_comes_with_the_result_and_nothing_else_of_its_folder(
    desk: CloudDesk, sky: Sky
) -> None:
    place = "profile/00000040/plugins/profile/steps"
    for name in ("host.xplane.pb", "sitecustomize.py"):
        sky._put(f"runs/{RUN}/{place}/{name}", b"trace")
    desk.until()
    assert [path.name for path in (desk.folder / place).iterdir()] == ["host.xplane.pb"]


def test_a_profile_of_a_rented_run_is_asked_for_by_a_control_file(desk: CloudDesk, sky: Sky) -> None:
    desk.turn()
    verbs(desk).send(desk.folder, {"verb": "profile", "attempt": 1})
    desk.turn()
    (name,) = (name for name in sky.objects if "/control/" in name)
    assert json.loads(sky.objects[name][0])["verb"] == "profile"


def test_a_result_never_leads_out_of_the_runs_folder(desk: CloudDesk, sky: Sky, tmp_path: Path) -> None:
    for name in ("result/../../../evil", "result//etc/evil", "result/a\\..\\evil"):
        sky._put(f"runs/{RUN}/{name}", b"evil")
    desk.until()
    assert list(tmp_path.rglob("*evil*")) == []


def test_no_two_desktops_drive_a_run(tmp_path: Path, sky: Sky) -> None:
    first = CloudDesk(tmp_path / "one", sky)
    while not sky.nodes:
        first.turn()
    second = CloudDesk(tmp_path / "two", sky)
    for _ in range(20):
        try:
            second.turn()
        except Exception as error:
            assert getattr(error, "id", "") == "run-taken-over"
    first.until()
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]
    first.die()
    second.die()


def test_without_its_bucket_the_machine_is_deleted(desk: CloudDesk, sky: Sky) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()

    def gone(call: str, done: bool) -> None:
        if call in ("put", "get", "list") and not done:
            raise CloudRefused("not-found", raw="no such bucket")

    sky.hook = gone
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "bucket-gone"
    nothing_left(desk)


def test_without_its_bucket_a_fresh_process_too_deletes_the_machine(desk: CloudDesk, sky: Sky) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    desk.die()
    sky.objects.clear()

    def gone(call: str, done: bool) -> None:
        if call in ("put", "list") and not done:  # what is read from a bucket that is gone is only not there
            raise CloudRefused("not-found", raw="no such bucket")

    sky.hook = gone
    desk.start()
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "bucket-gone"
    assert receipt(desk)["usd"] > 0
    nothing_left(desk)


def test_records_that_the_disk_has_lost_come_back_and_the_machine_is_not_forgotten(desk: CloudDesk, sky: Sky) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    desk.die()
    (mine,) = (desk.folder / "events").glob("desk-*.jsonl")
    mine.write_bytes(b"")
    desk.start()
    desk.stop(keep=False)
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "discarded"
    assert [one["name"] for one in receipt(desk)["made"]] == ["ts-digits-k3f7-a1-t1"]
    nothing_left(desk)


def test_a_life_that_passed_while_the_desktop_was_off_is_known_and_paid_once(desk: CloudDesk, sky: Sky) -> None:
    while not sky.nodes:
        desk.turn()
    desk.die()
    sky.pass_time(9000.0)
    desk.start()
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "completed"
    assert receipt(desk)["usd"] == pytest.approx(sky.usd_billed(), abs=RATE / 3600 * 40)
    nothing_left(desk)


def verbs(desk: CloudDesk) -> CloudVerbs:
    return CloudVerbs(desk.home, desk.driver, desk.journal)


def extension() -> tuple[SendControl, ...]:
    return (
        SendControl({"verb": "limits", "hours": 5.0, "money_usd": 100.0}),
        SendControl({"verb": "extend", "epochs": 2}),
    )


def test_an_extension_moves_the_stops_before_the_guardian_hears_of_it(desk: CloudDesk, sky: Sky) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    before = dict(sky.tasks)
    verbs(desk).extend(desk.folder, extension())
    assert not set(before) & set(sky.tasks)
    created = desk.state.machines[0].created
    assert created is not None
    assert min(at for _, at in sky.tasks.values()) >= created + 5 * 3600
    assert len(list((desk.folder / "control").glob("*.json"))) == 2
    desk.until()
    nothing_left(desk)


@pytest.mark.parametrize("call", ["set-stop", "remove-stop"])
def test_an_extension_whose_stops_do_not_move_is_refused_and_nothing_is_told(
    desk: CloudDesk, sky: Sky, call: str
) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()

    def refuse(asked: str, done: bool) -> None:
        if asked == call and not done:
            raise CloudRefused("permission-missing", raw="no")

    sky.hook = refuse
    with pytest.raises(RunError) as caught:
        verbs(desk).extend(desk.folder, extension())
    assert caught.value.id == "stops-not-moved"
    assert not (desk.folder / "control").exists()
    sky.hook = lambda asked, done: None
    assert sky.tasks
    desk.until()
    nothing_left(desk)


def test_a_second_computer_takes_the_run_over_from_the_bucket(tmp_path: Path, sky: Sky) -> None:
    first = CloudDesk(tmp_path / "one", sky)
    while not (first.folder / "events" / "a0001-w000.jsonl").exists():
        first.turn()
    first.die()
    home = tmp_path / "two"
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    CloudVerbs(home, driver, journal).take_over(cloud_plan(), RUN)
    for _ in range(500):
        if driver.state(RUN).settled:
            break
        sky.pass_time(max(5.0, driver.turn(RUN)))
    state = driver.state(RUN)
    assert state.end is not None
    assert state.end.get("reason") == "completed"
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]
    assert sky.nodes == {}
    assert sky.tasks == {}
    steps = (home / "runs" / RUN / "events" / "a0001-w000.jsonl").read_bytes().count(b'"metric"')
    assert steps == 40
    journal.disconnect()


def test_a_run_that_ended_goes_on_as_a_new_attempt(desk: CloudDesk, sky: Sky) -> None:
    desk.until()
    sky.steps = 80
    verbs(desk).again(desk.folder, NewAttempt(2, ({"verb": "extend", "epochs": 4},)))
    assert not desk.state.settled
    state = desk.until()
    assert state.attempt == 2
    assert sky.created_names == ["ts-digits-k3f7-a1-t1", "ts-digits-k3f7-a2-t1"]
    assert next(e for e in desk.mirrored(2) if e.kind == "resume").get("step") == 40
    nothing_left(desk)


def test_a_tensorflow_plan_of_another_version_for_a_tpu_it_does_not_drive_is_not_rented_for(desk: CloudDesk) -> None:
    plan = replace(desk.plan, framework="tensorflow", place="cloud", accelerator="v6e-1")
    with pytest.raises(BadInput) as refused:
        verbs(desk).check_ready(plan)
    assert refused.value.id == "place-needs-jax" and say(refused.value).action.startswith("Use JAX")
    verbs(desk).check_ready(replace(plan, place="practice"))


def test_a_machine_of_a_run_whose_folder_was_removed_is_found_in_the_journal(desk: CloudDesk, sky: Sky) -> None:
    def cut(call: str, done: bool) -> None:
        if call == "create" and done:
            raise Lost

    sky.hook = cut
    while not sky.nodes:
        desk.turn()
    sky.hook = lambda call, done: None
    shutil.rmtree(desk.folder)
    desk.die()
    desk.start()
    assert desk.driver.recover() == []
    assert sky.nodes == {}
    assert sky.tasks == {}


# ------------------------------------------------------------------------------- what Google does not delete yet


@pytest.mark.parametrize("way", ["refused", "operation"])
def test_a_machine_that_is_being_made_is_deleted_the_moment_it_is_there(desk: CloudDesk, sky: Sky, way: str) -> None:
    sky.provisioning, sky.boot_s = way, 3_600.0
    while not any(node.state == "provisioning" for node in sky.nodes.values()):
        desk.turn()
    desk.stop()
    ends(desk, "stopped-by-user")
    ((_, created, deleted),) = sky.bill
    assert deleted is not None and created is not None and deleted - created < 60.0
    told = {event.get("id"): event for event in desk.said("notice")}
    assert "delete-failing" not in told and told["being-made"].get("facts")["beyond"] is False
    assert len([event for event in desk.said("notice") if event.get("id") == "being-made"]) == 1


@pytest.mark.parametrize("way", ["refused", "operation"])
def test_with_the_computer_off_a_machine_that_comes_late_and_hangs_meets_the_next_stop(
    desk: CloudDesk, sky: Sky, way: str
) -> None:
    sky.provisioning, sky.boot_s, sky.never_boots = way, 7 * 3600.0 + 1800.0, True
    while not sky.nodes:
        desk.turn()
    desk.die()  # the computer is off from here on
    sky.pass_time(30 * 3600.0)
    ((_, created, deleted),) = sky.bill
    assert deleted is not None and created is not None
    assert 0.0 < deleted - created <= 3600.0 + 60.0
    limits = limits_of(desk.plan)
    wait_s = float(desk.plan.job["limits.wait_hours"]) * 3600.0
    cap_s = (limits.money_usd or 0.0) / RATE * 3600.0
    assert deleted - created <= cap_s + beyond_s(wait_s, asking.BOOT_S, asking.MARGIN_S)


def test_a_machine_that_is_made_for_longer_than_its_stops_reach_is_said(desk: CloudDesk, sky: Sky) -> None:
    sky.provisioning, sky.boot_s = "refused", 34.5 * 3600.0
    while not any(node.state == "provisioning" for node in sky.nodes.values()):
        desk.turn()
    desk.stop()
    desk.turn()
    sky.pass_time(34 * 3600.0)
    ends(desk, "stopped-by-user")
    beyond = [event for event in desk.said("notice") if event.get("id") == "being-made"]
    assert [event.get("facts")["beyond"] for event in beyond] == [False, True]
    assert "only this computer stops the billing" in say_notice("being-made", beyond[-1].get("facts")).meaning
