"""Projects and services: held to Google's generic client and documents."""

from __future__ import annotations

from typing import Any

import pytest
from googleapiclient.errors import HttpError

from tests.contract.accounts import ACCOUNT, PROJECT, done
from tests.contract.conftest import Call, Start, caller
from tests.fakes.google_client import google_client
from tpu_studio.practice.main import Practice
from tpu_studio.practice.quota_limits import TPU

# ------------------------------------------------------------------------------------------------------------ projects


def test_google_s_client_finds_makes_and_reads_projects(start_practice: Start):
    practice = start_practice(speed=100.0)
    with google_client(practice, "cloudresourcemanager.v3") as api:
        found = api.projects().search(query="state:ACTIVE").execute()["projects"]
        made = done(api, api.projects().create(body={"projectId": "my-own-1", "displayName": "My own"}).execute())
        one = api.projects().get(name="projects/my-own-1").execute()

    assert [(p["projectId"], p["name"]) for p in found] == [("practice-project", "projects/481516234200")]
    assert made["response"]["@type"].endswith("cloud.resourcemanager.v3.Project")
    assert (one["displayName"], one["state"]) == ("My own", "ACTIVE")


def test_a_project_made_just_now_has_no_billing_and_cannot_switch_on_what_costs(call: Call):
    call("POST", "/v3/projects", {"projectId": "my-own-1"})

    assert "billingEnabled" not in call("GET", "/v1/projects/my-own-1/billingInfo").body
    refused = call("POST", "/v1/projects/my-own-1/services/tpu.googleapis.com:enable", {})
    assert refused.reasons == ["UREQ_PROJECT_BILLING_NOT_FOUND"]

    assert call("PUT", "/v1/projects/my-own-1/billingInfo", {"billingAccountName": ACCOUNT}).body["billingEnabled"]
    assert call("POST", "/v1/projects/my-own-1/services/tpu.googleapis.com:enable", {}).status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"projectId": "practice-project"}, 409),
        ({"projectId": "Short"}, 400),
        ({"projectId": "my-name", "hue": 1}, 400),
    ],
)
def test_a_project_that_cannot_be_made_is_refused(call: Call, body: dict[str, Any], status: int):
    assert call("POST", "/v3/projects", body).status == status


def test_permissions_are_tested_by_name_and_unknown_names_are_an_error(call: Call, practice: Practice):
    path = f"/v3/{PROJECT}:testIamPermissions"
    asked = {"permissions": ["tpu.nodes.create", "tpu.nodes.list", "resourcemanager.projects.setIamPolicy"]}
    viewer = practice.cloud.principals.issue("colleague@practice.example")

    assert call("POST", path, asked).body == asked
    assert call("POST", path, asked, token=viewer).body == {"permissions": ["tpu.nodes.list"]}
    unknown = call("POST", path, {"permissions": ["tpu.nodes.fly"]})
    assert unknown.status == 400 and "tpu.nodes.fly" in unknown.error["message"]


def test_a_missing_permission_is_missing_in_the_test_and_in_the_call(start_practice: Start):
    call = caller(start_practice("permission-missing:permission=serviceusage.services.enable"))
    asked = {"permissions": ["serviceusage.services.enable", "tpu.nodes.list"]}

    assert call("POST", f"/v3/{PROJECT}:testIamPermissions", asked).body == {"permissions": ["tpu.nodes.list"]}
    refused = call("POST", f"/v1/{PROJECT}/services/tpu.googleapis.com:enable", {})
    assert (refused.status, refused.reasons) == (403, ["IAM_PERMISSION_DENIED"])


def test_a_policy_is_changed_only_from_its_latest_reading(practice: Practice):
    binding = {"role": "roles/viewer", "members": ["user:new@practice.example"]}
    with google_client(practice, "cloudresourcemanager.v3") as api:
        asked = {"options": {"requestedPolicyVersion": 3}}  # a ready account's has a grant with a condition
        read = api.projects().getIamPolicy(resource=PROJECT, body=asked).execute()
        policy = {"version": 3, "bindings": [*read["bindings"], binding], "etag": read["etag"]}
        written = api.projects().setIamPolicy(resource=PROJECT, body={"policy": policy}).execute()
        with pytest.raises(HttpError) as late:
            api.projects().setIamPolicy(resource=PROJECT, body={"policy": policy}).execute()

    assert binding in written["bindings"] and written["etag"] != read["etag"]
    assert late.value.status_code == 409
    token = practice.cloud.principals.issue("new@practice.example")
    assert caller(practice)("GET", f"/v3/{PROJECT}", token=token).status == 200


