"""Machines of Compute Engine: TPU VMs as instances (v5p, v6e, TPU7x). Implements `ports.Machines`.

Here the platform itself ends a machine: ``maxRunDuration`` with the action DELETE, whatever becomes of us. The name and
the request id make an insert repeatable; its operation tells of a stock-out or a quota.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from tpu_studio.cloud import errors
from tpu_studio.cloud.session import PATIENT, SCOPES, Api, Patience, segment
from tpu_studio.domain.catalogue import COMPUTE_FLEX_WAIT_S, Catalogue, catalogue
from tpu_studio.wire import loans
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.cloudruns.ports import Deletion, MachineSeen, Ref, Wanted
from tpu_studio.workflow.livecheck.ways import USUAL, Ways

DISK_GB, DISK_TYPE = 200, "hyperdisk-balanced"  # v6e takes no persistent disk
DISK_IOPS, DISK_MB_S = 3000, 140
"""What the price of a Hyperdisk Balanced includes; left away, Google would choose, and charge what is more."""
_FIELDS = "name,status,creationTimestamp,lastStartTimestamp,labels,scheduling/provisioningModel"
_WAITING = ("PENDING",)  # a flex-start that waits: it has a creationTimestamp, and is neither there nor charged
_COMING = ("PROVISIONING", "STAGING", "REPAIRING")
_LEAVING = ("PENDING_STOP", "STOPPING", "SUSPENDING", "DEPROVISIONING")
_DEAD = ("TERMINATED", "STOPPED", "SUSPENDED")


class ComputeMachines:
    """Args:
    http: What `session.session` made.
    endpoint: Base URL of Compute Engine.
    ways: What a live check has seen.
    """

    def __init__(
        self,
        http: object,
        endpoint: str,
        project: str,
        *,
        patience: Patience = PATIENT,
        known: Catalogue | None = None,
        ways: Ways = USUAL,
    ) -> None:
        self._api = Api(endpoint, http, patience=patience)
        self._project, self._known = project, known or catalogue()
        self._operations: dict[Ref, str] = {}
        self._whole = ways.whole  # a part of an instance cannot be asked for
        self._lock = threading.Lock()

    def check(self, wanted: Wanted) -> None:
        """Single machines only, which Compute Engine refuses at once where something is used up."""

    def create(self, wanted: Wanted) -> None:
        """See `ports.Machines`. Sent once: the caller looks by name when the answer is unclear."""
        about: dict[str, Any] = {"zone": wanted.ref.zone, "accelerator": wanted.accelerator, "name": wanted.ref.name}
        body = insert_body(wanted, self._known)
        operation = self._api.post(
            f"{self._zone(wanted.ref)}/instances", body, {"requestId": wanted.request_id}, **about
        )
        if operation.get("error"):
            raise errors.of_operation(operation["error"], **about)
        with self._lock:
            self._operations[wanted.ref] = str(operation.get("name", ""))

    def look(self, ref: Ref) -> MachineSeen | None:
        instance = self._instance(ref)
        if instance is not None:
            return seen(ref, instance)
        with self._lock:
            name = self._operations.get(ref)
        if not name:
            return None
        try:
            operation = self._api.get(f"{self._zone(ref)}/operations/{segment(name)}", zone=ref.zone)
        except CloudRefused:
            return None
        if operation.get("error"):
            error = errors.of_operation(operation["error"], zone=ref.zone, name=ref.name)
            return MachineSeen(ref, "failed", raw="operation failed", error=(error.id, error.facts))
        if operation.get("status") != "DONE":
            return MachineSeen(ref, "waiting", raw=f"operation {operation.get('status', '')}".strip())
        # Done and no longer there: it was made and has gone meanwhile, or came between the two questions.
        instance = self._instance(ref)
        return None if instance is None else seen(ref, instance)

    def delete(self, ref: Ref) -> None:
        with self._lock:
            self._operations.pop(ref, None)
        try:
            self._api.delete(f"{self._zone(ref)}/instances/{segment(ref.name)}", zone=ref.zone, name=ref.name)
        except CloudRefused as error:
            if error.id == "not-found":
                return
            machine = self.look(ref)
            if machine is not None and machine.state != "leaving":
                raise

    def ended(self, ref: Ref) -> Deletion | None:
        """The last delete operation, else the platform's own of a preemption, which deletes what is lent as spot."""
        for kind in ("delete", "compute.instances.preempted"):
            query = {"maxResults": 500, "filter": f'operationType = "{kind}"'}
            found = [
                Deletion(min(_time(str(one.get("insertTime") or one["endTime"])) or done, done), done)
                for one in self._api.pages(f"{self._zone(ref)}/operations", "items", query, most=20)
                if one.get("operationType") == kind
                and not one.get("error")
                and str(one.get("targetLink", "")).endswith(f"/zones/{ref.zone}/instances/{ref.name}")
                and (done := _time(str(one.get("endTime") or "")))
            ]
            if found:
                return max(found, key=lambda one: one.done)
        return None

    def find(self, labels: Mapping[str, str]) -> Sequence[MachineSeen]:
        found = []
        for zone, instance in instances(self._api, self._project, labels):
            found.append(seen(Ref(str(instance["name"]), zone, "compute"), instance))
        return found

    def _instance(self, ref: Ref) -> dict[str, object] | None:
        """What we read of it; whole, it carries all metadata, the guardian too."""
        path = f"{self._zone(ref)}/instances/{segment(ref.name)}"
        try:
            if not self._whole:
                try:
                    return self._api.get(path, {"fields": _FIELDS}, zone=ref.zone, name=ref.name)
                except CloudRefused as error:
                    if error.id != "bad-request":
                        raise
                    self._whole = True
            return self._api.get(path, zone=ref.zone, name=ref.name)
        except CloudRefused as error:
            if error.id == "not-found":
                return None
            raise

    def _zone(self, ref: Ref) -> str:
        return f"/compute/v1/projects/{segment(self._project)}/zones/{segment(ref.zone)}"


