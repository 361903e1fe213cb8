"""Google's price list read as it is worded: what stands there by chip, by 8 cores, twice or not at all."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
import requests

from tpu_studio.cloud.prices import extras, live_rows, rows, with_rows
from tpu_studio.cloud.session import Api
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire.errors import CloudUnclear

TODAY = date(2026, 11, 22)


def sku(
    text: str,
    units: str = "1",
    nanos: int = 200_000_000,
    *,
    usage: str = "OnDemand",
    region: str = "us-west4",
    group: str = "TPU",
    unit: str = "h",
    **more: Any,
) -> dict[str, Any]:
    rate = {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": units, "nanos": nanos}}
    return {
        "description": text,
        "category": {"resourceGroup": group, "usageType": usage, **more},
        "serviceRegions": [region],
        "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": [rate]}}],
    }


def priced(*skus: dict[str, Any]) -> Any:
    return with_rows(rows(skus, TODAY, catalogue()), TODAY)


def test_each_family_is_read_as_it_is_worded() -> None:
    known = priced(
        sku("TpuV5e running in Las Vegas"),
        sku("TpuV5e attached to Spot Preemptible VMs running in Las Vegas", "0", 577_900_000, usage="Preemptible"),
        sku("DWS Defined Duration V5e running in Las Vegas", "0", 600_000_000),
        sku("Tpu-v3 running in Iowa", "8", 0, region="us-central1"),
        sku("Tpu-v3 Preemptible running in Iowa", "2", 400_000_000, region="us-central1"),
        sku("Tpu-v3 Pod running in Iowa", "32", 0, region="us-central1"),
        sku("Tpu-v4 Pod running in Oklahoma", "12", 880_000_000, region="us-central2"),
        sku("Tpu7x running in Columbus", "12", 0, region="us-east5"),
    )
    told = {
        (generation, chips, tier): known.price(generation, chips, region, tier).usd_per_chip_hour
        for generation, chips, region, tier in (
            ("v5e", 8, "us-west4-a", "on-demand"),
            ("v5e", 1, "us-west4", "spot"),
            ("v5e", 4, "us-west4", "flex-start"),
            ("v3", 4, "us-central1", "on-demand"),
            ("v3", 4, "us-central1", "spot"),
            ("v3", 16, "us-central1", "on-demand"),
            ("v4", 4, "us-central2", "on-demand"),
            ("tpu7x", 4, "us-east5", "on-demand"),
        )
    }
    assert list(told.values()) == [1.2, 0.5779, 0.6, 2.0, 0.6, 8.0, 3.22, 12.0]
    assert known.price("v5e", 1, "us-west4").as_of == "2026-11-22"


def test_what_is_no_list_price_is_left_out() -> None:
    known = priced(
        sku("Commitment v1: TpuV5e in Las Vegas for 1 Year", usage="Commit1Yr"),
        sku("TpuV5e running in Las Vegas reserved"),
        sku("TpuV5e running in Las Vegas", usage="Commit1Yr"),
        sku("TpuV5e running in Las Vegas", unit="GiBy.mo"),
        sku("TpuV5e running in Las Vegas", "0", 0),
        sku("DWS Calendar Mode V5e running in Las Vegas"),
        sku("Nvidia TpuV5e running in Las Vegas"),
    )
    assert all(known.price("v5e", 1, "us-west4", tier) is None for tier in ("on-demand", "spot", "flex-start"))


def test_two_prices_for_one_thing_are_none() -> None:
    same, other = sku("TpuV6e running in Columbus"), sku("TpuV6e running in Ohio", "2", 0)
    assert priced(same, same).price("v6e", 1, "us-west4") is not None
    assert priced(same, other).price("v6e", 1, "us-west4") is None


def test_a_price_is_of_its_region_never_of_the_nearest() -> None:
    assert priced(sku("TpuV6e running in Columbus", region="us-east5")).price("v6e", 1, "us-east4") is None


def test_extras_are_live_where_they_can_be_and_dated_otherwise() -> None:
    live = [
        sku("Balanced PD Capacity in Las Vegas", "0", 110_000_000, group="SSD", unit="GiBy.mo"),
        sku("External IP Charge on a Standard VM", "0", 4_000_000, group="IpAddress", region="global"),
    ]
    told = {one.name: one for one in extras("us-west4-a", live)}
    assert (told["disk"].usd, told["disk"].source, told["address"].usd) == (0.11, "live", 0.004)
    assert told["storage"].usd == 0.023 and told["storage"].source != "live"
    assert {one.name: one for one in extras("mars-north1")}["storage"].usd is None


@pytest.mark.parametrize(
    "odd",
    [
        {"serviceRegions": 5},
        {"category": ["TPU"]},
        {"pricingInfo": [None]},
        {"pricingInfo": [{"pricingExpression": {"usageUnit": "h", "tieredRates": [{"unitPrice": {"units": "much"}}]}}]},
    ],
)
def test_a_price_that_is_none_leaves_the_list_unread_and_is_no_crash(odd: dict[str, Any]) -> None:
    class Told(Api):
        def pages(self, *asked: object, **more: object) -> list[dict[str, Any]]:
            return [{**sku("TpuV5e running in Las Vegas"), **odd}]

    with pytest.raises(CloudUnclear) as told:
        live_rows(Told("https://billing.example", requests.Session()), TODAY)
    assert told.value.id == "unreadable-reply"
