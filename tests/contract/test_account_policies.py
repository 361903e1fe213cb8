"""Service accounts, roles and policies, and the permissions and fields of all account services together."""

from __future__ import annotations

import pytest
from googleapiclient.errors import HttpError

from tests.contract.accounts import ACCOUNT, HOME, PROJECT, budget, wish
from tests.contract.conftest import Call, Start, caller
from tests.fakes.google_client import google_client
from tpu_studio.cloud.doctor import names
from tpu_studio.practice import discovery, roles, skus
from tpu_studio.practice.main import Practice
from tpu_studio.practice.quota_limits import TPU

# ----------------------------------------------------------------------------------------------- accounts and policies


def test_google_s_client_makes_lists_and_deletes_a_service_account(practice: Practice):
    with google_client(practice, "iam.v1") as api:
        accounts = api.projects().serviceAccounts()
        body = {"accountId": "tpu-helper", "serviceAccount": {"displayName": "Helper"}}
        made = accounts.create(name=PROJECT, body=body).execute()
        emails = [a["email"] for a in accounts.list(name=PROJECT).execute()["accounts"]]
        with pytest.raises(HttpError) as twice:
            accounts.create(name=PROJECT, body=body).execute()
        accounts.delete(name=made["name"]).execute()
        with pytest.raises(HttpError) as gone:
            accounts.get(name=made["name"]).execute()

    assert made["email"] == "tpu-helper@practice-project.iam.gserviceaccount.com" and made["email"] in emails
    assert practice.cloud.settings.runner in emails
    assert (twice.value.status_code, gone.value.status_code) == (409, 404)


def test_a_role_of_one_s_own_gives_exactly_what_it_includes(practice: Practice, call: Call):
    made = call(
        "POST",
        f"/v1/{PROJECT}/roles",
        {
            "roleId": "tpuHelper",
            "role": {"title": "Runner", "includedPermissions": ["tpu.nodes.delete", "tpu.nodes.get"]},
        },
    )
    practice.cloud.principals.grant(PROJECT, made.body["name"], "user:helper@practice.example")
    token = practice.cloud.principals.issue("helper@practice.example")
    asked = {"permissions": ["tpu.nodes.delete", "tpu.nodes.create"]}

    first = call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token)
    call(
        "PATCH",
        f"/v1/{made.body['name']}?updateMask=includedPermissions",
        {"includedPermissions": ["tpu.nodes.create"]},
    )
    second = call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token)

    assert (first.body["permissions"], second.body["permissions"]) == (["tpu.nodes.delete"], ["tpu.nodes.create"])


@pytest.mark.parametrize("permissions", [names.RUNNER_PERMISSIONS, names.STOPPER_PERMISSIONS])
def test_google_takes_the_roles_of_both_accounts(call: Call, permissions: tuple[str, ...]):
    role = {"title": "Ours", "includedPermissions": list(permissions)}
    assert call("POST", f"/v1/{PROJECT}/roles", {"roleId": "ours", "role": role}).status == 200


@pytest.mark.parametrize("verb", ["create", "get", "list", "delete"])
def test_a_queued_resource_has_no_permissions_of_its_own(call: Call, verb: str):
    unknown = f"tpu.queuedResources.{verb}"
    role = {"title": "Ours", "includedPermissions": ["tpu.nodes.get", unknown]}
    refused = call("POST", f"/v1/{PROJECT}/roles", {"roleId": "ours", "role": role})
    assert refused.status == 400 and f"Permission {unknown} is not valid" in refused.error["message"]
    asked = call("POST", f"/v3/{PROJECT}:testIamPermissions", {"permissions": [unknown]})
    assert (asked.status, asked.error["status"]) == (400, "INVALID_ARGUMENT")
    assert unknown not in (*names.LAUNCH, *names.RUNNER_PERMISSIONS, *names.STOPPER_PERMISSIONS)


