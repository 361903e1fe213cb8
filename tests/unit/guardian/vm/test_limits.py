"""Lease, clock and control: the bill ends when it was said to, whatever the clocks say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.guardian.vm.cloud import PREFIX, Cloud, Vm
from tests.unit.guardian.vm.test_crashes import curve
from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.lease import Lease
from tpu_studio.trainer.guardian.vm.machine import Machine as Rented
from tpu_studio.trainer.guardian.vm.web import Reply
from tpu_studio.wire import controls
from tpu_studio.wire.extras import Reserve
from tpu_studio.wire.reasons import Reason

Machine = Callable[..., Vm]
LONG = "--steps 100000 --step-s 0.01"
KEY = "ab" * 32


def test_the_time_of_the_metadata_server_ends_the_lease_and_the_result_is_kept(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine(LONG).boot()
    cloud.wait(lambda: cloud.said("metric"))
    cloud.ahead_s = 14_400
    vm.to_its_deletion()
    end = cloud.said("end")[0]
    assert (end["status"], end["reason"], end["facts"]["hours"]) == ("stopped", "time-limit", 4.0)
    assert f"{PREFIX}result/model.keras" in cloud.objects


def test_a_metadata_clock_that_is_set_back_does_not_lengthen_the_lease(cloud: Cloud, machine: Machine) -> None:
    cloud.config(lease_s=60)
    vm = machine(LONG).boot()
    cloud.wait(lambda: cloud.said("metric"))
    cloud.ahead_s = -30_000
    cloud.wait(lambda: len([call for call in cloud.calls if "preempted" in call[1]]) >= 3)
    cloud.ahead_s = 61
    vm.to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "time-limit"


def test_money_of_earlier_attempts_counts(cloud: Cloud, machine: Machine) -> None:
    cloud.put("ledger/a0001.json", json.dumps({"usd": 4.9999, "elapsed_s": 15_000}).encode())
    cloud.config(attempt=2)
    machine(LONG).boot().to_its_deletion()
    assert cloud.said("end", 2)[0]["reason"] == "money-limit"


def test_a_practice_clock_runs_faster_and_the_ledger_with_it(cloud: Cloud, machine: Machine) -> None:
    cloud.speed = 600.0
    cloud.config(lease_s=1800, silence_s=36_000)
    machine(LONG).boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "time-limit"
    assert json.loads(cloud.objects[f"{PREFIX}ledger/a0001.json"])["usd"] >= 0.59


def test_a_trainer_that_falls_silent_is_ended(cloud: Cloud, machine: Machine) -> None:
    cloud.speed = 300.0
    cloud.config(idle_minutes=0.01, lease_s=80_000, silence_s=80_000)
    machine("--steps 50 --at 5:silence").boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "trainer-stuck"


def test_a_compiler_is_not_stuck_because_the_practice_clock_runs_fast(
    cloud: Cloud, machine: Machine, tmp_path: Path
) -> None:
    """At 600 times the time a tenth of a second was taken for a minute of silence."""

    def elapsed_s() -> float:
        return float(json.loads(cloud.objects.get(f"{PREFIX}ledger/a0001.json", b"{}")).get("elapsed_s", 0.0))

    cloud.speed = 600.0
    cloud.config(idle_minutes=1.0, lease_s=80_000, silence_s=80_000, money_usd=500.0)
    compiled = tmp_path / "compiled"
    vm = machine(f"--steps 20 --at 5:hold={compiled}").boot()
    began = elapsed_s()
    cloud.wait(lambda: elapsed_s() >= began + 300.0 or cloud.said("end"))
    compiled.touch()
    vm.to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"


def test_stop_is_obeyed_and_the_result_is_kept(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine(LONG).boot()
    cloud.wait(lambda: cloud.said("metric"))
    cloud.put("control/000001.json", b'{"verb":"stop","keep":true,"attempt":1}')
    vm.to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "stopped-by-user"
    assert f"{PREFIX}result/model.keras" in cloud.objects
    assert cloud.said("control")[0]["number"] == 1


def test_a_stop_that_was_there_before_the_machine_starts_no_trainer(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.put("control/000001.json", b'{"verb":"stop","keep":true,"attempt":1}')
    machine(LONG).boot().to_its_deletion()
    assert not cloud.said("metric")
    assert (cloud.said("end")[0]["reason"], cloud.said("end")[0]["facts"]["result"]) == ("stopped-by-user", False)


def test_more_hours_move_the_deadline_and_an_extension_trains_further(
    cloud: Cloud, machine: Machine, tmp_path: Path
) -> None:
    cloud.config(limits_key=KEY)
    heard = tmp_path / "heard"
    vm = machine(f"--steps 30 --at 20:hold={heard}").boot()
    cloud.wait(lambda: cloud.said("metric"))
    deadline = vm.root / "ts-digits-k3f7-a1-t1" / "deadline"
    before = int(deadline.read_text())
    record: dict[str, object] = {"verb": "limits", "hours": 4.1, "money_usd": 99, "asked": 1}
    record["seal"] = controls.seal(KEY, "digits-k3f7", record)
    cloud.put("control/000001.json", json.dumps(record).encode())
    cloud.put("control/000002.json", b'{"verb":"extend","epochs":2}')
    cloud.wait(lambda: len(cloud.said("control")) == 2)
    heard.touch()
    vm.to_its_deletion()
    assert int(deadline.read_text()) == before + 360
    assert curve(cloud) == list(range(1, 51))


def test_a_clock_never_runs_back() -> None:
    at = {"monotonic": 100.0}
    clock = CloudClock(lambda: at["monotonic"], lambda: 5.0)
    assert clock.now() == 5.0
    clock.hear({"date": "Sat, 21 Nov 2026 12:00:00 GMT", "x-practice-speed": "60"})
    start = clock.now()
    at["monotonic"] += 1.0
    assert clock.now() == start + 60
    clock.hear({"date": "Sat, 21 Nov 2026 11:00:00 GMT", "x-practice-speed": "60"})
    assert clock.now() == start + 60
    at["monotonic"] += 1.0
    assert clock.now() == start + 60
    clock.hear({"date": "Sat, 21 Nov 2026 13:00:00 GMT", "x-practice-speed": "nonsense"})
    assert clock.now() == start + 3600
    clock.hear({"date": "not a date"})
    assert clock.now() == start + 3600
    clock.hear({"date": "Sat, 21 Nov 2026 13:00:01 GMT"})  # a Date is never ahead of the time it was sent at
    assert clock.now() == start + 3601


@pytest.mark.parametrize(
    ("text", "fraction"), [("00.123456789Z", 0.123456), ("00.5+00:00", 0.5), ("00Z", 0.0), ("00.9999Z", 0.9999)]
)
def test_the_bill_begins_at_the_very_moment_that_the_cloud_names(text: str, fraction: float) -> None:
    class Answering:
        def call(self, *_: Any, **__: Any) -> Reply:
            return Reply(200, {}, json.dumps({"createTime": f"2026-11-21T12:00:{text}"}).encode())

    api: Any = Answering()
    config: Any = SimpleNamespace(node="node")
    assert Rented(api, config).created() == pytest.approx(1_795_262_400.0 + fraction, abs=1e-5)


def test_a_change_of_the_hours_counts_what_came_before_also_what_nobody_saw(cloud: Cloud, machine: Machine) -> None:
    """14,000 of 14,400 s may have been used: no ledger tells of them."""
    cloud.speed = 100.0
    cloud.config(attempt=2, earlier_s=14_000.0, lease_s=400.0)
    cloud.put("control/000001.json", b'{"verb":"limits","hours":4.0}')
    begun = cloud.create_time
    machine("--steps 1000000 --step-s 0.01").boot().to_its_deletion()
    (end,) = cloud.said("end", 2)
    assert (end["reason"], end["facts"]["hours"]) == ("time-limit", 4.0)
    assert end["t"] - begun < 10_000.0


def test_a_lease_ends_with_time_or_money_whichever_is_first() -> None:
    lease = Lease(1000.0, 3600.0, earlier_s=1800.0, spent_usd=1.0, usd_per_hour=2.0, money_usd=2.0)
    assert lease.end == 1000.0 + 1800.0
    assert lease.over(lease.end) == (Reason.MONEY_LIMIT, {"money_usd": 2.0})
    assert lease.usd(lease.end) == 2.0
    unseen = replace(lease, unseen_usd=0.5)  # of an attempt before, while nobody looked: it counts, and is no cost
    assert (unseen.end, unseen.usd(unseen.end)) == (1000.0 + 900.0, 1.5)
    assert unseen.over(unseen.end) == (Reason.MONEY_LIMIT, {"money_usd": 2.0, "unseen_usd": 0.5})
    richer = lease.changed({"verb": "limits", "money_usd": 9.0, "hours": 2.5})
    assert richer.end == 1000.0 + 2.5 * 3600 - 1800
    assert richer.over(richer.end) == (Reason.TIME_LIMIT, {"hours": 2.5})
    assert Lease(0.0, 10.0).money_end == math.inf
    assert lease.changed({"verb": "stop"}) == lease


def test_what_is_reserved_is_spent_before_the_first_second() -> None:
    # fixed 0.20 $ and 0.10 $ for each hour that may come; 2 $/h; cap 4.40 $: (4.40 - 0.20) / (2 + 0.10) = 2 h
    lease = Lease(0.0, 10 * 3600.0, usd_per_hour=2.0, money_usd=4.4, reserve=Reserve(0.2, 0.1))
    assert lease.reserved_usd == pytest.approx(0.4)
    assert lease.usd(0.0) == pytest.approx(0.4)
    assert lease.end == pytest.approx(2 * 3600.0)
    assert lease.usd(lease.end) == pytest.approx(4.4)
    assert lease.own_usd(3600.0) == 2.0  # a ledger holds what the machine took; the reserve counts once for the run
    # three hours by time come first: 0.20 + 3 x 0.10 are reserved, and an hour more reserves 0.10 more
    short = Lease(0.0, 3 * 3600.0, usd_per_hour=2.0, money_usd=99.0, reserve=Reserve(0.2, 0.1))
    assert short.reserved_usd == pytest.approx(0.5)
    assert short.changed({"verb": "limits", "hours": 4.0}).reserved_usd == pytest.approx(0.6)


def test_the_guardian_ends_a_run_whose_cap_is_used_up_by_the_reserve(cloud: Cloud, machine: Machine) -> None:
    cloud.config(usd_per_hour=1.2, money_usd=5.0, reserve={"fixed_usd": 5.0, "usd_per_hour": 0.0})
    machine("--steps 1000 --step-s 0.05").boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "money-limit"
    assert not cloud.said("metric")
    assert all(event["usd"] >= 5.0 for event in cloud.said("money"))


def test_events_carry_the_time_of_the_cloud_not_that_of_the_machine(cloud: Cloud, machine: Machine) -> None:
    cloud.ahead_s = 5000.0
    cloud.config()
    machine().boot().to_its_deletion()
    began = cloud.create_time
    assert all(4990 < event["t"] - began < 5100 for event in cloud.events())
    assert {event["kind"] for event in cloud.events()} >= {"metric", "phase", "money", "end"}
