"""Plans where the account is known: areas that it may use come first, then where its results are; quota is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.domain.renewed import catalogue_at, catalogues, forget_renewed, use
from tpu_studio.domain.sentences import say_check
from tpu_studio.domain.standing import FILE, standing_of
from tpu_studio.planner import known as planner
from tpu_studio.planner import make
from tpu_studio.wire.job import set_values
from tpu_studio.wire.plan import Plan

READ = NOW - 86_400.0  # 20 November 2026
Known = Callable[..., None]


@pytest.fixture
def known() -> Iterator[Known]:
    """``known({("v5e", "serving", "spot", "us-west4-a"): 4}, region=…, addresses=…)``"""

    def tell(limits: dict[tuple[str, str, str, str], int], region: str = "us-west4", **more: Any) -> None:
        names = ("generation", "use", "tier", "zone")
        rows = [
            {**dict(zip(names, key, strict=True)), "limit": limit, "unit": "cores" if key[0] == "v5p" else "chips"}
            for key, limit in limits.items()
        ]
        use("cloud", {FILE: {"region": region, "t": READ, "rows": rows, **more}})

    yield tell
    forget_renewed()


def planned(**where: Any) -> Plan:
    wanted = job("mlp", "digits", where={"place": "cloud", "accelerator": "v5litepod-8", **where})
    return make_plan(wanted, DIGITS, now=NOW, computer=LAPTOP)


def serving(tier: str = "on-demand", **limits: int) -> dict[tuple[str, str, str, str], int]:
    """Of zones as `us_west4_a`."""
    return {("v5e", "serving", tier, zone.replace("_", "-")): limit for zone, limit in limits.items()}


def test_nobody_signed_in_is_planned_for_where_it_costs_least(known: Known):
    plan = planned()
    assert plan.job["where.zones"] == ["us-central1-a"]
    assert plan.reasons["where.zones"].endswith("where it costs least.")


def test_the_accounts_own_area_comes_before_one_that_is_as_cheap(known: Known):
    known({})
    plan = planned()
    assert plan.job["where.zones"] == ["us-west4-a"]
    assert "where your results are kept" in plan.reasons["where.zones"]
    assert planned(accelerator="v6e-8").job["where.zones"] != ["us-west4-a"]  # it is not lent there


def test_areas_in_which_google_allows_it_come_first(known: Known):
    known(serving(us_west4_a=0, us_central1_a=0, us_west1_c=8))
    plan = planned()
    assert plan.job["where.zones"] == ["us-west1-c"]
    assert plan.reasons["where.zones"] == (
        "Google allows you 8 chips there (read on 20 Nov), in us-west4, where your results are kept, none of this kind."
    )
    assert "place-quota" not in [check.id for check in plan.checks]


def test_an_area_of_which_nothing_was_read_is_better_than_one_that_allows_none(known: Known):
    known(serving(us_west4_a=0))
    assert planned().job["where.zones"] == ["us-central1-a"]


def test_the_limit_of_the_size_counts_not_that_of_the_chip(known: Known):
    limits = serving(us_west4_a=8) | {("v5e", "training", "on-demand", "us-west4-a"): 0}
    known(limits | {("v5e", "training", "on-demand", "us-west1-c"): 64})
    assert planned().job["where.zones"] == ["us-west4-a"]
    assert planned(accelerator="v5litepod-16").job["where.zones"] == ["us-west1-c"]


def test_cores_are_counted_as_cores(known: Known):
    known({("v5p", "", "on-demand", "us-east5-a"): 8})
    standing = standing_of(catalogue_at("cloud"))
    part = catalogue_at("cloud").slice
    assert standing.limit(part("v5p-8"), "on-demand", "us-east5-a") == 4
    assert standing.allows(part("v5p-8"), "on-demand", "us-east5-a") is True
    assert standing.allows(part("v5p-16"), "on-demand", "us-east5-a") is False


def test_a_tpu_that_is_too_large_for_the_quota_is_told_and_one_press_takes_what_is_allowed(known: Known):
    known(serving(us_west4_a=4, us_central1_a=4) | serving("spot", us_west4_a=0))
    plan = planned(zones=["us-west4-a"])
    check = next(one for one in plan.checks if one.id == "place-quota")
    assert (check.level, check.fix) == ("warning", {"where.accelerator": "v5litepod-4"})
    said = say_check(check.id, check.title, check.facts)
    assert said.title == "Google allows you 4 chips of this kind in us-west4"
    assert "for TPUs of 1, 4 or 8 chips (read on 20 Nov)" in said.meaning
    smaller = make_plan(set_values(plan.job, check.fix or {}), DIGITS, now=NOW, computer=LAPTOP)
    assert "place-quota" not in [one.id for one in smaller.checks]


@pytest.mark.parametrize(
    ("limits", "fix"),
    [
        (serving(us_west4_a=0, us_central1_a=8), {"where.zones": ["us-central1-a"]}),
        (serving(us_west4_a=0) | serving("spot", us_west4_a=8), {"where.tier": "spot"}),
        (serving(us_west4_a=0), None),
    ],
)
def test_what_else_is_allowed_is_one_press_away(known: Known, limits: Any, fix: Any):
    zones = ("us-central1-a", "us-south1-a", "us-west1-c", "us-west4-a", "europe-west4-b", "asia-southeast1-b")
    none = {("v5e", "serving", tier, zone): 0 for tier in ("on-demand", "spot") for zone in zones}
    known(none | limits)
    check = next(one for one in planned(zones=["us-west4-a"]).checks if one.id == "place-quota")
    assert check.title == "Google allows you none of this kind in us-west4"
    assert check.fix == fix


def test_auto_takes_a_tpu_that_is_allowed(known: Known):
    none = {("v5e", "serving", "spot", zone.zone): 0 for zone in catalogue_at("cloud").generation("v5e").zones}
    known(none | {("v6e", "", "spot", "us-east5-b"): 64})
    plan = planned(accelerator="auto", tier="spot")
    assert plan.accelerator.startswith("v6e") and plan.job["where.zones"][0] == "us-east5-b"


def test_a_slice_of_many_hosts_is_told_where_addresses_are_too_few(known: Known):
    known({}, addresses={"us-west4": [8, 6]})
    check = next(one for one in planned(accelerator="v5litepod-16").checks if one.id == "place-addresses")
    assert (check.facts["left"], check.facts["hosts"], check.fix) == (2, 4, {"where.accelerator": "v5litepod-8"})
    assert "takes one, and 2 are left (read on 20 Nov)" in say_check(check.id, check.title, check.facts).meaning
    assert "place-addresses" not in [one.id for one in planned().checks]
    known(serving(us_west4_a=4), addresses={"us-west4": [8, 6]})
    check = next(one for one in planned(accelerator="v5litepod-16").checks if one.id == "place-addresses")
    assert check.fix == {"where.accelerator": "v5litepod-4"}  # the largest that is allowed


def test_what_is_read_later_changes_no_plan_that_is_made_with_the_catalogue_of_before(known: Known):
    wanted = job("mlp", "digits", where={"place": "cloud", "accelerator": "v5litepod-8"})
    before = catalogues()
    first = make.make_plan(wanted, DIGITS, planner.Known(before, computer=LAPTOP), now=NOW)
    known(serving(us_west4_a=0, us_central1_a=0, us_west1_c=8))
    same = make.make_plan(wanted, DIGITS, planner.Known(before, computer=LAPTOP), now=NOW)
    newer = make.make_plan(wanted, DIGITS, planner.Known(catalogues(), computer=LAPTOP), now=NOW)
    assert same == first
    assert newer.job["where.zones"] == ["us-west1-c"] != first.job["where.zones"]
