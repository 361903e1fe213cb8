"""What a run has cost, part by part: figures worked out by hand beside each test."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.planner.extras import Loan, Moved, extras_of
from tpu_studio.wire.events import Event
from tpu_studio.wire.extras import Reserve
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.runfolder import ledger_file
from tpu_studio.workflow.cloudruns import asking, bill
from tpu_studio.workflow.cloudruns.bill import Part, Used, chips_of, parts_of, total
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.ports import Ref, Stored
from tpu_studio.workflow.cloudruns.state import State
from tpu_studio.workflow.cloudruns.usage import CountedMailbox, Usage, usage_of

LOAN = Loan(("us-west4-a",), "on-demand", 1, compute=False, bucket_region="us-west4")
MOVED = Moved(result=16 << 20, state=12 << 20, data=100 << 20, steps=1000, copies=10)
EXTRAS = extras_of(LOAN, MOVED, hours=4.0, money_usd=None, usd_per_hour=1.2)
HOUR = Used(3600.0, 3600.0, 3600.0, a=1000, b=5000, kept_bytes=2**30, down_bytes=2**28, whole=True)


def by_id(used: Used, extras: Any = EXTRAS, regions: tuple[str, ...] = ("us-west4",)) -> dict[str, Any]:
    chips = Part("chips", *(seconds / 3600.0 * 1.2 for seconds in (used.least_s, used.seconds, used.most_s)))
    return {part.id: part for part in parts_of(extras, used, chips, "us-west4", regions)}


def test_each_part_is_what_was_used_at_its_rate():
    parts = by_id(HOUR)
    assert parts["chips"].usd == pytest.approx(1.2)
    assert parts["disk"].usd == 0.0  # as assumed: the price of a TPU VM includes its boot disk
    assert parts["disk"].most == pytest.approx(1.5 * 100 * 0.11 / 730)  # charged besides, and half as dear again
    assert (parts["address"].least, parts["address"].usd) == (0.0, pytest.approx(0.005))
    assert parts["operations"].usd == pytest.approx(1000 * 0.005 / 1000 + 5000 * 0.0004 / 1000)
    assert parts["storage"].usd == pytest.approx(0.023 * 720 / 730)  # a GB for thirty days of a month of 730 hours
    assert parts["traffic"].usd == pytest.approx(0.25 * 0.12)
    assert parts["traffic"].most == pytest.approx(0.25 * 0.23)  # to a computer in China
    assert parts["tasks"].usd == 0.0
    least, usd, most = total(list(parts.values()))
    assert usd == pytest.approx(1.2 + 0.005 + 0.007 + 0.0226849 + 0.03, abs=1e-6)
    assert least <= usd <= most


def test_a_count_that_a_crash_cut_short_is_bounded_by_what_was_reserved():
    cut = Used(3600.0, 3600.0, 3600.0, a=10, b=10, kept_bytes=None, whole=False)
    parts = by_id(cut)
    reserved = {part.id: part.usd for part in EXTRAS.parts}
    assert parts["operations"].most == pytest.approx(reserved["operations"])
    assert parts["traffic"].most == pytest.approx(reserved["traffic"])
    assert (parts["storage"].least, parts["storage"].most) == (0.0, reserved["storage"])


def test_what_the_bucket_keeps_after_deletion_is_charged_and_what_nobody_counted_of_it_was_reserved():
    reserved = EXTRAS.usd("storage")
    kept = by_id(replace(HOUR, kept_bytes=2**20), replace(EXTRAS, kept_days=7))["storage"]
    assert kept.least == kept.usd == pytest.approx(0.023 / 1024 * (720 + 168) / 730)  # a MB for 30 + 7 days
    assert kept.most == reserved


def test_a_bucket_elsewhere_adds_what_went_between():
    across = Used(3600.0, 3600.0, 3600.0, a=1, b=1, kept_bytes=0, across_bytes=2**30, whole=True)
    assert by_id(across, regions=("us-central1",))["traffic"].usd == pytest.approx(0.02)
    assert by_id(across)["traffic"].usd == 0.0
    assert by_id(across, regions=("europe-west4",))["traffic"].usd is None  # nobody published it: no guess


def test_what_we_have_no_price_for_is_counted_above_the_dearest_and_told_as_a_range_from_nothing():
    loan = Loan(("us-central2-b",), "on-demand", 1, compute=True, bucket_region="us-central2")
    extras = extras_of(loan, MOVED, hours=4.0, money_usd=None, usd_per_hour=1.2)
    parts = {part.id: part for part in parts_of(extras, HOUR, Part("chips", 1.2, 1.2, 1.2), "us-central2", ())}
    disk, storage = 200 * 0.18 / 730, 0.04 * 720 / 730
    assert parts["disk"].least == 0.0 and parts["disk"].usd == pytest.approx(disk)
    assert parts["disk"].most == pytest.approx(1.5 * disk)
    assert parts["storage"].least == 0.0 and parts["storage"].usd == pytest.approx(storage)
    assert parts["storage"].most == pytest.approx(1.5 * storage)


def test_a_plan_of_an_older_version_is_billed_for_its_chips_alone():
    chips = Part("chips", 1.2, 1.2, 1.2)
    assert parts_of(None, HOUR, chips, "us-west4", ("us-west4",)) == [chips]


def test_a_machine_is_charged_at_the_price_of_where_it_was_and_the_cap_at_the_dearest():
    where = {"place": "cloud", "tier": "spot", "accelerator": "v5litepod-1", "zones": ["us-central1-a", "us-west4-a"]}
    plan = make_plan(job("mlp", "digits", where=where), DIGITS, now=NOW, computer=LAPTOP, bucket_region="us-central1")
    machine = Machine(Ref("ts-x-a1-t1", "us-central1-a", "tpu"), 1, 1, created=1000.0, gone=4600.0, billed_until=4600.0)
    # an hour in us-central1 at 0.29771 $, though us-west4 asks 0.52536 $
    assert chips_of(plan, State(machines=(machine,)), 5000.0).usd == pytest.approx(0.29771)
    assert limits_of(plan).usd_per_hour == pytest.approx(0.52536 + plan.extras.machine_usd_per_hour)


def test_the_stops_from_outside_and_the_platform_leave_what_is_reserved_out_of_the_cap():
    # (5.00 - 0.20 - 0.10 x h) / 2 = h: 2.2857 h
    limits = Limits(hours=10.0, money_usd=5.0, usd_per_hour=2.0, reserve=Reserve(0.2, 0.1))
    assert asking.stay_s(limits, State(), 0.0) == pytest.approx(4.8 / 2.1 * 3600.0)
    assert limits.usd(asking.stay_s(limits, State(), 0.0)) == pytest.approx(5.0)
    hour = Machine(Ref("ts-x-a1-t1", "us-central1-a", "tpu"), 1, 1, created=1000.0, gone=4600.0, billed_until=4600.0)
    assert asking.stay_s(limits, State(machines=(hour,)), 5000.0) == pytest.approx(4.8 / 2.1 * 3600.0 - 3600.0)


class Box:
    """A bucket with one object."""

    bucket = "b"

    def create(self, name: str, data: bytes) -> bool:
        return name == "new"

    def write(self, name: str, data: bytes, *, generation: int | None = None) -> int | None:
        return None if generation == 9 else 1

    def read(self, name: str, *, start: int = 0) -> bytes | None:
        return None if name == "absent" else b"12345"[start:]

    def stat(self, name: str) -> Stored | None:
        return None

    def list(self, prefix: str, *, start: str = "", most: int = 0) -> list[Stored]:
        return []

    def upload(self, path: Path, name: str, progress: Any = None) -> None: ...

    def download(self, name: str, path: Path, progress: Any = None, *, at_most: int | None = None) -> None:
        path.write_bytes(b"1234567")

    def delete(self, names: Any) -> None: ...


def test_what_is_asked_of_the_bucket_is_counted_as_google_counts_it(tmp_path: Path):
    usage = Usage()
    box = CountedMailbox(Box(), usage)
    box.create("new", b"x")  # A
    box.create("there", b"x")  # refused by its precondition, then looked at: B
    box.write("one", b"x")  # A
    box.write("one", b"x", generation=9)  # refused: free
    assert box.read("one") == b"12345"  # B, 5 bytes
    assert box.read("absent") is None and box.read("one", start=5) == b""  # refusals: free
    box.list("runs/")  # A
    box.upload(tmp_path / "f", "f")  # A
    box.download("f", tmp_path / "g")  # looked at and fetched: 2 B, 7 bytes
    box.delete(["f"])  # free
    assert usage.record() == {"a": 4, "b": 4, "down": 12}


def test_a_desktop_that_comes_after_carries_the_count_on_and_knows_that_it_may_lack():
    assert usage_of([]).whole
    told = [
        Event(1.0, "opened", {"bucket": "b"}),
        Event(2.0, "money", {"usd": 0.1, "operations": {"a": 7, "b": 9, "down": 100}}),
        Event(3.0, "money", {"usd": 0.2, "operations": {"a": -1, "b": "many", "down": True}}),
    ]
    found = usage_of(told)
    assert found.record() == {"a": 7, "b": 9, "down": 100} and not found.whole


def test_what_a_machine_says_to_have_asked_counts_as_far_as_a_guardian_can(tmp_path: Path):
    """Its ledger may be written by what trains there: a receipt of billions."""
    ledger_file(tmp_path, 1).parent.mkdir(parents=True)
    for count in (200, 10**15):
        ledger_file(tmp_path, 1).write_text(json.dumps({"operations": {"a": count, "b": count, "bytes": count}}))
        counted = bill._operations(tmp_path, 1, 3600.0)
        assert (counted["a"], counted["b"]) == (min(count, 50 * 4200), min(count, 500 * 4200))
    assert total(list(by_id(replace(HOUR, a=counted["a"], b=counted["b"])).values()))[1] < 5.0
