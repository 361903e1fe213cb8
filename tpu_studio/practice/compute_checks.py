"""What Compute Engine asks of an insert before it begins: machine types, scheduling, disks, accounts, quota.

Reference: google-cloud.md §3, §4.2, §8.2. What is refused at once is an HTTP error; what goes by
quota and capacity becomes the error of the operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import Generation, Machine, Slice, Zone, region_of
from tpu_studio.practice import quota_limits
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, error_info
from tpu_studio.practice.principals import Principal
from tpu_studio.practice.state import Record
from tpu_studio.wire import loans

KIND = "compute-instance"
METADATA_BYTES = 262144
TIERS = {loan.model: loan.word for loan in loans.LOANS}
LONGEST_RUN_S, LONGEST_FLEX_S, SHORTEST_RUN_S = 120 * 86_400, 7 * 86_400, 30
FLEX_WAITS_S = (90, 7200)  # "must be at least 90 and less or equal to 7200 seconds": field report
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_KEY, _LABEL_VALUE = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Offer:
    """A machine type in a zone."""

    generation: Generation
    machine: Machine
    zone: Zone

    @property
    def name(self) -> str:
        return self.machine.machine_type

    @property
    def part(self) -> Slice:
        """The slice that one such machine is."""
        for one in self.generation.slices:
            if one.vms == 1 and one.chips == self.machine.chips:
                return one
        raise LookupError(f"no slice of {self.machine.chips} chips of {self.generation.id} is one machine")


@dataclass(frozen=True)
class Wanted:
    """An insert that may be tried.

    Attributes:
        run_s: Practice seconds after which the platform ends it; 0 = no limit.
        ends_with: ``DELETE`` or ``STOP``: what a preemption or the limit does.
        waits_s: How long it may wait for capacity; 0 = not at all.
    """

    name: str
    offer: Offer
    tier: str
    account: str
    scopes: tuple[str, ...]
    metadata: dict[str, str]
    run_s: float
    ends_with: str
    waits_s: float


def offers(zone: str = "") -> list[Offer]:
    """TPU machine types of a zone, or of all; those are listed too that nobody may use."""
    return [
        Offer(generation, machine, place)
        for generation in catalogue().offered()
        for place in generation.zones
        if zone in ("", place.zone)
        for machine in generation.machines
        if "-hightpu-" in machine.machine_type or "-standard-" in machine.machine_type
        if any(one.vms == 1 and one.chips == machine.chips for one in generation.slices)
    ]


def zones() -> list[str]:
    return sorted({place.zone for generation in catalogue().offered() for place in generation.zones})


def invalid(field: str, value: object, why: str = "") -> GoogleError:
    text = f"Invalid value for field '{field}': '{value}'. {why}".strip()
    return GoogleError(400, "INVALID_ARGUMENT", text, reason="invalid")


def not_found(project: str, resource: str) -> GoogleError:
    return GoogleError(
        404, "NOT_FOUND", f"The resource 'projects/{project}/{resource}' was not found", reason="notFound"
    )


def check_zone(cloud: Cloud, project: str, zone: str) -> None:
    """Raises GoogleError."""
    if zone not in zones():
        raise invalid("zone", zone, "Unknown zone.")
    if cloud.faults.armed("org-policy", zone=zone) is not None:
        message = f"Location ZONE:{zone} violates constraint constraints/gcp.resourceLocations on the resource "
        raise GoogleError(412, "FAILED_PRECONDITION", f"{message}projects/{project}.", reason="conditionNotMet")


def check_insert(cloud: Cloud, project: str, zone: str, who: Principal, body: Record) -> Wanted:
    """Raises GoogleError: nothing was made."""
    name = str(body.get("name", ""))
    if not _NAME.fullmatch(name):
        raise invalid("resource.name", name, "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'")
    offer = _machine_type(cloud, zone, str(body.get("machineType", "")))
    tier, run_s, ends_with = _scheduling(cloud, offer, zone, body.get("scheduling") or {})
    _disks(cloud, offer, body.get("disks") or [])
    if not body.get("networkInterfaces"):
        raise invalid("resource.networkInterfaces", "", "At least one network interface is required.")
    for key, value in (body.get("labels") or {}).items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            raise invalid("resource.labels", f"{key}={value}", "Label keys and values must be lower case and short.")
    account, scopes = _account(cloud, project, who, body.get("serviceAccounts") or [])
    waits = (body.get("params") or {}).get("requestValidForDuration")
    waits_s = seconds(waits) if waits else 0.0
    if waits and not FLEX_WAITS_S[0] <= waits_s <= FLEX_WAITS_S[1]:
        why = f"must be at least {FLEX_WAITS_S[0]} and less or equal to {FLEX_WAITS_S[1]} seconds"
        raise invalid("resource.params.requestValidForDuration", f"{waits_s:.0f}s", why)
    return Wanted(name, offer, tier, account, scopes, metadata(body), run_s, ends_with, waits_s)


def metadata(body: Record) -> dict[str, str]:
    """Items as a map. Raises GoogleError: too large, or a key twice."""
    found: dict[str, str] = {}
    for item in (body.get("metadata") or {}).get("items", []):
        key, value = str(item.get("key", "")), str(item.get("value", ""))
        if key in found:
            raise invalid("resource.metadata", key, "Metadata has duplicate keys.")
        if len(value.encode()) > METADATA_BYTES:
            why = f"Value for metadata entry '{key}' exceeds the maximum of {METADATA_BYTES} characters."
            raise GoogleError(413, "INVALID_ARGUMENT", why, reason="uploadTooLarge")
        found[key] = value
    return found


def seconds(duration: Record) -> float:
    """Of ``{"seconds","nanos"}``."""
    return float(duration.get("seconds", 0)) + float(duration.get("nanos", 0)) / 1e9


def quota_error(cloud: Cloud, zone: str, offer: Offer, tier: str, held: list[Record]) -> Record | None:
    """An operation's error QUOTA_EXCEEDED; None: room. *held*: ``zone``, ``generation``, ``chips``, ``tier`` each."""
    spot = not loans.by_id(tier).usual
    for quota in quota_limits.applying(quota_limits.COMPUTE, offer.generation.id, spot=spot):
        where = zone if quota.per == "zone" else region_of(zone)
        used = sum(
            one["chips"]
            for one in held
            if one["generation"] == offer.generation.id
            and (not loans.by_id(one["tier"]).usual) == spot
            and where == (one["zone"] if quota.per == "zone" else region_of(one["zone"]))
        )
        dimensions = {quota.per: where} | ({"tpu_family": quota.family} if quota.family else {})
        limit = quota_limits.limit(cloud, quota.quota_id, dimensions)
        if used + offer.machine.chips > limit:
            text = f"Quota '{quota.quota_id}' exceeded.  Limit: {float(limit)} in {quota.per} {where}."
            told = {"metricName": quota.metric, "limitName": quota.quota_id, "dimensions": dimensions, "limit": limit}
            return {"code": "QUOTA_EXCEEDED", "message": text, "errorDetails": [{"quotaInfo": told}]}
    return None


