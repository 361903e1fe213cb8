"""Compute Engine v1 as far as TPU Studio uses it: instances with TPUs, zone operations, machine types.

Paths and bodies: discovery compute.v1; what an insert is asked: `compute_checks`; what happens then: `compute_life`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time

from tpu_studio.practice import compute_checks as checks
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.compute_checks import KIND
from tpu_studio.practice.compute_life import Instances
from tpu_studio.practice.compute_operations import HOME, ComputeOperations
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.partial import part_of
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.server import about
from tpu_studio.practice.state import Record

_API = "compute.googleapis.com"
_PROJECT = r"/compute/v1/projects/(?P<project>[^/]+)"
_ZONE = rf"{_PROJECT}/zones/(?P<zone>[^/]+)"
_INSTANCE = rf"{_ZONE}/instances/(?P<instance>[^/]+)"
_SERIAL_BYTES = 1 << 20
_WAIT_S = 20.0  # real seconds at most in one `wait`; callers ask again
_PAGE = 500
_TERM = re.compile(
    r"\(?\s*(?P<field>[\w.-]+)\s*(?P<op>!=|=|:|\beq\b|\bne\b)\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s()]+)\s*\)?"
)


def install(router: Router, cloud: Cloud) -> None:
    operations = ComputeOperations(cloud)
    instances = Instances(cloud, operations)
    cloud.every(0.25, instances.turn)
    cloud.busy.append(lambda: bool(cloud.db.list(KIND, limit=1)))

    def record_of(request: Request) -> tuple[str, Record]:
        match = request.match
        short = f"zones/{match['zone']}/instances/{match['instance']}"
        name = f"projects/{match['project']}/{short}"
        found = cloud.db.get(KIND, name)
        if found is None:
            raise checks.not_found(match["project"], short)
        return name, found

    def operation(full: str) -> Record:
        shown = operations.show(full)
        assert shown is not None
        return shown

    def found_operation(request: Request) -> Record:
        match = request.match
        short = f"zones/{match['zone']}/operations/{match['operation']}"
        shown = operations.show(f"projects/{match['project']}/{short}")
        if shown is None:
            raise checks.not_found(match["project"], short)
        return shown

    def begun_before(request: Request) -> Record | None:
        full = operations.of_request(request.match["project"], request.match["zone"], request.one("requestId"))
        return None if full is None else operation(full)

    @router.route(
        "POST", rf"{_ZONE}/instances", schema="compute.v1:Instance", service=_API, permission="compute.instances.create"
    )
    def insert(request: Request) -> Record:
        project, zone = request.match["project"], request.match["zone"]
        body = request.json()
        if (before := begun_before(request)) is not None:
            return before
        checks.check_zone(cloud, project, zone)
        if cloud.faults.take("create-rate", zone=zone) is not None:
            text = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service 'compute'."
            raise GoogleError(403, "PERMISSION_DENIED", text, reason="rateLimitExceeded")
        wanted = checks.check_insert(cloud, project, zone, request.principal, body)
        name = f"projects/{project}/zones/{zone}/instances/{wanted.name}"
        with cloud.db.transaction():
            if cloud.db.get(KIND, name) is not None:
                raise GoogleError(
                    409, "ALREADY_EXISTS", f"The resource '{name}' already exists", reason="alreadyExists"
                )
            who = request.principal.email
            return operation(instances.insert(project, zone, wanted, body, who, request.one("requestId")))

    @router.route("GET", rf"{_ZONE}/instances", service=_API, permission="compute.instances.list")
    def listed(request: Request) -> Record:
        project, zone = request.match["project"], request.match["zone"]
        shown = [_shown(cloud, record) for _, record in cloud.db.list(KIND, f"projects/{project}/zones/{zone}/")]
        reply = {"kind": "compute#instanceList", "id": f"projects/{project}/zones/{zone}/instances"}
        items, token = _page(request, _filtered(request.one("filter"), shown))
        return reply | ({"items": items} if items else {}) | token

    @router.route("GET", rf"{_PROJECT}/aggregated/instances", service=_API, permission="compute.instances.list")
    def aggregated(request: Request) -> Record:
        project = request.match["project"]
        shown = [_shown(cloud, record) for _, record in cloud.db.list(KIND, f"projects/{project}/")]
        found, token = _page(request, _filtered(request.one("filter"), shown))
        missing = cloud.faults.take("partial-listing", backend="compute") is not None
        reply = _scopes("instances", found, checks.zones()[:1] if missing else [])
        return (
            {"kind": "compute#instanceAggregatedList", "id": f"projects/{project}/aggregated/instances"} | reply | token
        )

    @router.route("GET", _INSTANCE, service=_API, permission="compute.instances.get")
    def get(request: Request) -> Record:
        return part_of(cloud, request, _shown(cloud, record_of(request)[1]), "Instance", "compute.v1")

    @router.route("DELETE", _INSTANCE, service=_API, permission="compute.instances.delete")
    def delete(request: Request) -> Record:
        if (before := begun_before(request)) is not None:
            return before
        name, record = record_of(request)
        if cloud.faults.take("delete-fails", zone=record["zone"], backend="compute") is not None:
            raise GoogleError(503, "UNAVAILABLE", "Internal error. Please try again", reason="backendError")
        return operation(instances.ask(name, "delete", request.principal.email, request.one("requestId")))

    for kind in ("stop", "start", "reset"):

        @router.route("POST", rf"{_INSTANCE}/{kind}", service=_API, permission=f"compute.instances.{kind}")
        def change(request: Request, kind: str = kind) -> Record:
            if (before := begun_before(request)) is not None:
                return before
            name, _ = record_of(request)
            return operation(instances.ask(name, kind, request.principal.email, request.one("requestId")))

    @router.route(
        "POST",
        rf"{_INSTANCE}/setLabels",
        schema="compute.v1:InstancesSetLabelsRequest",
        service=_API,
        permission="compute.instances.setLabels",
    )
    def set_labels(request: Request) -> Record:
        body = request.json()
        with cloud.db.transaction():
            name, record = record_of(request)
            if body.get("labelFingerprint") != _fingerprint(record["body"].get("labels", {})):
                text = "Labels fingerprint either invalid or resource labels have changed"
                raise GoogleError(412, "FAILED_PRECONDITION", text, reason="conditionNotMet")
            cloud.db.put(KIND, name, {**record, "body": {**record["body"], "labels": body.get("labels", {})}})
        done = {"done_at": cloud.clock.now()}
        who = request.principal.email
        return operation(
            operations.begin(record["project"], record["zone"], "setLabels", record["name"], record["id"], who, **done)
        )

    @router.route("GET", rf"{_INSTANCE}/serialPort", service=_API, permission="compute.instances.getSerialPortOutput")
    def serial_port(request: Request) -> Record:
        """A ring of 1 MiB: ``start`` and ``next`` count all bytes since the first boot."""
        name, _ = record_of(request)
        port, start = request.number("port", 1), request.number("start", 0)
        if not 1 <= port <= 4:
            raise checks.invalid("port", port, "Must be from 1 to 4.")
        written = cloud.vms.console(name) if cloud.vms is not None and port == 1 else b""
        first = max(0, len(written) - _SERIAL_BYTES)
        start = max(first, len(written) + start if start < 0 else min(start, len(written)))
        return {
            "kind": "compute#serialPortOutput",
            "contents": written[start:].decode("utf-8", "replace"),
            "start": str(start),
            "next": str(len(written)),
            "selfLink": f"{HOME}/{name}/serialPort",
        }

    @router.route(
        "POST",
        rf"{_INSTANCE}/testIamPermissions",
        service=_API,
        permission="compute.instances.list",
        schema="compute.v1:TestPermissionsRequest",
    )
    def test_permissions(request: Request) -> Record:
        record_of(request)
        if cloud.doubts.way("compute-proof"):
            on = f"projects/{request.match['project']}/zones/{request.match['zone']}/instances"
            text = f"Required 'compute.instances.getIamPolicy' permission for '{on}/{request.match['instance']}'"
            raise GoogleError(403, "PERMISSION_DENIED", text, reason="forbidden")
        on = f"projects/{request.match['project']}"
        if request.principal.kind != "user" and cloud.doubts.way("compute-proof"):
            text = "Required 'compute.instances.testIamPermissions' permission for the instance"
            raise GoogleError(403, "PERMISSION_DENIED", text, reason="forbidden")
        asked = request.json().get("permissions", [])
        seen = about(cloud, request)
        granted = [one for one in asked if cloud.principals.may(request.principal, one, on, about=seen)]
        return {"permissions": granted} if granted else {}

    @router.route(
        "GET", rf"{_ZONE}/operations/(?P<operation>[^/]+)", service=_API, permission="compute.zoneOperations.get"
    )
    def get_operation(request: Request) -> Record:
        return found_operation(request)

    @router.route(
        "POST", rf"{_ZONE}/operations/(?P<operation>[^/]+)/wait", service=_API, permission="compute.zoneOperations.get"
    )
    def wait(request: Request) -> Record:
        give_up = time.monotonic() + _WAIT_S
        while (shown := found_operation(request))["status"] != "DONE" and time.monotonic() < give_up:
            time.sleep(0.05)
        return shown

    @router.route("GET", rf"{_ZONE}/operations", service=_API, permission="compute.zoneOperations.list")
    def list_operations(request: Request) -> Record:
        project, zone = request.match["project"], request.match["zone"]
        shown = operations.list(f"projects/{project}/zones/{zone}/")
        items, token = _page(request, _filtered(request.one("filter"), shown))
        return {"kind": "compute#operationList"} | ({"items": items} if items else {}) | token

    @router.route("GET", rf"{_ZONE}/machineTypes", service=_API, permission="compute.machineTypes.list")
    def machine_types(request: Request) -> Record:
        project, zone = request.match["project"], request.match["zone"]
        checks.check_zone(cloud, project, zone)
        shown = _named([_machine_type(project, offer) for offer in checks.offers(zone)], cloud)
        items, token = _page(request, _filtered(request.one("filter"), shown))
        return {"kind": "compute#machineTypeList"} | ({"items": items} if items else {}) | token

    @router.route("GET", rf"{_PROJECT}/aggregated/machineTypes", service=_API, permission="compute.machineTypes.list")
    def all_machine_types(request: Request) -> Record:
        shown = _named([_machine_type(request.match["project"], offer) for offer in checks.offers()], cloud)
        found, token = _page(request, _filtered(request.one("filter"), shown))
        return {"kind": "compute#machineTypeAggregatedList"} | _scopes("machineTypes", found, []) | token

    @router.route("GET", rf"{_ZONE}/machineTypes/(?P<type>[^/]+)", service=_API, permission="compute.machineTypes.get")
    def machine_type(request: Request) -> Record:
        project, zone, name = (request.match[key] for key in ("project", "zone", "type"))
        for offer in checks.offers(zone):
            if offer.name == name:
                return _machine_type(project, offer)
        raise checks.not_found(project, f"zones/{zone}/machineTypes/{name}")


def _shown(cloud: Cloud, record: Record) -> Record:
    """An Instance as Google tells of it."""
    clock, body = cloud.clock, record["body"]
    zone = f"{HOME}/projects/{record['project']}/zones/{record['zone']}"
    number = int(record["id"]) % 60_000
    shown: Record = {
        **body,
        "kind": "compute#instance",
        "id": record["id"],
        "zone": zone,
        "status": record["status"],
        "selfLink": f"{zone}/instances/{record['name']}",
        "creationTimestamp": clock.rfc3339(record["created"]),
        "machineType": f"{zone}/machineTypes/{body['machineType'].rpartition('/')[2]}",
        "cpuPlatform": "Practice",
        "labelFingerprint": _fingerprint(body.get("labels", {})),
        "startRestricted": False,
        "deletionProtection": False,
        "fingerprint": _fingerprint({"id": record["id"]}),
    }
    if "metadata" in body:
        shown["metadata"] = {
            "kind": "compute#metadata",
            "fingerprint": _fingerprint(body["metadata"]),
            **body["metadata"],
        }
    shown["networkInterfaces"] = [_card(number, at, card) for at, card in enumerate(body["networkInterfaces"])]
    shown["disks"] = [_disk(record, zone, at, disk) for at, disk in enumerate(body["disks"])]
    if record.get("started"):
        shown["lastStartTimestamp"] = clock.rfc3339(record["started"])
    if record.get("stopped"):
        shown["lastStopTimestamp"] = clock.rfc3339(record["stopped"])
    if record.get("ends_at"):
        shown["resourceStatus"] = {"scheduling": {"terminationTimestamp": clock.rfc3339(record["ends_at"])}}
    return shown


def _card(number: int, at: int, card: Record) -> Record:
    access = [{"kind": "compute#accessConfig", "natIP": "127.0.0.1", **one} for one in card.get("accessConfigs", [])]
    return {
        "kind": "compute#networkInterface",
        "name": f"nic{at}",
        "networkIP": f"10.128.{number // 250}.{number % 250 + 2}",
        **card,
        "accessConfigs": access,
    }


def _disk(record: Record, zone: str, at: int, disk: Record) -> Record:
    told = {key: value for key, value in disk.items() if key != "initializeParams"}
    size = (disk.get("initializeParams") or {}).get("diskSizeGb", "10")
    return {
        "kind": "compute#attachedDisk",
        "type": "PERSISTENT",
        "mode": "READ_WRITE",
        "index": at,
        "diskSizeGb": size,
        "deviceName": f"persistent-disk-{at}",
        "source": f"{zone}/disks/{record['name']}",
        **told,
    }


def _named(types: list[Record], cloud: Cloud) -> list[Record]:
    """As the lists name them, or otherwise."""
    if not cloud.doubts.way("machine-type-names"):
        return types
    return [{**one, "name": "tpu-" + one["name"].rpartition("t")[0] + "-chips"} for one in types]


def _machine_type(project: str, offer: checks.Offer) -> Record:
    zone = offer.zone.zone
    return {
        "kind": "compute#machineType",
        "id": str(int(hashlib.sha256(offer.name.encode()).hexdigest()[:12], 16)),
        "name": offer.name,
        "description": f"{offer.machine.vcpu} vCPUs, {offer.machine.ram_gb:g} GB RAM",
        "guestCpus": offer.machine.vcpu,
        "memoryMb": int(offer.machine.ram_gb * 1024),
        "zone": zone,
        "maximumPersistentDisks": 128,
        "maximumPersistentDisksSizeGb": "524288",
        "accelerators": [
            {"guestAcceleratorType": offer.name.partition("-")[0], "guestAcceleratorCount": offer.machine.chips}
        ],
        "selfLink": f"{HOME}/projects/{project}/zones/{zone}/machineTypes/{offer.name}",
    }


def _scopes(key: str, found: list[Record], missing: list[str]) -> Record:
    """The ``items`` of an aggregated list: every zone, those with nothing say so."""
    items: Record = {}
    for zone in checks.zones():
        here = [one for one in found if one["zone"].rpartition("/")[2] == zone]
        scope = f"zones/{zone}"
        if zone in missing:
            data = [{"key": "scope", "value": scope}]
            items[scope] = {"warning": {"code": "UNREACHABLE", "message": f"'{scope}' did not answer.", "data": data}}
        elif here:
            items[scope] = {key: here}
        else:
            text = f"There are no results for scope '{scope}' on this page."
            data = [{"key": "scope", "value": scope}]
            items[scope] = {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": text, "data": data}}
    return {"items": items} | ({"unreachables": [f"zones/{zone}" for zone in missing]} if missing else {})


def _page(request: Request, items: list[Record]) -> tuple[list[Record], Record]:
    size = min(request.number("maxResults", _PAGE), _PAGE) or _PAGE
    token = request.one("pageToken") or "0"
    if not token.isdigit() or size < 0:
        raise checks.invalid("pageToken", token, "Invalid page token.")
    start = int(token)
    more = {"nextPageToken": str(start + size)} if start + size < len(items) else {}
    return items[start : start + size], more


def _filtered(text: str, items: list[Record]) -> list[Record]:
    """``labels.a=b AND name:ts-*`` and the like. Raises GoogleError for what this cannot read: never too much."""
    terms = []
    for part in re.split(r"\s+AND\s+|(?<=\))\s*(?=\()", text.strip()) if text.strip() else []:
        found = _TERM.fullmatch(part.strip())
        if found is None:
            raise checks.invalid("filter", text, "Invalid list filter expression.")
        terms.append((found["field"], found["op"], found["value"].strip("\"'")))
    return [item for item in items if all(_fits(item, *term) for term in terms)]


def _fits(item: Record, field: str, op: str, value: str) -> bool:
    found: object = item
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if op == ":" and value == "*":
        return found is not None
    if op == ":":
        return found is not None and re.fullmatch(re.escape(value).replace(r"\*", ".*"), str(found)) is not None
    same = found is not None and str(found) == value
    return not same if op in ("!=", "ne") else same


def _fingerprint(value: Record) -> str:
    return base64.b64encode(hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()[:8]).decode()
