"""IAM v1 as far as it is used: service accounts, their keys and policies, roles; IAM Credentials: tokens."""

from __future__ import annotations

import base64
import json
import re
import secrets

from tpu_studio.domain.grants import OWN_MACHINES
from tpu_studio.practice import jwt, orgpolicy, policies, roles
from tpu_studio.practice.clock import parse_duration
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, bad_request, error_info
from tpu_studio.practice.paging import page
from tpu_studio.practice.principals import Principal
from tpu_studio.practice.resourcemanager import change_policy, need_project
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.server import require
from tpu_studio.practice.state import Record

_IAM = "iam.googleapis.com"
_MANAGED = "iam.managed.disableServiceAccountCreation"
_OF_RUNNER = ("tpu.nodes.get", "tpu.nodes.delete", "tpu.operations.get", "compute.instances.list")
_OF_STOPS = ("tpu.nodes.delete", "tpu.nodes.get")
_OF_MACHINES = ("compute.instances.get", "compute.instances.delete")
_ON_BUCKET = {
    "tpuStudioReader": ("TPU Studio reader", ("storage.objects.get", "storage.objects.list")),
    "tpuStudioWriter": ("TPU Studio writer", ("storage.objects.create", "storage.objects.delete")),
}
_OF_QUEUE = ("cloudtasks.tasks.create", "cloudtasks.tasks.list")


