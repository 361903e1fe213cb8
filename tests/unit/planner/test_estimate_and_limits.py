"""Time, cost and limits: wide before a timing, narrow after it, and always low ≤ expected ≤ high."""

from __future__ import annotations

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import estimate_of, make_plan
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner.timing import Timing
from tpu_studio.wire.plan import Check
from tpu_studio.wire.planparts import PlanLimits, PlanPrice

TIMED = Timing(
    step_time_s=0.1, compile_s=4.0, setup_s=6.0, examples_per_s=320.0, evaluation_s=0.5, checkpoint_s=0.1, result_s=0.4
)
TINY = Timing(step_time_s=0.0006, compile_s=1.1, setup_s=3.2, evaluation_s=0.005, checkpoint_s=0.01, result_s=0.3)


def test_a_timing_makes_the_estimate_narrow():
    hands = job("small-cnn", "images", training={"epochs": 30})
    wide = make_plan(hands, HANDS, now=NOW, computer=LAPTOP).time_s
    narrow = make_plan(hands, HANDS, now=NOW, computer=LAPTOP, timing=TIMED).time_s
    assert wide and narrow
    assert wide.high / wide.low > 4
    assert narrow.high / narrow.low < 1.75


def test_a_measured_estimate_counts_start_steps_checks_copies_and_the_result():
    # 1,530 steps of 0.1 s, 30 checks of 0.5 s, 1,530 / 450 = 4 copies of 0.1 s, 0.4 s for the result, 0.3 s to
    # close; before them 0.3 s to launch, 10 s to set up and to compile
    plan = make_plan(job("small-cnn", "images", training={"epochs": 30}), HANDS, now=NOW, computer=LAPTOP, timing=TIMED)
    assert plan.job["training.checkpoint_every"] == 450
    assert plan.time_s and plan.time_s.expected == pytest.approx(153 + 15 + 0.4 + 0.7 + 10.3)
    assert plan.examples_per_s and plan.examples_per_s.expected == 320


def test_of_a_run_of_seconds_every_part_is_told_as_it_was_measured():
    # 3,000 steps of 0.6 ms, 47 checks of 5 ms, 1 copy, the result, 0.3 s to close; 0.3 s to launch, 4.3 s to set up and
    # to compile
    small = job("mlp", "table", training={"steps": 3000, "global_batch": 32, "evaluate_every": 64})
    parts = estimate_of(small, DIAMONDS, computer=LAPTOP, timing=TINY)
    assert parts.training_s.expected == pytest.approx(1.8 + 47 * 0.005 + 0.01 + 0.3 + 0.3)
    assert parts.setup_s.expected == pytest.approx(4.6)
    assert parts.time_s.high < 1.5 * parts.time_s.expected


def test_with_early_stopping_a_copy_is_counted_for_each_check():
    stopping = {"steps": 3000, "global_batch": 32, "evaluate_every": 64, "early_stopping": 5}
    few = estimate_of(
        job("mlp", "table", training={**stopping, "early_stopping": 0}), DIAMONDS, computer=LAPTOP, timing=TINY
    )
    many = estimate_of(job("mlp", "table", training=stopping), DIAMONDS, computer=LAPTOP, timing=TINY)
    assert many.training_s.expected - few.training_s.expected == pytest.approx(46 * 0.01)


def test_untimed_a_result_takes_longer_in_jax_which_has_tensorflow_make_a_part_of_it_and_longer_by_its_size():
    def result_s(model: str, **training: object) -> float:
        kind = "text" if model.startswith("gpt") else "table"
        made = estimate_of(job(model, kind, training=training), PLAYS if kind == "text" else DIAMONDS, computer=LAPTOP)
        return made.modelled["result_s"].expected

    assert result_s("mlp", framework="jax") > result_s("mlp", framework="tensorflow") + 2
    assert result_s("gpt-124m", framework="jax") > 10  # 0.3 GB, twice


def test_the_time_limit_is_one_and_a_half_times_the_high_end_and_four_times_where_nothing_is_charged():
    """Another program may take most of the computer: no reason to end a run that costs nothing."""
    text = {"training": {"epochs": 40}}
    plan = make_plan(job("gpt-nano", "text", **text), PLAYS, now=NOW, computer=LAPTOP, timing=Timing(0.1))
    assert plan.time_s and plan.limits.hours == pytest.approx(4 * plan.time_s.high / 3600, rel=0.05)
    assert plan.job["limits.hours"] == plan.limits.hours > 1.0
    assert plan.reasons["limits.hours"].startswith("Four times")
    priced = job("gpt-nano", "text", where={"usd_per_hour": 3.6}, **text)
    plan = make_plan(priced, PLAYS, now=NOW, computer=LAPTOP, timing=Timing(0.1))
    assert plan.time_s and plan.limits.hours == pytest.approx(1.5 * plan.time_s.high / 3600, rel=0.05)


