"""What the practice cloud charges besides chips, by Google's units and dated rates."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.contract.conftest import Call, Start, caller
from tpu_studio.practice import besides
from tpu_studio.practice.iam import make_account
from tpu_studio.practice.main import Practice
from tpu_studio.practice.meter import whole_usd

BUCKET = "tpu-studio-0123456789ab"
GB = 2**30


def put(call: Call, name: str, data: bytes, token: str | None = None) -> None:
    path = f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={quote(name, safe='')}"
    more: dict[str, Any] = {} if token is None else {"token": token}
    assert call("POST", path, data, headers={"Content-Type": "text/plain"}, **more).status == 200


def get(call: Call, name: str, token: str | None = None) -> None:
    more: dict[str, Any] = {} if token is None else {"token": token}
    assert call("GET", f"/storage/v1/b/{BUCKET}/o/{quote(name, safe='')}?alt=media", **more).status == 200


def sums(practice: Practice) -> dict[str, float]:
    found: dict[str, float] = {}
    for line in practice.cloud.meter.bill():
        found[line["sku"]] = found.get(line["sku"], 0.0) + float(line["usd"])
    return found


def machine(practice: Practice, zone: str) -> str:
    """A token of a machine there."""
    project = practice.cloud.settings.project
    email = f"reader-{zone}@{project}.iam.gserviceaccount.com"
    make_account(practice.cloud, project, email)
    bucket = f"buckets/{BUCKET}"
    policy = practice.cloud.db.get("policy", bucket) or {"bindings": []}
    binding = {"role": "roles/storage.objectAdmin", "members": [f"serviceAccount:{email}"]}
    practice.cloud.db.put("policy", bucket, {**policy, "bindings": [*policy.get("bindings", []), binding]})
    return practice.cloud.principals.issue(email, "serviceAccount", zone=zone)


def test_a_tpu_vm_has_an_address_and_its_disk_is_charged_only_in_another_world(start_practice: Start) -> None:
    practice = start_practice()
    cloud = practice.cloud
    # 4 workers, on demand: 4 x 0.005 $/h; the price of the chips includes the disk
    assert besides.of_machine(cloud, "us-west4-a", "on-demand", 4, compute=False) == {
        "External IP Charge on a Standard VM": pytest.approx(0.02)
    }
    spot = besides.of_machine(cloud, "us-west4-a", "spot", 1, compute=False)
    assert spot == {"External IP Charge on a Spot Preemptible VM": pytest.approx(0.0025)}
    compute = besides.of_machine(cloud, "us-west4-a", "on-demand", 1, compute=True)
    assert compute["Balanced PD Capacity in us-west4"] == pytest.approx(200 * 0.11 / 730)
    cloud.doubts.arm("price-includes-disk")
    extra = besides.of_machine(cloud, "us-west4-a", "on-demand", 1, compute=False)
    assert extra["Balanced PD Capacity in us-west4"] == pytest.approx(100 * 0.11 / 730)
    cloud.doubts.arm("tpu-address-charged")
    free = besides.of_machine(cloud, "us-west4-a", "on-demand", 1, compute=False)
    assert list(free) == ["Balanced PD Capacity in us-west4"]
    cloud.doubts.disarm("tpu-address-charged")
    cloud.doubts.arm("prices-dated")
    dearer = besides.of_machine(cloud, "us-west4-a", "on-demand", 1, compute=False)
    assert dearer["External IP Charge on a Standard VM"] == pytest.approx(1.5 * 0.005)


def test_reading_costs_out_of_googles_network_and_between_regions_and_nothing_within(start_practice: Start) -> None:
    practice = start_practice()
    call = caller(practice)
    data = b"x" * (1 << 20)
    put(call, "o", data)  # from outside: free
    get(call, "o", machine(practice, "us-west4-a"))
    assert "Download Worldwide Destinations" not in sums(practice)
    get(call, "o")
    assert sums(practice)["Download Worldwide Destinations"] == pytest.approx(len(data) / GB * 0.12)
    practice.cloud.doubts.arm("download-where")
    get(call, "o")
    assert sums(practice)["Download Worldwide Destinations"] == pytest.approx(len(data) / GB * (0.12 + 0.23))
    away = machine(practice, "us-central1-a")
    get(call, "o", away)
    put(call, "p", data, away)  # what a machine of another region writes leaves that one
    between = sums(practice)["Network Data Transfer GCP Inter Region"]
    assert between == pytest.approx(2 * len(data) / GB * 0.02)


def test_what_lies_there_is_charged_by_size_and_time_and_told_until_the_rule_deletes_it(start_practice: Start) -> None:
    practice = start_practice(speed=20.0)
    call = caller(practice)
    data = b"x" * (1 << 20)
    put(call, "runs/r/o", data)
    put(call, "elsewhere", data)  # no rule ever deletes it: nothing is to come
    [line] = [one for one in practice.cloud.meter.bill() if "usd_to_come" in one]
    month = 0.023 * len(data) / GB * 720 / 730  # us-west4, 30 days
    assert line["count"] == 2
    assert line["usd_to_come"] == pytest.approx(month, rel=0.01)
    assert whole_usd([line], to_come=True) == pytest.approx(line["usd"] + line["usd_to_come"])
    put(call, "runs/r/o", b"")  # replaced: what lay there is charged once and for all
    assert call("DELETE", f"/storage/v1/b/{BUCKET}/o/elsewhere").status == 204
    lay = [one for one in practice.cloud.meter.bill() if one["sku"] == "Standard Storage us-west4"]
    assert [one["count"] for one in lay] == [2]


def test_refusals_and_deletes_are_free_unless_the_doubt_is_played(start_practice: Start) -> None:
    practice = start_practice()
    call = caller(practice)
    put(call, "o", b"data")
    before = sums(practice).get("Regional Standard Class B Operations", 0.0)
    call("GET", f"/storage/v1/b/{BUCKET}/o/none")
    assert sums(practice).get("Regional Standard Class B Operations", 0.0) == before
    practice.cloud.doubts.arm("storage-prices")
    call("GET", f"/storage/v1/b/{BUCKET}/o/none")
    call("DELETE", f"/storage/v1/b/{BUCKET}/o/o")
    told = sums(practice)["Regional Standard Class B Operations"]
    assert told == pytest.approx(before + 2 * 0.0004 / 1000)
