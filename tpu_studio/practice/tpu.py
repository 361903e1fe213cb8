"""The Cloud TPU API: v2 and v2alpha1, and the lists of v1 that gcloud still asks for. What a TPU does: `tpu_life`."""

from __future__ import annotations

from typing import Any

from tpu_studio.practice import addresses, entitlements, tpu_offer
from tpu_studio.practice import tpu_show as show
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.discovery import with_numbers
from tpu_studio.practice.errors import GoogleError, error_info, not_found
from tpu_studio.practice.operations import Operations
from tpu_studio.practice.partial import part_of
from tpu_studio.practice.routing import Handler, Reply, Request, Router
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
    check_zone,
    eid,
    exists,
    stockout_text,
    tier_of,
    window,
)
from tpu_studio.practice.tpu_life import Life
from tpu_studio.practice.tpu_show import NODE, QR
from tpu_studio.wire import loans

SERVICE = "tpu.googleapis.com"
_V = r"/(?P<version>v2|v2alpha1)"
_L = _V + r"/projects/(?P<project>[^/]+)/locations/(?P<zone>[^/:]+)"
_ALPHA = _L.replace("v2|v2alpha1", "v2alpha1")
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
    _Lists(router, cloud, life, operations)
    _QueuedResources(router, cloud, life, operations)
    _Nodes(router, cloud, life, operations)


class _Part:
    """Routes with what they share."""

    def __init__(self, router: Router, cloud: Cloud, life: Life, operations: Operations) -> None:
        self._router, self._cloud, self._life, self._operations = router, cloud, life, operations
        self.install()

    def install(self) -> None:
        raise NotImplementedError

    def on(self, method: str, pattern: str, permission: str, answer: str, handler: Handler, schema: str = "") -> None:
        """*answer*: the reply's schema; fields that this version lacks are left out, enums are numbered if asked."""

        def shaped(request: Request) -> Reply | Record:
            self._life.advance()
            body = handler(request)
            assert isinstance(body, dict)
            version = request.match.get("version", "v2")
            document = f"tpu.{version}"
            body = part_of(self._cloud, request, show.known_only(body, answer, document), answer, document)
            if "enum-encoding=int" in request.one("$alt"):
                body = with_numbers(body, answer, document)
            return body

        if permission:
            permission = f"tpu.{permission}"
        full = f"tpu.{{version}}:{schema}" if schema else ""
        self._router.route(method, pattern, schema=full, permission=permission, service=SERVICE)(shaped)

    def place(self, request: Request) -> Place:
        place = Place(request.match["project"], request.match["zone"])
        check_zone(self._cloud, place)
        return place

    def name(self, request: Request, collection: str) -> str:
        return (
            f"projects/{request.match['project']}/locations/{request.match['zone']}/{collection}/{request.match['id']}"
        )

    def operation(self, name: str) -> Record:
        return self._operations.show(name)

    def got(self, request: Request, kind: str, name: str) -> Record:
        """Raises GoogleError 404."""
        record = self._life.get(kind, name)
        if not self._shown(request, record):
            raise not_found(name)
        return record

    def _shown(self, request: Request, record: Record) -> bool:
        """Whether this version of the API knows what was asked for through the other one."""
        if record["version"] == "v2" or not self._cloud.doubts.way("flex-list-v2"):
            return True
        return request.match["version"] == "v2alpha1"

    def once(self, request: Request, target: str, act: Any) -> Record:
        """The same request id with the same call is the same operation; with another target it is refused."""
        id = request.one("requestId")
        key = f"{request.match['project']}/{id}"
        with self._cloud.db.transaction():
            known = self._cloud.db.get("tpu-request", key) if id else None
            if known is not None:
                same = known["call"] == f"{request.method} {target}"
                if same and request.method == "POST" and self._cloud.doubts.way("request-id-repeated"):
                    raise exists(target)
                if same:
                    return self.operation(known["operation"])
                raise bad(f"The request id {id} was used for another request.")
            name = act()
            if id:
                self._cloud.db.put("tpu-request", key, {"call": f"{request.method} {target}", "operation": name})
        return self.operation(name)

    def listed(self, request: Request, kind: str, key: str, shape: Any) -> Record:
        """One zone, or all with ``-``."""
        project, zone = request.match["project"], request.match["zone"]
        if zone != "-":
            check_zone(self._cloud, Place(project, zone))
        elif self._cloud.doubts.way("list-all-zones"):
            raise bad("Invalid location: '-'.")
        prefix = f"projects/{project}/locations/" + ("" if zone == "-" else f"{zone}/")
        found = [one for one in self._cloud.db.list(kind, prefix) if self._shown(request, one[1])]
        missing: set[str] = set()
        if zone == "-" and (partial := self._cloud.faults.take("partial-listing", kind=key)) is not None:
            missing = {partial.get("zone") or self._cloud.settings.zone}
        shown = [shape(self._cloud.clock, name, record) for name, record in found if record["zone"] not in missing]
        body = paged(request, key, shown)
        if missing:
            body["unreachable"] = [f"projects/{project}/locations/{one}" for one in sorted(missing)]
        return body


