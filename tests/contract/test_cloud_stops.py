"""Our client of the shut-off timers against the practice cloud, faults of the line included."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.contract.conftest import caller
from tests.contract.sides import QUICK, REF, WANTED, side_of, until, until_empty
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.connection import bearer
from tpu_studio.cloud.queues import RETRIES
from tpu_studio.cloud.session import Api
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.regions import with_cloud_tasks
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.cloudruns.ports import CloudSide, Ref

Start = Callable[..., Practice]


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
    there = replace(REF, queue="projects/practice-project/locations/europe-west3/queues/tpu-studio-stops")
    names = side.stops.set(there, "b", [side.clock.now() + 3600.0])
    assert list(side.stops.of(there)) == list(names) and not side.stops.of(REF)


@pytest.mark.parametrize(
    "queue",
    [
        "projects/evil/locations/us-west4/queues/tpu-studio",
        "projects/practice-project/locations/us-west4/queues/tpu-studio",
        "projects/practice-project/locations/us-west4/queues/mail",
        "projects/practice-project/locations/../queues/tpu-studio",
        "tpu-studio",
    ],
)
def test_a_queue_that_is_none_of_ours_is_not_believed(practice: Practice, queue: str) -> None:
    """The name comes from records, which others may have written."""
    side = side_of(practice)
    assert side.stops.queue(replace(REF, queue=queue)) == side.stops.queue(REF)


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
