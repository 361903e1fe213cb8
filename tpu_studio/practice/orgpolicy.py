"""Organization Policy v2: what an organisation forbids, read only. The fault ``org-policy`` forbids; its key
``constraint`` names what (``gcp.resourceLocations`` unless said)."""

from __future__ import annotations

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.paging import page
from tpu_studio.practice.resourcemanager import need_project
from tpu_studio.practice.routing import Request, Router

LOCATIONS = "gcp.resourceLocations"
EXTERNAL_IP = "compute.vmExternalIpAccess"
SOFT_DELETE = "storage.softDeletePolicySeconds"
LISTS = {
    LOCATIONS: {"allowedValues": ["in:eu-locations"]},
    EXTERNAL_IP: {},
    SOFT_DELETE: {"allowedValues": ["604800"]},
}
"""Constraints about values, and what stays allowed under the fault; {}: nothing."""
SWITCHES = (
    "compute.managed.vmExternalIpAccess",
    "compute.requireOsLogin",
    "compute.skipDefaultNetworkCreation",
    "iam.disableServiceAccountCreation",
    "iam.disableServiceAccountKeyCreation",
    "iam.managed.disableServiceAccountCreation",
    "storage.publicAccessPrevention",
    "storage.uniformBucketLevelAccess",
)
_API = "orgpolicy.googleapis.com"


def install(router: Router, cloud: Cloud) -> None:
    policies = r"/v2/projects/(?P<project>[^/:]+)/policies"

    @router.route("GET", policies, permission="orgpolicy.policies.list", service=_API)
    def list_policies(request: Request) -> dict[str, object]:
        project = need_project(cloud, request)
        mine = [_shown(cloud, project, one) for one in (*LISTS, *SWITCHES) if enforced(cloud, one)]
        return page(request, "policies", mine, most=1000)

    @router.route(
        "GET", rf"{policies}/(?P<constraint>[^/:]+):getEffectivePolicy", permission="orgpolicy.policy.get", service=_API
    )
    def effective(request: Request) -> dict[str, object]:
        return _shown(cloud, need_project(cloud, request), request.match["constraint"])


def enforced(cloud: Cloud, constraint: str) -> bool:
    """Whether the organisation forbids something by that constraint now."""
    if constraint == SOFT_DELETE and cloud.doubts.way("bucket-rules"):
        return True
    fault = cloud.faults.armed("org-policy")
    return fault is not None and fault.get("constraint", LOCATIONS) == constraint


def _shown(cloud: Cloud, project: dict[str, object], constraint: str) -> dict[str, object]:
    if constraint not in LISTS and constraint not in SWITCHES:
        raise GoogleError(400, "INVALID_ARGUMENT", f"No such constraint: constraints/{constraint}")
    forbids = enforced(cloud, constraint)
    rule: dict[str, object]
    if constraint in SWITCHES:
        rule = {"enforce": True} if forbids else {"enforce": False}
    elif not forbids:
        rule = {"allowAll": True}
    else:
        rule = {"values": LISTS[constraint]} if LISTS[constraint] else {"denyAll": True}
    return {"name": f"projects/{project['number']}/policies/{constraint}", "spec": {"rules": [rule]}}