class _Lists(_Part):
    """Locations, types, images, operations."""

    def install(self) -> None:
        old = r"/v1/projects/(?P<project>[^/]+)/locations"
        for base in (_V + r"/projects/(?P<project>[^/]+)/locations", old):
            self.on("GET", base, "locations.list", "ListLocationsResponse", self.locations)
        for base in (_L, old + r"/(?P<zone>[^/:]+)"):
            self.on(
                "GET", base + "/acceleratorTypes", "acceleratortypes.list", "ListAcceleratorTypesResponse", self.types
            )
            self.on(
                "GET", base + "/acceleratorTypes/(?P<id>[^/]+)", "acceleratortypes.get", "AcceleratorType", self.type
            )
        self.on("GET", _L, "locations.get", "Location", self.location)
        self.on("GET", _L + "/runtimeVersions", "runtimeversions.list", "ListRuntimeVersionsResponse", self.images)
        self.on("GET", _L + "/runtimeVersions/(?P<id>[^/]+)", "runtimeversions.get", "RuntimeVersion", self.image)
        self.on(
            "POST",
            _L + ":generateServiceIdentity",
            "nodes.update",
            "GenerateServiceIdentityResponse",
            self.identity,
            "GenerateServiceIdentityRequest",
        )
        self.on("GET", _ALPHA + "/reservations", "nodes.get", "", lambda request: {})
        one = _L + "/operations/(?P<id>[^/:]+)"
        self.on("GET", _L + "/operations", "operations.list", "ListOperationsResponse", self.operations)
        self.on("GET", one, "operations.get", "Operation", self.one_operation)
        self.on("POST", one + ":cancel", "nodes.update", "Empty", self.cancel)
        self.on("DELETE", one, "nodes.update", "Empty", self.delete)

    def locations(self, request: Request) -> Record:
        zones = tpu_offer.zones()
        if self._cloud.doubts.way("tpu-locations"):
            zones = tuple(zone for n, zone in enumerate(zones) if n % 2 or zone == self._cloud.settings.zone)
        found = [tpu_offer.location(request.match["project"], zone) for zone in zones]
        return paged(request, "locations", found)

    def location(self, request: Request) -> Record:
        place = self.place(request)
        return tpu_offer.location(place.project, place.zone)

    def types(self, request: Request) -> Record:
        project, zone = request.match["project"], request.match["zone"]
        found = []
        for one in tpu_offer.zones() if zone == "-" else [self.place(request).zone]:
            found += [self._type(f"projects/{project}/locations/{one}", part) for part in tpu_offer.slices(one)]
        return paged(request, "acceleratorTypes", found)

    def type(self, request: Request) -> Record:
        place = self.place(request)
        for part in tpu_offer.slices(place.zone):
            if part.accelerator_type == request.match["id"]:
                return self._type(place.parent, part)
        raise not_found(f"{place.parent}/acceleratorTypes/{request.match['id']}")

    def _type(self, parent: str, part: Any) -> Record:
        return {
            "name": f"{parent}/acceleratorTypes/{part.accelerator_type}",
            "type": part.accelerator_type,
            "acceleratorConfigs": [tpu_offer.config(part)],
        }

    def images(self, request: Request) -> Record:
        place = self.place(request)
        absent = self._cloud.doubts.way("runtime-versions")
        offered = ["v2-alpha-tpu-later"] if absent else tpu_offer.images(place.zone)
        found = [self._image(place, image) for image in offered]
        return paged(request, "runtimeVersions", found)

    def image(self, request: Request) -> Record:
        place, image = self.place(request), request.match["id"]
        if not tpu_offer.has_image(place.zone, image):
            raise not_found(f"{place.parent}/runtimeVersions/{image}")
        return self._image(place, image)

    def _image(self, place: Place, image: str) -> Record:
        return {"name": f"{place.parent}/runtimeVersions/{image}", "version": image}

    def identity(self, request: Request) -> Record:
        place = self.place(request)
        number = (self._cloud.db.get("project", place.project) or {})["number"]
        return {"identity": {"email": f"service-{number}@cloud-tpu.iam.gserviceaccount.com"}}

    def operations(self, request: Request) -> Record:
        zone = request.match["zone"]
        prefix = f"projects/{request.match['project']}/locations/" + ("" if zone == "-" else f"{zone}/")
        way = self._cloud.doubts.way("operations-list")
        if way == "refused":
            raise GoogleError(403, "PERMISSION_DENIED", "Permission 'tpu.operations.list' denied.")
        found = [one for one in self._operations.list(prefix) if not (way and one["done"])]
        return paged(request, "operations", found)

    def one_operation(self, request: Request) -> Record:
        return self.operation(self.name(request, "operations"))

    def cancel(self, request: Request) -> Record:
        self._operations.cancel(self.name(request, "operations"))
        return {}

    def delete(self, request: Request) -> Record:
        self._operations.delete(self.name(request, "operations"))
        return {}


