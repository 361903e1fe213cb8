"""What Google asks for besides chips: disks, addresses, storage, operations, traffic. Dated list prices, in USD.

From ``resources/catalogue/extras.json``, each with its source. What it has no price for counts as its ``elsewhere``,
above the dearest price known of any region (`published` says so): nothing is left out of a sum. Between continents
there is no price at all, and such a way is refused. Free allowances are left out: the bill may be smaller, never larger
for that.
Used by the planner and by the practice cloud, which bills by the same units.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import region_of
from tpu_studio.wire import loans

MONTH_H = 730.0
KEPT_H = 30 * 24.0  # the bucket's own rule deletes after 30 days
GB = 2**30
TPU_BOOT_DISK_GB = 100  # of each TPU VM of the Cloud TPU API
COMPUTE_BOOT_DISK_GB = 200  # of the one of Compute Engine (`cloud.compute.DISK_GB`)
DEARER = 1.5  # how much more disks and addresses may cost than the dated table says (doubt prices-dated)

_AREAS = {"us": "northern-america", "northamerica": "northern-america"}


DISK, STORAGE = "disk_usd_per_gb_month", "storage_usd_per_gb_month"


def published(name: str, where: str) -> bool:
    """Whether we have the rate *name* (`DISK`, `STORAGE`) for the region of *where*."""
    return region_of(where) in _file()[name]["rates"]


def storage_usd_per_gb_month(region: str) -> float:
    return _rate(STORAGE, region)


def kept_usd(size: float, region: str, hours: float = KEPT_H) -> float:
    """What *size* bytes in a bucket cost over *hours*."""
    return size / GB * storage_usd_per_gb_month(region) * hours / MONTH_H


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


def disk_usd_per_hour(gb: float, where: str) -> float:
    """A balanced persistent disk; Hyperdisk Balanced with what its price includes (3,000 IOPS, 140 MB/s) costs less
    wherever both were read."""
    return gb * _rate(DISK, where) / MONTH_H


def address_usd_per_hour(tier: str) -> float:
    """One external address in use."""
    return float(_file()["address_usd_per_hour"]["spot" if loans.by_id(tier).spare else "standard"])


def source(name: str) -> tuple[str, str]:
    """Title and date of where a rate of that name comes from."""
    told = _file()["sources"][_file()[name]["source"]]
    return str(told["title"]), str(told["date"])


def _rate(name: str, where: str) -> float:
    told: Mapping[str, Any] = _file()[name]
    return float(told["rates"].get(region_of(where), told["elsewhere"]))


@cache
def _file() -> Mapping[str, Any]:
    return catalogue().file("extras")
