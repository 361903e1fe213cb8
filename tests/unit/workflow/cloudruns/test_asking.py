"""Deadlines of the shut-off timers: whichever limit ends first, time or money, and never sooner than it may."""

from __future__ import annotations

import pytest

from tests.fakes.skies import RATE, cloud_plan
from tpu_studio.wire.limits import Limits
from tpu_studio.workflow.cloudruns import asking
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.ports import Ref
from tpu_studio.workflow.cloudruns.state import State

NOW = 1_000_000.0
MACHINE = Machine(Ref("ts-x-a1-t1", "us-west4-a"), 1, 1, created=NOW, asked=NOW)


@pytest.mark.parametrize(("money_usd", "stay_s"), [(None, 36_000.0), (RATE, 3_600.0), (RATE * 100, 36_000.0)])
def test_a_hung_machine_is_stopped_from_outside_when_the_money_is_used_up(money_usd: float, stay_s: float) -> None:
    limits = Limits(hours=10.0, money_usd=money_usd, usd_per_hour=RATE)
    state = State(machines=(MACHINE,), since=NOW)
    times = asking.lease_times(MACHINE, state, limits, NOW)
    hours = [3600.0 * hour for hour in range(1, 25)]
    assert times == [NOW + stay_s + 600.0 + after for after in (0.0, 600.0, 1200.0, *hours)]
    rules = asking.rules_of(cloud_plan(), limits)
    before = asking.before_times(NOW, State(since=NOW), rules, limits)
    assert before[0] == NOW + rules.wait_s + rules.boot_s + stay_s + 600.0


def test_money_that_earlier_attempts_took_is_not_there_again() -> None:
    limits = Limits(hours=10.0, money_usd=RATE, usd_per_hour=RATE)
    spent = Machine(Ref("ts-x-a1-t1", "us-west4-a"), 1, 1, created=NOW - 1_800.0, gone=NOW)
    here = Machine(Ref("ts-x-a2-t1", "us-west4-a"), 2, 1, created=NOW)
    assert asking.lease_times(here, State(attempt=2, machines=(spent, here)), limits, NOW)[0] == NOW + 1_800.0 + 600.0
