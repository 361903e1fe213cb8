"""What an account's own lists say against the built-in table: it counts, and differences are named."""

from __future__ import annotations

from datetime import date

import pytest

from tpu_studio.domain import offers as offered
from tpu_studio.domain.catalogue import Catalogue, catalogue
from tpu_studio.domain.offers import Area, Offers, Unread
from tpu_studio.planner.rented import choose
from tpu_studio.wire.job import parse

DAY = "2026-12-24"
IMAGES = ("tpu-ubuntu2204-base", "v2-alpha-tpuv6e", "tpu-vm-tf-2.18.0-pjrt", "tpu-vm-tf-2.9.1")


def told(**areas: Area | dict[str, str]) -> Offers:
    """Areas by name with _ for -; a plain dict is what the API lists there."""
    made = {
        zone.replace("_", "-"): area if isinstance(area, Area) else Area(DAY, area, IMAGES)
        for zone, area in areas.items()
    }
    return Offers("my-project", DAY, made)


def with_offers(offers: Offers) -> Catalogue:
    return Catalogue({"generations": offered.renewed(catalogue(), offers)})


def test_an_area_that_answered_counts_and_one_that_did_not_keeps_the_dated_row() -> None:
    known = with_offers(told(us_east5_a={"v6e-1": "1x1", "v6e-8": "2x4"}))
    zones = {zone.zone: zone for zone in known.generation("v6e").zones}
    assert zones["us-east5-a"].sizes == (1, 8) and zones["us-east5-a"].as_of == DAY
    assert zones["us-east5-a"].tiers == ("on-demand", "spot", "flex-start")  # how it is lent stands in no list
    assert zones["us-east5-b"].sizes is None and zones["us-east5-b"].as_of == ""
    assert known.possible("v6e", "jax", "", "us-east5-a", 4).why == "us-east5-a lends 1, 8 chips of v6e."
    assert known.possible("v6e", "jax", "", "us-east5-b", 4).possible


def test_an_area_that_lends_nothing_of_it_any_more_is_gone_and_named() -> None:
    offers = told(us_east5_b={"v5p-8": "2x2x1"})
    assert "us-east5-b" not in [zone.zone for zone in with_offers(offers).generation("v6e").zones]
    assert ("v6e", "us-east5-b") in offered.changes(catalogue(), offers).gone
    assert "v6e is not lent to your project in us-east5-b." in offered.lines(offered.changes(catalogue(), offers))


def test_an_area_that_the_project_does_not_have_is_gone_too() -> None:
    zones = sorted({zone.zone for one in catalogue().offered() for zone in one.zones} - {"us-central2-b"})
    offers = Offers("my-project", DAY, {}, tuple(zones))
    assert with_offers(offers).generation("v4").zones == ()
    assert with_offers(offers).possible("v4", "jax", "", "us-central2-b", 4).state == "impossible"
    assert offered.changes(catalogue(), offers).gone == (("v4", "us-central2-b"),)


def test_a_new_area_is_offered_with_the_loans_that_have_a_price_there() -> None:
    known = with_offers(told(us_west4_b={"v5litepod-4": "2x2"}))
    zone = next(zone for zone in known.generation("v5e").zones if zone.zone == "us-west4-b")
    assert zone.tiers == ("on-demand", "spot") and zone.sizes == (4,)
    job = {"format": 1, "name": "x", "model": {"name": "mlp"}, "data": {"kind": "digits"}}
    where = {"place": "cloud", "accelerator": "v5litepod-4", "zones": ["us-west4-b"]}
    assert choose(parse({**job, "where": where}), "jax", 1, known).problem == ""


def test_what_is_new_to_us_is_listed_and_never_planned_for() -> None:
    offers = told(us_east5_a={"v9x-16": "2x2x4", "v6e-2": "1x2", "v6e-1": "1x1", "odd": ""})
    strange = {one.name: (one.generation, one.chips) for one in offered.changes(catalogue(), offers).strange}
    assert strange == {"v9x-16": ("", 16), "v6e-2": ("v6e", 2), "odd": ("", None)}
    known = with_offers(offers)
    assert known.strange == ("odd", "v9x") and known.find("v9x") is None
    words = "\n".join(offered.lines(offered.changes(catalogue(), offers)))
    assert "v9x-16 is new to TPU Studio (us-east5-a, 16 chips as 2x2x4)" in words
    assert "New to TPU Studio, sizes of v6e: v6e-2." in words


def test_a_size_that_no_area_lends_is_named_only_when_every_area_was_asked() -> None:
    one = told(us_central2_b={"v4-8": "2x2x1"})
    assert ("v4", "v4-16") in offered.changes(catalogue(), one).gone_slices
    assert not [pair for pair in offered.changes(catalogue(), one).gone_slices if pair[0] == "v6e"]


def test_machines_of_the_account_count_with_their_processors() -> None:
    machines = {
        "us-central1-c": {
            "tpu7x-standard-4t": {"vcpu": 240, "ram_gb": 960.0, "chips": 4},
            "ct9-standard-8t": {"vcpu": 1, "ram_gb": 2.0, "chips": 8},
        }
    }
    offers = Offers("my-project", DAY, machines=machines, machines_date=DAY)
    known = with_offers(offers).generation("tpu7x")
    assert [zone.zone for zone in known.zones] == ["us-central1-c"]
    assert (known.machines[0].vcpu, known.machines[0].ram_gb) == (240, 960.0)
    words = "\n".join(offered.lines(offered.changes(catalogue(), offers)))
    assert "ct9-standard-8t is new" in words and "tpu7x-standard-4t has 240 processors and 960 GB" in words


def test_an_image_that_we_start_and_the_area_does_not_name_is_said_before_it_is_rented() -> None:
    offers = told(us_east5_a=Area(DAY, {"v6e-1": "1x1"}, ("tpu-vm-base",)))
    assert with_offers(offers).possible("v6e", "jax", "", "us-east5-a").state == "unproven"
    assert "v2-alpha-tpuv6e" in with_offers(offers).possible("v6e", "jax", "", "us-east5-a").why
    assert with_offers(told(us_east5_a={"v6e-1": "1x1"})).possible("v6e", "jax", "", "us-east5-a").why == ""


def test_the_newest_tensorflow_image_is_the_highest_number() -> None:
    assert offered.changes(catalogue(), told(us_east5_a={"v6e-1": "1x1"})).tensorflow == "2.18.0"


def test_what_was_not_read_is_said_with_what_counts_instead() -> None:
    offers = Offers(
        "p",
        DAY,
        {"us-a1-a": Area("2026-12-20", {}, None)},
        None,
        None,
        "",
        (Unread("us-a1-a", "timed-out"), Unread("us-b1-b", "timed-out")),
    )
    first, second = offered.unread_lines(offers)
    assert "us-a1-a" in first and "2026-12-20 counts" in first
    assert "us-b1-b" in second and "the built-in figures count" in second


def test_it_comes_back_from_json_as_it_was_and_nothing_else_does() -> None:
    offers = told(us_east5_a={"v6e-1": "1x1"})
    assert Offers.from_json(offers.to_json()) == offers
    for broken in ({}, {**offers.to_json(), "format": 2}, {**offers.to_json(), "areas": {"a": {}}}):
        with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
            Offers.from_json(broken)


def test_its_age_is_said_with_its_source() -> None:
    day = date.fromisoformat(catalogue().built_in)
    assert offered.age(None, day) == f"Zones and slices: built in, {day.day} {day:%b %Y}."
    assert offered.age(told(), date(2026, 12, 25)) == "Zones and slices: from your project my-project, yesterday."
