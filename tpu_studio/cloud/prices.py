"""Live prices from Google's catalogue, in the shape of our dated table; what the catalogue does not tell is unknown.

A SKU's meaning stands in its description only, differently by family (`_RULES`). Prices are by chip-hour; the
old families are sold by 8 cores, which are 4 chips. Two prices for one thing are none: nothing is guessed here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from tpu_studio.cloud import errors
from tpu_studio.cloud.session import Api
from tpu_studio.domain.catalogue import Catalogue, catalogue
from tpu_studio.domain.generations import region_of
from tpu_studio.wire import loans
from tpu_studio.wire.resources import resource_path

TPU_SERVICE, COMPUTE_SERVICE = "E000-3F24-B8AA", "6F81-5844-456A"
"""The first holds the generations whose unit of sale is 8 cores (`Generation.priced_chips`); the second the rest."""

_RULES = [
    (re.compile(r"^Tpu(?P<family>V?(?P<number>\d\w*)) running in\b"), loans.usual().word, ("OnDemand",)),
    (
        re.compile(r"^Tpu(?P<family>V?(?P<number>\d\w*)) attached to Spot Preemptible VMs running in\b"),
        loans.spare().word,
        ("Preemptible",),
    ),
    (
        re.compile(r"^DWS Defined Duration (?:Tpu)?(?P<family>V?(?P<number>\d\w*)) running in\b"),
        loans.waiting().word,
        ("OnDemand",),
    ),
]
_BY_CORES = re.compile(r"^Tpu-(?P<family>v\d\w*)\b(?P<rest>.*?) running in\b")
_NEVER = re.compile(r"(?i)commitment|reserved")


def live_catalogue(api: Api, today: date) -> Catalogue:
    """The catalogue with Google's prices of now instead of the dated ones. Raises as `live_rows`."""
    return with_rows(live_rows(api, today), today)


def live_rows(api: Api, today: date) -> list[dict[str, object]]:
    """Google's prices of now as rows of ``prices.json``.

    Args:
        api: On the billing endpoint.

    Raises:
        CloudRefused, CloudUnclear, SignedOut; CloudUnclear ``unreadable-reply`` too where no price of a TPU can be
            made out: descriptions may have changed (the doubt `price-descriptions`), and the dated prices do then.
    """
    skus = [sku for service in (TPU_SERVICE, COMPUTE_SERVICE) for sku in _skus(api, service)]
    try:
        found = rows(skus, today, catalogue())
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        raise errors.make("unreadable-reply", {"raw": f"a price in Google's list is not one: {error!r}"}) from error
    if not found:
        raise errors.make("unreadable-reply", {"raw": "no price of a TPU is made out in Google's list"})
    return found


def with_rows(found: Iterable[Mapping[str, object]], today: date) -> Catalogue:
    return Catalogue({"prices": price_file(found, today)})


def price_file(found: Iterable[Mapping[str, object]], today: date) -> dict[str, object]:
    """``prices.json`` of the catalogue with *found* as its rows.

    One whose price is no amount is left out: a hole, where the price is unknown, and no plan costs less than nothing.

    Raises:
        KeyError: A row without a price: the list is damaged.
    """
    dated = json.loads(resource_path("catalogue", "prices.json").read_text("utf-8"))
    sources = {**dated["sources"], "live": {"title": "Google's live price catalogue", "date": today.isoformat()}}
    sound = [row for row in found if _is_amount(row["usd_per_chip_hour"])]
    return {**dated, "generated": today.isoformat(), "rows": sound, "sources": sources}


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def rows(skus: Iterable[Mapping[str, Any]], today: date, known: Catalogue) -> list[dict[str, object]]:
    """TPU prices in *skus* as rows of ``prices.json``."""
    found: dict[tuple[str, str, str, int, int], set[float]] = {}
    for sku in skus:
        meant = _meaning(sku, known)
        usd = _usd(sku, "h")
        if meant is None or not usd:
            continue
        generation, tier, least, most, chips = meant
        for region in sku.get("serviceRegions") or ():
            found.setdefault((generation, str(region), tier, least, most), set()).add(round(usd / chips, 9))
    return [
        {
            "generation": generation,
            "region": region,
            "tier": tier,
            "min_chips": least,
            "max_chips": most,
            "usd_per_chip_hour": next(iter(prices)),
            "as_of": today.isoformat(),
            "source": "live",
            "confidence": "high",
            "note": "",
        }
        for (generation, region, tier, least, most), prices in sorted(found.items())
        if len(prices) == 1
    ]