def instances(api: Api, project: str, labels: Mapping[str, str]) -> list[tuple[str, dict[str, object]]]:
    """(zone, instance) of all zones that carry *labels*. Raises CloudUnclear when a zone did not answer."""
    query: dict[str, object] = {"maxResults": 500, "returnPartialSuccess": "false"}
    if labels:
        query["filter"] = " AND ".join(f"labels.{key}={value}" for key, value in labels.items())
    found: list[tuple[str, dict[str, object]]] = []
    for scope, kind in aggregated(api, project, "instances", query):
        # Filtered here as well: what is deleted by label had better carry it.
        if all((kind.get("labels") or {}).get(key) == value for key, value in labels.items()):
            found.append((scope, kind))
    return sorted(found, key=lambda one: (one[0], str(one[1].get("name"))))


def aggregated(
    api: Api, project: str, kind: str, query: Mapping[str, object] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(zone or region, item) of ``aggregated/<kind>``. Raises CloudUnclear, last, when a zone did not answer."""
    missing: set[str] = set()
    asked = dict(query or {"maxResults": 500})
    for _ in range(200):
        page = api.get(f"/compute/v1/projects/{segment(project)}/aggregated/{kind}", asked)
        missing.update(str(one) for one in page.get("unreachables") or ())
        for scope, held in (page.get("items") or {}).items():
            warned = held.get("warning") or {}
            if warned.get("code") not in (None, "NO_RESULTS_ON_PAGE"):
                missing.add(scope)
            yield from ((scope.rpartition("/")[2], one) for one in held.get(kind) or ())
        if not page.get("nextPageToken"):
            break
        asked["pageToken"] = page["nextPageToken"]
    else:
        raise errors.make("unreadable-reply", {"raw": f"more than 200 pages of {kind}"})
    if missing:
        raise errors.make("server-error", {"raw": "some zones did not answer", "unreachable": sorted(missing)})


def insert_body(wanted: Wanted, known: Catalogue) -> dict[str, Any]:
    """The instance to insert. Raises CloudRefused ``type-not-in-zone`` where Compute Engine does not lend it."""
    part = known.slice(wanted.accelerator)
    generation = known.generation(part.generation)
    machine = next((one for one in generation.machines if one.chips * part.vms == part.chips), None)
    if not generation.compute_image or machine is None or part.vms != 1:
        raw = f"Compute Engine lends no {wanted.accelerator} as one machine"
        raise errors.make("type-not-in-zone", {"raw": raw, "zone": wanted.ref.zone, "accelerator": wanted.accelerator})
    zone = f"zones/{wanted.ref.zone}"
    scheduling: dict[str, object] = {
        "provisioningModel": loans.by_id(wanted.tier).model,
        "instanceTerminationAction": "DELETE",
        "onHostMaintenance": "TERMINATE",
        "automaticRestart": False,
    }
    if wanted.run_s is not None:
        scheduling["maxRunDuration"] = {"seconds": str(round(wanted.run_s))}
    elif loans.by_id(wanted.tier).usual:
        del scheduling["instanceTerminationAction"]  # it needs a reason to act
    boot = {
        "sourceImage": generation.compute_image,
        "diskSizeGb": str(DISK_GB),
        "diskType": f"{zone}/diskTypes/{DISK_TYPE}",
        "provisionedIops": str(DISK_IOPS),
        "provisionedThroughput": str(DISK_MB_S),
        "labels": dict(wanted.labels),
    }
    body: dict[str, object] = {
        "name": wanted.ref.name,
        "machineType": f"{zone}/machineTypes/{machine.machine_type}",
        "disks": [{"boot": True, "autoDelete": True, "initializeParams": boot}],
        "networkInterfaces": [
            {
                "network": f"global/networks/{wanted.network}",
                "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}],
            }
        ],
        "serviceAccounts": [{"email": wanted.service_account, "scopes": list(SCOPES)}],
        "scheduling": scheduling,
        "metadata": {"items": [{"key": key, "value": value} for key, value in wanted.metadata.items()]},
        "labels": dict(wanted.labels),
    }
    if loans.by_id(wanted.tier).waits:
        least, most = COMPUTE_FLEX_WAIT_S
        body["params"] = {"requestValidForDuration": {"seconds": str(round(min(most, max(least, wanted.valid_for_s))))}}
    return body


def seen(ref: Ref, instance: Mapping[str, Any]) -> MachineSeen:
    status = str(instance.get("status", ""))
    state = (
        "ready"
        if status == "RUNNING"
        else "waiting"
        if status in _WAITING
        else "provisioning"
        if status in _COMING
        else "leaving"
        if status in _LEAVING
        else "preempted"
        if status in _DEAD
        else "unknown"
    )
    model = str((instance.get("scheduling") or {}).get("provisioningModel", ""))
    created = instance.get("creationTimestamp")
    if model == loans.waiting().model:  # it may have waited for hours since
        created = instance.get("lastStartTimestamp") or created
    # One that still waits, or is taken away while it waits, was never there.
    never = state == "waiting" or (state in ("leaving", "preempted") and not instance.get("lastStartTimestamp"))
    return MachineSeen(
        ref,
        state,
        raw=status,
        created=None if not created or never else _time(str(created)),
        by_service=state == "preempted",
        over=status in _DEAD,
        labels={str(key): str(value) for key, value in (instance.get("labels") or {}).items()},
    )


def _time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