def install(router: Router, cloud: Cloud) -> None:
    if cloud.settings.ready and cloud.db.get("practice", "prepared") and not cloud.db.get("practice", "stopper"):
        _prepare_stopper(cloud)  # a home of a version before this account

    accounts = r"/v1/projects/(?P<project>[^/:]+)/serviceAccounts"
    account_path = r"/v1/projects/(?P<home>[^/:]+)/serviceAccounts/(?P<account>[^/:]+)"  # home may be "-": any

    @router.route("GET", accounts, service=_IAM)
    def list_accounts(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "iam.serviceAccounts.list")["projectId"]
        mine = [_shown(record) for _, record in cloud.db.list("account") if record["projectId"] == project]
        return page(request, "accounts", mine, most=100, usual=20)

    @router.route("POST", accounts, schema="iam.v1:CreateServiceAccountRequest", service=_IAM)
    def create_account(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "iam.serviceAccounts.create")
        if orgpolicy.enforced(cloud, _MANAGED):
            text = (
                f"Operation denied by org policy on resource 'projects/{project['projectId']}': "
                f'["constraints/{_MANAGED}": "Service account creation is disabled."].'
            )
            raise GoogleError(
                400,
                "FAILED_PRECONDITION",
                text,
                [
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "CUSTOM_ORG_POLICY_VIOLATION",
                        "domain": "iam.googleapis.com",
                        "metadata": {"customConstraints": f"constraints/{_MANAGED}"},
                    }
                ],
            )
        if orgpolicy.enforced(cloud, "iam.disableServiceAccountCreation"):
            raise GoogleError(
                400,
                "FAILED_PRECONDITION",
                "Service account creation is not allowed on this project.",
                [
                    {
                        "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
                        "violations": [
                            {
                                "type": "constraints/iam.disableServiceAccountCreation",
                                "subject": f"projects/{project['projectId']}",
                                "description": "Service account creation is not allowed on this project.",
                            }
                        ],
                    }
                ],
            )
        wanted = request.json()
        account_id = wanted.get("accountId", "")
        if not re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", account_id):
            text = f'Invalid service account ID "{account_id}": 6 to 30 lower case letters, digits, hyphens.'
            raise GoogleError(400, "INVALID_ARGUMENT", text, [bad_request(("account_id", text))])
        email = f"{account_id}@{project['projectId']}.iam.gserviceaccount.com"
        with cloud.db.transaction():
            if cloud.db.get("account", email):
                raise GoogleError(
                    409,
                    "ALREADY_EXISTS",
                    f"Service account {account_id} already exists within project projects/{project['projectId']}.",
                )
            record = make_account(
                cloud,
                project["projectId"],
                email,
                **{k: v for k, v in wanted.get("serviceAccount", {}).items() if k in ("displayName", "description")},
            )
            record["known_at"] = policies.known_at(cloud, email)
            cloud.db.put("account", email, record)
        return _shown(record)

    @router.route("GET", account_path, service=_IAM)
    def get_account(request: Request) -> dict[str, object]:
        return _shown(_account(cloud, request, "iam.serviceAccounts.get"))

    @router.route("DELETE", account_path, service=_IAM)
    def delete_account(request: Request) -> dict[str, object]:
        email = _account(cloud, request, "iam.serviceAccounts.delete")["email"]
        with cloud.db.transaction():
            cloud.db.delete("account", email)
            for name, _ in cloud.db.list("account-key", f"{email}/"):
                cloud.db.delete("account-key", name)
            cloud.principals.revoke_all(email)
        return {}

    @router.route(
        "POST", rf"{account_path}:(?P<verb>disable|enable)", schema="iam.v1:DisableServiceAccountRequest", service=_IAM
    )
    def switch_account(request: Request) -> dict[str, object]:
        verb = request.match["verb"]
        record = _account(cloud, request, f"iam.serviceAccounts.{verb}")
        cloud.db.put("account", record["email"], {**record, "disabled": verb == "disable"})
        if verb == "disable":
            cloud.principals.revoke_all(record["email"])
        return {}

    @router.route("POST", rf"{account_path}:getIamPolicy", service=_IAM)
    def get_policy(request: Request) -> dict[str, object]:
        record = _account(cloud, request, "iam.serviceAccounts.getIamPolicy")
        asked = request.one("options.requestedPolicyVersion")
        return policies.shown(cloud, cloud.principals.policy(f"serviceAccounts/{record['email']}"), asked)

    @router.route("POST", rf"{account_path}:setIamPolicy", schema="iam.v1:SetIamPolicyRequest", service=_IAM)
    def set_policy(request: Request) -> dict[str, object]:
        record = _account(cloud, request, "iam.serviceAccounts.setIamPolicy")
        return change_policy(cloud, f"serviceAccounts/{record['email']}", request.json().get("policy", {}))

    @router.route(
        "POST", rf"{account_path}:testIamPermissions", schema="iam.v1:TestIamPermissionsRequest", service=_IAM
    )
    def test_permissions(request: Request) -> dict[str, object]:
        email = _account(cloud, request, "")["email"]
        granted = []
        for permission in request.json().get("permissions", []):
            if permission not in roles.KNOWN or not permission.startswith("iam.serviceAccount"):
                raise GoogleError(400, "INVALID_ARGUMENT", f"Permission {permission} is not valid for this resource.")
            if may_on_account(cloud, request.principal, permission, email):
                granted.append(permission)
        return {"permissions": granted} if granted else {}

    @router.route("GET", rf"{account_path}/keys", service=_IAM)
    def list_keys(request: Request) -> dict[str, object]:
        email = _account(cloud, request, "iam.serviceAccountKeys.list")["email"]
        keys = [record["shown"] for _, record in cloud.db.list("account-key", f"{email}/")]
        return {"keys": keys} if keys else {}

    @router.route("POST", rf"{account_path}/keys", schema="iam.v1:CreateServiceAccountKeyRequest", service=_IAM)
    def create_key(request: Request) -> dict[str, object]:
        record = _account(cloud, request, "iam.serviceAccountKeys.create")
        if orgpolicy.enforced(cloud, "iam.disableServiceAccountKeyCreation"):
            raise GoogleError(
                400,
                "FAILED_PRECONDITION",
                "Key creation is not allowed on this service account.",
                [
                    {
                        "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
                        "violations": [
                            {
                                "type": "constraints/iam.disableServiceAccountKeyCreation",
                                "subject": f"projects/{record['projectId']}/serviceAccounts/{record['email']}",
                                "description": "Key creation is not allowed on this service account.",
                            }
                        ],
                    }
                ],
            )
        shown, text = make_key(cloud, record["email"])
        return {
            **shown,
            "privateKeyType": "TYPE_GOOGLE_CREDENTIALS_FILE",
            "privateKeyData": base64.b64encode(text.encode()).decode(),
        }

    @router.route("DELETE", rf"{account_path}/keys/(?P<key>[^/:]+)", service=_IAM)
    def delete_key(request: Request) -> dict[str, object]:
        email = _account(cloud, request, "iam.serviceAccountKeys.delete")["email"]
        if not cloud.db.delete("account-key", f"{email}/{request.match['key']}"):
            raise GoogleError(404, "NOT_FOUND", f"Service account key {request.match['key']} does not exist.")
        return {}

    @router.route("POST", rf"{account_path}:generateAccessToken", service="iamcredentials.googleapis.com")
    def generate_token(request: Request) -> dict[str, object]:
        email = request.match["account"]
        body = request.json()
        if account(cloud, email) is None or not may_on_account(
            cloud, request.principal, "iam.serviceAccounts.getAccessToken", email
        ):
            raise _denied("iam.serviceAccounts.getAccessToken", email)
        try:
            lifetime_s = parse_duration(body.get("lifetime", "3600s"))
        except ValueError as error:
            raise GoogleError(400, "INVALID_ARGUMENT", str(error)) from error
        scopes = body.get("scope") or body.get("scopes") or []
        if not scopes or not 0 < lifetime_s <= 3600:
            raise GoogleError(400, "INVALID_ARGUMENT", "Request contains an invalid argument: scope or lifetime.")
        token = cloud.principals.issue(email, "serviceAccount", tuple(scopes), lifetime_s)
        return {"accessToken": token, "expireTime": cloud.clock.rfc3339(cloud.clock.now() + lifetime_s)}

    @router.route("GET", r"/v1/roles", service=_IAM)
    def list_roles(request: Request) -> dict[str, object]:
        shown = [{"name": name, "title": role.title, "stage": role.stage} for name, role in sorted(roles.ROLES.items())]
        return page(request, "roles", shown, most=1000, usual=300)

    @router.route("GET", r"/v1/(?P<role>roles/[^/:]+)", service=_IAM)
    def get_role(request: Request) -> dict[str, object]:
        name = request.match["role"]
        if name not in roles.ROLES:
            raise GoogleError(404, "NOT_FOUND", f"The role named {name} was not found.")
        role = roles.ROLES[name]
        return {
            "name": name,
            "title": role.title,
            "includedPermissions": sorted(role.permissions),
            "stage": role.stage,
            "etag": "AA==",
        }

    @router.route(
        "POST",
        r"/v1/permissions:queryTestablePermissions",
        schema="iam.v1:QueryTestablePermissionsRequest",
        service=_IAM,
    )
    def testable(request: Request) -> dict[str, object]:
        """gcloud asks before it makes a role, and names the host that it was told to call. The page is in the body."""
        wanted = request.json()
        if not re.fullmatch(r"//[^/]+/projects/[^/]+", wanted.get("fullResourceName", "")):
            raise GoogleError(400, "INVALID_ARGUMENT", "The full resource name must be one of a project.")
        request.query = {key: [str(wanted[key])] for key in ("pageSize", "pageToken") if wanted.get(key)}
        known = [{"name": name, "stage": "GA"} for name in sorted(filter(roles.on_projects, roles.KNOWN))]
        return page(request, "permissions", known, most=1000, usual=100)

    custom = r"/v1/projects/(?P<project>[^/:]+)/roles"

    @router.route("GET", custom, permission="iam.roles.list", service=_IAM)
    def list_custom(request: Request) -> dict[str, object]:
        prefix = f"projects/{request.match['project']}/roles/"
        every = [record for _, record in cloud.db.list("role", prefix)]
        shown = [one for one in every if request.flag("showDeleted") or not one.get("deleted")]
        return page(request, "roles", shown, most=1000)

    @router.route("POST", custom, schema="iam.v1:CreateRoleRequest", permission="iam.roles.create", service=_IAM)
    def create_custom(request: Request) -> Record:
        wanted = request.json()
        if not re.fullmatch(r"[a-zA-Z0-9_.]{3,64}", wanted.get("roleId", "")):
            raise GoogleError(400, "INVALID_ARGUMENT", "The role_id must be 3 to 64 of a-z, A-Z, 0-9, _ and .")
        name = f"projects/{request.match['project']}/roles/{wanted['roleId']}"
        role = wanted.get("role", {})
        _check_permissions(role)
        with cloud.db.transaction():
            if (there := cloud.db.get("role", name)) and there.get("deleted"):
                text = (
                    f"You can't create a role with role_id ({wanted['roleId']}) where there is an existing role "
                    "with that role_id in a deleted state."
                )
                raise GoogleError(400, "FAILED_PRECONDITION", text)
            if there:
                text = f"A role named {wanted['roleId']} in projects/{request.match['project']} already exists."
                raise GoogleError(409, "ALREADY_EXISTS", text)
            record = {"name": name, "stage": "GA", **role, "etag": "BwYAAAAAAAE="}
            cloud.db.put("role", name, record)
        return record

    one_custom = rf"{custom}/(?P<role>[^/:]+)"

    @router.route("GET", one_custom, permission="iam.roles.get", service=_IAM)
    def get_custom(request: Request) -> dict[str, object]:
        return _custom_role(cloud, request)

    @router.route("PATCH", one_custom, schema="iam.v1:Role", permission="iam.roles.update", service=_IAM)
    def patch_custom(request: Request) -> dict[str, object]:
        record, wanted = _custom_role(cloud, request), request.json()
        _check_permissions(wanted)
        mask = [field for field in request.one("updateMask").split(",") if field] or list(wanted)
        record |= {field: wanted[field] for field in mask if field in wanted and field not in ("name", "etag")}
        cloud.db.put("role", record["name"], record)
        return record

    @router.route("DELETE", one_custom, permission="iam.roles.delete", service=_IAM)
    def delete_custom(request: Request) -> dict[str, object]:
        """It rests for seven days: it gives nobody anything, its grants stay, and it can be restored."""
        record = {**_custom_role(cloud, request), "deleted": True}
        cloud.db.put("role", record["name"], record)
        return record

    @router.route(
        "POST",
        rf"{one_custom}:undelete",
        schema="iam.v1:UndeleteRoleRequest",
        permission="iam.roles.undelete",
        service=_IAM,
    )
    def undelete_custom(request: Request) -> dict[str, object]:
        record = _custom_role(cloud, request)
        if not record.pop("deleted", False):
            raise GoogleError(400, "FAILED_PRECONDITION", f"The role named {record['name']} is not deleted.")
        cloud.db.put("role", record["name"], record)
        return record