def _meaning(sku: Mapping[str, Any], known: Catalogue) -> tuple[str, str, int, int, int] | None:
    """(generation, tier, least chips, most chips, chips of one unit), or None for anything else."""
    text, category = str(sku.get("description", "")), sku.get("category") or {}
    if _NEVER.search(text) or not (
        category.get("resourceGroup") == "TPU" or category.get("resourceFamily") == "Compute"
    ):
        return None
    if one := _BY_CORES.match(text):
        generation = known.find(one["family"])
        if generation is None or generation.priced_chips == 1:
            return None
        if category.get("usageType") not in ("OnDemand", "Preemptible"):
            return None
        unit, rest = generation.priced_chips, one["rest"].lower()
        tier = loans.spare().word if "preemptible" in rest else loans.usual().word
        smallest = min((part.chips for part in generation.slices), default=unit)
        if "pod" not in rest:
            return generation.id, tier, smallest, unit, unit
        least = smallest if generation.pods_only else unit + 1
        return generation.id, tier, least, generation.max_chips, unit
    for pattern, tier, usages in _RULES:
        if (one := pattern.match(text)) and category.get("usageType") in usages:
            found = known.find(one["family"]) or known.find(f"tpu{one['number']}")
            return None if found is None else (found.id, tier, 1, found.max_chips, 1)
    return None


def _usd(sku: Mapping[str, Any], unit: str) -> float | None:
    """The list price of one *unit* in US dollars; None where it is another unit, another currency or in steps."""
    infos = sku.get("pricingInfo") or [{}]
    told = infos[0].get("pricingExpression") or {}
    rates = told.get("tieredRates") or []
    if told.get("usageUnit") != unit or not rates:
        return None
    prices = {_money(rate.get("unitPrice") or {}) for rate in rates}
    if len(prices) > 1:
        prices.discard(0.0)  # a first step that is free
    return prices.pop() if len(prices) == 1 else None


def _money(price: Mapping[str, Any]) -> float | None:
    if price.get("currencyCode", "USD") != "USD":
        return None
    return int(price.get("units") or 0) + int(price.get("nanos") or 0) / 1e9


def _skus(api: Api, service: str) -> list[dict[str, object]]:
    query = {"currencyCode": "USD", "pageSize": 5000}
    return api.pages(f"/v1/services/{service}/skus", "skus", query)


# --------------------------------------------------------------------------------------------------------- extras


@dataclass(frozen=True)
class Extra:
    """Something beside the chips that costs money. *included*: it is part of the plan's rate.

    Attributes:
        usd: None: unknown.
        unit: GB-month, hour, million calls, GB.
    """

    name: str
    usd: float | None
    unit: str
    as_of: str
    source: str


DATED = "2026-11-21"
_FROM_MEMORY = "general_knowledge"
DISK_USD_PER_GB_MONTH = 0.10
ADDRESS_USD_PER_HOUR = 0.005
TASKS_USD_PER_MILLION = 0.40


def extras(region: str, skus: Iterable[Mapping[str, Any]] = ()) -> list[Extra]:
    """Disk, address, storage, egress and tasks: from *skus* (of Compute Engine) where they tell, else dated."""
    dated = _storage()
    region = region_of(region)
    found = [
        Extra("disk", DISK_USD_PER_GB_MONTH, "GB-month", DATED, _FROM_MEMORY),
        Extra("address", ADDRESS_USD_PER_HOUR, "hour", DATED, _FROM_MEMORY),
        Extra("storage", dated["gcs_standard_usd_per_gb_month"].get(region), "GB-month", DATED, dated["source"]),
        Extra("egress", dated["internet_egress_usd_per_gb_first_tier"], "GB", DATED, dated["source"]),
        Extra("tasks", TASKS_USD_PER_MILLION, "million calls", DATED, _FROM_MEMORY),
    ]
    live = {}
    for sku in skus:
        text, regions = str(sku.get("description", "")), sku.get("serviceRegions") or ()
        if re.match(r"^Hyperdisk Balanced Capacity in\b|^Balanced PD Capacity in\b", text) and region in regions:
            live["disk"] = _usd(sku, "GiBy.mo")
        if re.match(r"^External IP Charge on a Standard VM\b", text):
            live["address"] = _usd(sku, "h")
    today = date.today().isoformat()
    return [Extra(one.name, live[one.name], one.unit, today, "live") if live.get(one.name) else one for one in found]


def _storage() -> Mapping[str, Any]:
    tree: Mapping[str, object] = json.loads(resource_path("catalogue", "prices.json").read_text("utf-8"))["storage"]
    return tree
