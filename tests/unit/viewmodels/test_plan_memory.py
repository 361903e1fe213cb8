"""The memory of a plan as the window shows and explains it: parts that sum up, and a need also where it was refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, HANDS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import estimate_of, make_plan, with_compiler
from tpu_studio.data.looked import Look
from tpu_studio.planner.timing import Timing
from tpu_studio.viewmodels.planexplain import explained
from tpu_studio.viewmodels.planwords import memory_of
from tpu_studio.viewmodels.runfacts import facts_of
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan

V5E_BYTES = 16_911_433_728


def planned(job: Job, look: Look, **more: Any) -> Plan:
    return make_plan(job, look, now=NOW, computer=LAPTOP, **more)


@pytest.mark.parametrize(
    ("model", "kind", "look"),
    [
        ("small-cnn", "digits", DIGITS),
        ("gpt-nano", "text", PLAYS),
        ("small-cnn", "images", HANDS),
    ],
)
@pytest.mark.parametrize("where", [{}, {"place": "cloud"}, {"place": "cloud", "accelerator": "v6e-8"}])
def test_the_parts_sum_up_to_what_is_shown(model: str, kind: str, look: Look, where: dict[str, str]):
    plan = planned(job(model, kind, where=where), look)
    memory = plan.memory
    assert sum(memory.parts.values()) == memory.device_bytes
    shown = sum(share for _, share in memory_of(plan).parts)
    assert shown == pytest.approx(memory.device_bytes / memory.limit_bytes)


def test_what_was_measured_beyond_the_count_is_the_programs():
    before = job("small-cnn", "digits")
    counted, measured = planned(before, DIGITS), planned(before, DIGITS, timing=Timing(0.01, peak_memory_bytes=3 << 30))
    assert measured.memory.device_bytes == 3 << 30 == sum(measured.memory.parts.values())
    assert measured.memory.parts["framework"] > counted.memory.parts["framework"]


def test_estimate_and_compiler_have_one_limit_and_a_refusal_shows_its_need():
    before = job("gpt-nano", "text", where={"place": "cloud", "accelerator": "v5litepod-1"})
    plan = planned(before, PLAYS)
    assert plan.memory.limit_bytes == V5E_BYTES
    assert memory_of(plan).words.endswith("of 16.9 GB")
    said = {"fits": False, "device_bytes": 30 << 30, "limit_bytes": V5E_BYTES, "parts": {}}
    refused = with_compiler(plan, {"compiled": said})
    shown = memory_of(refused)
    assert [name for name, _ in shown.parts] == ["What it needs"]
    assert shown.parts[0][1] == pytest.approx((30 << 30) / V5E_BYTES)
    assert (shown.fits, shown.words) == ("Does not fit", "32.2 GB of 16.9 GB")
    told = explained(refused, estimate_of(before, PLAYS, computer=LAPTOP), date(2026, 11, 22))["Memory"]
    assert told.formula == "32.2 GB of 16.9 GB"
    assert "refusal names the need" in told.source


def test_a_run_in_colab_is_not_said_to_be_on_this_computer():
    subtitle = facts_of(planned(job("gpt-nano", "text", where={"place": "colab"}), PLAYS)).subtitle
    assert "Free Colab TPU" in subtitle
    assert "this computer" not in subtitle
