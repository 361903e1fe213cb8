"""The practice Cloud TPU API as its users meet it: what is made, what is refused and in whose words, what it costs.

Practice time runs 20 times as fast, so a TPU is ready a third of a second after the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.conftest import Answer, Call, Start, caller
from tests.fakes.waiting import eventually
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.practice import entitlements, quota_limits
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.main import Practice

PLACE = "projects/practice-project/locations/us-west4-a"
V2, ALPHA = f"/v2/{PLACE}", f"/v2alpha1/{PLACE}"

Body = dict[str, Any]


def node(accelerator: str = "v5litepod-4", **more: Any) -> Body:
    return {"acceleratorType": accelerator, "runtimeVersion": "v2-alpha-tpuv5-lite", **more}


def queued(id: str, *, tier: str = "spot", accelerator: str = "v5litepod-4", place: str = PLACE, **more: Any) -> Body:
    body: Body = {"tpu": {"nodeSpec": [{"parent": place, "nodeId": id, "node": node(accelerator)}]}, **more}
    return {**body, "spot": {}} if tier == "spot" else body


@pytest.fixture
def practice(start_practice: Start) -> Practice:
    return start_practice(speed=20.0)


@pytest.fixture
def armed(start_practice: Start) -> Callable[..., Call]:
    """``armed("fault", …)``: a caller of a practice cloud in which that goes wrong."""
    return lambda *faults: caller(start_practice(*faults, speed=20.0))


def create(call: Call, id: str = "q1", base: str = V2, query: str = "", **about: Any) -> Answer:
    return call("POST", f"{base}/queuedResources?queuedResourceId={id}{query}", queued(f"{id}-n", **about))


def state(call: Call, id: str = "q1", base: str = V2) -> str:
    answer = call("GET", f"{base}/queuedResources/{id}")
    return "gone" if answer.status == 404 else str(answer.body["state"]["state"])


def reach(call: Call, wanted: str, id: str = "q1") -> None:
    eventually(lambda: state(call, id) == wanted, f"{id} {wanted}")


# ------------------------------------------------------------------------------------------------------------- lists


def test_zones_types_and_images_come_from_the_catalogue(call: Call):
    zones = {one["locationId"] for one in call("GET", "/v2/projects/practice-project/locations").body["locations"]}
    assert {"us-west4-a", "europe-west4-a", "us-central2-b"} <= zones
    types = {one["type"]: one for one in call("GET", f"{V2}/acceleratorTypes").body["acceleratorTypes"]}
    assert types["v5litepod-8"]["acceleratorConfigs"] == [{"type": "V5LITE_POD", "topology": "2x4"}]
    assert call("GET", f"{V2}/acceleratorTypes/v5litepod-8").body == types["v5litepod-8"]
    images = {one["version"] for one in call("GET", f"{V2}/runtimeVersions").body["runtimeVersions"]}
    assert {"v2-alpha-tpuv5-lite", "tpu-ubuntu2204-base"} <= images


def test_version_1_still_lists_and_knows_nothing_else(call: Call):
    assert call("GET", "/v1/projects/practice-project/locations").body["locations"]
    assert call("GET", f"/v1/{PLACE}/acceleratorTypes").body["acceleratorTypes"]
    assert call("GET", f"/v1/{PLACE}/nodes").status == 404


def test_long_lists_come_in_pages(call: Call):
    first = call("GET", f"{V2}/acceleratorTypes?pageSize=2").body
    second = call("GET", f"{V2}/acceleratorTypes?pageSize=2&pageToken={first['nextPageToken']}").body
    assert len(first["acceleratorTypes"]) == 2 and first["acceleratorTypes"] != second["acceleratorTypes"]


def test_an_unknown_zone_is_not_told_from_a_forbidden_one(call: Call):
    refused = call("GET", "/v2/projects/practice-project/locations/mars-west1-a/nodes")
    assert (refused.status, refused.error["status"]) == (403, "PERMISSION_DENIED")
    assert refused.error["message"] == "Permission denied on 'locations/mars-west1-a' (or it may not exist)."


# ------------------------------------------------------------------------------------------------- a request's life


def test_a_request_waits_is_provisioned_and_becomes_a_ready_node(call: Call):
    made = create(call)
    assert made.status == 200 and not made.body["done"]
    assert made.body["metadata"]["@type"] == "type.googleapis.com/google.cloud.tpu.v2.OperationMetadata"
    seen: list[str] = []

    def active() -> bool:
        now = state(call)
        if seen[-1:] != [now]:
            seen.append(now)
        return now == "ACTIVE"

    eventually(active, "ACTIVE")
    order = ["CREATING", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"]
    assert seen == [one for one in order if one in seen]
    done = call("GET", f"/v2/{made.body['name']}").body
    assert done["done"] and done["response"]["@type"].endswith("tpu.v2.QueuedResource")
    ready = call("GET", f"{V2}/nodes/q1-n").body
    assert ready["state"] == "READY" and ready["queuedResource"] == f"{PLACE}/queuedResources/q1"
    assert ready["acceleratorConfig"] == {"type": "V5LITE_POD", "topology": "2x2"} and int(ready["id"]) < 2**63
    assert len(ready["networkEndpoints"]) == 1


def test_without_force_a_request_with_nodes_is_refused_for_its_state_with_force_everything_goes(call: Call):
    create(call)
    reach(call, "ACTIVE")
    refused = call("DELETE", f"{V2}/queuedResources/q1")
    assert (refused.status, refused.error["status"]) == (400, "FAILED_PRECONDITION")
    words = "DeleteQueuedResource is not supported when state is ACTIVE (must be one of [ACCEPTED "
    assert words in refused.error["message"]
    deleted = call("DELETE", f"{V2}/queuedResources/q1?force=True")
    assert deleted.status == 200
    reach(call, "gone")
    assert call("GET", f"{V2}/nodes/q1-n").status == 404
    done = call("GET", f"/v2/{deleted.body['name']}").body
    assert done["response"]["@type"] == "type.googleapis.com/google.protobuf.Empty"
    assert call("DELETE", f"{V2}/queuedResources/q1?force=true").status == 404


@pytest.mark.parametrize("way", ["", "operation", "accepted"])
def test_what_is_being_made_is_not_deleted_with_force_either(start_practice: Start, way: str):
    practice = start_practice("provisioning-stalls:seconds=100000", speed=20.0)
    if way:
        practice.cloud.doubts.arm(f"provisioning-delete={way}")
    call = caller(practice)
    create(call)
    reach(call, "PROVISIONING")
    assert call("GET", f"{V2}/nodes/q1-n").status == 404  # nothing is charged yet
    answer = call("DELETE", f"{V2}/queuedResources/q1?force=true")
    words = "DeleteQueuedResource is not supported when state is PROVISIONING"
    if way == "":
        assert (answer.status, answer.error["status"]) == (400, "FAILED_PRECONDITION")
        assert words in answer.error["message"]
    elif way == "operation":
        failed = call("GET", f"/v2/{answer.body['name']}").body
        assert (failed["done"], failed["error"]["code"]) == (True, 9) and words in failed["error"]["message"]
    else:
        reach(call, "gone")
        return
    assert state(call) == "PROVISIONING"


def test_a_request_that_was_made_for_long_comes_after_all(start_practice: Start):
    call = caller(start_practice("provisioning-stalls:seconds=20", speed=20.0))
    create(call)
    reach(call, "ACTIVE")
    assert call("GET", f"{V2}/nodes/q1-n").body["state"] == "READY"


def test_the_bill_is_by_the_second_from_the_nodes_creation_to_its_end(call: Call, practice: Practice):
    create(call)
    reach(call, "ACTIVE")
    made = call("GET", f"{V2}/nodes/q1-n").body["createTime"]
    call("DELETE", f"{V2}/queuedResources/q1?force=true")
    reach(call, "gone")
    (line,) = call("GET", "/practice/bill").body["lines"]
    assert line["usd_per_hour"] == pytest.approx(4 * 0.52536)  # v5e spot, us-west4: resources/catalogue/prices.json
    assert line["usd"] == pytest.approx(line["usd_per_hour"] * (line["end"] - line["begin"]) / 3600)
    assert practice.cloud.clock.rfc3339(line["begin"]) == made and not line["open"]


def test_the_same_request_id_is_the_same_request_and_a_name_is_taken_once(call: Call):
    first, again = create(call, query="&requestId=aaa"), create(call, query="&requestId=aaa")
    assert again.status == 200 and again.body["name"] == first.body["name"]
    other = create(call, query="&requestId=bbb")
    assert (other.status, other.error["status"]) == (409, "ALREADY_EXISTS")
    assert create(call, "q2", query="&requestId=aaa").status == 400
    assert len(call("GET", f"{V2}/queuedResources").body["queuedResources"]) == 1


def test_a_deleted_node_suspends_its_request_by_the_user_and_reset_lets_it_wait_again(call: Call):
    create(call)
    reach(call, "ACTIVE")
    call("DELETE", f"{V2}/nodes/q1-n")
    reach(call, "SUSPENDED")
    assert call("GET", f"{V2}/queuedResources/q1").body["state"]["stateInitiator"] == "USER"
    assert call("POST", f"{V2}/queuedResources/q1:reset", {}).status == 200
    reach(call, "ACTIVE")


def test_a_request_that_waits_too_long_fails_and_says_why(armed: Callable[..., Call]):
    call = armed("stockout-for-ever")
    create(call, queueingPolicy={"validUntilDuration": "5s"})
    reach(call, "FAILED")
    failed = call("GET", f"{V2}/queuedResources/q1").body["state"]
    assert failed["failedData"]["error"]["code"] == 4 and failed["stateInitiator"] == "SERVICE"
    assert call("DELETE", f"{V2}/queuedResources/q1").status == 200  # no force: there is no node


def test_requests_in_all_zones_are_listed_at_once(call: Call):
    create(call)
    elsewhere = "projects/practice-project/locations/us-west1-c"
    call("POST", f"/v2/{elsewhere}/queuedResources?queuedResourceId=q2", queued("n2", place=elsewhere))
    listed = call("GET", "/v2/projects/practice-project/locations/-/queuedResources").body
    assert {one["name"].split("/")[3] for one in listed["queuedResources"]} == {"us-west4-a", "us-west1-c"}


def test_several_slices_share_one_request(call: Call):
    spec = {"parent": PLACE, "multisliceParams": {"nodeCount": 2, "nodeIdPrefix": "s"}, "node": node()}
    assert (
        call("POST", f"{V2}/queuedResources?queuedResourceId=q1", {"spot": {}, "tpu": {"nodeSpec": [spec]}}).status
        == 200
    )
    reach(call, "ACTIVE")
    nodes = call("GET", f"{V2}/nodes").body["nodes"]
    assert [(one["name"].split("/")[-1], one["state"]) for one in nodes] == [("s-0", "READY"), ("s-1", "READY")]


# -------------------------------------------------------------------------------------------------------- bare nodes


def test_a_node_is_made_stopped_started_changed_and_deleted(call: Call):
    made = call("POST", f"{V2}/nodes?nodeId=n1", node(schedulingConfig={"spot": True}, labels={"run-id": "k3f7"}))
    assert made.status == 200

    def is_state(wanted: str) -> Callable[[], bool]:
        return lambda: call("GET", f"{V2}/nodes/n1").body.get("state") == wanted

    eventually(is_state("READY"), "READY")
    done = call("GET", f"/v2/{made.body['name']}").body
    assert done["response"]["@type"].endswith("tpu.v2.Node") and done["response"]["state"] == "READY"
    call("POST", f"{V2}/nodes/n1:stop", {})
    eventually(is_state("STOPPED"), "STOPPED")
    call("POST", f"{V2}/nodes/n1:start", {})
    eventually(is_state("READY"), "READY")
    whole = call("GET", f"{V2}/nodes/n1").body
    call("PATCH", f"{V2}/nodes/n1?updateMask=description", {**whole, "description": "mine", "labels": {}})
    changed = call("GET", f"{V2}/nodes/n1").body
    assert changed["description"] == "mine" and changed["labels"] == {"run-id": "k3f7"}
    assert call("PATCH", f"{V2}/nodes/n1?updateMask=acceleratorType", whole).status == 400
    assert call("POST", f"{V2}/nodes/n1:getGuestAttributes", {"queryPath": "a/b"}).body["guestAttributes"]
    call("DELETE", f"{V2}/nodes/n1")
    eventually(lambda: call("GET", f"{V2}/nodes/n1").status == 404, "404")
    assert [line["open"] for line in call("GET", "/practice/bill").body["lines"]] == [
        False,
        False,
    ]  # it was stopped once


def test_a_slice_of_several_machines_cannot_be_stopped(call: Call):
    call("POST", f"{V2}/nodes?nodeId=n1", node("v5litepod-16"))
    eventually(lambda: call("GET", f"{V2}/nodes/n1").body.get("state") == "READY", "READY")
    assert len(call("GET", f"{V2}/nodes/n1").body["networkEndpoints"]) == 4
    assert call("POST", f"{V2}/nodes/n1:stop", {}).error["status"] == "FAILED_PRECONDITION"


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({**queued("n"), "colour": "red"}, 'Unknown name "colour"'),
        ({**queued("n"), "guaranteed": {}}, "Only one of spot"),
        (queued("n", queueingPolicy={"validUntilDuration": "9s", "validAfterDuration": "1s"}), "start timing"),
        (queued("n", queueingPolicy={"validUntilDuration": "soon"}), "google.protobuf.Duration"),
        (queued("n", accelerator="v6e-8"), "the accelerator v6e-8 was not found in zone us-west4-a"),
        (queued("n", place="projects/practice-project/locations/us-east1-d"), "The parent of a node spec"),
        ({"spot": {}}, "at least one node spec"),
        ({"spot": {}, "tpu": {"nodeSpec": {"parent": PLACE}}}, "tpu.node_spec"),
        ({"tpu": {"nodeSpec": [{"parent": PLACE, "node": node()}]}}, "Exactly one of node_id"),
        ({"tpu": {"nodeSpec": [{"parent": PLACE, "nodeId": "n", "node": node(runtimeVersion="dos-6")}]}}, "dos-6"),
        ({"tpu": {"nodeSpec": [{"parent": PLACE, "nodeId": "n", "node": node(labels={"No": "x"})}]}}, "Invalid label"),
        ({**queued("n"), "provisioningModel": "FLEX_START"}, "provisioningModel"),  # only v2alpha1 has the field
    ],
)
def test_a_body_that_is_wrong_is_refused_and_nothing_is_made(call: Call, body: Body, says: str):
    refused = call("POST", f"{V2}/queuedResources?queuedResourceId=q1", body)
    assert (refused.status, refused.error["status"]) == (400, "INVALID_ARGUMENT"), refused.raw
    assert says in refused.error["message"]
    assert state(call) == "gone"


def test_output_only_fields_are_ignored_and_enums_may_be_numbers(call: Call):
    spec = {
        "parent": PLACE,
        "nodeId": "n",
        "node": {
            "acceleratorConfig": {"type": 9, "topology": "2x2"},
            "state": 2,
            "runtimeVersion": "v2-alpha-tpuv5-lite",
        },
    }
    body = {"tpu": {"nodeSpec": [spec]}, "state": {"state": "ACTIVE"}, "name": "mine"}
    assert call("POST", f"{V2}/queuedResources?queuedResourceId=q1", body).status == 200
    shown = call("GET", f"{V2}/queuedResources/q1?$alt=json;enum-encoding=int").body
    assert shown["name"] == f"{PLACE}/queuedResources/q1" and shown["state"]["state"] in (1, 9, 3, 6)
    assert shown["tpu"]["nodeSpec"][0]["node"]["acceleratorConfig"] == {"type": 9, "topology": "2x2"}


def test_flex_start_exists_in_alpha_only_and_only_where_it_is_offered(call: Call):
    flex = {"provisioningModel": "FLEX_START", "runDuration": {"maxRunDuration": "20s"}}
    made = create(call, base=ALPHA, tier="flex-start", **flex)
    assert made.body["metadata"]["@type"] == "type.googleapis.com/google.cloud.tpu.v2alpha1.OperationMetadata"
    assert call("GET", f"{ALPHA}/queuedResources/q1").body["runDuration"] == {"maxRunDuration": "20s"}
    assert "runDuration" not in call("GET", f"{V2}/queuedResources/q1").body
    elsewhere = "projects/practice-project/locations/europe-west4-b"
    refused = call(
        "POST",
        f"/v2alpha1/{elsewhere}/queuedResources?queuedResourceId=q2",
        queued("n", tier="", place=elsewhere, **flex),
    )
    assert refused.error["message"].startswith(
        'FLEX_START provisioning model is not supported for accelerator type "v5litepod-4"'
    )
    reach(call, "SUSPENDED")  # the platform's own end


def test_flex_start_lends_for_seven_days_at_most(call: Call):
    flex = {"provisioningModel": "FLEX_START", "runDuration": {"maxRunDuration": "604801s"}}
    refused = create(call, base=ALPHA, tier="flex-start", **flex)
    assert (refused.status, refused.error["status"]) == (400, "INVALID_ARGUMENT")
    assert "7 days" in refused.error["message"]
    flex["runDuration"] = {"maxRunDuration": "604800s"}
    assert create(call, base=ALPHA, tier="flex-start", **flex).status == 200


def test_quota_counts_what_failed_and_what_is_suspended_until_it_is_deleted(call: Call):
    for n in range(4):  # 4 × 16 chips is the limit of 64
        assert create(call, f"q{n}", accelerator="v5litepod-16").status == 200
    full = create(call, "q4", accelerator="v5litepod-16")
    assert (full.status, full.error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert full.error["message"] == (
        "Quota limit 'TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI' has been exceeded. Limit: 64 in zone "
        "us-west4-a."
    )
    assert create(call, "q5", accelerator="v5litepod-16", tier="on-demand").status == 200  # another quota
    reach(call, "ACTIVE", "q0")
    call("DELETE", f"{V2}/nodes/q0-n")
    reach(call, "SUSPENDED", "q0")
    assert create(call, "q6", accelerator="v5litepod-16").status == 429
    call("DELETE", f"{V2}/queuedResources/q0?force=true")
    reach(call, "gone", "q0")
    assert create(call, "q7", accelerator="v5litepod-16").status == 200


def test_a_machines_account_may_delete_and_nobody_else_may(call: Call, practice: Practice):
    settings, principals = practice.cloud.settings, practice.cloud.principals
    create(call)
    reach(call, "ACTIVE")
    runner = principals.issue(settings.runner, "serviceAccount")
    stranger = principals.issue("who@else.example")
    assert call("GET", f"{V2}/queuedResources/q1", token=runner).status == 200
    refused = call("DELETE", f"{V2}/queuedResources/q1?force=true", token=stranger)
    assert refused.status == 403 and "tpu.nodes.delete" in refused.error["message"]
    assert refused.reasons == ["IAM_PERMISSION_DENIED"]
    assert call("DELETE", f"{V2}/queuedResources/q1?force=true", token=runner).status == 200


# -------------------------------------------------------------------------------- what a project has no share in at all


def test_no_permission_to_submit_may_come_with_the_operation(start_practice: Start):
    practice = start_practice("not-entitled", speed=20.0)
    practice.cloud.doubts.arm("entitlement-refusal")
    call = caller(practice)
    made = create(call)
    assert made.status == 200
    reach(call, "FAILED")
    error = call("GET", f"/v2/{made.body['name']}").body["error"]
    assert error["code"] == 7 and error["message"].startswith("User does not have permission to submit requests")


def test_a_slice_without_an_address_for_each_host_fails_while_it_is_made_and_costs_nothing(start_practice: Start):
    practice = start_practice("address-limit:limit=3", speed=20.0)
    call = caller(practice)
    external = {"networkConfig": {"enableExternalIps": True}}
    wanted = queued("q1-n", accelerator="v5litepod-16")
    wanted["tpu"]["nodeSpec"][0]["node"] |= external
    assert call("POST", f"{V2}/queuedResources?queuedResourceId=q1", wanted).status == 200
    reach(call, "FAILED")
    failed = call("GET", f"{V2}/queuedResources/q1").body["state"]["failedData"]["error"]
    assert failed["message"].startswith("You have reached IN_USE_ADDRESSES limit. [EID: 0x")
    assert practice.cloud.meter.bill() == []


def test_the_addresses_of_a_region_are_those_of_its_machines(call: Call):
    wanted = queued("q1-n", accelerator="v5litepod-16")
    wanted["tpu"]["nodeSpec"][0]["node"]["networkConfig"] = {"enableExternalIps": True}
    assert call("POST", f"{V2}/queuedResources?queuedResourceId=q1", wanted).status == 200
    reach(call, "ACTIVE")
    for region, used in (("us-west4", 4), ("us-east5", 0)):
        told = call("GET", f"/compute/v1/projects/practice-project/regions/{region}").body["quotas"]
        assert told == [{"metric": "IN_USE_ADDRESSES", "limit": 8.0, "usage": used}]


def test_small_slices_of_v5e_draw_the_serving_limit_and_large_ones_the_training_limit(start_practice: Start):
    practice = start_practice(speed=20.0)
    serving, call = "TPUV5sLitepodServingPerProjectPerZoneForTPUAPI", caller(practice)
    practice.cloud.db.put("quota-grant", f"{serving}/-/us-west4-a", {"value": 4})
    large = create(call, "large", accelerator="v5litepod-16", tier="on-demand")
    small = create(call, "small", accelerator="v5litepod-4", tier="on-demand")
    assert (large.status, small.status) == (200, 200)
    full = create(call, "full", accelerator="v5litepod-1", tier="on-demand")
    assert full.status == 429
    assert full.error["message"] == f"Quota limit '{serving}' has been exceeded. Limit: 4 in zone us-west4-a."
    practice.cloud.doubts.arm("serving-draws")  # the one, small report that says otherwise
    assert create(call, "other", accelerator="v5litepod-1", tier="on-demand").status == 200


def test_a_new_account_may_serve_a_little_and_train_on_spot_in_some_areas_only(start_practice: Start):
    practice = start_practice(new=True, ready=False)

    def limit(id: str, zone: str) -> int:
        return quota_limits.limit(practice.cloud, f"{id}PerProjectPerZoneForTPUAPI", {"zone": zone})

    here = ("us-central1-a", "us-west4-a", "us-west1-c")
    assert [limit("TPUV5sLitepodServing", zone) for zone in here] == [4, 4, 0]
    assert [limit("TPUV5sPreemptibleLitepodServing", zone) for zone in here] == [4, 4, 0]
    assert [limit("TPUV5sPreemptibleLitepod", zone) for zone in here] == [64, 64, 0]
    assert [limit("TPUV5sLitepod", zone) for zone in here] == [0, 0, 0]
    part = catalogue().slice
    denied = [("us-central1-b", "v6e-4", "on-demand"), ("us-west1-c", "v5litepod-1", "on-demand")]
    for zone, name, tier in denied:
        with pytest.raises(GoogleError, match="does not have permission to submit requests"):
            entitlements.check(practice.cloud, zone, part(name), tier)
    for zone, name, tier in [("us-central1-b", "v6e-4", "spot"), ("us-west4-a", "v5litepod-1", "on-demand")]:
        assert entitlements.check(practice.cloud, zone, part(name), tier) == ""