def stockout_error(project: str, zone: str, offer: Offer) -> Record:
    """An operation's error: nothing free; it names zones where there may be something."""
    others = [one.zone for one in offer.generation.zones if one.zone != zone]
    text = (
        f"The zone 'projects/{project}/zones/{zone}' does not have enough resources available to fulfill the request.  "
        f"'(resource type:compute)'. (state:STOCKOUT)"
    )
    info = {
        "reason": "resource_availability",
        "domain": "compute.googleapis.com",
        "metadatas": {
            "vmType": offer.name,
            "zone": zone,
            "zonesAvailable": ",".join(others[:3]),
            "attachment": "",
        },
    }
    code = "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
    return {"code": code, "message": text, "errorDetails": [{"errorInfo": info}]}


def _machine_type(cloud: Cloud, zone: str, url: str) -> Offer:
    name = url.rpartition("/")[2]
    there = next((offer for offer in offers(zone) if offer.name == name), None)
    missing = there is None or f"zones/{zone}/" not in f"/{url}"
    if there is None or missing or cloud.faults.take("type-not-in-zone", zone=zone, accelerator=name) is not None:
        why = f"Machine type with name '{name}' does not exist in zone '{zone}'."
        raise invalid("resource.machineType", url, why)
    if not there.generation.compute_image:  # v5e's is listed in every zone of the TPU API, and refused
        text = f"This user agent is not allowed to use the machine type [{name}]."
        raise GoogleError(400, "INVALID_ARGUMENT", text, reason="badRequest")
    return there


