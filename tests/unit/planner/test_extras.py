"""What a rented machine costs besides its chips. Figures worked out by hand beside each test."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Look
from tpu_studio.domain import rates
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.regions import with_cloud_tasks
from tpu_studio.domain.sentences import say_check
from tpu_studio.planner.extras import Loan, Moved, extras_of
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.planner.report import besides
from tpu_studio.planner.report.worst import worst_case
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.job import Job
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import to_json

HERE = Loan(("us-west4-a", "us-west4-b"), "on-demand", 1, compute=False, bucket_region="us-west4")
SMALL = Moved(result=16 << 20, state=12 << 20, data=100 << 20, steps=1000, copies=10)


def planned(job: Job, look: Look) -> Plan:
    return make_plan(job, look, now=NOW, computer=LAPTOP)


def test_what_an_organisation_has_google_keep_after_its_deletion_is_reserved_too():
    # Kept: 100 + 3 x 12 + 16 + 4 MiB, events 2 x (0.4 MB + 2 h x 2 MiB) = 0.1611 GB; dropped by then: 10 copies of
    # 12 MiB, 2 x 0.4 MB, 4 MiB = 0.1218 GB. All of it 7 days more: 0.2829 GB x 0.023 $ x 168/730 h = $0.001497.
    usual = extras_of(HERE, SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2)
    kept = extras_of(replace(HERE, kept_days=7), SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2)
    assert kept.part("storage").usd - usual.part("storage").usd == pytest.approx(0.001497, abs=2e-6)
    assert kept.reserved_usd - usual.reserved_usd == pytest.approx(0.001497, abs=2e-6)
    assert kept.kept_days == 7 and usual.kept_days == 0
    assert "7 days more" in kept.part("storage").note


def test_disks_and_addresses_are_charged_by_the_hour_for_each_worker():
    # us-west4: 100 GB x 0.11 $/GB-month / 730 h = 0.0150685 $/h; an address 0.005 $/h; 2 h at most.
    one = extras_of(HERE, SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2)
    assert one.machine_usd_per_hour == pytest.approx(0.0200685, abs=1e-6)
    assert one.part("disk").usd == pytest.approx(0.030137, abs=1e-6)
    assert one.part("address").usd == pytest.approx(0.01)
    four = extras_of(Loan(HERE.zones, "spot", 4, False, "us-west4"), SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2)
    # four disks and four addresses of a spot machine: 4 x (0.0150685 + 0.0025)
    assert four.machine_usd_per_hour == pytest.approx(0.070274, abs=1e-6)


def test_compute_engine_has_a_larger_disk_that_is_certainly_charged():
    loan = Loan(("us-east5-a",), "on-demand", 1, compute=True)
    told = extras_of(loan, SMALL, hours=1.0, money_usd=None, usd_per_hour=2.7)
    guessed = told.part("disk")  # we have no disk's price in us-east5: above Tokyo's 0.13 is counted
    assert guessed.usd == guessed.usd_expected == pytest.approx(200 * 0.18 / 730, abs=1e-6)
    assert told.machine_usd_per_hour == pytest.approx(200 * 0.18 / 730 + 0.005, abs=1e-6)
    assert "We have no price for us-east5" in guessed.note and "dearest" in guessed.note
    loan = Loan(("us-central1-a",), "on-demand", 1, compute=True)
    disk = extras_of(loan, SMALL, hours=1.0, money_usd=None, usd_per_hour=2.7).part("disk")
    assert disk.usd == disk.usd_expected == pytest.approx(200 * 0.10 / 730, abs=1e-6)
    included = extras_of(HERE, SMALL, hours=1.0, money_usd=None, usd_per_hour=1.2).part("disk")
    assert included.usd_expected == 0.0 and included.usd > 0.0


def test_what_is_kept_is_reserved_for_the_thirty_days_of_the_buckets_rule():
    # 100 MB data + 3 x 12 MB copies + 16 MB result + 2 x (400 kB + 2 x 2 MB) events + 4 MB bundle, in us-west4
    size = (100 + 36 + 16 + 4) * 2**20 + 2 * (400_000 + 4 * 2**20)
    told = extras_of(HERE, SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2).part("storage")
    assert told.usd == pytest.approx(size / 2**30 * 0.023 * 720 / 730, abs=2e-6)
    down = (16 * 2**20 + 2 * (400_000 + 4 * 2**20)) / 2**30
    traffic = extras_of(HERE, SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2).part("traffic")
    assert traffic.usd == pytest.approx(down * 0.23, abs=2e-6)  # to China; wherever the computer stands, it holds
    assert traffic.usd_expected == pytest.approx(down * 0.12, abs=2e-6)


def test_spent_reaches_the_cap_exactly_when_the_reserve_and_the_hours_are_used_up():
    told = extras_of(HERE, SMALL, hours=100.0, money_usd=5.0, usd_per_hour=1.2)
    fixed, each = told.fixed_usd, told.operations_usd_per_hour
    rate = 1.2 + told.machine_usd_per_hour
    hours = (5.0 - fixed) / (rate + each)
    assert told.hours == pytest.approx(hours, abs=1e-3)
    assert told.reserved_usd == pytest.approx(fixed + each * hours, abs=1e-5)
    assert told.reserved_usd + rate * hours == pytest.approx(5.0, abs=1e-5)


def test_traffic_between_regions_is_priced_at_the_dearest_and_never_guessed():
    apart = Loan(("us-central1-a",), "on-demand", 1, False, "us-west4")
    told = extras_of(apart, SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2).part("traffic")
    # read: data + bundle once; written: 10 copies + result + events twice, each GB 0.02 $
    across = (104 * 2**20 + 120 * 2**20 + 16 * 2**20 + 2 * (400_000 + 4 * 2**20)) / 2**30
    near = extras_of(HERE, SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2).part("traffic")
    assert told.usd - near.usd == pytest.approx(0.02 * across, abs=3e-6)
    far = Loan(("europe-west4-b",), "on-demand", 1, False, "us-west4")
    unknown = extras_of(far, SMALL, hours=2.0, money_usd=None, usd_per_hour=1.2).part("traffic")
    assert unknown.usd is None and "price is unknown" in unknown.note


def test_a_plan_freezes_them_and_its_limits_hold_them_back():
    plan = planned(job("mlp", "digits", where={"place": "cloud"}), DIGITS)
    again = plans.loads(plans.dumps(plan))
    assert again.extras == plan.extras and {part.id for part in plan.extras.parts} == {
        "disk",
        "address",
        "operations",
        "storage",
        "traffic",
        "tasks",
    }
    limits = limits_of(again)
    assert limits.reserved_usd == pytest.approx(plan.extras.reserved_usd, abs=1e-5)
    assert limits.usd(0.0) == limits.reserved_usd > 0.0
    assert plan.price is not None and limits.usd_per_hour is not None
    each = plan.extras.machine_usd_per_hour
    assert limits.usd_per_hour == pytest.approx(plan.price.usd_per_hour + each)
    assert planned(job("mlp", "digits"), DIGITS).extras is None


def test_a_plan_of_an_older_version_has_none_and_a_damaged_one_is_refused():
    plan = planned(job("mlp", "digits", where={"place": "cloud"}), DIGITS)
    tree = plan.to_json()
    del tree["extras"]
    old = plans.from_json(tree)
    assert old.extras is None and limits_of(old).reserved_usd == 0.0
    for bad in (replace(plan.extras, fixed_usd=-1.0), replace(plan.extras, parts=[1]), [1], {"parts": []}):
        with pytest.raises(RunError, match="plan-unreadable"):
            plans.from_json({**plan.to_json(), "extras": bad})


def test_a_cap_below_the_reserve_and_a_first_minute_is_refused_with_the_figure():
    plan = planned(job("mlp", "digits", where={"place": "cloud"}, limits={"money_usd": 0.01}), DIGITS)
    check = next(one for one in plan.blocking if one.id == "money-limit-too-small")
    least = check.facts["least_usd"]
    assert least > plan.extras.fixed_usd
    enough = planned(job("mlp", "digits", where={"place": "cloud"}, limits={"money_usd": least}), DIGITS)
    assert not [one for one in enough.blocking if one.id == "money-limit-too-small"]


def test_areas_outside_the_buckets_region_are_priced_at_the_dearest_and_asked_for():
    where = {"place": "cloud", "tier": "spot", "accelerator": "v5litepod-1", "zones": ["us-central1-a", "us-west4-a"]}
    plan = make_plan(job("mlp", "digits", where=where), DIGITS, now=NOW, computer=LAPTOP, bucket_region="us-central1")
    assert plan.price is not None
    assert plan.price.usd_per_hour == pytest.approx(0.52536)  # us-west4's; us-central1 asks 0.29771
    told = next(check for check in plan.checks if check.id == "bucket-elsewhere")
    assert told.level == "warning" and told.facts["regions"] == ["us-west4"]
    near = {**where, "zones": ["us-central1-a"]}
    plan = make_plan(job("mlp", "digits", where=near), DIGITS, now=NOW, computer=LAPTOP, bucket_region="us-central1")
    assert not [check for check in plan.checks if check.id.startswith("bucket-")]


def test_where_the_way_to_the_bucket_has_no_known_price_nothing_real_is_rented():
    where = {"place": "cloud", "accelerator": "v5litepod-1", "zones": ["europe-west4-b"]}
    plan = make_plan(job("mlp", "digits", where=where), DIGITS, now=NOW, computer=LAPTOP, bucket_region="us-west4")
    told = next(check for check in plan.blocking if check.id == "bucket-too-far")
    said = say_check(told.id, told.title, told.facts)
    assert "us-west4" in said.title and "europe-west4" in said.title and said.action


def test_the_words_name_each_part_its_amounts_and_what_is_in_no_figure():
    plan = planned(job("mlp", "digits", where={"place": "cloud"}), DIGITS)
    words = besides.besides(plan)
    assert [one.title for one in words] == [besides.TITLES[part.id] for part in plan.extras.parts]
    disk = next(one for one in words if one.title == "Disks")
    assert disk.how.startswith("1 disk of 100 GB at $0.0") and "an hour" in disk.how and disk.source
    far = Loan(("europe-west4-b",), "on-demand", 1, False, "us-west4")
    parts = extras_of(far, SMALL, hours=1.0, money_usd=None, usd_per_hour=3.0)
    told = besides.besides(replace(plan, extras=parts))
    assert "price unknown" in [one.cost for one in told]
    assert besides.total(replace(plan, extras=parts)).endswith("and what has no known price")
    here = Loan(("us-central2-b",), "on-demand", 1, False)
    guessed = replace(plan, extras=extras_of(here, SMALL, hours=1.0, money_usd=None, usd_per_hour=3.0))
    told = besides.besides(guessed)
    notes = " ".join(one.how for one in told)
    assert "price unknown" not in [one.cost for one in told] and notes.count("no price for us-central2: more than") == 2
    assert "no known price" not in besides.total(guessed)
    assert plan_to_public_json(plan)["extras"] == to_json(plan.extras)


def test_no_region_that_lends_a_tpu_has_a_part_that_costs_nothing():
    for zone in sorted({one.zone for generation in catalogue().offered() for one in generation.zones}):
        told = extras_of(Loan((zone,), "on-demand", 1, True), SMALL, hours=1.0, money_usd=None, usd_per_hour=1.0)
        assert all(told.part(id).usd > 0.0 for id in ("disk", "address", "operations", "storage", "traffic"))


def test_the_worst_case_holds_the_reserve_once_and_disks_as_long_as_the_machine_is_there():
    plan = planned(job("mlp", "digits", where={"place": "cloud"}, limits={"hours": 2.0, "money_usd": 500.0}), DIGITS)
    assert plan.price is not None
    rate = plan.price.usd_per_hour + plan.extras.machine_usd_per_hour
    beyond_s = max(plan.limits.margin_s, plan.limits.margin_boot_s)
    worst = worst_case(plan)
    assert worst is not None and worst.usd is not None
    cap = plan.extras.reserved_usd + 2.0 * rate
    assert worst.usd == pytest.approx(cap + rate * beyond_s / 3600.0, abs=0.011)


def test_a_region_without_a_price_of_ours_counts_more_than_any_listed_one():
    """Mexico's buckets are listed at 0.026 (cloud.google.com/storage/pricing)."""
    disk = partial(rates.disk_usd_per_hour, 730.0)
    for name, rate in ((rates.STORAGE, rates.storage_usd_per_gb_month), (rates.DISK, disk)):
        known = [region for region in with_cloud_tasks() if rates.published(name, region)]
        assert known and rate("northamerica-south1") > 1.1 * max(rate(region) for region in known)
        assert not rates.published(name, "southamerica-west1")
    assert rates.storage_usd_per_gb_month("northamerica-south1") > 0.026