class _QueuedResources(_Part):
    def install(self) -> None:
        all, one = _L + "/queuedResources", _L + "/queuedResources/(?P<id>[^/:]+)"
        self.on("POST", all, "nodes.create", "Operation", self.create, "QueuedResource")
        self.on("GET", all, "nodes.list", "ListQueuedResourcesResponse", self.list)
        self.on("GET", one, "nodes.get", "QueuedResource", self.get)
        self.on("DELETE", one, "", "Operation", self.delete)  # the doubt absent-name-permission
        self.on("POST", one + ":reset", "nodes.reset", "Operation", self.reset, "ResetQueuedResourceRequest")
        alpha = _ALPHA + "/queuedResources/(?P<id>[^/:]+)"
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
        denied = admit(cloud, place, wanted, tier, self._life)
        if "tpu" in body:
            for spec, one in zip(body["tpu"]["nodeSpec"], wanted, strict=False):
                spec["node"] = one.body
        return self._life.request(place, id, body, wanted, tier, bounds, request.match["version"], denied)

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
        return self.once(request, name, lambda: self._life.delete_request(name, force, version))

    def reset(self, request: Request) -> Record:
        self.place(request)
        name = self.name(request, "queuedResources")
        request.json()
        return self.once(request, name, lambda: self._life.reset(name, request.match["version"]))

    def maintenance(self, request: Request) -> Record:
        record = self._life.get(QR, self.name(request, "queuedResources"))
        nodes = [self._cloud.db.get(NODE, node) or {} for node in record["nodes"]]
        return {
            "nodeUpcomingMaintenances": [
                {"nodeUpcomingMaintenance": n["maintenance"]} for n in nodes if n.get("maintenance")
            ]
        }

    def perform(self, request: Request) -> Record:
        record = self._life.get(QR, self.name(request, "queuedResources"))
        if not record["nodes"]:
            raise bad("The queued resource has no nodes.")
        return self.operation(self._life.switch(record["nodes"][0], "performMaintenance", "v2alpha1"))


class _Nodes(_Part):
    def install(self) -> None:
        all, one = _L + "/nodes", _L + "/nodes/(?P<id>[^/:]+)"
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
        alpha = _ALPHA + "/nodes/(?P<id>[^/:]+)"
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
        if denied := admit(self._cloud, place, [wanted], tier, self._life):
            raise GoogleError(403, "PERMISSION_DENIED", denied)
        return self._life.make_node(place, wanted, tier, request.match["version"])

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
        return self.once(request, name, lambda: self._life.delete_node(name, version))

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
        return self.once(request, name, lambda: self._life.patch(name, change, request.match["version"]))

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
            return self.operation(self._life.switch(name, verb, request.match["version"]))

    def simulate(self, request: Request) -> Record:
        name = self.name(request, "nodes")
        return self.operation(self._life.maintenance(name, request.match["version"]))

    def attributes(self, request: Request) -> Record:
        """None were ever written: nothing in a practice machine writes them."""
        self._life.get(NODE, self.name(request, "nodes"))
        asked = request.json()
        workers = asked.get("workerIds") or ["0"]
        return {
            "guestAttributes": [{"queryPath": asked.get("queryPath", ""), "queryValue": {"items": []}} for _ in workers]
        }


def admit(cloud: Cloud, place: Place, wanted: list[Wanted], tier: str, life: Life) -> str:
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
    check_quota(cloud, place, [one.part for one in wanted], tier, life.held(place.project))
    if cloud.doubts.way("address-limit-way") == "at-once" and life.lacks_addresses(place, wanted):
        raise GoogleError(429, "RESOURCE_EXHAUSTED", f"{addresses.WORDS} {eid()}")
    about = {"zone": place.zone, "accelerator": wanted[0].part.accelerator_type, "tier": tier}
    if cloud.faults.take("stockout-at-submit", **about) is not None:
        nameless = cloud.doubts.way("nameless-429")
        raise GoogleError(429, "RESOURCE_EXHAUSTED", NAMELESS if nameless else stockout_text(place.zone))
    return ""


def paged(request: Request, key: str, found: list[Record]) -> Record:
    """A page of *found*; the token is the place in the list."""
    size = request.number("pageSize", 0) or 500
    token = request.one("pageToken")
    if size < 0 or (token and not token.isdigit()):
        raise GoogleError(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
    start = int(token or 0)
    body: Record = {key: found[start : start + size]} if found[start : start + size] else {}
    if start + size < len(found):
        body["nextPageToken"] = str(start + size)
    return body
