"""Compute Engine instances in the practice cloud: the calls TPU Studio makes, Google's words when it says no, and what
the platform does by itself. Google's own generic client, built on the same discovery document, is one of the callers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.contract.conftest import Call, Start, caller
from tests.fakes.vm_image import COUNTS_BOOTS, IDLE, make_engine, steps
from tests.fakes.waiting import eventually
from tpu_studio.cloud import errors
from tpu_studio.practice.main import Practice

PROJECT, ZONE = "practice-project", "us-east5-b"
INSTANCES = f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/instances"
FAST = 40.0


def body(
    name: str = "ts-a-a1-t1", machine: str = "ct6e-standard-1t", script: str = IDLE, **scheduling: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "machineType": f"zones/{ZONE}/machineTypes/{machine}",
        "disks": [
            {
                "boot": True,
                "autoDelete": True,
                "initializeParams": {
                    "sourceImage": "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accel-2204",
                    "diskSizeGb": "200",
                    "diskType": f"zones/{ZONE}/diskTypes/hyperdisk-balanced",
                    "provisionedIops": "3000",
                    "provisionedThroughput": "140",
                },
            }
        ],
        "networkInterfaces": [
            {
                "network": "global/networks/default",
                "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}],
            }
        ],
        "serviceAccounts": [
            {
                "email": f"tpu-studio-runner@{PROJECT}.iam.gserviceaccount.com",
                "scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            }
        ],
        "scheduling": {
            "provisioningModel": "SPOT",
            "instanceTerminationAction": "DELETE",
            "onHostMaintenance": "TERMINATE",
            "automaticRestart": False,
            **scheduling,
        },
        "metadata": {"items": [{"key": "startup-script", "value": script}]},
        "labels": {"tpu-studio": "run", "run-id": "a"},
    }


class Desk:
    """What the calls look like from the desktop's side."""

    def __init__(self, practice: Practice) -> None:
        self.practice, self.call = practice, caller(practice)

    def insert(self, request: str = "", **about: Any) -> dict[str, Any]:
        answer = self.call("POST", INSTANCES + (f"?requestId={request}" if request else ""), body(**about))
        assert answer.status == 200, answer.body
        return answer.body

    def status(self, name: str = "ts-a-a1-t1") -> str:
        answer = self.call("GET", f"{INSTANCES}/{name}")
        return "gone" if answer.status == 404 else str(answer.body["status"])

    def until(self, status: str, name: str = "ts-a-a1-t1") -> None:
        eventually(lambda: self.status(name) == status, f"{name} to be {status}")

    def done(self, operation: dict[str, Any]) -> dict[str, Any]:
        path = operation["selfLink"].partition("www.googleapis.com")[2]

        def look() -> dict[str, Any] | None:
            shown = self.call("GET", path).body
            return shown if shown["status"] == "DONE" else None

        found: dict[str, Any] = eventually(look, "the operation's end")
        return found

    def bill(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = self.call("GET", "/practice/bill").body["lines"]
        return lines


@pytest.fixture
def desk(start_practice: Start) -> Desk:
    return Desk(start_practice(speed=FAST))


@pytest.fixture
def with_machines(start_practice: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Desk]:
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(make_engine(tmp_path / "engine")))
    return lambda *faults, speed=FAST: Desk(start_practice(*faults, machines=True, speed=speed))