@pytest.mark.parametrize(
    "bindings",
    [
        [{"role": "roles/no.such", "members": ["user:you@practice.example"]}],
        [{"role": "roles/viewer", "members": ["serviceAccount:nobody@practice-project.iam.gserviceaccount.com"]}],
        [{"role": "roles/viewer", "members": ["you@practice.example"]}],
        [{"role": "roles/viewer", "members": ["user:you@practice.example"]}],  # no owner left
    ],
)
def test_a_policy_that_google_would_refuse_is_refused(call: Call, bindings: list[dict[str, Any]]):
    assert call("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": {"bindings": bindings}}).status == 400


# ------------------------------------------------------------------------------------------------------------ services


def pass_time(practice: Practice, **times: float) -> None:
    """Let the TPU service's *times* (``on_at``, ``works_at``) and every operation be over."""
    db, name = practice.cloud.db, f"practice-project/{TPU}"
    db.put("service", name, {**(db.get("service", name) or {}), **times})
    for operation, record in db.list("account-operation"):
        db.put("account-operation", operation, {**record, "done_at": 0.0})


def test_services_are_switched_on_after_their_time_and_work_a_while_later(start_practice: Start):
    practice = start_practice(ready=False)
    call = caller(practice)
    call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": ACCOUNT})
    with google_client(practice, "serviceusage.v1") as api:
        services = api.services()
        names = [f"{PROJECT}/services/{one}" for one in (TPU, "storage.googleapis.com")]
        before = services.batchGet(parent=PROJECT, names=names).execute()["services"]
        operation = services.batchEnable(parent=PROJECT, body={"serviceIds": [TPU]}).execute()
        pass_time(practice, on_at=0.0)
        ended = api.operations().get(name=operation["name"]).execute()
        after = services.get(name=names[0]).execute()

    assert [s["state"] for s in before] == ["DISABLED", "ENABLED"]
    assert "done" not in operation and ended["done"] and after["state"] == "ENABLED"
    assert ended["response"]["@type"].endswith("BatchEnableServicesResponse")
    assert call("GET", f"/v2/{PROJECT}/locations").reasons == ["SERVICE_DISABLED"]  # it has to get around first
    pass_time(practice, works_at=0.0)
    assert call("GET", f"/v2/{PROJECT}/locations").status == 200


def test_a_service_that_a_fault_has_switched_off_is_refused_until_switched_on_and_waited_for(start_practice: Start):
    practice = start_practice("service-disabled:delay=100")
    call = caller(practice)

    off = call("GET", f"/v2/{PROJECT}/locations")
    assert (off.status, off.reasons) == (403, ["SERVICE_DISABLED"])
    assert call("GET", f"/v1/{PROJECT}/services/{TPU}").body["state"] == "DISABLED"

    assert call("POST", f"/v1/{PROJECT}/services/{TPU}:enable", {}).status == 200
    assert call("GET", f"/v2/{PROJECT}/locations").status == 403  # not at once
    pass_time(practice, on_at=0.0, works_at=0.0)
    assert call("GET", f"/v2/{PROJECT}/locations").status == 200


def test_services_are_listed_by_state_in_pages(call: Call):
    found: list[str] = []
    token = ""
    while True:
        page = call("GET", f"/v1/{PROJECT}/services?filter=state:ENABLED&pageSize=4&pageToken={token}").body
        found += [s["config"]["name"] for s in page["services"]]
        if not (token := page.get("nextPageToken", "")):
            break

    assert len(found) == len(set(found)) > 4 and TPU in found
    assert call("POST", f"/v1/{PROJECT}/services/{TPU}:disable", {}).status == 200
    assert [
        s["config"]["name"]
        for s in call("GET", f"/v1/{PROJECT}/services?filter=state:DISABLED").body["services"]
        if s["config"]["name"] == TPU
    ] == [TPU]


def test_an_unknown_service_and_too_many_at_once_are_refused(call: Call):
    assert call("GET", f"/v1/{PROJECT}/services/no.googleapis.com").status == 403
    assert call("POST", f"/v1/{PROJECT}/services:batchEnable", {"serviceIds": [TPU] * 21}).status == 400
