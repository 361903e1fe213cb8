"""Our clients of Google against the practice cloud: the ports of `workflow.cloudruns`, faults of the line included."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import google.auth.credentials
import pytest

from tests.contract.conftest import caller
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.connection import bearer, practice_side
from tpu_studio.cloud.mailbox import BucketMailbox
from tpu_studio.cloud.queues import RETRIES
from tpu_studio.cloud.session import Api, Patience, session
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.regions import with_cloud_tasks
from tpu_studio.domain.sentences import say
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut
from tpu_studio.wire.sizes import TooLarge
from tpu_studio.workflow.cloudruns.ports import CloudSide, MachineSeen, Ref, Wanted

Start = Callable[..., Practice]
QUICK = Patience(sleep=lambda seconds: None)
REF = Ref("ts-digits-k3f7-a1-t1", "us-west4-a")


def side_of(practice: Practice, token: str = "") -> CloudSide:
    settings = practice.cloud.settings
    return practice_side(practice.url, token or practice.token, settings.project, settings.bucket, patience=QUICK)


@pytest.fixture
def side(practice: Practice) -> CloudSide:
    return side_of(practice)


# -------------------------------------------------------------------------------------------------------- mailbox


def test_an_object_is_created_once(side: CloudSide) -> None:
    box = side.mailbox
    assert box.create("runs/a/claims/a0001.json", b"one")
    assert box.create("runs/a/claims/a0001.json", b"one")  # ours, told twice
    assert not box.create("runs/a/claims/a0001.json", b"two")
    assert box.read("runs/a/claims/a0001.json") == b"one"


def test_a_swap_is_lost_when_another_was_first(side: CloudSide) -> None:
    box = side.mailbox
    first = box.write("runs/a/owner.json", b"1")
    second = box.write("runs/a/owner.json", b"2", generation=first)
    assert second is not None and second != first
    assert box.write("runs/a/owner.json", b"3", generation=first) is None
    assert box.write("runs/a/owner.json", b"2", generation=first) == second  # a repeat whose first try got through
    assert box.read("runs/a/owner.json") == b"2"


def test_reading_goes_on_from_where_it_ended(side: CloudSide) -> None:
    box = side.mailbox
    box.create("runs/a/x", b"0123456789")
    assert box.read("runs/a/x", start=4) == b"456789"
    assert box.read("runs/a/x", start=10) == b""
    assert box.read("runs/a/nothing") is None
    assert box.stat("runs/a/nothing") is None
    stored = box.stat("runs/a/x")
    assert stored is not None and (stored.size, len(stored.md5)) == (10, 32)


def test_names_are_listed_in_order_from_a_start_on(side: CloudSide) -> None:
    box = side.mailbox
    for offset in (0, 25, 117):
        box.create(f"runs/a/events/a0001-w000/{offset:012d}.jsonl", b"{}\n")
    box.create("runs/b/other", b"")
    listed = box.list("runs/a/events/", start=f"runs/a/events/a0001-w000/{25:012d}.jsonl")
    assert [one.name[-18:-6] for one in listed] == [f"{25:012d}", f"{117:012d}"]
    box.delete([one.name for one in box.list("runs/a/")] + ["runs/a/never-was"])
    assert list(box.list("runs/a/")) == []
    assert len(box.list("runs/")) == 1


def test_a_large_file_goes_up_and_down_whole_and_is_not_sent_twice(side: CloudSide, tmp_path: Path) -> None:
    data = os.urandom(1000) * 20_000  # 20 MB: three chunks
    (tmp_path / "up").write_bytes(data)
    told: list[tuple[int, int]] = []
    side.mailbox.upload(tmp_path / "up", "data/x.tar", lambda done, total: told.append((done, total)))
    assert told[-1] == (len(data), len(data)) and len(told) > 3
    generation = side.mailbox.stat("data/x.tar")
    side.mailbox.upload(tmp_path / "up", "data/x.tar")
    assert side.mailbox.stat("data/x.tar") == generation
    side.mailbox.download("data/x.tar", tmp_path / "deep" / "down")
    assert (tmp_path / "deep" / "down").read_bytes() == data
    assert [one.name for one in (tmp_path / "deep").iterdir()] == ["down"]


def test_a_transfer_can_be_cancelled_and_leaves_nothing_behind(side: CloudSide, tmp_path: Path) -> None:
    (tmp_path / "up").write_bytes(bytes(20_000_000))

    def stop(done: int, total: int) -> None:
        if done > 0:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        side.mailbox.upload(tmp_path / "up", "data/x.tar", stop)
    assert side.mailbox.stat("data/x.tar") is None
    side.mailbox.upload(tmp_path / "up", "data/x.tar")
    with pytest.raises(InterruptedError):
        side.mailbox.download("data/x.tar", tmp_path / "down", stop)
    assert [one.name for one in tmp_path.iterdir() if one.name != "practice"] == ["up"]


def test_a_file_larger_than_it_may_be_is_not_downloaded(side: CloudSide, tmp_path: Path) -> None:
    (tmp_path / "up").write_bytes(bytes(1000))
    side.mailbox.upload(tmp_path / "up", "data/x.tar")
    with pytest.raises(TooLarge):
        side.mailbox.download("data/x.tar", tmp_path / "deep" / "down", at_most=999)
    assert not (tmp_path / "deep").exists()
    side.mailbox.download("data/x.tar", tmp_path / "down", at_most=1000)
    assert (tmp_path / "down").stat().st_size == 1000


def test_a_file_that_is_not_there_is_refused(side: CloudSide, tmp_path: Path) -> None:
    with pytest.raises(CloudRefused) as raised:
        side.mailbox.download("runs/a/nothing", tmp_path / "x")
    assert raised.value.id == "not-found"
    assert not (tmp_path / "x").exists()


def test_a_write_whose_answer_is_lost_counts_once(start_practice: Start, tmp_path: Path) -> None:
    practice = start_practice()
    box, lost = side_of(practice).mailbox, r"apply-then-fail:match=^POST .*/upload/"
    practice.cloud.faults.arm_text(lost)
    assert box.create("runs/a/x", b"one")
    first = box.stat("runs/a/x")
    assert first is not None
    practice.cloud.faults.arm_text(lost)
    second = box.write("runs/a/x", b"two", generation=first.generation)
    assert second is not None and box.read("runs/a/x") == b"two"
    practice.cloud.faults.arm_text(lost)
    (tmp_path / "up").write_bytes(b"file")
    box.upload(tmp_path / "up", "data/f")
    assert box.read("data/f") == b"file"


def test_a_bucket_that_is_busy_is_asked_again_and_one_that_refuses_is_told(start_practice: Start) -> None:
    practice = start_practice("storage-unavailable:times=2")
    box = side_of(practice).mailbox
    assert box.create("runs/a/x", b"one") and box.read("runs/a/x") == b"one"
    practice.cloud.faults.arm_text("object-write-refused")
    with pytest.raises(CloudRefused) as raised:
        box.create("runs/a/y", b"two")
    assert raised.value.id == "permission-missing"
    assert box.read("runs/a/x") == b"one"
    practice.cloud.faults.arm_text("bucket-gone")
    for call in (lambda: box.list("runs/"), lambda: box.create("runs/a/z", b"")):
        with pytest.raises(CloudRefused) as raised:
            call()
        assert raised.value.id == "not-found"


def test_what_arrives_damaged_is_asked_for_again(side: CloudSide) -> None:
    box: Any = side.mailbox
    box.create("runs/a/x", b"one")
    replies: list[int] = []

    def damage(reply: Any, **_: Any) -> None:
        replies.append(reply.status_code)
        if len(replies) == 1:
            reply.headers["X-Goog-Hash"] = "crc32c=AAAAAA==,md5=x"

    box._http.hooks["response"].append(damage)
    assert box.read("runs/a/x") == b"one"
    assert replies == [200, 200]


def test_a_token_that_has_run_out_is_made_anew_while_reading(practice: Practice) -> None:
    class RunOut(google.auth.credentials.Credentials):
        def refresh(self, request: Any) -> None:
            self.token = practice.token

    credentials = RunOut()
    credentials.token = "old"
    settings = practice.cloud.settings
    box = BucketMailbox(session(credentials), practice.url, settings.project, settings.bucket, patience=QUICK)
    assert box.read("runs/a/x") is None
    side_of(practice).mailbox.create("runs/a/x", b"one")
    credentials.token = "old"
    assert box.read("runs/a/x", start=1) == b"ne"


# ---------------------------------------------------------------------------------------------------------- stops


def test_outside_stops_are_set_read_back_and_removed(side: CloudSide) -> None:
    at = [side.clock.now() + 3600 + 600 * n for n in range(3)]
    names = side.stops.set(REF, "b", at)
    assert len(names) == 3
    assert dict(side.stops.of(REF)) == {name: float(round(when)) for name, when in zip(names, at, strict=True)}
    assert [name.rpartition("/")[2] for name in names] == [
        f"{REF.name}-b-{n}-{round(when)}" for n, when in zip((1, 2, 3), at, strict=True)
    ]
    assert dict(side.stops.of(replace(REF, name="ts-digits-k3f7-a1-t11"))) == {}
    side.stops.remove([*names, names[0]])
    assert dict(side.stops.of(REF)) == {}


def until_empty(practice: Practice) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while practice.cloud.db.list("tpu-queued-resource"):
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_stop_deletes_what_the_machines_own_account_may_not(start_practice: Start) -> None:
    practice = start_practice("runner-may-not-delete", speed=60)
    side = side_of(practice)
    side.machines["tpu"].create(WANTED)
    side.stops.set(REF, "b", [side.clock.now() + 60.0])
    until_empty(practice)


def test_a_stop_of_an_account_without_the_right_deletes_nothing(start_practice: Start) -> None:
    practice = start_practice("runner-may-not-delete:account=tpu-studio-stopper", speed=60)
    side = side_of(practice)
    side.machines["tpu"].create(WANTED)
    (name,) = side.stops.set(REF, "b", [side.clock.now() + 60.0])
    give_up = time.monotonic() + PATIENCE_S
    while "lastAttempt" not in (practice.cloud.db.get("task", name) or {"shown": {"lastAttempt": 1}})["shown"]:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    until(lambda: side.machines["tpu"].look(REF), "ready")


def test_a_name_is_never_used_twice(side: CloudSide) -> None:
    at = [side.clock.now() + 3600]
    first = side.stops.set(REF, "l", at)
    side.stops.remove(first)
    second = side.stops.set(REF, "l", at)
    assert not set(first) & set(second)


def test_a_stop_whose_answer_is_lost_stands_once(start_practice: Start) -> None:
    side = side_of(start_practice(r"apply-then-fail:times=2,match=^POST .*/tasks$"))
    at = [side.clock.now() + 3600, side.clock.now() + 4200]
    assert sorted(side.stops.set(REF, "b", at)) == sorted(side.stops.of(REF))
    assert len(side.stops.of(REF)) == 2


def test_a_refused_stop_is_a_refusal(start_practice: Start) -> None:
    side = side_of(start_practice("tasks-refused:times=0"))
    with pytest.raises(CloudRefused):
        side.stops.set(REF, "b", [side.clock.now() + 3600])
    assert dict(side.stops.of(REF)) == {}


REGIONS_LENT = sorted({zone.region for one in catalogue().offered() for zone in one.zones})


@pytest.mark.parametrize("region", REGIONS_LENT)
def test_every_region_that_lends_a_tpu_has_its_stops_from_outside(practice: Practice, region: str) -> None:
    side = side_of(practice)
    ref = replace(REF, zone=f"{region}-a")
    names = side.stops.set(ref, "b", [side.clock.now() + 3600.0])
    queue = names[0].rpartition("/tasks/")[0]
    assert side.stops.queue(ref) == queue and queue.split("/")[3] in with_cloud_tasks()
    assert list(side.stops.of(ref)) == list(names)
    asked = caller(practice)("GET", f"/cloudtasks/v2/{names[0]}").body
    assert f"/locations/{region}-a/queuedResources/{REF.name}" in asked["httpRequest"]["url"]
    side.stops.remove(names)
    assert dict(side.stops.of(ref)) == {}


def test_the_queue_stands_in_the_nearest_region_that_has_cloud_tasks(practice: Practice) -> None:
    side = side_of(practice)
    near = {
        zone: side.stops.queue(replace(REF, zone=zone)).split("/")[3]
        for zone in (
            "us-west4-a",
            "us-east5-a",
            "us-south1-a",
            "europe-west4-b",
            "us-central2-b",
            "southamerica-west1-a",
        )
    }
    assert near == {
        "us-west4-a": "us-west4",
        "us-east5-a": "us-east4",
        "us-south1-a": "us-central1",
        "europe-west4-b": "europe-west3",
        "us-central2-b": "us-central1",
        "southamerica-west1-a": "southamerica-east1",
    }


def test_a_queue_that_stands_elsewhere_is_looked_for_there(practice: Practice) -> None:
    side = side_of(practice)
    there = replace(REF, queue="projects/practice-project/locations/europe-west3/queues/tpu-studio")
    names = side.stops.set(there, "b", [side.clock.now() + 3600.0])
    assert list(side.stops.of(there)) == list(names) and not side.stops.of(REF)


def test_an_organisation_that_allows_europe_only_gets_its_queue_in_europe(start_practice: Start) -> None:
    side = side_of(start_practice("org-policy:times=0"))
    assert side.stops.queue(replace(REF, zone="us-west4-a")).split("/")[3] == "europe-west1"
    assert side.stops.queue(replace(REF, zone="europe-west4-a")).split("/")[3] == "europe-west3"


def test_a_queue_that_tries_again_otherwise_is_set_right(practice: Practice) -> None:
    side, call = side_of(practice), caller(practice)
    queue = side.stops.queue(REF)
    once = {"retryConfig": {"maxAttempts": 1}}
    call("PATCH", f"/cloudtasks/v2/{queue}?updateMask=retryConfig", once)
    side.stops.set(REF, "b", [side.clock.now() + 3600.0])
    there = call("GET", f"/cloudtasks/v2/{queue}").body["retryConfig"]
    assert {key: there[key] for key in RETRIES} == RETRIES


def test_a_queue_is_made_in_another_region_and_a_paused_one_set_going(practice: Practice) -> None:
    side = side_of(practice)
    there = replace(REF, zone="us-east1-d")
    first = side.stops.set(there, "b", [side.clock.now() + 3600])
    assert list(side.stops.of(there)) == list(first)
    queue = first[0].rpartition("/tasks/")[0]
    api = Api(f"{practice.url}/cloudtasks", bearer(practice.token), patience=QUICK)
    assert api.post(f"/v2/{queue}:pause")["state"] == "PAUSED"
    side.stops.set(there, "b", [side.clock.now() + 7200])
    assert api.get(f"/v2/{queue}")["state"] == "RUNNING"


def test_no_stops_stand_where_there_is_no_queue(side: CloudSide) -> None:
    assert dict(side.stops.of(Ref("ts-x-a1-t1", "europe-west4-b"))) == {}


# ---------------------------------------------------------------------------------------------------------- clock


def test_the_clock_is_the_clouds(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    side = side_of(practice)
    assert side.speed == 60
    assert abs(side.clock.now() - practice.cloud.clock.now()) < 3600  # of practice: a minute for one slow answer


def test_what_follows_a_run_hears_of_a_practice_cloud_started_anew_at_another_speed(start_practice: Start) -> None:
    before = start_practice(speed=60)
    settings, tokens = before.cloud.settings, [before.token]
    side = practice_side(
        before.url, before.token, settings.project, settings.bucket, patience=QUICK, renewed=lambda: tokens[-1]
    )
    before.stop()
    after = start_practice(speed=4)
    tokens.append(after.token)
    assert after.url == before.url and side.speed == 60
    assert dict(side.stops.of(REF)) == {}
    began = side.clock.now()
    assert side.speed == 4 and abs(began - after.cloud.clock.now()) < 3600


# ------------------------------------------------------------------------------------------------------- machines

LABELS = {"tpu-studio": "run", "run-id": "digits-k3f7", "install": "i1"}
WANTED = Wanted(
    ref=REF,
    request_id="5f2c7c0e-9a53-4f53-8f0b-0e6f2b1f8b11",
    accelerator="v5litepod-1",
    runtime="v2-alpha-tpuv5-lite",
    tier="on-demand",
    valid_for_s=7200.0,
    run_s=None,
    metadata={"startup-script": "#!/bin/sh\n", "ts-deadline": "1"},
    labels=LABELS,
    service_account="tpu-studio-runner@practice-project.iam.gserviceaccount.com",
)


def test_the_clock_goes_where_refusals_come_without_a_date(practice: Practice) -> None:
    practice.cloud.doubts.arm("date-header=not-on-errors")
    assert abs(side_of(practice).clock.now() - practice.cloud.clock.now()) < 60.0


def test_the_clock_needs_nobody_to_be_signed_in(start_practice: Start) -> None:
    practice = start_practice("token-revoked")
    assert abs(side_of(practice).clock.now() - practice.cloud.clock.now()) < 60.0


def until(seen: Callable[[], MachineSeen | None], *states: str) -> MachineSeen | None:
    """The machine once it is in one of *states* ("" for absent), or a failure after a generous while."""
    give_up = time.monotonic() + PATIENCE_S
    while True:
        machine = seen()
        if (machine.state if machine else "") in states:
            return machine
        assert time.monotonic() < give_up, machine
        time.sleep(0.02)


@pytest.mark.parametrize("way", ["", "operation"])
def test_a_deletion_that_comes_too_soon_is_a_refusal_whichever_way_google_says_it(
    start_practice: Start, way: str
) -> None:
    practice = start_practice("provisioning-stalls:seconds=3600", speed=60)
    if way:
        practice.cloud.doubts.arm(f"provisioning-delete={way}")
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    until(lambda: machines.look(REF), "provisioning")
    with pytest.raises(CloudRefused) as refused:
        machines.delete(REF)
    assert (refused.value.id, refused.value.facts["state"]) == ("precondition", "PROVISIONING")
    assert "Google is making" in say(refused.value).title


@pytest.fixture
def fast(start_practice: Start) -> CloudSide:
    return side_of(start_practice(speed=60))


@pytest.mark.parametrize("tier", ["on-demand", "spot", "flex-start"])
def test_a_machine_is_asked_for_found_and_deleted(fast: CloudSide, tier: str) -> None:
    machines = fast.machines["tpu"]
    machines.create(replace(WANTED, tier=tier, run_s=3600.0 if tier == "flex-start" else None))
    ready = until(lambda: machines.look(REF), "ready")
    assert ready is not None and ready.labels == LABELS
    assert ready.created is not None and abs(ready.created - fast.clock.now()) < 36_000
    assert [one.ref for one in machines.find(LABELS)] == [REF]
    assert list(machines.find({**LABELS, "run-id": "another"})) == []
    machines.delete(REF)
    machines.delete(REF)
    until(lambda: machines.look(REF), "")
    machines.delete(REF)
    assert list(machines.find(LABELS)) == []


def test_a_flex_start_that_only_v2alpha1_shows_is_found_and_deleted(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    practice.cloud.doubts.arm("flex-list-v2")
    machines, flex = side_of(practice).machines["tpu"], replace(REF, alpha=True)
    machines.create(replace(WANTED, ref=flex, tier="flex-start", run_s=3600.0))
    until(lambda: machines.look(flex), "ready")
    assert machines.look(REF) is None, "the doubt is played"
    assert [(one.ref, one.ref.alpha) for one in machines.find(LABELS)] == [(flex, True)]
    machines.delete(flex)
    until(lambda: machines.look(flex), "")
    assert machines.ended(flex) is not None
    practice.cloud.faults.arm("permission-missing", permission="tpu.nodes.list")
    with pytest.raises(CloudRefused):
        machines.find(LABELS)


def test_a_stop_deletes_a_flex_start_that_only_v2alpha1_shows(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    practice.cloud.doubts.arm("flex-list-v2")
    side, flex = side_of(practice), replace(REF, alpha=True)
    side.machines["tpu"].create(replace(WANTED, ref=flex, tier="flex-start", run_s=3600.0))
    (name,) = side.stops.set(flex, "b", [side.clock.now() + 60.0])
    aim = side.stops.aim(name)
    assert aim is not None and aim[0].alpha
    until_empty(practice)


def test_created_and_deleted_are_told_as_they_are_billed(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    ready = until(lambda: machines.look(REF), "ready")
    assert ready is not None and machines.ended(REF) is None
    machines.delete(REF)
    until(lambda: machines.look(REF), "")
    (line,) = practice.cloud.meter.bill()
    assert ready.created == pytest.approx(line["begin"], abs=0.001)
    told = machines.ended(REF)
    assert told is not None and told.done == pytest.approx(line["end"], abs=0.001)
    assert ready.created < told.asked < told.done
    assert machines.ended(replace(REF, name="ts-another-a1-t1")) is None


def test_the_same_name_is_refused_the_same_call_is_not(fast: CloudSide) -> None:
    machines = fast.machines["tpu"]
    machines.create(WANTED)
    machines.create(WANTED)  # the same request id
    with pytest.raises(CloudRefused) as raised:
        machines.create(replace(WANTED, request_id="00000000-9a53-4f53-8f0b-0e6f2b1f8b11"))
    assert raised.value.id == "exists"


@pytest.mark.parametrize(
    ("fault", "id"),
    [
        ("quota-zero", "quota-exceeded"),
        ("quota-region-limit", "quota-exceeded"),
        ("stockout-at-submit", "no-capacity"),
        ("not-entitled", "not-entitled"),
        ("type-not-in-zone", "type-not-in-zone"),
        ("create-rate", "create-rate"),
    ],
)
def test_a_refused_create_made_nothing_and_says_why(start_practice: Start, fault: str, id: str) -> None:
    machines = side_of(start_practice(fault)).machines["tpu"]
    with pytest.raises(CloudRefused) as raised:
        machines.create(replace(WANTED, tier="spot"))
    assert raised.value.id == id
    assert raised.value.facts["zone"] == REF.zone and raised.value.facts["raw"]
    assert machines.look(REF) is None


@pytest.mark.parametrize("fault", ["apply-then-fail", "connection-cut:match=POST", "foreign-metadata-type"])
def test_a_create_whose_answer_is_lost_is_unclear_and_found_by_name(start_practice: Start, fault: str) -> None:
    machines = side_of(start_practice(fault, speed=60)).machines["tpu"]
    try:
        machines.create(WANTED)
    except CloudUnclear:
        pass  # foreign-metadata-type is readable: google.cloud.common is imported
    assert until(lambda: machines.look(REF), "ready") is not None
    assert len(machines.find(LABELS)) == 1


def test_a_stockout_in_the_operation_is_told_with_its_reason(start_practice: Start) -> None:
    machines = side_of(start_practice("stockout-in-operation", speed=60)).machines["tpu"]
    machines.create(WANTED)
    failed = until(lambda: machines.look(REF), "failed")
    assert failed is not None and failed.error is not None and failed.error[0] == "no-capacity"
    machines.delete(REF)
    until(lambda: machines.look(REF), "")


def test_a_state_nobody_has_heard_of_is_unknown_not_failed(start_practice: Start) -> None:
    machines = side_of(start_practice("unknown-enum", speed=60)).machines["tpu"]
    machines.create(WANTED)
    states = set()
    give_up = time.monotonic() + PATIENCE_S
    while "ready" not in states and time.monotonic() < give_up:
        machine = machines.look(REF)
        assert machine is not None
        states.add(machine.state)
    assert "ready" in states
    assert "failed" not in states and "preempted" not in states


def test_an_operation_that_never_ends_does_not_hide_the_machine(start_practice: Start) -> None:
    machines = side_of(start_practice("operation-never-ends", speed=60)).machines["tpu"]
    machines.create(WANTED)
    assert until(lambda: machines.look(REF), "ready") is not None


def test_a_machine_that_is_taken_back_is_told_from_one_that_is_deleted(start_practice: Start) -> None:
    machines = side_of(start_practice("preempted:seconds=5,notice=1", speed=60)).machines["tpu"]
    machines.create(replace(WANTED, tier="spot"))
    taken = until(lambda: machines.look(REF), "preempted")
    assert taken is not None and (taken.by_service or "PREEMPTED" in taken.raw)
    machines.delete(REF)
    until(lambda: machines.look(REF), "")


def test_a_zone_that_does_not_answer_leaves_find_unclear(start_practice: Start) -> None:
    practice = start_practice()
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    practice.cloud.faults.arm_text("partial-listing:times=0")
    with pytest.raises(CloudUnclear) as raised:
        machines.find(LABELS)
    assert raised.value.facts["unreachable"]


def test_the_line_may_fail_for_a_while(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    until(lambda: machines.look(REF), "ready")
    for fault in ("server-error", "unavailable", "gateway-timeout", "too-many-requests"):
        practice.cloud.faults.arm_text(f"{fault}:times=2")
        assert machines.look(REF) is not None
    practice.cloud.faults.arm_text("delete-fails:times=2")
    machines.delete(REF)
    until(lambda: machines.look(REF), "")


# ------------------------------------------------------------------------------------------------------- security


def test_a_wrong_token_is_signed_out_and_told_nowhere(practice: Practice) -> None:
    secret = "planted-secret-9f8e7d6c"
    side = side_of(practice, secret)
    for call in (
        lambda: side.mailbox.read("runs/a/x"),
        lambda: side.stops.of(REF),
        lambda: side.machines["tpu"].look(REF),
        lambda: side.machines["tpu"].look(REF),
    ):
        with pytest.raises(SignedOut) as raised:
            call()
        told = str(raised.value) + repr(raised.value) + json.dumps(raised.value.to_json()) + repr(side)
        assert secret not in told
        assert raised.value.__cause__ is None


def test_no_log_line_holds_the_token(practice: Practice, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    side = side_of(practice)
    side.mailbox.create("runs/a/x", b"one")
    side.machines["tpu"].create(WANTED)
    side.machines["tpu"].find(LABELS)
    side.stops.set(REF, "b", [side.clock.now() + 3600])
    practice.cloud.faults.arm_text("server-error:times=1,match=.")
    assert side.machines["tpu"].look(REF) is not None
    assert caplog.records, "urllib3 tells of its connections at this level"
    assert practice.token not in caplog.text


@pytest.mark.parametrize("doubt", ["", "address-limit-way"])
def test_a_slice_of_many_hosts_is_looked_at_before_it_is_asked_for(start_practice: Start, doubt: str) -> None:
    practice = start_practice("address-limit:limit=3,region=us-west4", speed=60)
    if doubt:
        practice.cloud.doubts.arm(doubt)
    machines, slice_ = side_of(practice).machines["tpu"], replace(WANTED, accelerator="v5litepod-16")
    with pytest.raises(CloudRefused) as raised:
        machines.check(slice_)
    facts = raised.value.facts
    assert raised.value.id == "region-limit" and (facts["limit"], facts["used"], facts["hosts"]) == (3.0, 0, 4)
    assert machines.look(REF) is None
    machines.check(WANTED)  # one machine is left to Google
    practice.cloud.faults.arm("permission-missing", permission="compute.regions.get")
    machines.check(slice_)  # who may not look is not held up
    try:
        machines.create(slice_)
        failed = until(lambda: machines.look(REF), "failed")
        assert failed is not None and failed.error is not None
        told = failed.error[0]
    except CloudRefused as error:
        told = error.id
    assert told == "region-limit"
