"""Quota: what is shown is what counts, and requests for more; held to Google's generic client and documents."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.accounts import HOME, PROJECT, V6E_SPOT, wish
from tests.contract.conftest import Call, Start, caller
from tests.fakes.google_client import google_client
from tests.fakes.waiting import eventually
from tpu_studio.practice import quota_limits
from tpu_studio.practice.quota_limits import TPU


def effective(info: dict[str, Any], location: str, per: str = "zone") -> int:
    """The limit that counts at *location*, read as the reference says (§8.3): most specific first."""
    for entry in info["dimensionsInfos"]:
        wanted = entry.get("dimensions", {})
        if wanted.get(per) == location or (per not in wanted and location in entry["applicableLocations"]):
            return int(entry["details"].get("value", "0"))
    return 0


def test_every_limit_that_is_shown_is_the_one_that_counts(start_practice: Start):
    practice = start_practice("quota-zero:generation=v5e", "quota-region-limit:generation=v6e")
    practice.cloud.db.put("quota-grant", f"{V6E_SPOT}/-/us-east5-b", {"value": 128})
    with google_client(practice, "cloudquotas.v1.derived") as api:
        infos = api.services().quotaInfos().list(project="practice-project", service=TPU, pageSize=100).execute()
    by_id = {info["quotaId"]: info for info in infos["quotaInfos"]}

    seen = 0
    for quota in quota_limits.QUOTAS:
        if quota.service == TPU:
            for place in quota_limits.places(quota.generation, quota.per):
                counted = quota_limits.limit(practice.cloud, quota.quota_id, {quota.per: place})
                assert effective(by_id[quota.quota_id], place, quota.per) == counted, (quota.quota_id, place)
                seen += 1
    assert seen > 50
    assert effective(by_id[V6E_SPOT], "us-east5-b") == 128 and effective(by_id[V6E_SPOT], "us-east5-a") == 64
    assert effective(by_id["TPUV6EPreemptiblePerProjectPerRegionForTPUAPI"], "us-east5", "region") == 0
    assert effective(by_id["TPUV5sLitepodPerProjectPerZoneForTPUAPI"], "us-west4-a") == 0


def test_the_most_specific_limit_comes_first_and_zero_is_left_out_as_google_does(start_practice: Start):
    practice = start_practice("quota-zero:generation=v5e,place=us-west4-a")

    info = caller(practice)("GET", f"{HOME}/services/{TPU}/quotaInfos/TPUV5sLitepodPerProjectPerZoneForTPUAPI").body

    first = info["dimensionsInfos"][0]
    assert (first["dimensions"], first["details"]) == ({"zone": "us-west4-a"}, {})
    assert "us-west4-a" not in info["dimensionsInfos"][-1]["applicableLocations"]
    assert info["quotaIncreaseEligibility"] == {"isEligible": True}


def test_compute_s_limit_per_family_has_its_family_among_the_dimensions(call: Call):
    info = call("GET", f"{HOME}/services/compute.googleapis.com/quotaInfos/TPUS-PER-TPU-FAMILY-per-project-region").body

    assert info["dimensions"] == ["region", "tpu_family"]
    assert {e["dimensions"]["tpu_family"] for e in info["dimensionsInfos"]} == {"CT6E", "TPU7X"}


def decided(call: Call, id: str) -> dict[str, Any]:
    path = f"{HOME}/quotaPreferences/{id}"
    eventually(lambda: "reconciling" not in call("GET", path).body)
    return call("GET", path).body


def test_a_request_for_more_is_decided_after_a_while_and_then_counts(start_practice: Start):
    practice = start_practice("quota-raised-after-request:generation=v6e", speed=100.0)
    call = caller(practice)
    here = {"zone": "us-east5-b"}
    assert quota_limits.limit(practice.cloud, V6E_SPOT, here) == 0
    with google_client(practice, "cloudquotas.v1.derived") as api:
        preferences = api.quotaPreferences()
        asked = preferences.create(project="practice-project", quotaPreferenceId="mine", body=wish(8)).execute()

    assert asked["reconciling"] is True and "grantedValue" not in asked["quotaConfig"]
    final = decided(call, "mine")
    assert final["quotaConfig"]["grantedValue"] == "8" == final["quotaConfig"]["preferredValue"]
    assert quota_limits.limit(practice.cloud, V6E_SPOT, here) == 8
    assert [p["name"] for p in call("GET", f"{HOME}/quotaPreferences").body["quotaPreferences"]] == [final["name"]]


@pytest.mark.parametrize(("fault", "granted"), [("quota-request-denied", 64), ("quota-request-partial", 68)])
def test_a_request_may_be_denied_or_granted_in_part(start_practice: Start, fault: str, granted: int):
    practice = start_practice(fault, speed=100.0)
    call = caller(practice)
    call("POST", f"{HOME}/quotaPreferences?quotaPreferenceId=mine", wish(100))

    final = decided(call, "mine")

    assert int(final["quotaConfig"]["grantedValue"]) == granted < 100 and final["quotaConfig"]["stateDetail"]
    assert quota_limits.limit(practice.cloud, V6E_SPOT, {"zone": "us-east5-b"}) == granted


def test_a_second_request_for_the_same_place_must_change_the_first(start_practice: Start):
    practice = start_practice(speed=100.0)
    call = caller(practice)
    path = f"{HOME}/quotaPreferences"

    assert call("POST", f"{path}?quotaPreferenceId=mine", wish(80)).status == 200
    assert call("POST", f"{path}?quotaPreferenceId=other", wish(90)).status == 409
    assert call("POST", f"{path}?quotaPreferenceId=elsewhere", wish(90, "us-east5-a")).status == 200
    assert call("PATCH", f"{path}/new", wish(70, "us-east1-d")).status == 404
    assert call("PATCH", f"{path}/new?allowMissing=true", wish(70, "us-east1-d")).status == 200
    changed = call("PATCH", f"{path}/mine", {"quotaConfig": {"preferredValue": "96"}})

    assert changed.status == 200 and changed.body["dimensions"] == {"zone": "us-east5-b"}
    assert decided(call, "mine")["quotaConfig"]["grantedValue"] == "96"


@pytest.mark.parametrize(
    "change",
    [
        {"contactEmail": ""},
        {"quotaId": "TPUV9PerProjectPerZoneForTPUAPI"},
        {"dimensions": {"region": "us-east5"}},
        {"dimensions": {"zone": "mars-1a"}},
        {"quotaConfig": {}},
        {"quotaConfig": {"preferredValue": "many"}},
        {"why": "x"},
    ],
)
def test_a_request_that_google_would_refuse_is_refused(call: Call, change: dict[str, Any]):
    assert call("POST", f"{HOME}/quotaPreferences", wish(80) | change).status == 400


def test_a_project_too_new_to_ask_says_so_before_and_when_asked(start_practice: Start):
    call = caller(start_practice("quota-not-eligible"))

    info = call("GET", f"{HOME}/services/{TPU}/quotaInfos/{V6E_SPOT}").body
    refused = call("POST", f"{HOME}/quotaPreferences", wish(80))

    assert info["quotaIncreaseEligibility"] == {"ineligibilityReason": "NOT_ENOUGH_USAGE_HISTORY"}
    assert (refused.status, refused.error["status"]) == (400, "FAILED_PRECONDITION")


def test_the_older_quota_page_shows_the_same_limits(start_practice: Start):
    practice = start_practice("quota-zero:generation=v6e,place=us-east5-b")
    with google_client(practice, "serviceusage.v1beta1") as api:
        metrics = api.services().consumerQuotaMetrics().list(parent=f"{PROJECT}/services/{TPU}", view="FULL").execute()

    (metric,) = [m for m in metrics["metrics"] if m["metric"] == f"{TPU}/tpu-v6e-preemptible"]
    by_zone = next(one for one in metric["consumerQuotaLimits"] if one["unit"] == "1/{project}/{zone}")
    buckets = {b.get("dimensions", {}).get("zone", ""): b["effectiveLimit"] for b in by_zone["quotaBuckets"]}
    assert buckets == {"": "64", "us-east5-b": "0"}