def prepare(cloud: Cloud) -> None:
    """The machines' default account that comes with Compute Engine; in a project that is ready, the runner's and that
    of the shut-off timers as made by IAM (the runner's roles stand in the project's policy)."""
    settings = cloud.settings
    if settings.ready:
        make_account(cloud, settings.project, default_account(cloud), displayName="Compute Engine default account")
        make_account(cloud, settings.project, settings.runner, displayName="TPU Studio runner")
        runner = f"serviceAccount:{settings.runner}"  # which sets the later shut-off timers as itself
        cloud.principals.grant(f"serviceAccounts/{settings.runner}", "roles/iam.serviceAccountUser", runner)
        project = f"projects/{settings.project}"
        cloud.principals.grant(project, _role(cloud, "tpuStudioRunner", "TPU Studio runner", _OF_RUNNER), runner)
        cloud.principals.grant(project, _of_machines(cloud), runner, OWN_MACHINES)
        queue = f"queues/{project}/locations/{settings.region}/queues/{settings.machines_queue}"
        cloud.principals.grant(queue, _role(cloud, "tpuStudioQueue", "TPU Studio queue", _OF_QUEUE), runner)
        for id, (title, permissions) in _ON_BUCKET.items():  # granted by `storage`
            _role(cloud, id, title, permissions)
        _prepare_stopper(cloud)