def test_an_instance_comes_runs_is_listed_and_goes_and_is_charged_by_the_second(desk: Desk) -> None:
    operation = desk.insert()
    assert operation["status"] in ("PENDING", "RUNNING") and operation["operationType"] == "insert"
    assert "error" not in desk.done(operation)
    desk.until("RUNNING")

    instance = desk.call("GET", f"{INSTANCES}/ts-a-a1-t1").body
    assert instance["machineType"].endswith(f"/zones/{ZONE}/machineTypes/ct6e-standard-1t")
    assert instance["networkInterfaces"][0]["accessConfigs"][0]["natIP"]
    wanted = quote("labels.run-id=a AND labels.tpu-studio=run")
    everywhere = desk.call("GET", f"/compute/v1/projects/{PROJECT}/aggregated/instances?filter={wanted}").body["items"]
    assert [one["name"] for one in everywhere[f"zones/{ZONE}"]["instances"]] == ["ts-a-a1-t1"]
    assert everywhere["zones/us-central1-a"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"
    other = quote("labels.run-id=b")
    assert "items" not in desk.call("GET", f"{INSTANCES}?filter={other}").body

    removal = desk.call("DELETE", f"{INSTANCES}/ts-a-a1-t1").body
    desk.until("gone")
    assert "error" not in desk.done(removal)

    created = instance["creationTimestamp"]
    line = next(one for one in desk.bill() if one["name"].endswith("/instances/ts-a-a1-t1"))
    assert not line["open"] and line["usd"] == pytest.approx(line["usd_per_hour"] * line["seconds"] / 3600)
    assert desk.practice.cloud.clock.rfc3339(line["begin"]) == created


def test_the_same_request_id_makes_one_instance_and_the_same_name_is_refused(desk: Desk) -> None:
    first = desk.insert("11111111-1111-4111-8111-111111111111")
    again = desk.insert("11111111-1111-4111-8111-111111111111")
    assert first["name"] == again["name"]

    other = desk.call("POST", f"{INSTANCES}?requestId=22222222-2222-4222-8222-222222222222", body())

    assert other.status == 409 and other.error["errors"][0]["reason"] == "alreadyExists"
    assert len(desk.call("GET", INSTANCES).body["items"]) == 1


REFUSED = [
    ("us-central1-a", {"machine": "ct5lp-hightpu-1t"}, "not allowed to use the machine type [ct5lp-hightpu-1t]."),
    (ZONE, {"machine": "ct6e-standard-99t"}, "does not exist in zone 'us-east5-b'"),
    ("mars-north1-a", {}, "Unknown zone"),
    (ZONE, {"name": "Not_a_name"}, "Invalid value for field 'resource.name'"),
    (ZONE, {"onHostMaintenance": "MIGRATE"}, "resource.scheduling.onHostMaintenance"),
    (ZONE, {"automaticRestart": True}, "resource.scheduling.automaticRestart"),
    (ZONE, {"maxRunDuration": {"seconds": "5"}}, "resource.scheduling.maxRunDuration"),
    (ZONE, {"provisioningModel": "FLEX_START"}, "FLEX_START provisioning model is not supported for accelerator type"),
    ("us-east5-a", {"provisioningModel": "FLEX_START"}, "FLEX_START needs a maxRunDuration"),
]


@pytest.mark.parametrize(("zone", "about", "words"), REFUSED)
def test_what_is_refused_at_once_says_why_and_makes_nothing(
    desk: Desk, zone: str, about: dict[str, Any], words: str
) -> None:
    path = INSTANCES.replace(ZONE, zone)
    wanted = json.loads(json.dumps(body(**about)).replace(ZONE, zone))

    answer = desk.call("POST", path, wanted)

    assert answer.status == 400 and words in answer.error["message"]
    assert "items" not in desk.call("GET", path).body


def test_unknown_fields_and_persistent_disks_for_v6e_are_refused(desk: Desk) -> None:
    wrong = body()
    wrong["disks"][0]["initializeParams"]["diskType"] = f"zones/{ZONE}/diskTypes/pd-balanced"
    assert "[pd-balanced] features are not compatible" in desk.call("POST", INSTANCES, wrong).error["message"]

    unknown = desk.call("POST", INSTANCES, {**body(), "acceleratorType": "v6e-1"})
    assert unknown.status == 400 and 'Unknown name "acceleratorType"' in unknown.error["message"]


def test_a_stockout_is_told_by_the_operation_and_nothing_is_left(start_practice: Start) -> None:
    desk = Desk(start_practice("stockout-in-operation", speed=FAST))

    error = desk.done(desk.insert())["error"]["errors"][0]

    assert error["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
    assert "does not have enough resources available to fulfill the request" in error["message"]
    assert error["errorDetails"][0]["errorInfo"]["metadatas"]["zonesAvailable"]
    assert desk.status() == "gone" and not desk.bill()


def test_too_little_quota_is_told_by_the_operation(start_practice: Start) -> None:
    desk = Desk(start_practice("quota-zero", speed=FAST))

    error = desk.done(desk.insert())["error"]["errors"][0]

    assert error["code"] == "QUOTA_EXCEEDED"
    assert error["message"] == "Quota 'PREEMPTIBLE-TPU-V6E-per-project-zone' exceeded.  Limit: 0.0 in zone us-east5-b."
    assert desk.status() == "gone"


def test_a_region_without_an_external_address_left_refuses_an_instance_that_wants_one(start_practice: Start) -> None:
    desk = Desk(start_practice("address-limit:limit=1,region=us-east5", speed=FAST))
    desk.insert()

    error = desk.done(desk.insert(name="ts-b-a1-t1"))["error"]["errors"][0]

    assert error["message"] == "Quota 'IN_USE_ADDRESSES' exceeded.  Limit: 1.0 in region us-east5."
    told = errors.of_operation({"errors": [error]})
    assert (told.id, told.facts["limit"]) == ("region-limit", 1.0)
    assert desk.status("ts-b-a1-t1") == "gone" and desk.status() != "gone"
    desk.practice.cloud.doubts.arm("compute-quota-where")
    refused = desk.call("POST", INSTANCES, body(name="ts-b-a1-t1"))
    assert errors.of_reply(refused.status, refused.body).id == "region-limit"
    within = {**body(name="ts-b-a1-t1"), "networkInterfaces": [{"network": "global/networks/default"}]}
    assert desk.call("POST", INSTANCES, within).status == 200  # it wants none


FLEX_ZONE = "us-east5-a"
FLEX = INSTANCES.replace(ZONE, FLEX_ZONE)


def flex_start(desk: Desk, valid_s: int) -> dict[str, Any]:
    asked = body(provisioningModel="FLEX_START", maxRunDuration={"seconds": "3600"})
    asked["params"] = {"requestValidForDuration": {"seconds": str(valid_s)}}
    answer = desk.call("POST", FLEX, json.loads(json.dumps(asked).replace(ZONE, FLEX_ZONE)))
    assert answer.status == 200, answer.body
    return answer.body


def test_flex_start_waits_for_capacity_and_is_charged_from_then_on(start_practice: Start) -> None:
    desk = Desk(start_practice("stockout-for-ever", speed=FAST))
    flex_start(desk, valid_s=7200)
    assert desk.call("GET", f"{FLEX}/ts-a-a1-t1").body["status"] == "PENDING"
    assert not desk.bill()

    desk.practice.cloud.faults.disarm("stockout-for-ever")

    eventually(lambda: desk.call("GET", f"{FLEX}/ts-a-a1-t1").body["status"] == "RUNNING", "it to run")
    assert desk.bill()[0]["open"]


def test_flex_start_that_has_waited_its_time_disappears_without_an_error(start_practice: Start) -> None:
    desk = Desk(start_practice("stockout-for-ever", speed=FAST))

    assert "error" not in desk.done(flex_start(desk, valid_s=90))

    assert desk.call("GET", f"{FLEX}/ts-a-a1-t1").status == 404 and not desk.bill()


@pytest.mark.parametrize("valid_s", [0, 89, 7201, 14_400])
def test_flex_start_waits_no_shorter_and_no_longer_than_google_lets_it(start_practice: Start, valid_s: int) -> None:
    desk = Desk(start_practice(speed=FAST))
    asked = body(provisioningModel="FLEX_START", maxRunDuration={"seconds": "3600"})
    asked["params"] = {"requestValidForDuration": {"seconds": str(valid_s)}}
    answer = desk.call("POST", FLEX, json.loads(json.dumps(asked).replace(ZONE, FLEX_ZONE)))
    assert answer.status == 400
    assert "must be at least 90 and less or equal to 7200 seconds" in answer.error["message"]


def test_labels_change_under_their_fingerprint_only(desk: Desk) -> None:
    desk.done(desk.insert())
    instance = desk.call("GET", f"{INSTANCES}/ts-a-a1-t1").body
    path = f"{INSTANCES}/ts-a-a1-t1/setLabels"

    wrong = desk.call("POST", path, {"labels": {"a": "b"}, "labelFingerprint": "AAAA"})
    right = desk.call("POST", path, {"labels": {"a": "b"}, "labelFingerprint": instance["labelFingerprint"]})

    assert (wrong.status, right.status) == (412, 200)
    assert desk.call("GET", f"{INSTANCES}/ts-a-a1-t1").body["labels"] == {"a": "b"}


def test_the_platform_ends_it_after_max_run_duration_even_if_it_hangs(with_machines: Callable[..., Desk]) -> None:
    desk = with_machines("vm-hung", speed=100.0)
    desk.insert(maxRunDuration={"seconds": "60"})
    desk.until("RUNNING")
    instance = desk.call("GET", f"{INSTANCES}/ts-a-a1-t1").body
    assert instance["resourceStatus"]["scheduling"]["terminationTimestamp"]
    vms = desk.practice.cloud.vms
    name = INSTANCES.removeprefix("/compute/v1/") + "/ts-a-a1-t1"
    assert vms is not None and vms.alive(name)

    desk.until("gone")

    assert not vms.alive(name)
    line = next(one for one in desk.bill() if one["name"].endswith("ts-a-a1-t1"))
    assert line["seconds"] >= 60 and not line["open"]


def test_a_preempted_spot_instance_is_warned_and_deleted(with_machines: Callable[..., Desk]) -> None:
    desk = with_machines("preempted-at-step:step=5,notice=5")
    desk.insert(script=steps())

    desk.until("gone")

    operations = desk.call("GET", f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/operations").body["items"]
    assert "compute.instances.preempted" in [one["operationType"] for one in operations]


def test_stopped_it_keeps_its_disk_and_costs_nothing_and_starts_again(with_machines: Callable[..., Desk]) -> None:
    desk = with_machines()
    desk.insert(script=COUNTS_BOOTS)
    serial = f"{INSTANCES}/ts-a-a1-t1/serialPort"
    eventually(lambda: desk.call("GET", serial).body.get("contents", "").count("\nup\n") == 1, "the first boot")

    assert "error" not in desk.done(desk.call("POST", f"{INSTANCES}/ts-a-a1-t1/stop").body)
    assert desk.status() == "TERMINATED"
    assert not any(line["open"] for line in desk.bill())
    first = int(desk.call("GET", serial).body["next"])

    desk.call("POST", f"{INSTANCES}/ts-a-a1-t1/start")
    eventually(lambda: "\nup\n" in desk.call("GET", f"{serial}?start={first}").body["contents"], "the second boot")
    assert desk.status() == "RUNNING" and any(line["open"] for line in desk.bill())


DELETES_ITSELF = f"""#!/bin/sh
token=$(curl -s -H 'Metadata-Flavor: Google' \
    "http://$GCE_METADATA_HOST/computeMetadata/v1/instance/service-accounts/default/token" |
    sed -n 's/.*"access_token": *"\\([^"]*\\)".*/\\1/p')
curl -s -X DELETE -H "Authorization: Bearer $token" "URL{INSTANCES}/ts-a-a1-t1"
sleep 1000
"""


def test_a_machine_deletes_itself_with_its_own_token(with_machines: Callable[..., Desk]) -> None:
    desk = with_machines()
    desk.insert(script=DELETES_ITSELF.replace("URL", desk.practice.url))

    desk.until("gone")

    operations = desk.call("GET", f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/operations").body["items"]
    removal = next(one for one in operations if one["operationType"] == "delete")
    assert removal["user"] == f"tpu-studio-runner@{PROJECT}.iam.gserviceaccount.com"


def test_googles_own_client_drives_it(desk: Desk) -> None:
    from google.oauth2.credentials import Credentials
    from googleapiclient.discovery import build_from_document

    from tpu_studio.wire.resources import resource_path

    document = resource_path("discovery", "compute.v1.subset.json").read_text("utf-8")
    service = build_from_document(
        document,
        credentials=Credentials(desk.practice.token),
        client_options={"api_endpoint": desk.practice.url + "/compute/v1/"},
    )
    try:
        operation = service.instances().insert(project=PROJECT, zone=ZONE, body=body()).execute()
        ended = service.zoneOperations().wait(project=PROJECT, zone=ZONE, operation=operation["name"]).execute()
        assert ended["status"] == "DONE" and "error" not in ended
        assert (
            service.instances().get(project=PROJECT, zone=ZONE, instance="ts-a-a1-t1").execute()["status"] == "RUNNING"
        )
        types = (
            service.machineTypes().aggregatedList(project=PROJECT, filter="name=ct6e-standard-1t").execute()["items"]
        )
        found = [zone for zone, held in types.items() if "machineTypes" in held]
        assert f"zones/{ZONE}" in found
        service.instances().delete(project=PROJECT, zone=ZONE, instance="ts-a-a1-t1").execute()
    finally:
        service.close()
    desk.until("gone")


def test_an_instance_survives_the_servers_restart(start_practice: Start, call: Call, practice: Practice) -> None:
    assert call("POST", INSTANCES, body()).status == 200
    practice.stop()

    again = Desk(start_practice(speed=FAST))

    again.until("RUNNING")
