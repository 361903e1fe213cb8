"""What a rented run can cost at worst, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.planner.report.worst import worst_case
from tpu_studio.wire.plan import Plan


def rented(wait_hours: float, hours: float, money_usd: float | None, **limits: Any) -> Plan:
    where = {"place": "cloud", "accelerator": "v5litepod-1", "usd_per_hour": 1.2}
    given = {"wait_hours": wait_hours, "hours": hours, **({"money_usd": money_usd} if money_usd else {})}
    made = make_plan(job("mlp", "digits", where=where, limits=given), DIGITS, now=NOW)
    limited = replace(made.limits, **limits)
    return replace(made, limits=limited, extras=None)  # of the chips alone: `test_extras` has the rest


@pytest.mark.parametrize(
    ("wait_hours", "hours", "money_usd", "usd"),
    [
        (4.0, 2.0, 1.0, 6.6),  # $1 + $1.2 × (4 h waiting + 20 min start + 20 min margin)
        (4.0, 0.5, 10.0, 6.2),  # time ends it first: $0.6 + $5.6
        (0.1, 2.0, 1.0, 2.6),  # little waiting: an hour to the next stop + 20 min margin, $1.6
    ],
)
def test_it_is_the_cap_and_what_a_machine_costs_until_the_next_stop(
    wait_hours: float, hours: float, money_usd: float, usd: float
) -> None:
    plan = rented(wait_hours, hours, money_usd)
    worst = worst_case(plan)
    assert worst is not None and worst.usd == pytest.approx(usd, abs=0.011) and not worst.endless
    assert plan_to_public_json(plan)["worst_case_usd"] == worst.usd


def test_without_a_stop_from_outside_it_has_no_end_and_a_price_a_day() -> None:
    worst = worst_case(rented(4.0, 2.0, 1.0, without_outside_stop=True))
    assert worst is not None and worst.usd is None and worst.endless
    assert worst.usd_per_day == pytest.approx(28.8)


def test_google_s_own_limit_is_an_end_too() -> None:
    worst = worst_case(rented(4.0, 2.0, 1.0, without_outside_stop=True, stops=["guardian", "platform", "desktop"]))
    assert worst is not None and worst.usd is not None and not worst.endless


def test_this_computer_has_none() -> None:
    plan = make_plan(job("mlp", "digits"), DIGITS, now=NOW)
    assert worst_case(plan) is None and "worst_case_usd" not in plan_to_public_json(plan)
