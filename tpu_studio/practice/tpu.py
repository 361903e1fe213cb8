"""The Cloud TPU API: v2 and v2alpha1, and the lists of v1 that gcloud still asks for. What a TPU does: `tpu_life`."""

from __future__ import annotations

from tpu_studio.practice import addresses, entitlements
from tpu_studio.practice import tpu_show as show
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, error_info
from tpu_studio.practice.operations import Operations
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.server import require
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_checks import (
    NAMELESS,
    Place,
    Wanted,
    bad,
    check_id,
    check_node,
    check_quota,
    check_tier,
    eid,
    exists,
    stockout_text,
    tier_of,
    window,
)
from tpu_studio.practice.tpu_life import Life
from tpu_studio.practice.tpu_lists import Lists
from tpu_studio.practice.tpu_requests import Requests
from tpu_studio.practice.tpu_routes import ALPHA, LOCATION, Part
from tpu_studio.practice.tpu_show import NODE, QR
from tpu_studio.wire import loans

_PATCHED = {
    "description": "description",
    "tags": "tags",
    "labels": "labels",
    "metadata": "metadata",
    "network_config.enable_external_ips": "networkConfig",
    "networkConfig.enableExternalIps": "networkConfig",
    "dataDisks": "dataDisks",
    "data_disks": "dataDisks",
}


def install(router: Router, cloud: Cloud) -> None:
    operations = Operations(cloud.db, cloud.clock)
    life = Life(cloud, operations)
    cloud.every(0.0, life.turn)
    requests = Requests(cloud, operations, life)
    Lists(router, cloud, life, requests, operations)
    _QueuedResources(router, cloud, life, requests, operations)
    _Nodes(router, cloud, life, requests, operations)


class _QueuedResources(Part):
    def install(self) -> None:
        all, one = LOCATION + "/queuedResources", LOCATION + "/queuedResources/(?P<id>[^/:]+)"
        self.on("POST", all, "nodes.create", "Operation", self.create, "QueuedResource")
        self.on("GET", all, "nodes.list", "ListQueuedResourcesResponse", self.list)
        self.on("GET", one, "nodes.get", "QueuedResource", self.get)
        self.on("DELETE", one, "", "Operation", self.delete)  # the doubt absent-name-permission
        self.on("POST", one + ":reset", "nodes.reset", "Operation", self.reset, "ResetQueuedResourceRequest")
        alpha = ALPHA + "/queuedResources/(?P<id>[^/:]+)"
        self.on("GET", alpha + ":getMaintenanceInfo", "nodes.get", "", self.maintenance)
        self.on(
            "POST", alpha + ":performMaintenanceQueuedResource", "nodes.performMaintenance", "Operation", self.perform
        )

    def create(self, request: Request) -> Record:
        place = self.place(request)
        id = check_id("queued_resource_id", request.one("queuedResourceId"))
        name = f"{place.parent}/queuedResources/{id}"
        return self.once(request, name, lambda: self._create(request, place, id, name))

    def _create(self, request: Request, place: Place, id: str, name: str) -> str:
        cloud, body = self._cloud, request.json()
        if cloud.db.get(QR, name) is not None:
            raise exists(name)
        tier = tier_of(body)
        wanted = self._wanted(request, place, id, body)
        for one in wanted:
            check_tier(place, one.part, tier)
            if cloud.db.get(NODE, f"{place.parent}/nodes/{one.id}") is not None:
                raise exists(f"{place.parent}/nodes/{one.id}")
        bounds = window(body.get("queueingPolicy", {}), cloud.clock.now())
        denied = admit(cloud, place, wanted, tier, self._requests)
        if "tpu" in body:
            for spec, one in zip(body["tpu"]["nodeSpec"], wanted, strict=False):
                spec["node"] = one.body
        return self._requests.request(place, id, body, wanted, tier, bounds, request.match["version"], denied)

    def _wanted(self, request: Request, place: Place, id: str, body: Record) -> list[Wanted]:
        specs = (body.get("tpu") or {}).get("nodeSpec") or []
        if not specs:
            raise bad("The queued resource must have at least one node spec.")
        found = []
        for spec in specs:
            if spec.get("parent") not in (place.parent, self._by_number(place)):
                raise bad(f'The parent of a node spec, "{spec.get("parent", "")}", must be "{place.parent}".')
            several = spec.get("multisliceParams") or spec.get("multiNodeParams")
            if bool(several) == bool(spec.get("nodeId")):
                raise bad("Exactly one of node_id and multislice_params must be set in a node spec.")
            ids = [spec.get("nodeId", "")]
            if several:
                count, prefix = several.get("nodeCount", 0), several.get("nodeIdPrefix") or id
                if count < 2:
                    raise bad("node_count must be greater than 1.")
                ids = [f"{prefix}-{n}" for n in range(count)]
            for one in ids:
                found.append(check_node(self._cloud, place, request.principal, one, dict(spec.get("node") or {})))
        if len({one.id for one in found}) < len(found):
            raise bad("Node ids must be unique.")
        return found

    def _by_number(self, place: Place) -> str:
        number = (self._cloud.db.get("project", place.project) or {}).get("number", "")
        return f"projects/{number}/locations/{place.zone}"

    def list(self, request: Request) -> Record:
        return self.listed(request, QR, "queuedResources", show.request)

    def get(self, request: Request) -> Record:
        self.place(request)
        name = self.name(request, "queuedResources")
        shown = show.request(self._cloud.clock, name, self.got(request, QR, name))
        if self._cloud.faults.take("unknown-enum", kind="queuedResources") is not None:
            shown["state"] = {"state": "DEFROSTING", "stateInitiator": "SERVICE"}
        return shown

    def delete(self, request: Request) -> Record:
        self.place(request)
        name = self.name(request, "queuedResources")
        force = request.flag("force")
        way = "" if self._cloud.db.get(QR, name) else self._cloud.doubts.way("absent-name-permission")
        if way == "denied-for-all":
            words = f"Permission 'tpu.nodes.delete' denied on '{name}' (or it may not exist)."
            raise GoogleError(403, "PERMISSION_DENIED", words)
        if way != "not-found-for-all":
            require(self._cloud, request, "tpu.nodes.delete")
        if self._cloud.doubts.way("stopper-permissions"):
            require(self._cloud, request, "tpu.operations.get")
        self.got(request, QR, name)
        if force and self._cloud.faults.take("delete-fails", kind="queuedResources") is not None:
            raise GoogleError(503, "UNAVAILABLE", "Internal error. Please try again")
        version = request.match["version"]
        return self.once(request, name, lambda: self._requests.delete_request(name, force, version))

    def reset(self, request: Request) -> Record:
        self.place(request)
        name = self.name(request, "queuedResources")
        request.json()
        return self.once(request, name, lambda: self._requests.reset(name, request.match["version"]))

    def maintenance(self, request: Request) -> Record:
        record = self._requests.get(QR, self.name(request, "queuedResources"))
        nodes = [self._cloud.db.get(NODE, node) or {} for node in record["nodes"]]
        return {
            "nodeUpcomingMaintenances": [
                {"nodeUpcomingMaintenance": n["maintenance"]} for n in nodes if n.get("maintenance")
            ]
        }

    def perform(self, request: Request) -> Record:
        record = self._requests.get(QR, self.name(request, "queuedResources"))
        if not record["nodes"]:
            raise bad("The queued resource has no nodes.")
        return self.operation(self._requests.switch(record["nodes"][0], "performMaintenance", "v2alpha1"))


