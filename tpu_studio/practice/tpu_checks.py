"""Why a TPU is refused at once: names, bodies, places, tiers, quota; in Google's words (google-cloud.md §2.6, §4)."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from tpu_studio.domain.catalogue import FLEX_START_MOST_S, catalogue
from tpu_studio.domain.generations import Slice, region_of
from tpu_studio.practice import quota_limits, tpu_offer
from tpu_studio.practice.clock import parse_duration, parse_rfc3339
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, error_info
from tpu_studio.practice.principals import Principal
from tpu_studio.practice.state import Record
from tpu_studio.wire import loans

_ID = re.compile(r"[A-Za-z0-9_.~+%-]+")
_LABEL_KEY, _LABEL_VALUE = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
METADATA_BYTES = 262144
TIMES = ("validUntilDuration", "validUntilTime", "validAfterDuration", "validAfterTime", "validInterval")


@dataclass(frozen=True)
class Place:
    """``projects/P/locations/Z`` of a request."""

    project: str
    zone: str

    @property
    def parent(self) -> str:
        return f"projects/{self.project}/locations/{self.zone}"


@dataclass(frozen=True)
class Wanted:
    """One node of a request, checked."""

    id: str
    body: Record
    part: Slice
    account: str
    scopes: tuple[str, ...]


def bad(text: str) -> GoogleError:
    """400, as the TPU service says it."""
    return GoogleError(400, "INVALID_ARGUMENT", f"Cloud TPU received a bad request. {text} {eid()}")


def wrong_state(text: str) -> GoogleError:
    return GoogleError(400, "FAILED_PRECONDITION", f"Cloud TPU received a bad request. {text} {eid()}")


def eid() -> str:
    """Google's number of an error, as it ends its messages."""
    return f"[EID: 0x{secrets.token_hex(8)}]"


NAMELESS = "Resource has been exhausted (e.g. check quota)."  # the doubt nameless-429


def stockout_error(cloud: Cloud, zone: str) -> Record:
    """Of an operation."""
    way = cloud.doubts.way("stockout-words")
    if way == "other-words":
        return {"code": 8, "message": "The request could not be served in this location at present."}
    return {"code": 14 if way else 8, "message": stockout_text(zone)}


def stockout_text(zone: str) -> str:
    return (
        f'There is no more capacity in the zone "{zone}"; you can try in another zone where Cloud TPU Nodes are '
        f"offered (see https://cloud.google.com/tpu/docs/regions) {eid()}"
    )


def check_id(name: str, value: str) -> str:
    if not value or not _ID.fullmatch(value) or len(value) > 63:
        raise bad(f'Invalid value for field "{name}": "{value}".')
    return value


def check_zone(cloud: Cloud, place: Place) -> None:
    number = (cloud.db.get("project", place.project) or {}).get("number", "")
    message = f"Permission denied on 'locations/{place.zone}' (or it may not exist)."
    if cloud.faults.armed("org-policy", zone=place.zone, constraint="gcp.resourceLocations") is not None:
        info = error_info(
            "LOCATION_POLICY_VIOLATED", consumer=f"projects/{number}", location=place.zone, service="tpu.googleapis.com"
        )
        raise GoogleError(403, "PERMISSION_DENIED", message, [info])
    if place.zone not in tpu_offer.zones():
        raise GoogleError(403, "PERMISSION_DENIED", message)