def test_organisation_policies_tell_what_is_forbidden(start_practice: Start):
    with google_client(start_practice("org-policy"), "orgpolicy.v2") as api:
        policies = api.projects().policies()
        where = policies.getEffectivePolicy(name=f"{PROJECT}/policies/gcp.resourceLocations").execute()
        keys = policies.getEffectivePolicy(name=f"{PROJECT}/policies/iam.disableServiceAccountKeyCreation").execute()
        listed = policies.list(parent=PROJECT).execute()["policies"]

    assert where["spec"]["rules"] == [{"values": {"allowedValues": ["in:eu-locations"]}}]
    assert keys["spec"]["rules"] == [{"enforce": False}]
    assert listed == [where]


def test_networks_are_read_and_one_is_made_where_the_organisation_left_none(start_practice: Start):
    practice = start_practice("org-policy:constraint=compute.skipDefaultNetworkCreation")
    call = caller(practice)
    path = f"/compute/v1/{PROJECT}"

    gone = call("GET", f"{path}/global/networks/default")
    made = call("POST", f"{path}/global/networks", {"name": "default", "autoCreateSubnetworks": True})
    found = call("GET", f"{path}/global/networks/default").body

    assert gone.status == 404 and gone.error["errors"][0]["reason"] == "notFound"
    assert made.body["status"] == "DONE"
    assert call("GET", f"{path}/global/operations/{made.body['name']}").body["status"] == "DONE"
    subnet = call("GET", f"{path}/regions/us-west4/subnetworks/default").body
    assert subnet["selfLink"] in found["subnetworks"] and subnet["network"] == found["selfLink"]
    assert call("GET", f"{path}/regions/mars-1/subnetworks").status == 404


# ----------------------------------------------------------------------------------------------------- the whole of it


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        (f"/v3/{PROJECT}", "cloudresourcemanager.v3:Project"),
        ("/v3/projects:search", "cloudresourcemanager.v3:SearchProjectsResponse"),
        (f"/v1/{PROJECT}/services", "serviceusage.v1:ListServicesResponse"),
        (f"/v1/{PROJECT}/services/{TPU}", "serviceusage.v1:GoogleApiServiceusageV1Service"),
        (
            f"/v1beta1/{PROJECT}/services/{TPU}/consumerQuotaMetrics",
            "serviceusage.v1beta1:ListConsumerQuotaMetricsResponse",
        ),
        (f"{HOME}/services/{TPU}/quotaInfos", "cloudquotas.v1:ListQuotaInfosResponse"),
        (f"{HOME}/services/compute.googleapis.com/quotaInfos", "cloudquotas.v1:ListQuotaInfosResponse"),
        (f"{HOME}/quotaPreferences", "cloudquotas.v1:ListQuotaPreferencesResponse"),
        (f"/v1/{PROJECT}/billingInfo", "cloudbilling.v1:ProjectBillingInfo"),
        ("/v1/billingAccounts", "cloudbilling.v1:ListBillingAccountsResponse"),
        ("/v1/services", "cloudbilling.v1:ListServicesResponse"),
        (f"/v1/{skus.COMPUTE_SERVICE}/skus", "cloudbilling.v1:ListSkusResponse"),
        (f"/v1/{ACCOUNT}/budgets", "billingbudgets.v1:GoogleCloudBillingBudgetsV1ListBudgetsResponse"),
        (f"/v1/{PROJECT}/serviceAccounts", "iam.v1:ListServiceAccountsResponse"),
        ("/v1/roles/viewer", "iam.v1:Role"),
        (
            f"/v2/{PROJECT}/policies/gcp.resourceLocations:getEffectivePolicy",
            "orgpolicy.v2:GoogleCloudOrgpolicyV2Policy",
        ),
        (f"/cloudtasks/v2/{PROJECT}/locations", "cloudtasks.v2:ListLocationsResponse"),
        (f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues", "cloudtasks.v2:ListQueuesResponse"),
        (f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues/tpu-studio/tasks", "cloudtasks.v2:ListTasksResponse"),
        (f"/compute/v1/{PROJECT}", "compute.v1:Project"),
        (f"/compute/v1/{PROJECT}/global/networks", "compute.v1:NetworkList"),
        (f"/compute/v1/{PROJECT}/regions", "compute.v1:RegionList"),
        (f"/compute/v1/{PROJECT}/regions/us-west4/subnetworks", "compute.v1:SubnetworkList"),
        ("/oauth2/v2/userinfo", "oauth2.v2:Userinfo"),
    ],
)
def test_answers_hold_no_field_that_google_s_document_lacks(practice: Practice, call: Call, path: str, schema: str):
    later = practice.cloud.clock.rfc3339(practice.cloud.clock.now() + 86400)
    call("POST", f"/v1/{ACCOUNT}/budgets", budget())
    call("POST", f"{HOME}/quotaPreferences", wish(80))
    call(
        "POST",
        f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues/tpu-studio/tasks",
        {"task": {"scheduleTime": later, "httpRequest": {"url": "https://tpu.googleapis.com/"}}},
    )

    answer = call("GET", path)

    assert answer.status == 200 and answer.body
    discovery.checked(schema, answer.body)  # raises with each unknown name and wrong type


