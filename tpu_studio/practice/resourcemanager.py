"""Resource Manager v3 and v1: projects, who may do what in them, and the test of one's own permissions.

Also what the other account services ask of it: the project in a path, and whether the caller may.
"""

from __future__ import annotations

import re
import secrets

from tpu_studio.practice import account_operations, policies, roles
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.consumers import is_active
from tpu_studio.practice.errors import GoogleError, bad_request, error_info
from tpu_studio.practice.paging import page
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.server import require
from tpu_studio.practice.state import Record

_API = "cloudresourcemanager.googleapis.com"
_TYPE = "type.googleapis.com/google.cloud.resourcemanager.v3"
_CREATE_S = 6.0  # practice seconds
_MOST_PROJECTS = 12


def install(router: Router, cloud: Cloud) -> None:
    project = r"(?P<project>[^/:]+)"

    @router.route("GET", r"/v3/projects:search", service=_API)
    def search(request: Request) -> Record:
        return page(request, "projects", [_v3(p) for p in _found(cloud, request, request.one("query"))], most=500)

    @router.route("GET", r"/v3/projects", service=_API)
    def list_children(request: Request) -> Record:
        if not re.fullmatch(r"(folders|organizations)/\d+", request.one("parent")):
            raise GoogleError(
                400,
                "INVALID_ARGUMENT",
                "Request contains an invalid argument.",
                [bad_request(("parent", "must be folders/{id} or organizations/{id}"))],
            )
        return {}  # the practice projects stand under no organisation

    @router.route("GET", rf"/v3/projects/{project}", service=_API)
    def get(request: Request) -> Record:
        record = need_project(cloud, request, "resourcemanager.projects.get")
        return _v3(record if is_active(cloud, record) else {**record, "state": "DELETE_REQUESTED"})

    @router.route("POST", r"/v3/projects", schema="cloudresourcemanager.v3:Project", service=_API)
    def create(request: Request) -> Record:
        if cloud.faults.armed("terms-not-accepted") is not None:
            if cloud.doubts.way("terms-in-operation"):
                raise GoogleError(400, "FAILED_PRECONDITION", _TERMS["message"], _TERMS["details"])
            metadata = {"@type": f"{_TYPE}.CreateProjectMetadata", "gettable": False}
            return dict(account_operations.refused(cloud, "operations/cp", metadata, _TERMS, takes_s=1.0))
        record = _create(cloud, request, request.json())
        metadata = {"@type": f"{_TYPE}.CreateProjectMetadata", "createTime": record["createTime"], "gettable": True}
        return account_operations.begin(
            cloud, "operations/cp", metadata, {"@type": f"{_TYPE}.Project", **_v3(record)}, takes_s=_CREATE_S
        )

    @router.route("DELETE", rf"/v3/projects/{project}", service=_API)
    def delete(request: Request) -> Record:
        record = need_project(cloud, request, "resourcemanager.projects.delete")
        record["state"] = "DELETE_REQUESTED"
        cloud.db.put("project", record["projectId"], record)
        metadata = {"@type": f"{_TYPE}.DeleteProjectMetadata"}
        return account_operations.begin(
            cloud, "operations/pd", metadata, {"@type": f"{_TYPE}.Project", **_v3(record)}, takes_s=1.0
        )

    @router.route("POST", rf"/v3/projects/{project}:undelete", service=_API)
    def undelete(request: Request) -> Record:
        record = need_project(cloud, request, "resourcemanager.projects.undelete")
        record["state"] = "ACTIVE"
        cloud.db.put("project", record["projectId"], record)
        metadata = {"@type": f"{_TYPE}.UndeleteProjectMetadata"}
        return account_operations.begin(
            cloud, "operations/pu", metadata, {"@type": f"{_TYPE}.Project", **_v3(record)}, takes_s=1.0
        )

    @router.route("GET", r"/v3/(?P<name>operations/[^/]+)", service=_API)
    def operation(request: Request) -> Record:
        return account_operations.shown(cloud, request.match["name"])

    @router.route("GET", r"/v1/projects", service=_API)
    def list_v1(request: Request) -> Record:
        found = _found(cloud, request, request.one("filter"))
        return page(request, "projects", [_v1(record) for record in found], most=500)

    @router.route("GET", rf"/v1/projects/{project}", service=_API)
    def get_v1(request: Request) -> Record:
        return _v1(need_project(cloud, request, "resourcemanager.projects.get"))

    @router.route("POST", r"/v1/projects", service=_API)
    def create_v1(request: Request) -> Record:
        wanted = request.json()
        if unknown := sorted(set(wanted) - {"projectId", "name", "labels", "parent"}):
            raise GoogleError(
                400,
                "INVALID_ARGUMENT",
                f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.',
            )
        record = _create(cloud, request, {**wanted, "displayName": wanted.get("name", ""), "parent": ""})
        v1 = "type.googleapis.com/google.cloudresourcemanager.v1"
        metadata = {"@type": f"{v1}.ProjectCreationStatus", "createTime": record["createTime"], "gettable": True}
        return account_operations.begin(
            cloud, "operations/cp", metadata, {"@type": f"{v1}.Project", **_v1(record)}, takes_s=_CREATE_S
        )

    @router.route(
        "POST",
        rf"/v[13]/projects/{project}:testIamPermissions",
        schema="cloudresourcemanager.v3:TestIamPermissionsRequest",
        service=_API,
    )
    def test_permissions(request: Request) -> Record:
        asked = request.json().get("permissions", [])
        if request.principal.kind == "serviceAccount" and cloud.doubts.way("project-proof"):
            raise GoogleError(403, "PERMISSION_DENIED", "The caller does not have permission")
        for permission in asked:
            if not roles.on_projects(permission):
                raise GoogleError(400, "INVALID_ARGUMENT", f"Permission {permission} is not valid for this resource.")
        granted = [p for p in asked if may(cloud, request, p, f"projects/{request.match['project']}")]
        return {"permissions": granted} if granted else {}

    @router.route(
        "POST",
        rf"/v[13]/projects/{project}:getIamPolicy",
        schema="cloudresourcemanager.v3:GetIamPolicyRequest",
        service=_API,
    )
    def get_policy(request: Request) -> Record:
        record = need_project(cloud, request, "resourcemanager.projects.getIamPolicy")
        asked = request.json().get("options", {}).get("requestedPolicyVersion")
        return policies.shown(cloud, cloud.principals.policy(f"projects/{record['projectId']}"), asked)

    @router.route(
        "POST",
        rf"/v[13]/projects/{project}:setIamPolicy",
        schema="cloudresourcemanager.v3:SetIamPolicyRequest",
        service=_API,
    )
    def set_policy(request: Request) -> Record:
        record = need_project(cloud, request, "resourcemanager.projects.setIamPolicy")
        return change_policy(cloud, f"projects/{record['projectId']}", request.json().get("policy", {}))