class _Nodes(Part):
    def install(self) -> None:
        all, one = LOCATION + "/nodes", LOCATION + "/nodes/(?P<id>[^/:]+)"
        self.on("POST", all, "nodes.create", "Operation", self.create, "Node")
        self.on("GET", all, "nodes.list", "ListNodesResponse", self.list)
        self.on("GET", one, "nodes.get", "Node", self.get)
        self.on("DELETE", one, "nodes.delete", "Operation", self.delete)
        self.on("PATCH", one, "nodes.update", "Operation", self.patch, "Node")
        self.on("POST", one + ":stop", "nodes.stop", "Operation", self.stop, "StopNodeRequest")
        self.on("POST", one + ":start", "nodes.start", "Operation", self.start, "StartNodeRequest")
        self.on(
            "POST",
            one + ":getGuestAttributes",
            "nodes.get",
            "GetGuestAttributesResponse",
            self.attributes,
            "GetGuestAttributesRequest",
        )
        alpha = ALPHA + "/nodes/(?P<id>[^/:]+)"
        self.on(
            "POST",
            alpha + ":simulateMaintenanceEvent",
            "nodes.simulateMaintenanceEvent",
            "Operation",
            self.simulate,
            "SimulateMaintenanceEventRequest",
        )
        self.on(
            "POST",
            alpha + ":performMaintenance",
            "nodes.performMaintenance",
            "Operation",
            self.perform,
            "PerformMaintenanceRequest",
        )

    def create(self, request: Request) -> Record:
        place = self.place(request)
        id = check_id("node_id", request.one("nodeId"))
        name = f"{place.parent}/nodes/{id}"
        return self.once(request, name, lambda: self._create(request, place, id, name))

    def _create(self, request: Request, place: Place, id: str, name: str) -> str:
        body = request.json()
        if self._cloud.db.get(NODE, name) is not None:
            raise exists(name)
        scheduling = body.get("schedulingConfig", {})
        spot = scheduling.get("spot") or scheduling.get("preemptible") or scheduling.get("provisioningModel") == "SPOT"
        tier = (loans.spare() if spot else loans.reserved() if scheduling.get("reserved") else loans.usual()).word
        wanted = check_node(self._cloud, place, request.principal, id, body)
        check_tier(place, wanted.part, tier)
        if denied := admit(self._cloud, place, [wanted], tier, self._requests):
            raise GoogleError(403, "PERMISSION_DENIED", denied)
        return self._requests.make_node(place, wanted, tier, request.match["version"])

    def list(self, request: Request) -> Record:
        return self.listed(request, NODE, "nodes", show.node)

    def get(self, request: Request) -> Record:
        self.place(request)
        name = self.name(request, "nodes")
        if request.principal.kind != "user" and self._cloud.doubts.way("node-created"):
            raise GoogleError(403, "PERMISSION_DENIED", f"Permission 'tpu.nodes.get' denied on '{name}'.")
        shown = show.node(self._cloud.clock, name, self.got(request, NODE, name))
        if self._cloud.faults.take("unknown-enum", kind="nodes") is not None:
            shown["state"] = "DEFROSTING"
        return shown

    def delete(self, request: Request) -> Record:
        self.place(request)
        name = self.name(request, "nodes")
        if self._cloud.faults.take("delete-fails", kind="nodes") is not None:
            raise GoogleError(503, "UNAVAILABLE", "Internal error. Please try again")
        version = request.match["version"]
        self.got(request, NODE, name)
        return self.once(request, name, lambda: self._requests.delete_node(name, version))

    def patch(self, request: Request) -> Record:
        """Only what the mask names; the rest of the body is ignored, as gcloud sends the node back whole."""
        self.place(request)
        body, change = request.json(), {}
        mask = [part for part in request.one("updateMask").split(",") if part]
        for part in mask:
            key = _PATCHED.get(part)
            if key is None:
                raise bad(f'The field "{part}" cannot be updated.')
            change[key] = body.get(key, "" if key == "description" else [] if key in ("tags", "dataDisks") else {})
        if not mask:
            raise bad("The update mask must name at least one field.")
        name = self.name(request, "nodes")
        return self.once(request, name, lambda: self._requests.patch(name, change, request.match["version"]))

    def stop(self, request: Request) -> Record:
        return self._switch(request, "stop")

    def start(self, request: Request) -> Record:
        return self._switch(request, "start")

    def perform(self, request: Request) -> Record:
        return self._switch(request, "performMaintenance")

    def _switch(self, request: Request, verb: str) -> Record:
        self.place(request)
        name = self.name(request, "nodes")
        request.json()
        with self._cloud.db.transaction():
            return self.operation(self._requests.switch(name, verb, request.match["version"]))

    def simulate(self, request: Request) -> Record:
        name = self.name(request, "nodes")
        return self.operation(self._requests.maintenance(name, request.match["version"]))

    def attributes(self, request: Request) -> Record:
        """None were ever written: nothing in a practice machine writes them."""
        self._requests.get(NODE, self.name(request, "nodes"))
        asked = request.json()
        workers = asked.get("workerIds") or ["0"]
        return {
            "guestAttributes": [{"queryPath": asked.get("queryPath", ""), "queryValue": {"items": []}} for _ in workers]
        }