def test_every_permission_that_a_call_asks_for_is_one_that_can_be_granted(practice: Practice):
    asked = {route.permission for route in practice.router._routes if route.permission}

    assert len(asked) > 40 and asked <= roles.KNOWN


def test_another_person_of_the_project_is_held_to_their_role_everywhere(practice: Practice, call: Call):
    token = practice.cloud.principals.issue("colleague@practice.example")  # a viewer
    queue = f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues"

    seen = [
        call("GET", path, token=token).status
        for path in (
            f"/v1/{PROJECT}/services",
            f"{HOME}/services/{TPU}/quotaInfos",
            queue,
            f"/v1/{PROJECT}/serviceAccounts",
            f"/compute/v1/{PROJECT}/global/networks",
            f"/v1/{PROJECT}/billingInfo",
        )
    ]
    refused = [
        call(method, path, body, token=token).status
        for method, path, body in (
            ("POST", f"/v1/{PROJECT}/services/{TPU}:disable", {}),
            ("POST", f"{HOME}/quotaPreferences", wish(80)),
            ("POST", queue, {"name": "x"}),
            ("DELETE", f"{queue}/tpu-studio", None),
            ("POST", f"/v1/{PROJECT}/serviceAccounts", {"accountId": "helper-one"}),
            ("POST", f"/compute/v1/{PROJECT}/global/networks", {"name": "mine"}),
            ("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": {}}),
            ("POST", f"/v1/{PROJECT}/serviceAccounts/{practice.cloud.settings.runner}/keys", {}),
            (
                "POST",
                f"/v1/projects/-/serviceAccounts/{practice.cloud.settings.runner}:generateAccessToken",
                {"scope": ["https://www.googleapis.com/auth/cloud-platform"]},
            ),
        )
    ]

    assert seen == [200] * 6 and refused == [403] * 9


def test_a_person_s_call_may_have_to_name_the_project_whose_quota_counts(start_practice: Start):
    practice = start_practice("quota-project-needed")
    call, path = caller(practice), f"{HOME}/quotaPreferences"
    colleague = practice.cloud.principals.issue("colleague@practice.example")
    named = {"X-Goog-User-Project": "practice-project"}

    bare = call("GET", path)
    theirs = call("GET", path, headers=named, token=colleague)  # a viewer may look, but not spend its quota

    assert bare.status == 403 and "requires a quota project" in bare.error["message"]
    assert call("GET", path, headers=named).status == 200
    assert (theirs.status, theirs.reasons) == (403, ["USER_PROJECT_DENIED"])
