"""The practice price list: Google's SKU records made of `resources/catalogue/prices.json`.

The wording is the live list's of August 2026 (reference: google-cloud.md §9.1), with its traps: v2 to v4 stand in
another service than the rest, legacy spot says so in the description only, flex-start names no ``Tpu``, commitments lie
between, some rows have no resource group, and v5p on spot has no price at all in one region.
"""

from __future__ import annotations

import hashlib
import json
import math
from functools import cache

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire import loans
from tpu_studio.wire.resources import resource_path

TPU_SERVICE = "services/E000-3F24-B8AA"
COMPUTE_SERVICE = "services/6F81-5844-456A"
STORAGE_SERVICE = "services/95FF-2EF5-5EA1"
NAMES = {
    TPU_SERVICE: "Cloud TPU",
    COMPUTE_SERVICE: "Compute Engine",
    STORAGE_SERVICE: "Cloud Storage",
}

_CITY = {
    "us-central1": "Iowa",
    "us-central2": "Oklahoma",
    "us-east1": "South Carolina",
    "us-east4": "Northern Virginia",
    "us-east5": "Columbus",
    "us-west1": "Oregon",
    "us-west4": "Las Vegas",
    "us-south1": "Dallas",
    "europe-west1": "Belgium",
    "europe-west3": "Frankfurt",
    "europe-west4": "Netherlands",
    "europe-north1": "Finland",
    "asia-east1": "Taiwan",
    "asia-northeast1": "Tokyo",
    "asia-southeast1": "Singapore",
    "asia-south1": "Mumbai",
    "northamerica-northeast1": "Montreal",
    "southamerica-west1": "Santiago",
}
REGIONS: tuple[str, ...] = tuple(sorted(_CITY))
_NO_GROUP = {("v6e", "asia-south1")}
_NO_PRICE = {("v5p", "us-south1", loans.spare().word)}
_EFFECTIVE = "2026-11-01T00:00:00Z"


@cache
def of_service(service: str) -> tuple[dict[str, object], ...]:
    """Every Sku of ``services/…``, USD; empty for a service that isn't sold here."""
    prices = json.loads(resource_path("catalogue", "prices.json").read_text(encoding="utf-8"))
    if service == STORAGE_SERVICE:
        return tuple(
            _sku(
                service,
                f"Standard Storage {_CITY.get(region, region)}",
                region,
                usd,
                family="Storage",
                group="RegionalStorage",
                usage="OnDemand",
                unit="GiBy.mo",
            )
            for region, usd in sorted(prices["storage"]["gcs_standard_usd_per_gb_month"].items())
        )
    if service not in (TPU_SERVICE, COMPUTE_SERVICE):
        return ()
    skus: list[dict[str, object]] = []
    for row in catalogue().price_rows:
        generation, region, tier = row.generation, row.price.region, row.price.tier
        unit = catalogue().generation(generation).priced_chips
        home = TPU_SERVICE if unit > 1 else COMPUTE_SERVICE
        if home != service or (generation, region, tier) in _NO_PRICE:
            continue
        city = _CITY.get(region, region)
        per_chip = row.price.usd_per_chip_hour
        group = "" if (generation, region) in _NO_GROUP else "TPU"
        if home == TPU_SERVICE:
            pod = " Pod" if row.max_chips > 4 else ""
            spot = " Preemptible" if loans.by_id(tier).spare else ""
            text = f"Tpu-{generation}{pod}{spot} running in {city}"
            if all(sku["description"] != text for sku in skus):  # pods of every size have one price
                skus.append(_sku(service, text, region, per_chip * unit))
            continue
        name = generation[0].upper() + generation[1:]
        loan = loans.by_id(tier)
        text, usage = f"Tpu{name} running in {city}", "OnDemand"
        if loan.spare:
            text, usage = f"Tpu{name} attached to Spot Preemptible VMs running in {city}", "Preemptible"
        elif loan.waits:
            text = f"DWS Defined Duration {name} running in {city}"
        skus.append(_sku(service, text, region, per_chip, group=group, usage=usage))
        if loans.by_id(tier).usual:
            skus.append(
                _sku(
                    service,
                    f"Commitment v1: Tpu{name} in {city} for 1 Year",
                    region,
                    per_chip * 0.7,
                    group=group,
                    usage="Commit1Yr",
                )
            )
    if service == COMPUTE_SERVICE:
        for region, city in sorted(_CITY.items()):
            skus.append(
                _sku(
                    service,
                    f"Balanced PD Capacity in {city}",
                    region,
                    0.1,
                    family="Storage",
                    group="SSD",
                    unit="GiBy.mo",
                )
            )
        skus.append(
            _sku(service, "External IP Charge on a Standard VM", "global", 0.005, family="Network", group="IpAddress")
        )
    return tuple(skus)


def _sku(
    service: str,
    description: str,
    region: str,
    usd: float,
    *,
    family: str = "Compute",
    group: str = "TPU",
    usage: str = "OnDemand",
    unit: str = "h",
) -> dict[str, object]:
    digest = hashlib.sha256(f"{service}/{description}/{region}".encode()).hexdigest()[:12].upper()
    sku_id = "-".join((digest[:4], digest[4:8], digest[8:]))
    whole = math.floor(usd)
    price: dict[str, object] = {"currencyCode": "USD"}
    if whole:
        price["units"] = str(whole)
    if nanos := round((usd - whole) * 1e9):
        price["nanos"] = nanos
    words = {"h": ("hour", "s", "second", 3600), "GiBy.mo": ("gibibyte month", "By.s", "byte second", 2.8759e15)}[unit]
    category = {"serviceDisplayName": NAMES[service], "resourceFamily": family, "usageType": usage}
    if group:
        category["resourceGroup"] = group
    return {
        "name": f"{service}/skus/{sku_id}",
        "skuId": sku_id,
        "description": description,
        "category": category,
        "serviceRegions": [region],
        "pricingInfo": [
            {
                "effectiveTime": _EFFECTIVE,
                "pricingExpression": {
                    "usageUnit": unit,
                    "usageUnitDescription": words[0],
                    "baseUnit": words[1],
                    "baseUnitDescription": words[2],
                    "baseUnitConversionFactor": words[3],
                    "displayQuantity": 1,
                    "tieredRates": [{"unitPrice": price}],
                },
                "currencyConversionRate": 1,
            }
        ],
        "serviceProviderName": "Google",
        "geoTaxonomy": {"type": "REGIONAL", "regions": [region]} if region != "global" else {"type": "GLOBAL"},
    }