def test_a_short_run_has_an_hour_at_least_and_three_minutes_where_they_cost():
    short = {"training": {"steps": 10}}
    plan = make_plan(job("mlp", "table", **short), DIAMONDS, now=NOW, computer=LAPTOP, timing=Timing(0.001))
    assert plan.limits.hours == 1.0
    priced = job("mlp", "table", where={"usd_per_hour": 3.6}, **short)
    assert make_plan(priced, DIAMONDS, now=NOW, computer=LAPTOP, timing=Timing(0.001)).limits.hours == 0.05


def test_without_a_price_nothing_costs_and_there_is_no_cost_limit():
    plan = make_plan(job("mlp", "table"), DIAMONDS, now=NOW, computer=LAPTOP)
    assert plan.price is None
    assert plan.limits.money_usd is None
    assert plan.cost_usd and plan.cost_usd.high == 0


def test_a_pretended_price_makes_cost_and_limit_follow_the_time():
    priced = job("gpt-nano", "text", where={"usd_per_hour": 3.6})
    plan = make_plan(priced, PLAYS, now=NOW, computer=LAPTOP, timing=Timing(0.1))
    assert plan.price == PlanPrice("2026-11-21", 3.6, "pretended")
    assert plan.time_s and plan.cost_usd and plan.cost_usd.expected == pytest.approx(plan.time_s.expected / 1000)
    assert plan.limits.money_usd == pytest.approx(1.5 * plan.cost_usd.high, abs=0.01)


def test_limits_that_a_person_sets_are_kept_and_a_short_one_is_told():
    short = job("gpt-nano", "text", limits={"hours": 0.01, "money_usd": 0.01}, where={"usd_per_hour": 3.6})
    plan = make_plan(short, PLAYS, now=NOW, computer=LAPTOP, timing=Timing(0.1))
    assert plan.limits == PlanLimits(0.01, 0.01)
    fixes = {check.id: check.fix for check in plan.checks}
    assert fixes["time-limit-short"] == {"limits.hours": "auto"}
    assert fixes["money-limit-short"] == {"limits.money_usd": "auto"}


@pytest.mark.parametrize("place", ["practice", "cloud"])
def test_a_cost_limit_that_the_start_of_a_machine_would_use_up_is_refused_with_the_least_that_makes_sense(place: str):
    def made(usd: float) -> dict[str, Check]:
        wanted = job("mlp", "digits", where={"place": place}, limits={"money_usd": usd})
        return {check.id: check for check in make_plan(wanted, DIGITS, now=NOW, computer=LAPTOP).checks}

    refused = made(0.001)["money-limit-too-small"]
    assert refused.level == "error" and refused.fix is not None
    least = refused.fix["limits.money_usd"]
    assert 0.01 <= least <= 0.20 and f"${least:.2f} or more" in say_finding(refused.id, refused.facts).action
    assert "money-limit-too-small" not in made(least)


@pytest.mark.parametrize("place", ["practice", "cloud"])
def test_a_cost_limit_far_above_the_estimate_is_told_with_both_figures(place: str):
    """A stranger's job file may hold a limit that nobody here would set."""

    def made(**limits: object) -> dict[str, Check]:
        wanted = job("mlp", "digits", where={"place": place}, limits=limits)
        return {check.id: check for check in make_plan(wanted, DIGITS, now=NOW, computer=LAPTOP).checks}

    told = made(money_usd=250_000.0, hours=600.0)["money-limit-large"]
    assert (told.level, told.fix) == ("warning", {"limits.money_usd": "auto"})
    assert "up to $250,000.00 may be spent" in say_finding(told.id, told.facts).meaning
    assert "money-limit-large" not in made() | made(money_usd=20.0)


def test_the_longest_run_is_28_days_with_its_wait_and_that_is_told():
    plan = make_plan(job("gpt-124m", "text", training={"steps": 100_000}), PLAYS, now=NOW, computer=LAPTOP)
    assert plan.limits.hours == 28 * 24 - 4
    assert {"very-long", "time-limit-longest"} <= {check.id for check in plan.checks}


def test_the_parts_of_the_estimate_add_up_to_its_time():
    hands = job("small-cnn", "images")
    parts = estimate_of(hands, HANDS, computer=LAPTOP)
    plan = make_plan(hands, HANDS, now=NOW, computer=LAPTOP)
    assert plan.time_s == parts.time_s
    assert parts.setup_s.expected + parts.training_s.expected == pytest.approx(parts.time_s.expected)


@pytest.mark.parametrize(
    "tree", [{}, {"step_time_s": 0}, {"step_time_s": float("nan")}, {"step_time_s": "0.1"}, {"step_time_s": True}]
)
def test_a_timing_without_a_step_time_is_refused(tree: dict[str, object]):
    with pytest.raises(ValueError, match="step_time_s"):
        Timing.from_json(tree)


def test_a_timing_reads_the_trainers_object_and_keeps_what_is_told():
    timing = Timing.from_json(
        {
            "step_time_s": 0.02,
            "compile_s": 3,
            "setup_s": 5.5,
            "examples_per_s": 1600,
            "params": 9,
            "peak_memory_bytes": 7e8,
            "checkpoint_s": 0.01,
            "result_s": 0.4,
        }
    )
    assert timing == Timing(0.02, 3.0, 5.5, 1600.0, 9, 700_000_000, checkpoint_s=0.01, result_s=0.4)
