"""What each call of the practice cloud checks, held to Google's own lists (resources/google)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.conftest import Answer, Call, caller
from tpu_studio.cloud.doctor import names
from tpu_studio.domain.doubts import doubts
from tpu_studio.practice import roles
from tpu_studio.practice.main import Practice
from tpu_studio.wire.resources import resource_path

PROJECT, BUCKET = "practice-project", "tpu-studio-0123456789ab"
DOCUMENTS = (
    "tpu.v2",
    "tpu.v2alpha1",
    "cloudtasks.v2",
    "storage.v1",
    "compute.v1.subset",
    "cloudresourcemanager.v3",
    "iam.v1",
    "serviceusage.v1",
    "cloudbilling.v1",
    "billingbudgets.v1",
    "orgpolicy.v2",
)
_PREFIX = {"cloudtasks.v2": "/cloudtasks"}
_QUOTA = "/v1/projects/practice-project/locations/global"
DERIVED = {  # the discovery document of this one is derived from a client and has no methods
    "cloudquotas.projects.locations.services.quotaInfos.list": f"GET {_QUOTA}/services/tpu.googleapis.com/quotaInfos",
    "cloudquotas.projects.locations.services.quotaInfos.get": f"GET {_QUOTA}/services/tpu.googleapis.com/quotaInfos/x",
    "cloudquotas.projects.locations.quotaPreferences.list": f"GET {_QUOTA}/quotaPreferences",
    "cloudquotas.projects.locations.quotaPreferences.get": f"GET {_QUOTA}/quotaPreferences/x",
    "cloudquotas.projects.locations.quotaPreferences.create": f"POST {_QUOTA}/quotaPreferences",
    "cloudquotas.projects.locations.quotaPreferences.patch": f"PATCH {_QUOTA}/quotaPreferences/x",
}


def _methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)


def _filled(flat_path: str) -> str:
    """A path of something that is there, as far as the refusal needs it."""
    names = {
        "v1Id": "projects",
        "v1Id1": PROJECT,
        "projectsId": PROJECT,
        "project": PROJECT,
        "bucket": BUCKET,
        "sourceBucket": BUCKET,
        "destinationBucket": BUCKET,
        "locationsId": "us-west4",
        "zone": "us-west4-a",
        "region": "us-west4",
        "queuesId": "tpu-studio",
        "billingAccountsId": "0A1B2C-3D4E5F-678901",
        "servicesId": "bigquery.googleapis.com",
        "serviceAccountsId": f"tpu-studio-runner@{PROJECT}.iam.gserviceaccount.com",
    }
    path = re.sub(r"\{\+?(\w+)\}", lambda found: names.get(found[1], "x"), flat_path)
    return re.sub(r"(?<=/services/)bigquery.googleapis.com(?=/skus)", "E000-3F24-B8AA", path)


def played(practice: Practice) -> dict[str, str]:
    """Of Google's methods those that the practice cloud answers: id → ``METHOD /path``."""
    found = dict(DERIVED)
    for document in DOCUMENTS:
        told = json.loads(resource_path("discovery", f"{document}.json").read_text("utf-8"))
        for method in _methods(told):
            path = f"{_PREFIX.get(document, '')}/{told['servicePath']}{_filled(method.get('flatPath', method['path']))}"
            if "mediaUpload" in method:
                path = _filled(method["mediaUpload"]["protocols"]["simple"]["path"])
            if document.startswith("tpu"):
                path = re.sub(r"us-west4(?=[/:]|$)", "us-west4-a", path)
            if practice.router.find(method["httpMethod"], path) is not None:
                found.setdefault(method["id"], f"{method['httpMethod']} {path}")
    return found


def _asked(practice: Practice, method: str, line: str, token: str) -> Answer:
    verb, path = line.split(" ")
    query = f"?project={PROJECT}" if method in ("storage.buckets.insert", "storage.buckets.list") else ""
    body: Any = b"" if verb in ("GET", "DELETE") else {}
    if method == "cloudbilling.projects.updateBillingInfo":
        body = {"billingAccountName": "billingAccounts/0A1B2C-3D4E5F-678901"}
    if method == "storage.objects.insert":
        query = "?uploadType=media&name=x"
    return caller(practice)(verb, path + query, body or None, token=token)


def _denied(answer: Answer) -> str:
    """The permission that a refusal names; "" where it is none."""
    if answer.status != 403:
        return ""
    told = [detail.get("metadata", {}).get("permission") for detail in answer.error.get("details", [])]
    named = re.search(r"(?:have |Permission ')(storage\.[\w.]+)", answer.error["message"])
    return next((one for one in told if one), "") or (named[1] if named else answer.error["message"])


@pytest.fixture
def methods(practice: Practice) -> dict[str, str]:
    return played(practice)


def test_most_of_what_the_program_calls_is_found_in_google_s_documents(methods: dict[str, str]):
    for method in (
        "tpu.projects.locations.queuedResources.create",
        "cloudtasks.projects.locations.queues.tasks.create",
        "storage.objects.insert",
        "compute.instances.delete",
        "iam.projects.roles.create",
        "serviceusage.services.enable",
        "cloudresourcemanager.projects.testIamPermissions",
        "cloudbilling.projects.updateBillingInfo",
        "orgpolicy.projects.policies.getEffectivePolicy",
        "billingbudgets.billingAccounts.budgets.create",
    ):
        assert method in methods
    assert len(methods) > 90


