"""External addresses of a region: each TPU VM takes one, and a region has few (field reports: 8, in young projects 4).

A slice for whose hosts none is left starts to be made, and fails after a while in words of its own: no TPU quota. An
instance of Compute Engine is refused as its other limits refuse it (the doubt ``compute-quota-where``).
"""

from __future__ import annotations

from tpu_studio.domain.generations import region_of
from tpu_studio.practice import tpu_offer
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.compute_checks import KIND as INSTANCE
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_show import NODE

METRIC = "IN_USE_ADDRESSES"
LIMIT, LIMIT_NEW = 8, 4
WORDS = f"You have reached {METRIC} limit."
EXHAUSTED = 8  # google.rpc.Code of RESOURCE_EXHAUSTED


def quotas(cloud: Cloud, project: str, region: str) -> list[dict[str, object]]:
    """As ``compute.regions.get`` lists them."""
    return [{"metric": METRIC, "limit": float(limit(cloud, region)), "usage": float(used(cloud, project, region))}]


def limit(cloud: Cloud, region: str) -> int:
    fault = cloud.faults.armed("address-limit", region=region)
    usual = LIMIT_NEW if cloud.settings.new else LIMIT
    return usual if fault is None else int(fault["limit"])


def lack(cloud: Cloud, project: str, zone: str, nodes: list[Record]) -> bool:
    """Whether the region has too few left for these nodes' hosts."""
    region = region_of(zone)
    return used(cloud, project, region) + sum(map(wanted, nodes)) > limit(cloud, region)


def used(cloud: Cloud, project: str, region: str) -> int:
    """Of TPU VMs and of Compute Engine's instances."""
    found = 0
    for name, record in cloud.db.peek(NODE):
        if name.startswith(f"projects/{project}/") and region_of(record["zone"]) == region and _is_up(record):
            found += wanted(record)
    for name, record in cloud.db.peek(INSTANCE):
        if name.startswith(f"projects/{project}/zones/{region}-") and record["status"] != "TERMINATED":
            found += _is_external(record["body"])
    return found


def refusal(cloud: Cloud, project: str, zone: str, body: dict[str, object]) -> Record | None:
    """The error of an insert's operation where the region has no address left for it; None: room."""
    region = region_of(zone)
    most = limit(cloud, region)
    if not _is_external(body) or used(cloud, project, region) < most:
        return None
    text = f"Quota '{METRIC}' exceeded.  Limit: {float(most)} in region {region}."
    told = {
        "metricName": "compute.googleapis.com/in_use_addresses",
        "limitName": "IN-USE-ADDRESSES-per-project-region",
        "dimensions": {"region": region},
        "limit": float(most),
    }
    return {"code": "QUOTA_EXCEEDED", "message": text, "errorDetails": [{"quotaInfo": told}]}


def _is_external(body: Record) -> bool:
    """Whether an instance has an external address."""
    return any(card.get("accessConfigs") for card in body.get("networkInterfaces") or ())


def wanted(node: Record) -> int:
    """That the hosts of a node's record take."""
    part = tpu_offer.by_type(node["accelerator"])
    external = (node["body"].get("networkConfig") or {}).get("enableExternalIps")
    return part.vms if part is not None and external else 0


def _is_up(record: dict[str, object]) -> bool:
    return record["state"] not in ("STOPPED", "PREEMPTED", "TERMINATED")
