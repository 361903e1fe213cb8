"""What Google asks for besides chips: disks, addresses, storage, operations, traffic. Dated list prices, in USD.

From ``resources/catalogue/extras.json``, each with its source. A rate that nobody published for a region is None: the
price is unknown, never guessed. Free allowances are left out: the bill may be smaller, never larger for that.
Used by the planner and by the practice cloud, which bills by the same units.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tpu_studio.domain.catalogue import catalogue, region_of

MONTH_H = 730.0
KEPT_H = 30 * 24.0  # the bucket's own rule deletes after 30 days
GB = 2**30
TPU_BOOT_DISK_GB = 100  # of each TPU VM of the Cloud TPU API
COMPUTE_BOOT_DISK_GB = 200  # of the one of Compute Engine (`cloud.compute.DISK_GB`)
DEARER = 1.5  # how much more disks and addresses may cost than the dated table says (doubt prices-dated)

_AREAS = {"us": "northern-america", "northamerica": "northern-america"}


def storage_usd_per_gb_month(region: str) -> float | None:
    return _rate("storage_usd_per_gb_month", region)


def kept_usd(size: float, region: str, hours: float = KEPT_H) -> float | None:
    """What *size* bytes in a bucket cost over *hours*."""
    rate = storage_usd_per_gb_month(region)
    return None if rate is None else size / GB * rate * hours / MONTH_H


def operation_usd(kind: str) -> float:
    """One operation of class ``a`` (writes, lists) or ``b`` (reads)."""
    return float(_file()["operations_usd_per_1000"][kind]) / 1000.0


def internet_usd_per_gb(*, dearest: bool = False) -> float:
    """Out of a bucket to a computer outside of Google's network; *dearest*: wherever it stands (Google charges more to
    Australia, and most to mainland China)."""
    told = _file()["internet_usd_per_gb"]
    places = ("worldwide", "australia", "china")
    return max(float(told[place]) for place in places) if dearest else float(told["worldwide"])


def between_usd_per_gb(one: str, other: str) -> float | None:
    """Between two regions, either way; 0 within one; None: unknown."""
    if one == other:
        return 0.0
    area, to = (_AREAS.get(region.partition("-")[0]) for region in (one, other))
    if area is None or area != to:
        return None
    return float(_file()["between_regions_usd_per_gb"]["within"][area])


def disk_usd_per_hour(gb: float, where: str) -> float | None:
    """A balanced persistent disk; Hyperdisk Balanced costs less wherever both were read."""
    rate = _rate("disk_usd_per_gb_month", where)
    return None if rate is None else gb * rate / MONTH_H


def address_usd_per_hour(tier: str) -> float:
    """One external address in use."""
    return float(_file()["address_usd_per_hour"]["spot" if tier == "spot" else "standard"])


def source(name: str) -> tuple[str, str]:
    """Title and date of where a rate of that name comes from."""
    told = _file()["sources"][_file()[name]["source"]]
    return str(told["title"]), str(told["date"])


def _rate(name: str, where: str) -> float | None:
    found = _file()[name]["rates"].get(region_of(where))
    return None if found is None else float(found)


@cache
def _file() -> Mapping[str, Any]:
    return catalogue().file("extras")