def test_who_has_no_right_is_refused_for_a_permission_that_google_checks_there(
    practice: Practice, methods: dict[str, str]
):
    stranger = practice.cloud.principals.issue("stranger@else.example")
    wrong = {}
    for method, line in methods.items():
        checked = {row["name"] for row in roles.checked_by(method)}
        named = _denied(_asked(practice, method, line, stranger))
        if named not in (checked or {""}):
            wrong[method] = (named, sorted(checked))
    assert wrong == {}


def test_who_has_just_what_google_checks_is_not_refused(practice: Practice, methods: dict[str, str]):
    principals, wrong = practice.cloud.principals, {}
    for number, (method, line) in enumerate(methods.items()):
        checked = [row["name"] for row in roles.checked_by(method)]
        role = f"projects/{PROJECT}/roles/just{number}"
        practice.cloud.db.put("role", role, {"name": role, "includedPermissions": checked})
        for resource in (f"projects/{PROJECT}", f"buckets/{BUCKET}", practice.cloud.settings.billing_account):
            principals.grant(resource, role, f"user:just{number}@else.example")
        named = _denied(_asked(practice, method, line, principals.issue(f"just{number}@else.example")))
        if named:
            wrong[method] = (named, checked)
    assert wrong == {}


def test_every_row_of_ours_names_permissions_that_exist_and_its_source():
    told = json.loads(resource_path("google", "methods-overrides.json").read_text("utf-8"))
    for method, row in told["methods"].items():
        assert row.get("source") or row["doubt"] in doubts(), method
        assert {one["name"] for one in row["permissions"]} <= roles.KNOWN, method
    for row in told["not_on_projects"]:
        assert row.get("source") or row["doubt"] in doubts()
        assert all(one.endswith(".") or one in roles.KNOWN for one in row["permissions"])


@pytest.mark.parametrize("permission", ["resourcemanager.projects.list", "billing.accounts.get", "tpu.nodes.fly"])
def test_what_no_project_has_is_refused_in_a_role_and_in_a_test(call: Call, permission: str):
    role = {"title": "Ours", "includedPermissions": ["tpu.nodes.get", permission]}
    made = call("POST", f"/v1/projects/{PROJECT}/roles", {"roleId": "ours", "role": role})
    assert (made.status, made.error["message"]) == (400, f"Permission {permission} is not valid.")
    good = {"title": "Ours", "includedPermissions": ["tpu.nodes.get"]}
    assert call("POST", f"/v1/projects/{PROJECT}/roles", {"roleId": "ours", "role": good}).status == 200
    assert call("PATCH", f"/v1/projects/{PROJECT}/roles/ours", role).status == 400
    asked = call("POST", f"/v3/projects/{PROJECT}:testIamPermissions", {"permissions": [permission]})
    assert asked.status == 400
    assert asked.error["message"] == f"Permission {permission} is not valid for this resource."


def test_an_owner_has_rights_on_objects_of_the_bucket_and_not_of_the_project(call: Call):
    objects = ["storage.objects.get", "storage.objects.create", "storage.objects.list", "storage.objects.delete"]
    both = [*objects, "storage.buckets.get", "storage.buckets.create", "storage.buckets.list"]
    of_project = call("POST", f"/v3/projects/{PROJECT}:testIamPermissions", {"permissions": both})
    assert of_project.body["permissions"] == ["storage.buckets.create", "storage.buckets.list"]
    asked = "&".join(f"permissions={one}" for one in [*objects, "storage.buckets.get"])
    of_bucket = call("GET", f"/storage/v1/b/{BUCKET}/iam/testPermissions?{asked}")
    assert of_bucket.body["permissions"] == [*objects, "storage.buckets.get"]


def test_the_predefined_roles_are_google_s(call: Call):
    told = json.loads(resource_path("google", "iam-roles.json").read_text("utf-8"))["roles"]
    for name in ("roles/tpu.admin", "roles/cloudtasks.enqueuer"):
        assert call("GET", f"/v1/{name}").body["includedPermissions"] == sorted(told[name]["permissions"])
    assert call("GET", "/v1/roles/tpu.queuedResourceAdmin").status == 404


def test_the_roles_of_an_account_that_is_ready_are_those_that_the_program_makes(practice: Practice):
    for name, permissions in (
        (names.RUNNER_ROLE, names.RUNNER_PERMISSIONS),
        (names.STOPPER_ROLE, names.STOPPER_PERMISSIONS),
        (names.MACHINES_ROLE, names.MACHINES_PERMISSIONS),
        (names.QUEUE_ROLE, names.QUEUE_PERMISSIONS),
        (names.READER_ROLE, names.READER_PERMISSIONS),
        (names.WRITER_ROLE, names.WRITER_PERMISSIONS),
    ):
        role = practice.cloud.db.get("role", f"projects/{PROJECT}/roles/{name}") or {}
        assert role["includedPermissions"] == list(permissions)


def test_what_a_project_can_be_asked_for_is_listed_in_pages(call: Call):
    found: list[str] = []
    token = ""
    while True:
        body = {"fullResourceName": f"//cloudresourcemanager.googleapis.com/projects/{PROJECT}", "pageSize": 1000}
        page = call("POST", "/v1/permissions:queryTestablePermissions", {**body, "pageToken": token}).body
        found += [one["name"] for one in page["permissions"]]
        if not (token := page.get("nextPageToken", "")):
            break
    assert "tpu.nodes.delete" in found and "resourcemanager.projects.list" not in found
    assert set(found) == {one for one in roles.KNOWN if roles.on_projects(one)}