def _role(cloud: Cloud, id: str, title: str, permissions: tuple[str, ...]) -> str:
    name = f"projects/{cloud.settings.project}/roles/{id}"
    role = {
        "name": name,
        "title": title,
        "stage": "GA",
        "etag": "BwYAAAAAAAE=",
        "includedPermissions": list(permissions),
    }
    cloud.db.put("role", name, role)
    return name


def _of_machines(cloud: Cloud) -> str:
    return _role(cloud, "tpuStudioMachines", "TPU Studio machines", _OF_MACHINES)


def _prepare_stopper(cloud: Cloud) -> None:
    settings = cloud.settings
    make_account(cloud, settings.project, settings.stopper, displayName="TPU Studio stops")
    project, member = f"projects/{settings.project}", f"serviceAccount:{settings.stopper}"
    cloud.principals.grant(project, _role(cloud, "tpuStudioStopper", "TPU Studio stops", _OF_STOPS), member)
    cloud.principals.grant(project, _of_machines(cloud), member, OWN_MACHINES)
    user = f"serviceAccount:{settings.runner}"
    cloud.principals.grant(f"serviceAccounts/{settings.stopper}", "roles/iam.serviceAccountUser", user)
    cloud.db.put("practice", "stopper", {"at": cloud.clock.now()})


def default_account(cloud: Cloud) -> str:
    return f"{cloud.settings.number}-compute@developer.gserviceaccount.com"


def account(cloud: Cloud, email: str) -> Record | None:
    """The record of a service account that is there, known, and switched on."""
    record = cloud.db.get("account", email)
    return record if record is not None and is_known(cloud, email) and not record.get("disabled") else None


