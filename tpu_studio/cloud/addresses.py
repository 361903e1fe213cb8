"""External addresses: each machine of a slice takes one of its region's, and a young project may have 8, or 4.

Google starts to make a slice for which there are too few, and fails after minutes; so they are counted before it is
asked for. Who may not look is not held up: Google refuses by itself then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from tpu_studio.cloud.session import Api, segment
from tpu_studio.domain.generations import region_of
from tpu_studio.wire.errors import CloudRefused, CloudUnclear

METRIC = "IN_USE_ADDRESSES"
_log = logging.getLogger(__name__)


def limits(compute: Api, project: str, region: str) -> tuple[int, int] | None:
    """The region's limit, and how many are in use. None: it cannot be told."""
    try:
        told = compute.get(f"/compute/v1/projects/{segment(project)}/regions/{segment(region)}")
    except (CloudRefused, CloudUnclear) as error:
        _log.info("addresses of %s cannot be read: %s", region, error)
        return None
    return of_quotas(told.get("quotas") or ())


def by_region(compute: Api, project: str, region: str = "") -> dict[str, tuple[int, int]]:
    """Limit and usage of *region*, or of all; {} where they cannot be told."""
    if region:
        one = limits(compute, project, region)
        return {} if one is None else {region: one}
    try:
        found = compute.pages(f"/compute/v1/projects/{segment(project)}/regions", "items")
        told = {str(one.get("name", "")): of_quotas(one.get("quotas") or ()) for one in found}
    except (CloudRefused, CloudUnclear) as error:
        _log.info("addresses cannot be read: %s", error)
        return {}
    return {name: two for name, two in told.items() if name and two is not None}


def of_quotas(quotas: Iterable[Mapping[str, Any]]) -> tuple[int, int] | None:
    """Limit and usage, of what ``compute.regions.get`` lists."""
    for one in quotas:
        if one.get("metric") == METRIC:
            try:
                return int(one["limit"]), int(one.get("usage", 0))
            except (KeyError, TypeError, ValueError):
                return None
    return None


def refuse_too_few(compute: Api, project: str, zone: str, hosts: int) -> None:
    """Raises CloudRefused ``region-limit``: fewer are free than the slice has *hosts*."""
    told = limits(compute, project, region_of(zone))
    if told is None or told[0] - told[1] >= hosts:
        return
    raw = f"{METRIC}: limit {told[0]}, in use {told[1]}; {hosts} are needed"
    raise CloudRefused(
        "region-limit", zone=zone, quota=METRIC, limit=float(told[0]), used=told[1], hosts=hosts, raw=raw
    )