def _scheduling(cloud: Cloud, offer: Offer, zone: str, told: Record) -> tuple[str, float, str]:
    """Tier, seconds it may run (0: for ever), what ends it."""
    model = told.get("provisioningModel") or ("SPOT" if told.get("preemptible") else "STANDARD")
    tier = TIERS.get(model)
    if tier is None:
        raise invalid("resource.scheduling.provisioningModel", model, "No such reservation.")
    if told.get("onHostMaintenance") != "TERMINATE":
        why = "Instances with accelerators do not support live migration: it must be TERMINATE."
        raise invalid("resource.scheduling.onHostMaintenance", told.get("onHostMaintenance", ""), why)
    if not loans.by_id(tier).usual and told.get("automaticRestart", False):
        raise invalid("resource.scheduling.automaticRestart", "true", f"It must be false for {model}.")
    if tier not in (loans.usual().word, *offer.zone.tiers):
        text = f'{model} provisioning model is not supported for accelerator type "{offer.name}" in location "{zone}"'
        raise GoogleError(400, "INVALID_ARGUMENT", text, reason="invalid")
    run_s = seconds(told["maxRunDuration"]) if "maxRunDuration" in told else 0.0
    if run_s and loans.by_id(tier).usual and cloud.doubts.way("compute-max-run-tiers"):
        why = "It is only supported for SPOT and FLEX_START."
        raise invalid("resource.scheduling.maxRunDuration", f"{run_s:.0f}s", why)
    longest = LONGEST_FLEX_S if loans.by_id(tier).waits else LONGEST_RUN_S
    if "maxRunDuration" in told and not SHORTEST_RUN_S <= run_s <= longest:
        why = f"It must be from {SHORTEST_RUN_S} to {longest} seconds."
        raise invalid("resource.scheduling.maxRunDuration", f"{run_s:.0f}s", why)
    if loans.by_id(tier).waits and not run_s:
        raise invalid("resource.scheduling.maxRunDuration", "", "FLEX_START needs a maxRunDuration.")
    action = told.get("instanceTerminationAction", "")
    if run_s and not action:
        raise invalid("resource.scheduling.instanceTerminationAction", "", "It must be set with maxRunDuration.")
    if action and loans.by_id(tier).usual and not run_s:
        why = "It can only be set for Spot VMs or with a time limit."
        raise invalid("resource.scheduling.instanceTerminationAction", action, why)
    return tier, run_s, action or "STOP"


def _disks(cloud: Cloud, offer: Offer, disks: list[Record]) -> None:
    boot = next((disk for disk in disks if disk.get("boot")), None)
    if boot is None:
        raise invalid("resource.disks", "", "A boot disk must be specified.")
    kind = str((boot.get("initializeParams") or {}).get("diskType", "pd-standard")).rpartition("/")[2]
    refused = kind.startswith("pd-") and not offer.generation.persistent_disk
    if refused or (kind.startswith("hyperdisk-") and cloud.doubts.way("compute-disk-type")):
        text = f"[{kind}] features are not compatible for creating instance."
        raise GoogleError(400, "INVALID_ARGUMENT", text, reason="badRequest")
    if "source" not in boot and not (boot.get("initializeParams") or {}).get("sourceImage"):
        raise invalid("resource.disks[0].initializeParams.sourceImage", "", "A boot disk needs an image.")


def _account(cloud: Cloud, project: str, who: Principal, given: list[Record]) -> tuple[str, tuple[str, ...]]:
    """Without one the machine has no identity; scopes are not implicit here."""
    if not given:
        return "", ()
    email = str(given[0].get("email", ""))
    number = (cloud.db.get("project", project) or {}).get("projectNumber", cloud.settings.number)
    email = f"{number}-compute@developer.gserviceaccount.com" if email in ("", "default") else email
    if email.endswith(f"@{project}.iam.gserviceaccount.com") and cloud.db.get("account", email) is None:
        raise not_found(project, f"serviceAccounts/{email}")
    may = cloud.principals.may(who, "iam.serviceAccounts.actAs", f"projects/{project}", f"serviceAccounts/{email}")
    if not may or (who.kind == "user" and cloud.faults.armed("act-as-missing") is not None):
        message = (
            f"The user does not have access to service account '{email}'.  User: '{who.email}'.  Ask a project owner "
            "to grant you the iam.serviceAccounts.actAs permission on the service account"
        )
        info = error_info("IAM_PERMISSION_DENIED", "iam.googleapis.com", permission="iam.serviceAccounts.actAs")
        raise GoogleError(400, "INVALID_ARGUMENT", message, [info], reason="SERVICE_ACCOUNT_ACCESS_DENIED")
    return email, tuple(given[0].get("scopes") or ())
