"""What a step takes at least: nothing is promised below it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.looks import LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan, with_compiler
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.planner import work
from tpu_studio.planner.floor import mfu_bounds, planned_floor_s
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import Plan, dumps, from_json, loads

V5E_FLOPS, V5E_BYTES = 197e12, 819e9  # dense bf16 peak and memory rate of a chip (Google's page of v5e)


def planned(**training: object) -> Plan:
    where = {"place": "cloud", "accelerator": "v5litepod-8"}
    text = replace(PLAYS, train=50_000_000, validation=500_000)
    given = job("gpt-124m", "text", where=where, training=training)
    return make_plan(given, text, now=NOW, computer=LAPTOP)


def test_the_floor_of_a_large_batch_is_the_models_work_at_the_chips_peak() -> None:
    plan = planned(global_batch=64)
    gpt = work.gpt({"layers": 12, "width": 768, "heads": 12, "vocabulary": 256}, tokens=1024)
    told = plan_to_public_json(plan)["estimate"]
    assert told["floor_s"] == pytest.approx(gpt.flops * 64 / 8 / V5E_FLOPS)
    assert plan.examples_per_s is not None
    assert plan.examples_per_s.high <= 64 / told["floor_s"] * 1.0001
    assert told["mfu"]["expected"] == pytest.approx(told["floor_s"] * plan.examples_per_s.expected / 64)
    assert 0.05 < told["mfu"]["low"] < told["mfu"]["high"] <= 1


def test_work_that_is_done_again_to_save_memory_does_not_count_as_the_models() -> None:
    again, once = (planned(global_batch=64, rematerialize=each).basis.floor_s for each in (True, False))
    assert again == pytest.approx(once)


def test_the_floor_of_a_small_batch_is_reading_and_writing_the_state() -> None:
    params = 124_439_808
    found = work.Work(params, 6.0 * params, 0)
    known = catalogue()
    part = known.slice("v5litepod-1")
    least = planned_floor_s(known.generation("v5e"), part, found, batch=1, optimizer="adamw")
    assert least == pytest.approx(2 * 3 * 4 * params / V5E_BYTES)


def test_what_the_compiler_counted_raises_the_floor_and_the_time_with_it() -> None:
    plan = planned(global_batch=64)
    program = {"flops": V5E_FLOPS * 2.0, "moved_bytes": V5E_BYTES}  # two seconds of work, one of memory
    compiled = {"fits": True, "device_bytes": 1 << 30, "limit_bytes": 15 << 30, "programs": {"train": program}}
    held = with_compiler(plan, {"compiled": compiled})
    assert held.basis.floor_s == pytest.approx(2.0)
    assert held.examples_per_s is not None and plan.time_s is not None and held.time_s is not None
    assert held.examples_per_s.high == held.examples_per_s.low == pytest.approx(32)
    before = 64 / plan.examples_per_s.expected if plan.examples_per_s else 0.0
    assert held.time_s.expected - plan.time_s.expected == pytest.approx(plan.steps * (2.0 - before))
    assert held.cost_usd is not None and plan.cost_usd is not None and held.cost_usd.low > plan.cost_usd.low


def test_a_processor_has_no_floor() -> None:
    plan = make_plan(job("gpt-nano", "text"), PLAYS, now=NOW, computer=LAPTOP)
    assert "estimate" not in plan_to_public_json(plan)


def test_a_program_bounds_the_utilisation_by_its_own_work_and_traffic() -> None:
    plan = planned(global_batch=64)
    model = work.gpt({"layers": 12, "width": 768, "heads": 12, "vocabulary": 256}, tokens=1024).flops * 64 / 8
    seconds = (
        model / V5E_FLOPS
    )  # of the model alone; the program works 1.25 times as much, and moves as long as it works
    program = {"batch": 64, "flops": 1.25 * model, "bytes_accessed": 1.25 * seconds * V5E_BYTES}
    forward = {"batch": 128, "flops": model, "bytes_accessed": model / V5E_FLOPS * V5E_BYTES / 2}
    told = mfu_bounds(plan, {"train": program, "evaluate": forward}, catalogue())
    assert told["train"]["mfu_bound"] == pytest.approx([0.4, 0.8])
    assert told["evaluate"]["mfu_bound"] == pytest.approx([2 / 3 / 1.5, 2 / 3])  # 128 examples, forward only
    refused = mfu_bounds(plan, {"train": {"batch": 64, "flops": None, "bytes_accessed": None}}, catalogue())
    assert refused["train"]["mfu_bound"] is None


def test_a_plan_for_chips_carries_what_mfu_is_measured_by_and_a_processors_none() -> None:
    plan = planned(global_batch=64)
    assert plan.utilisation is not None and plan.examples_per_s is not None
    assert plan.utilisation.peak_flops_per_s == pytest.approx(8 * V5E_FLOPS)
    gpt = work.gpt({"layers": 12, "width": 768, "heads": 12, "vocabulary": 256}, tokens=1024)
    assert plan.utilisation.flops_per_example == pytest.approx(gpt.flops)
    told = plan_to_public_json(plan)["estimate"]["mfu"]["expected"]
    assert plan.utilisation.mfu(plan.examples_per_s.expected) == pytest.approx(told)
    assert loads(dumps(plan)).utilisation == plan.utilisation
    for where in ({"place": "computer"}, {"place": "practice", "accelerator": "v5litepod-8"}):
        here = make_plan(job("gpt-nano", "text", where=where), PLAYS, now=NOW, computer=LAPTOP)
        assert here.utilisation is None


def test_recomputed_work_is_no_part_of_mfu() -> None:
    again, once = (planned(global_batch=64, rematerialize=each).utilisation for each in (True, False))
    assert again == once


@pytest.mark.parametrize("damage", [0, -1.0, "1e15", True, None])
def test_a_plan_whose_peak_cannot_be_is_damaged(damage: object) -> None:
    tree = planned(global_batch=64).to_json()
    tree["utilisation"]["peak_flops_per_s"] = damage
    with pytest.raises(RunError) as refused:
        from_json(tree)
    assert refused.value.id == "plan-unreadable"


def test_a_plan_of_before_has_no_utilisation() -> None:
    tree = planned(global_batch=64).to_json()
    del tree["utilisation"]
    assert from_json(tree).utilisation is None