def check_node(cloud: Cloud, place: Place, who: Principal, id: str, node: Record) -> Wanted:
    """A node's body. Raises GoogleError."""
    check_id("node_id", id)
    part = _part(cloud, place, node)
    image = node.get("runtimeVersion", "")
    if not image:
        raise bad('The field "runtime_version" cannot be empty.')
    catalogued = image in tpu_offer.images(place.zone)
    if not tpu_offer.has_image(place.zone, image) or (catalogued and cloud.doubts.way("runtime-versions")):
        raise bad(f'The runtime version "{image}" could not be found in zone "{place.zone}".')
    if "networkConfig" in node and "networkConfigs" in node:
        raise bad("Only one of network_config and network_configs may be set.")
    if len(node.get("description", "")) > 512:
        raise bad("The description is longer than 512 characters.")
    for key, value in node.get("labels", {}).items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            raise bad(f'Invalid label "{key}": "{value}".')
    for key, value in node.get("metadata", {}).items():
        if len(value.encode()) > METADATA_BYTES:
            raise bad(f'Value for metadata key "{key}" is too large: maximum size is {METADATA_BYTES} bytes.')
    account, scopes = _account(cloud, place, who, node)
    return Wanted(id, {**node, "acceleratorType": part.accelerator_type}, part, account, scopes)


def _part(cloud: Cloud, place: Place, node: Record) -> Slice:
    name, config = node.get("acceleratorType", ""), node.get("acceleratorConfig") or {}
    if name and config:
        raise bad("Only one of accelerator_type and accelerator_config may be set.")
    if config:
        part = tpu_offer.by_config(config.get("type", ""), config.get("topology", ""))
        name = part.accelerator_type if part else f"{config.get('type', '')} {config.get('topology', '')}"
    here = {one.accelerator_type: one for one in tpu_offer.slices(place.zone)}
    gone = cloud.faults.take("type-not-in-zone", zone=place.zone, accelerator=name) is not None
    if name not in here or gone:
        raise bad(
            f'The requested accelerator configuration for accelerator type, "{name}", could not be found in the zonal '
            f'accelerator configurations for "{place.zone}".; the accelerator {name} was not found in zone {place.zone}'
        )
    return here[name]


def _account(cloud: Cloud, place: Place, who: Principal, node: Record) -> tuple[str, tuple[str, ...]]:
    given = node.get("serviceAccount") or {}
    number = (cloud.db.get("project", place.project) or {}).get("number", "")
    email = given.get("email") or f"{number}-compute@developer.gserviceaccount.com"
    own = f"@{place.project}.iam.gserviceaccount.com"
    if email.endswith(own) and cloud.db.get("account", email) is None:
        raise bad(f"Service account {email} does not exist.")
    may = cloud.principals.may(
        who, "iam.serviceAccounts.actAs", f"projects/{place.project}", f"serviceAccounts/{email}"
    )
    if not may or (who.kind == "user" and cloud.faults.armed("act-as-missing") is not None):
        info = error_info(
            "IAM_PERMISSION_DENIED",
            "iam.googleapis.com",
            permission="iam.serviceAccounts.actAs",
            resource=f"projects/-/serviceAccounts/{email}",
        )
        message = (
            f"The user does not have access to service account '{email}'. User: '{who.email}'. Ask a project owner to "
            "grant you the iam.serviceAccounts.actAs permission on the service account."
        )
        raise GoogleError(403, "PERMISSION_DENIED", message, [info])
    return email, tuple(given.get("scope") or ("https://www.googleapis.com/auth/cloud-platform",))


def tier_of(body: Record) -> str:
    """on-demand, spot, flex-start, reserved. Raises GoogleError: more than one."""
    model = body.get("provisioningModel", "")
    if len([key for key in ("spot", "guaranteed", "bestEffort") if key in body]) > 1:
        raise bad("Only one of spot, guaranteed and best_effort may be set.")
    if model == "FLEX_START":
        if "spot" in body:
            raise bad("provisioning_model FLEX_START and spot cannot be used together.")
        if not body.get("runDuration"):
            raise bad("run_duration must be set for the FLEX_START provisioning model.")
        if run_until(body, 0.0) > FLEX_START_MOST_S and "maxRunDuration" in body["runDuration"]:
            raise bad("run_duration must be at most 7 days for the FLEX_START provisioning model.")
        return loans.waiting().word
    if body.get("runDuration"):
        raise bad("run_duration is only supported for the FLEX_START provisioning model.")
    if "spot" in body or model == "SPOT" or "bestEffort" in body:
        return loans.spare().word
    if body.get("reservationName") or (body.get("guaranteed") or {}).get("reserved") or model == "RESERVATION_BOUND":
        return loans.reserved().word
    return loans.usual().word


