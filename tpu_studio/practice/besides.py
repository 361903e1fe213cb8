"""What a practice machine is charged for besides its chips, and what moves and lies in buckets: Google's units.

The rates are the program's own dated ones (``domain.rates``): whether they are today's is the doubt ``prices-dated``,
whether the price of a TPU VM includes its boot disk is ``price-includes-disk``, its address ``tpu-address-charged``,
where the person's computer stands ``download-where``.
Free allowances are not given.
"""

from __future__ import annotations

from tpu_studio.domain import rates
from tpu_studio.domain.generations import region_of
from tpu_studio.practice.cloud import Cloud
from tpu_studio.wire import loans

ADDRESS = "External IP Charge on a {} VM"
DISK = "Balanced PD Capacity in {}"
DOWNLOAD = "Download Worldwide Destinations"
BETWEEN = "Network Data Transfer GCP Inter Region"
STORAGE = "Standard Storage {}"


def of_machine(cloud: Cloud, zone: str, tier: str, workers: int, *, compute: bool) -> dict[str, float]:
    """USD an hour by SKU, of all its workers."""
    more = rates.DEARER if cloud.doubts.way("prices-dated") == "dearer" else 1.0
    kind = "Spot Preemptible" if loans.by_id(tier).spare else "Standard"
    told = {ADDRESS.format(kind): workers * rates.address_usd_per_hour(tier) * more}
    if not compute and cloud.doubts.way("tpu-address-charged") == "free":
        told = {}
    if compute or cloud.doubts.way("price-includes-disk") == "disk-extra":
        gb = rates.COMPUTE_BOOT_DISK_GB if compute else rates.TPU_BOOT_DISK_GB
        told[DISK.format(region_of(zone))] = workers * rates.disk_usd_per_hour(gb, zone) * more
    return told


def traffic(cloud: Cloud, source: str, target: str) -> tuple[str, float]:
    """SKU and USD of a byte from one region to another, "" = the world outside; 0 within a region, or where the price
    is unknown."""
    if not target:
        return DOWNLOAD, rates.internet_usd_per_gb(dearest=bool(cloud.doubts.way("download-where"))) / rates.GB
    return BETWEEN, (rates.between_usd_per_gb(source, target) or 0.0) / rates.GB


def lying_usd(size: float, region: str, seconds: float) -> float:
    """What bytes in a bucket cost over a time."""
    return rates.kept_usd(size, region, seconds / 3600.0)
