"""Compute Engine's project, networks, subnetworks and regions; disks and addresses, of which there are never any here.

A project that is ready has the network ``default``. Under the fault ``org-policy:constraint=
compute.skipDefaultNetworkCreation`` it has none until somebody makes one.
"""

from __future__ import annotations

import hashlib
import secrets

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import region_of
from tpu_studio.practice import addresses, firewalls, orgpolicy, quota_limits
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.iam import default_account
from tpu_studio.practice.resourcemanager import need_project
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.state import Record

HOME = "https://www.googleapis.com/compute/v1"
_API = "compute.googleapis.com"
_SKIP = "compute.skipDefaultNetworkCreation"


def install(router: Router, cloud: Cloud) -> None:
    home = cloud.settings.project
    if cloud.db.get("network", f"{home}/default") and not firewalls.of(cloud, home) and cloud.settings.ready:
        firewalls.with_network(cloud, home, "default")  # a home of a version before these rules
    project = r"/compute/v1/projects/(?P<project>[^/]+)"
    networks = rf"{project}/global/networks"
    regions = rf"{project}/regions"

    @router.route("GET", project, permission="compute.projects.get", service=_API)
    def get_project(request: Request) -> dict[str, object]:
        record = need_project(cloud, request)
        return {
            "kind": "compute#project",
            "id": record["number"],
            "name": record["projectId"],
            "creationTimestamp": record["createTime"],
            "defaultServiceAccount": default_account(cloud),
            "defaultNetworkTier": "PREMIUM",
            "commonInstanceMetadata": {"kind": "compute#metadata"},
            "selfLink": f"{HOME}/projects/{record['projectId']}",
        }

    @router.route("GET", networks, permission="compute.networks.list", service=_API)
    def list_networks(request: Request) -> dict[str, object]:
        found = [_network(request, record) for record in _networks(cloud, request.match["project"])]
        return _list("compute#networkList", found)

    @router.route("GET", rf"{networks}/(?P<network>[^/]+)", permission="compute.networks.get", service=_API)
    def get_network(request: Request) -> dict[str, object]:
        return _network(request, _one(cloud, request))

    @router.route("POST", networks, schema="compute.v1:Network", permission="compute.networks.create", service=_API)
    def make_network(request: Request) -> dict[str, object]:
        wanted = request.json()
        name, project_id = wanted.get("name", ""), request.match["project"]
        with cloud.db.transaction():
            if any(record["name"] == name for record in _networks(cloud, project_id)):
                raise GoogleError(
                    409,
                    "ALREADY_EXISTS",
                    f"The resource 'projects/{project_id}/global/networks/{name}' already exists",
                    reason="alreadyExists",
                )
            record = {
                "name": name,
                "auto": wanted.get("autoCreateSubnetworks", True),
                "made": cloud.clock.rfc3339(),
                "by_hand": True,
                "description": wanted.get("description", ""),
            }
            cloud.db.put("network", f"{project_id}/{name}", record)
        return _operation(cloud, request, "insert", f"global/networks/{name}")

    @router.route("DELETE", rf"{networks}/(?P<network>[^/]+)", permission="compute.networks.delete", service=_API)
    def delete_network(request: Request) -> dict[str, object]:
        name = _one(cloud, request)["name"]
        if rules := firewalls.of(cloud, request.match["project"], name):
            where = f"projects/{request.match['project']}/global"
            raise GoogleError(
                400,
                "INVALID_ARGUMENT",
                f"The network resource '{where}/networks/{name}' is already "
                f"being used by '{where}/firewalls/{rules[0]['name']}'",
                reason="resourceInUseByAnotherResource",
            )
        cloud.db.delete("network", f"{request.match['project']}/{name}")
        return _operation(cloud, request, "delete", f"global/networks/{name}")

    operation = rf"{project}/global/operations/(?P<operation>[^/]+)"

    @router.route("GET", operation, permission="compute.globalOperations.get", service=_API)
    @router.route("POST", rf"{operation}/wait", permission="compute.globalOperations.get", service=_API)
    def get_operation(request: Request) -> dict[str, object]:
        record = cloud.db.get("network-operation", f"{request.match['project']}/{request.match['operation']}")
        if record is None:
            raise _missing(request, f"global/operations/{request.match['operation']}")
        return record

    @router.route(
        "GET", rf"{regions}/(?P<region>[^/]+)/subnetworks", permission="compute.subnetworks.list", service=_API
    )
    def list_subnetworks(request: Request) -> dict[str, object]:
        _region(request)
        found = [_subnetwork(request, r, request.match["region"]) for r in _networks(cloud, request.match["project"])]
        return _list("compute#subnetworkList", found)

    @router.route(
        "GET",
        rf"{regions}/(?P<region>[^/]+)/subnetworks/(?P<network>[^/]+)",
        permission="compute.subnetworks.get",
        service=_API,
    )
    def get_subnetwork(request: Request) -> dict[str, object]:
        _region(request)
        return _subnetwork(request, _one(cloud, request), request.match["region"])

    @router.route("GET", regions, permission="compute.regions.list", service=_API)
    def list_regions(request: Request) -> dict[str, object]:
        return _list("compute#regionList", [_shown_region(cloud, request, one) for one in known_regions()])

    @router.route("GET", rf"{regions}/(?P<region>[^/]+)", permission="compute.regions.get", service=_API)
    def get_region(request: Request) -> dict[str, object]:
        return _shown_region(cloud, request, _region(request))

    @router.route("GET", rf"{project}/aggregated/disks", permission="compute.disks.list", service=_API)
    def disks(request: Request) -> dict[str, object]:
        return {"kind": "compute#diskAggregatedList"}

    @router.route("GET", rf"{project}/aggregated/addresses", permission="compute.addresses.list", service=_API)
    def addresses(request: Request) -> Record:
        return {"kind": "compute#addressAggregatedList"}

    rules = rf"{project}/global/firewalls"

    @router.route("GET", rules, permission="compute.firewalls.list", service=_API)
    def list_rules(request: Request) -> dict[str, object]:
        return _list("compute#firewallList", firewalls.of(cloud, request.match["project"]))

    @router.route("POST", rules, schema="compute.v1:Firewall", permission="compute.firewalls.create", service=_API)
    def make_rule(request: Request) -> dict[str, object]:
        wanted, project_id = request.json(), request.match["project"]
        network = str(wanted.get("network", "")).rpartition("/")[2] or "default"
        if not any(one["name"] == network for one in _networks(cloud, project_id)):
            raise _missing(request, f"global/networks/{network}")
        record = firewalls.put(cloud, project_id, wanted)
        return _operation(cloud, request, "insert", f"global/firewalls/{record['name']}")

    one_rule = rf"{rules}/(?P<rule>[^/]+)"

    @router.route("GET", one_rule, permission="compute.firewalls.get", service=_API)
    def get_rule(request: Request) -> dict[str, object]:
        return _rule(cloud, request)

    @router.route("DELETE", one_rule, permission="compute.firewalls.delete", service=_API)
    def delete_rule(request: Request) -> dict[str, object]:
        name = _rule(cloud, request)["name"]
        cloud.db.delete("firewall", f"{request.match['project']}/{name}")
        return _operation(cloud, request, "delete", f"global/firewalls/{name}")