def check_tier(place: Place, part: Slice, tier: str) -> None:
    if loans.by_id(tier).reserved:
        raise wrong_state("The reservation could not be found.")
    if not loans.by_id(tier).waits:
        return
    for zone in catalogue().generation(part.generation).zones:
        if zone.zone == place.zone and tier in zone.tiers:
            return
    raise GoogleError(
        400,
        "INVALID_ARGUMENT",
        f'FLEX_START provisioning model is not supported for accelerator type "{part.accelerator_type}" in location '
        f'"{place.zone}".',
    )


def window(policy: Record, now: float) -> tuple[float, float]:
    """Not before, not after (practice seconds; 0 = no bound). Raises GoogleError: more than one way of saying it."""
    given = [key for key in TIMES if key in policy]
    if len(given) > 1:
        raise bad("Only one start timing constraint may be set in the queueing policy.")
    for key in given:
        value = policy[key]
        if key == "validInterval":
            return parse_rfc3339(value.get("startTime", "1970-01-01T00:00:00Z")), parse_rfc3339(value["endTime"])
        at = now + parse_duration(value) if key.endswith("Duration") else parse_rfc3339(value)
        return (0.0, at) if key.startswith("validUntil") else (at, 0.0)
    return 0.0, 0.0


def run_until(body: Record, start: float) -> float:
    """When a flex-start loan ends that began at *start*; 0: never."""
    told = body.get("runDuration") or {}
    if "maxRunDuration" in told:
        return start + parse_duration(told["maxRunDuration"])
    return parse_rfc3339(told["terminationTime"]) if "terminationTime" in told else 0.0


def draw(part: Slice, unit: str) -> int:
    return part.chips * 2 if unit == "cores" else part.chips


def check_quota(cloud: Cloud, place: Place, parts: list[Slice], tier: str, held: list[Record]) -> None:
    """Zone and region limits both apply; *held*: what the project has already (``zone``, ``accelerator``, ``tier``).

    Raises:
        GoogleError: 429; retrying is useless.
    """
    spot = loans.by_id(tier).preemptible
    for quota in quota_limits.drawn(cloud, parts[0], spot=spot):
        where = place.zone if quota.per == "zone" else region_of(place.zone)
        used = 0
        for one in held:
            there = one["zone"] if quota.per == "zone" else region_of(one["zone"])
            part = tpu_offer.by_type(one["accelerator"])
            alike = part is not None and quota in quota_limits.drawn(cloud, part, spot=spot)
            if part is not None and alike and there == where and loans.by_id(one["tier"]).preemptible == spot:
                used += draw(part, quota.unit)
        limit = quota_limits.limit(cloud, quota.quota_id, {quota.per: where})
        if used + sum(draw(part, quota.unit) for part in parts) > limit:
            message = f"Quota limit '{quota.quota_id}' has been exceeded. Limit: {limit} in {quota.per} {where}."
            failure = {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"subject": f"project:{place.project}", "description": message}],
            }
            info = error_info(
                "QUOTA_EXCEEDED",
                service="tpu.googleapis.com",
                quota_limit=quota.quota_id,
                quota_limit_value=str(limit),
                quota_location=where,
                consumer=f"projects/{place.project}",
                quota_metric=quota.metric,
            )
            raise GoogleError(429, "RESOURCE_EXHAUSTED", message, [failure, info])


def not_while(state: str) -> str:
    """As gcloud users quote it."""
    may = "[ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED]"
    return f"DeleteQueuedResource is not supported when state is {state} (must be one of {may})"


def exists(name: str) -> GoogleError:
    return GoogleError(409, "ALREADY_EXISTS", f"Resource '{name}' already exists")


def wanted_record(one: Wanted) -> Record:
    return {
        "id": one.id,
        "body": one.body,
        "accelerator": one.part.accelerator_type,
        "workers": one.part.vms,
        "account": one.account,
        "scopes": list(one.scopes),
    }