def admit(cloud: Cloud, place: Place, wanted: list[Wanted], tier: str, requests: Requests) -> str:
    """What it may ask for at all, then quota, then room: three kinds of no. Raises GoogleError.

    Returns: Words with which the operation is to fail; "": none.
    """
    if cloud.faults.take("create-rate", zone=place.zone) is not None:
        raise GoogleError(
            429,
            "RESOURCE_EXHAUSTED",
            "Quota exceeded for quota metric 'Create node requests' and limit 'Maximum number of CreateNode requests "
            "per minute' of service 'tpu.googleapis.com'.",
            [error_info("RATE_LIMIT_EXCEEDED", service="tpu.googleapis.com", quota_limit="qps/create")],
        )
    if denied := entitlements.check(cloud, place.zone, wanted[0].part, tier):
        return denied
    check_quota(cloud, place, [one.part for one in wanted], tier, requests.held(place.project))
    if cloud.doubts.way("address-limit-way") == "at-once" and requests.lacks_addresses(place, wanted):
        raise GoogleError(429, "RESOURCE_EXHAUSTED", f"{addresses.WORDS} {eid()}")
    about = {"zone": place.zone, "accelerator": wanted[0].part.accelerator_type, "tier": tier}
    if cloud.faults.take("stockout-at-submit", **about) is not None:
        nameless = cloud.doubts.way("nameless-429")
        raise GoogleError(429, "RESOURCE_EXHAUSTED", NAMELESS if nameless else stockout_text(place.zone))
    return ""