def prepare(cloud: Cloud) -> None:
    if cloud.settings.ready:
        record = {"name": "default", "auto": True, "made": cloud.clock.rfc3339()}
        cloud.db.put("network", f"{cloud.settings.project}/default", record)
        firewalls.with_network(cloud, cloud.settings.project, "default")


def known_regions() -> list[str]:
    """Where any generation is offered."""
    return sorted({region for one in catalogue().generations for region in quota_limits.places(one, "region")})


def _networks(cloud: Cloud, project: str) -> list[dict[str, object]]:
    found = [record for _, record in cloud.db.list("network", f"{project}/")]
    if orgpolicy.enforced(cloud, _SKIP):
        found = [record for record in found if record.get("by_hand")]
    return found


def _one(cloud: Cloud, request: Request) -> Record:
    name = request.match["network"]
    for record in _networks(cloud, request.match["project"]):
        if record["name"] == name:
            return record
    raise _missing(request, f"global/networks/{name}")


def _rule(cloud: Cloud, request: Request) -> Record:
    record = cloud.db.get("firewall", f"{request.match['project']}/{request.match['rule']}")
    if record is None:
        raise _missing(request, f"global/firewalls/{request.match['rule']}")
    return record


def _network(request: Request, record: dict[str, object]) -> dict[str, object]:
    home = f"{HOME}/projects/{request.match['project']}"
    shown = {
        "kind": "compute#network",
        "id": _id(f"{home}/{record['name']}"),
        "name": record["name"],
        "creationTimestamp": record["made"],
        "autoCreateSubnetworks": record["auto"],
        "selfLink": f"{home}/global/networks/{record['name']}",
        "routingConfig": {"routingMode": "REGIONAL"},
    }
    if record.get("description"):
        shown["description"] = record["description"]
    if record["auto"]:
        shown["subnetworks"] = [f"{home}/regions/{one}/subnetworks/{record['name']}" for one in known_regions()]
    return shown


