"""IAM is eventually consistent, and conditions live in policies of version 3 alone: as Google's documents say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.conftest import Call, Start, caller
from tpu_studio.practice import policies
from tpu_studio.practice.main import Practice

PROJECT = "projects/practice-project"
BUCKET = "/storage/v1/b/tpu-studio-0123456789ab/iam"
HELPER = "helper@practice-project.iam.gserviceaccount.com"
NOON = {"title": "until noon", "expression": 'request.time < timestamp("2999-01-01T00:00:00Z")'}


@pytest.fixture
def slow(start_practice: Start) -> Practice:
    return start_practice("iam-slow:seconds=100000")


def _read(call: Call, version: int | None = 3) -> dict[str, Any]:
    options = {"options": {"requestedPolicyVersion": version}} if version is not None else {}
    return call("POST", f"/v3/{PROJECT}:getIamPolicy", options).body


def _written(call: Call, binding: dict[str, Any], **more: Any) -> Any:
    policy = _read(call)
    body = {"policy": {**policy, "version": 3, "bindings": [*policy["bindings"], binding], **more}}
    return call("POST", f"/v3/{PROJECT}:setIamPolicy", body)


def _made(call: Call) -> None:
    made = call("POST", f"/v1/{PROJECT}/serviceAccounts", {"accountId": "helper"})
    assert made.status == 200 and made.body["email"] == HELPER


def _pass(practice: Practice) -> None:
    """As if the delay had passed: what is kept of it lies in the past."""
    db = practice.cloud.db
    for email, record in db.list("account"):
        db.put("account", email, {**record, "known_at": 0.0})
    for resource, times in db.list("policy-times"):
        db.put("policy-times", resource, dict.fromkeys(times, 0.0))


def test_an_account_that_was_made_just_now_is_not_known_everywhere(slow: Practice):
    call = caller(slow)
    _made(call)
    path = f"/v1/{PROJECT}/serviceAccounts/{HELPER}"
    assert call("GET", path).status == 404
    assert call("POST", f"/v1/{PROJECT}/serviceAccounts", {"accountId": "helper"}).status == 409
    binding = {"role": "roles/tpu.viewer", "members": [f"serviceAccount:{HELPER}"]}
    refused = _written(call, binding)
    assert (refused.status, refused.error["message"]) == (400, f"Service account {HELPER} does not exist.")
    _pass(slow)
    assert call("GET", path).status == 200
    assert _written(call, binding).status == 200


def test_a_grant_counts_only_after_a_while_and_is_shown_at_once(slow: Practice):
    call, principals = caller(slow), slow.cloud.principals
    token = principals.issue("friend@practice.example")
    binding = {"role": "roles/tpu.viewer", "members": ["user:friend@practice.example"]}
    assert _written(call, binding).status == 200
    assert binding in _read(call)["bindings"]
    asked = {"permissions": ["tpu.nodes.get"]}
    assert call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token).body == {}
    _pass(slow)
    assert call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token).body == asked


def test_a_second_change_does_not_begin_the_wait_of_the_first_anew(slow: Practice):
    call = caller(slow)
    _written(call, {"role": "roles/tpu.viewer", "members": ["user:friend@practice.example"]})
    _pass(slow)
    _written(call, {"role": "roles/compute.viewer", "members": ["user:friend@practice.example"]})
    token = slow.cloud.principals.issue("friend@practice.example")
    asked = {"permissions": ["tpu.nodes.get", "compute.networks.get"]}
    held = call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token)
    assert held.body == {"permissions": ["tpu.nodes.get"]}


def test_how_long_it_takes_is_picked_by_the_seed_and_by_what_google_may_do(start_practice: Start):
    cloud = start_practice(iam_lag_s=100.0).cloud
    first, again = (policies.known_at(cloud, "one") - cloud.clock.now() for _ in range(2))
    assert first == pytest.approx(again, abs=5.0) and 20.0 < first < 101.0
    assert policies.most_s(cloud) == 100.0
    cloud.doubts.arm("iam-lag=minutes")
    assert policies.most_s(cloud) == 420.0
    cloud.doubts.arm("iam-lag=at-once")
    assert policies.most_s(cloud) == 0.0
    cloud.faults.arm("iam-slow")
    assert policies.most_s(cloud) == 120.0


def test_a_ready_account_waits_for_nothing(call: Call, practice: Practice):
    token = practice.cloud.principals.issue(practice.cloud.settings.runner, "serviceAccount")
    asked = {"permissions": ["tpu.nodes.delete"]}
    assert call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token).body == asked


def test_conditions_are_shown_at_version_three_alone(call: Call):
    conditional = {"role": "roles/tpu.viewer", "members": ["user:friend@practice.example"], "condition": NOON}
    assert _written(call, conditional).status == 200
    whole = _read(call)
    assert whole["version"] == 3 and conditional in whole["bindings"]
    cut = _read(call, None)
    assert cut["version"] == 1 and not any("condition" in one for one in cut["bindings"])
    named = [one["role"].partition("_withcond_")[0] for one in cut["bindings"] if "_withcond_" in one["role"]]
    assert named == [one["role"] for one in whole["bindings"] if one.get("condition")] and "roles/tpu.viewer" in named
    assert call("POST", f"/v3/{PROJECT}:getIamPolicy", {"options": {"requestedPolicyVersion": 2}}).status == 400


def test_a_policy_with_conditions_is_not_written_back_without_them(call: Call):
    _written(call, {"role": "roles/tpu.viewer", "members": ["user:friend@practice.example"], "condition": NOON})
    cut = _read(call, None)
    assert call("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": cut}).status == 400
    kept = {**cut, "bindings": [one for one in cut["bindings"] if "_withcond_" not in one["role"]]}
    refused = call("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": kept})
    assert (refused.status, refused.error["status"]) == (400, "INVALID_ARGUMENT")
    low = {**_read(call), "version": 1}
    assert call("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": low}).status == 400
    assert _read(call)["version"] == 3
    del kept["etag"]  # "IAM allows you to overwrite a version 3 policy with a version 1 policy, and all … are lost"
    assert call("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": kept}).status == 200
    assert _read(call)["version"] == 1


def test_buckets_and_accounts_keep_conditions_by_the_same_rules(call: Call, practice: Practice):
    account = f"/v1/{PROJECT}/serviceAccounts/{practice.cloud.settings.runner}"
    binding = {"role": "roles/storage.objectViewer", "members": ["user:friend@practice.example"], "condition": NOON}
    of_bucket = call("GET", f"{BUCKET}?optionsRequestedPolicyVersion=3").body
    written = {**of_bucket, "version": 3, "bindings": [*of_bucket["bindings"], binding]}
    assert call("PUT", BUCKET, {**written, "version": 1}).status == 400
    assert call("PUT", BUCKET, written).status == 200
    assert call("GET", BUCKET).body["version"] == 1
    assert binding in call("GET", f"{BUCKET}?optionsRequestedPolicyVersion=3").body["bindings"]
    acts = {"role": "roles/iam.serviceAccountUser", "members": ["user:friend@practice.example"], "condition": NOON}
    assert call("POST", f"{account}:setIamPolicy", {"policy": {"version": 3, "bindings": [acts]}}).status == 200
    seen = call("POST", f"{account}:getIamPolicy?options.requestedPolicyVersion=3", {})
    assert acts in seen.body["bindings"]


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ('request.time < timestamp("2999-01-01T00:00:00Z")', True),
        ('request.time < timestamp("2001-01-01T00:00:00Z")', False),
        ('request.time > timestamp("2001-01-01T00:00:00Z")', True),
        ('resource.name.startsWith("projects/_/buckets/x")', False),
    ],
)
def test_a_grant_with_a_condition_counts_while_the_condition_holds(practice: Practice, expression: str, holds: bool):
    cloud = practice.cloud
    binding = {
        "role": "roles/tpu.viewer",
        "members": ["user:friend@practice.example"],
        "condition": {"title": "some", "expression": expression},
    }
    cloud.principals.set_policy(PROJECT, {"version": 3, "bindings": [binding]})
    friend = cloud.principals.of(cloud.principals.issue("friend@practice.example"))
    assert friend is not None and cloud.principals.may(friend, "tpu.nodes.get", PROJECT) is holds