_TERMS: Record = {
    "code": 9,
    "message": "Callers must accept Terms of Service",
    "details": [
        {
            "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
            "violations": [
                {"type": "TOS", "subject": "terms-of-service", "description": "Callers must accept Terms of Service"}
            ],
        }
    ],
}
"""Words: udx/wp-stateless#190."""


def need_project(cloud: Cloud, request: Request, permission: str = "", *more: str) -> Record:
    """The record of the project in the path. Raises GoogleError 403: the caller lacks *permission* there and on each of
    *more*."""
    if permission:
        require(cloud, request, permission, *more)
    return cloud.db.get("project", request.match["project"]) or {}


def may(cloud: Cloud, request: Request, permission: str, resource: str) -> bool:
    return cloud.principals.may(request.principal, permission, resource)


def need(cloud: Cloud, request: Request, permission: str, resource: str) -> None:
    """For what is no project. Raises GoogleError 403."""
    if not may(cloud, request, permission, resource):
        info = error_info("IAM_PERMISSION_DENIED", "iam.googleapis.com", permission=permission, resource=resource)
        raise GoogleError(403, "PERMISSION_DENIED", "The caller does not have permission", [info])


def change_policy(cloud: Cloud, resource: str, wanted: Record) -> Record:
    """Read, change, write: a policy whose etag isn't the latest is refused.

    Raises:
        GoogleError: 409 ABORTED somebody was faster; 400 a role or member that nobody knows (yet), a
            condition that would be lost, or no owner left.
    """
    with cloud.db.transaction():
        if cloud.faults.take("policy-race") is not None:
            cloud.db.lasting(lambda: cloud.principals.grant(resource, "roles/viewer", "user:somebody@else.example"))
        before = cloud.principals.policy(resource)
        if wanted.get("etag", before["etag"]) != before["etag"]:
            raise GoogleError(
                409,
                "ABORTED",
                "There were concurrent policy changes. Please retry the whole "
                "read-modify-write with exponential backoff. The request's ETag did not match the "
                "current policy's ETag.",
            )
        policies.check_written(before, wanted)
        for binding in wanted.get("bindings", []):
            role = binding.get("role", "")
            if not roles.grantable(role) and cloud.db.get("role", role) is None:
                raise GoogleError(400, "INVALID_ARGUMENT", f"Role {role} is not supported for this resource.")
            for member in binding.get("members", []):
                _check_member(cloud, member)
        was_owned = any(b["role"] == "roles/owner" for b in before["bindings"])
        if was_owned and not any(b["role"] == "roles/owner" and b.get("members") for b in wanted.get("bindings", [])):
            raise GoogleError(
                400,
                "INVALID_ARGUMENT",
                "Policy members must include at least one owner.",
                [error_info("ORG_MUST_INVITE_EXTERNAL_OWNERS", "iam.googleapis.com")],
            )
        kept = [b for b in wanted.get("bindings", []) if b.get("members")]
        written = {"version": wanted.get("version", 1), "bindings": kept}
        return cloud.principals.set_policy(resource, written, lambda grant: policies.known_at(cloud, grant))