def _subnetwork(request: Request, record: dict[str, object], region: str) -> dict[str, object]:
    home = f"{HOME}/projects/{request.match['project']}"
    link = f"{home}/regions/{region}/subnetworks/{record['name']}"
    return {
        "kind": "compute#subnetwork",
        "id": _id(link),
        "name": record["name"],
        "region": f"{home}/regions/{region}",
        "creationTimestamp": record["made"],
        "network": f"{home}/global/networks/{record['name']}",
        "selfLink": link,
        "ipCidrRange": f"10.{128 + known_regions().index(region)}.0.0/20",
        "privateIpGoogleAccess": False,
        "purpose": "PRIVATE",
        "stackType": "IPV4_ONLY",
    }


def _shown_region(cloud: Cloud, request: Request, region: str) -> dict[str, object]:
    project = request.match["project"]
    home = f"{HOME}/projects/{project}"
    zones = {zone for one in catalogue().generations for zone in quota_limits.places(one, "zone")}
    return {
        "kind": "compute#region",
        "id": _id(region),
        "name": region,
        "status": "UP",
        "zones": [f"{home}/zones/{zone}" for zone in sorted(zones) if region_of(zone) == region],
        "selfLink": f"{home}/regions/{region}",
        "quotas": addresses.quotas(cloud, project, region),
    }


def _region(request: Request) -> str:
    if request.match["region"] not in known_regions():
        raise _missing(request, f"regions/{request.match['region']}")
    return request.match["region"]


def _operation(cloud: Cloud, request: Request, kind: str, target: str) -> Record:
    """A global operation that is done at once."""
    project, now = request.match["project"], cloud.clock.rfc3339()
    name = f"operation-{secrets.token_hex(10)}"
    home = f"{HOME}/projects/{project}"
    record = {
        "kind": "compute#operation",
        "id": _id(name),
        "name": name,
        "operationType": kind,
        "status": "DONE",
        "progress": 100,
        "insertTime": now,
        "startTime": now,
        "endTime": now,
        "user": request.principal.email,
        "targetLink": f"{home}/{target}",
        "targetId": _id(target),
        "selfLink": f"{home}/global/operations/{name}",
    }
    cloud.db.put("network-operation", f"{project}/{name}", record)
    return record


def _list(kind: str, items: list[dict[str, object]]) -> dict[str, object]:
    return {"kind": kind, **({"items": items} if items else {})}


def _missing(request: Request, what: str) -> GoogleError:
    text = f"The resource 'projects/{request.match['project']}/{what}' was not found"
    return GoogleError(404, "NOT_FOUND", text, reason="notFound")


def _id(text: str) -> str:
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1)