def is_known(cloud: Cloud, email: str) -> bool:
    """Whether a service account is there, and was not made just now."""
    record = cloud.db.get("account", email)
    return record is not None and record.get("known_at", 0.0) <= cloud.clock.now()


def make_account(cloud: Cloud, project: str, email: str, **words: str) -> Record:
    unique = str(10**20 + secrets.randbelow(10**20))
    record = {"email": email, "projectId": project, "uniqueId": unique, **words}
    cloud.db.put("account", email, record)
    return record


def may_act_as(cloud: Cloud, who: Principal, email: str) -> bool:
    """Whether *who* may start something that runs as the account *email*."""
    if who.kind == "user" and cloud.faults.armed("act-as-missing") is not None:
        return False
    return may_on_account(cloud, who, "iam.serviceAccounts.actAs", email)


def may_on_account(cloud: Cloud, who: Principal, permission: str, email: str) -> bool:
    record = cloud.db.get("account", email) or {}
    return cloud.principals.may(who, permission, f"serviceAccounts/{email}", f"projects/{record.get('projectId', '')}")


def make_key(cloud: Cloud, email: str) -> tuple[Record, str]:
    """A new key: what IAM shows of it, and the key file's text, which nobody can read again."""
    record = cloud.db.get("account", email) or {}
    pem, public = jwt.new_key_pair()
    key_id = secrets.token_hex(20)
    shown = {
        "name": f"projects/{record['projectId']}/serviceAccounts/{email}/keys/{key_id}",
        "keyType": "USER_MANAGED",
        "keyAlgorithm": "KEY_ALG_RSA_2048",
        "keyOrigin": "GOOGLE_PROVIDED",
        "validAfterTime": cloud.clock.rfc3339(),
        "validBeforeTime": "9999-12-31T23:59:59Z",
    }
    cloud.db.put("account-key", f"{email}/{key_id}", {"email": email, "public": public, "shown": shown})
    file = {
        "type": "service_account",
        "project_id": record["projectId"],
        "private_key_id": key_id,
        "private_key": pem,
        "client_email": email,
        "client_id": record["uniqueId"],
        "auth_uri": f"{cloud.url}/o/oauth2/v2/auth",
        "token_uri": f"{cloud.url}/token",
        "universe_domain": "googleapis.com",
    }
    return shown, json.dumps(file, indent=2)


def _custom_role(cloud: Cloud, request: Request) -> Record:
    name = f"projects/{request.match['project']}/roles/{request.match['role']}"
    record = cloud.db.get("role", name)
    if record is None:
        raise GoogleError(404, "NOT_FOUND", f"The role named {name} was not found.")
    return record


def _check_permissions(role: Record) -> None:
    for permission in role.get("includedPermissions", []):
        if not roles.on_projects(permission):
            raise GoogleError(400, "INVALID_ARGUMENT", f"Permission {permission} is not valid.")


def _account(cloud: Cloud, request: Request, permission: str) -> Record:
    """By e-mail or unique id. Raises GoogleError 403, 404."""
    wanted, home = request.match["account"], request.match["home"]
    for _, record in cloud.db.list("account"):
        number = (cloud.db.get("project", record["projectId"]) or {}).get("number")
        if record.get("known_at", 0.0) > cloud.clock.now():
            continue  # made just now, and not known everywhere
        if wanted in (record["email"], record.get("uniqueId")) and home in ("-", record["projectId"], number):
            if permission and not may_on_account(cloud, request.principal, permission, record["email"]):
                require(cloud, request, permission)
            return record
    if permission:
        require(cloud, request, permission)
    raise GoogleError(404, "NOT_FOUND", f"Unknown service account: {wanted}")


def _shown(record: dict[str, object]) -> dict[str, object]:
    unique = record.get("uniqueId", "")
    shown = {
        "name": f"projects/{record['projectId']}/serviceAccounts/{record['email']}",
        "projectId": record["projectId"],
        "uniqueId": unique,
        "email": record["email"],
        "oauth2ClientId": unique,
        "etag": "MDEwMjE5MjA=",
    }
    return shown | {k: record[k] for k in ("displayName", "description", "disabled") if record.get(k)}


def _denied(permission: str, email: str) -> GoogleError:
    info = error_info("IAM_PERMISSION_DENIED", "iam.googleapis.com", permission=permission)
    return GoogleError(
        403,
        "PERMISSION_DENIED",
        f"Permission '{permission}' denied on resource (or it may not exist): projects/-/serviceAccounts/{email}",
        [info],
    )