def _check_member(cloud: Cloud, member: str) -> None:
    kind, _, email = member.partition(":")
    account = cloud.db.get("account", email) if kind == "serviceAccount" else None
    if kind == "serviceAccount" and (account is None or account.get("known_at", 0.0) > cloud.clock.now()):
        raise GoogleError(400, "INVALID_ARGUMENT", f"Service account {email} does not exist.")
    if member not in ("allUsers", "allAuthenticatedUsers") and (
        kind not in ("user", "serviceAccount", "group", "domain") or not email
    ):
        raise GoogleError(400, "INVALID_ARGUMENT", f"The member {member} is of an unknown type.")


def _found(cloud: Cloud, request: Request, query: str) -> list[Record]:
    """Active projects that the caller may see. Query words ``field:value`` or ``field=value``, joined by blanks.

    Raises GoogleError 400: a field that neither version can filter by.
    """
    found = [
        p
        for _, p in cloud.db.list("project")
        if may(cloud, request, "resourcemanager.projects.get", f"projects/{p['projectId']}")
    ]
    wanted = {"state": "ACTIVE"}
    for word in re.sub(r"\s*([:=])\s*", r"\1", query.replace(" AND ", " ")).split():
        field, _, value = word.replace("=", ":", 1).partition(":")
        key = {
            "lifecycleState": "state",
            "state": "state",
            "projectId": "projectId",
            "id": "projectId",
            "displayName": "displayName",
            "name": "displayName",
            "parent": "parent",
            "projectNumber": "number",
        }.get(field, field if field.startswith("labels.") else "")
        if not key:
            raise GoogleError(400, "INVALID_ARGUMENT", f"Invalid query: {query}")
        wanted[key] = value.strip('"')
    return [p for p in found if all(_fits(p, key, value) for key, value in wanted.items())]


def _fits(project: Record, key: str, value: str) -> bool:
    have = project.get("labels", {}).get(key[7:], "") if key.startswith("labels.") else str(project.get(key, ""))
    return bool(re.fullmatch(re.escape(value).replace(r"\*", ".*"), have, re.IGNORECASE))


def _create(cloud: Cloud, request: Request, wanted: Record) -> Record:
    """A bare project: no billing, few services. Raises GoogleError 400, 403 (service account), 409, 429."""
    if request.principal.kind == "serviceAccount":
        raise GoogleError(403, "PERMISSION_DENIED", "Service accounts cannot create projects without a parent.")
    project = wanted.get("projectId", "")
    if not re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", project):
        raise GoogleError(
            400,
            "INVALID_ARGUMENT",
            "field [project_id] has issue [project_id contains invalid "
            "characters or has an invalid length: 6 to 30 lower case letters, digits, hyphens]",
            [bad_request(("project_id", "invalid"))],
        )
    with cloud.db.transaction():
        if cloud.faults.take("project-id-taken") is not None:
            cloud.db.lasting(lambda: _put(cloud, {"projectId": project}, "user:somebody@else.example"))
        if cloud.db.get("project", project) is not None:
            raise GoogleError(409, "ALREADY_EXISTS", "Requested entity already exists")
        if len(cloud.db.list("project")) >= _MOST_PROJECTS:
            raise GoogleError(
                429,
                "RESOURCE_EXHAUSTED",
                "The project cannot be created because you have exceeded your allotted project quota.",
            )
        return _put(cloud, wanted, request.principal.member)


def _put(cloud: Cloud, wanted: Record, owner: str) -> Record:
    from tpu_studio.practice.serviceusage import FRESH  # which asks this module for projects

    project = wanted["projectId"]
    record = {
        "projectId": project,
        "number": str(10**11 + secrets.randbelow(9 * 10**11)),
        "displayName": wanted.get("displayName") or project,
        "state": "ACTIVE",
        "createTime": cloud.clock.rfc3339(),
        "labels": wanted.get("labels", {}),
        "parent": wanted.get("parent", ""),
    }
    cloud.db.put("project", project, record)
    cloud.db.put("billing", project, {"account": ""})
    for service in () if cloud.doubts.way("api-made-project") else FRESH:
        cloud.db.put("service", f"{project}/{service}", {"enabled": True})
    cloud.principals.grant(f"projects/{project}", "roles/owner", owner)
    return record


def _v3(record: Record) -> Record:
    shown = {k: record[k] for k in ("projectId", "displayName", "state", "createTime")}
    shown |= {"name": f"projects/{record['number']}", "etag": f'W/"{record["number"][:12]}"'}
    return shown | {k: record[k] for k in ("parent", "labels") if record.get(k)}


def _v1(record: dict[str, object]) -> dict[str, object]:
    shown = {
        "projectNumber": record["number"],
        "projectId": record["projectId"],
        "lifecycleState": record["state"],
        "name": record["displayName"],
        "createTime": record["createTime"],
    }
    return shown | ({"labels": record["labels"]} if record.get("labels") else {})
