"""From fifty real steps on a run foretells its own end, and is compared with its plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.domain.folding import apply
from tpu_studio.domain.forecast import Forecast, forecast
from tpu_studio.domain.run import RunView
from tpu_studio.viewmodels import runpace
from tpu_studio.wire.events import decode, encode, event
from tpu_studio.wire.plan import Plan, Range
from tpu_studio.wire.planparts import PlanLimits

STEPS = 1000


def planned(place: str = "computer", **limits: float) -> Plan:
    """1,000 steps of 32 digits, 100 an epoch, each 0.09 to 0.14 s."""
    made = make_plan(
        job("mlp", "digits", where={"place": place}, training={"global_batch": 32}), DIGITS, now=NOW, computer=LAPTOP
    )
    rate = Range(32 / 0.14, 32 / 0.10, 32 / 0.09)
    told = PlanLimits(**{"money_usd": None, "hours": 10.0, **limits})
    return replace(made, examples_per_s=rate, steps=STEPS, steps_per_epoch=100.0, limits=told)


def run(*step_s: float, each: int = 5, rate: float = 0.0) -> RunView:
    """Set up, compiled, and then a report of *each* steps for each step time; at *rate* dollars an hour."""
    t = 100.0
    records = [
        event("target", t=t, steps=STEPS),
        event("phase", t=t, phase="setting-up", attempt=1),
        event("phase", t=t + 5, phase="compiling"),
        event("phase", t=t + 8, phase="training"),
        event("speed", t=t + 8, step=1, steps=0, examples=0, seconds=0.0, compiles=1),
    ]
    t, step = t + 8, 1
    for one in (5.0, *step_s):  # the first report after compiling is slow, and is left out
        t, step = t + each * one, step + each
        records.append(
            event(
                "speed",
                t=t,
                step=step,
                steps=each,
                examples=each * 32,
                seconds=each * one,
                waiting_for_data_s=0.1 * each * one,
                device_s=0.8 * each * one,
                compiles=1,
            )
        )
    if rate:
        records.append(event("money", t=t, usd=rate * (t - 100) / 3600, usd_per_hour=rate))
    view = RunView()
    for record in records:
        seen = decode(encode(record))
        assert seen is not None
        view = apply(view, seen)
    return view


def known(plan: Plan, view: RunView) -> Forecast:
    found = forecast(plan, view)
    assert found is not None
    return found


def test_before_fifty_steps_the_plan_stands_alone():
    assert forecast(planned(), run(*[0.1] * 9)) is None
    assert known(planned(), run(*[0.1] * 10)).steps == 50


def test_the_median_counts_so_that_compiling_and_stalls_move_nothing():
    found = known(planned(), run(*[0.1] * 20, 9.0, 0.1, 3.0))
    assert found.step_s.expected == pytest.approx(0.1)
    assert found.waiting_share == pytest.approx(0.1) and found.device_share == pytest.approx(0.8)


def test_steps_in_whose_report_a_program_was_compiled_do_not_count():
    view = run(*[0.1] * 12)
    again = event("speed", t=500, step=70, steps=500, examples=1, seconds=900.0, compiles=2)
    seen = decode(encode(again))
    assert seen is not None
    assert apply(view, seen).pace.step_s == pytest.approx(0.1)


def test_time_left_is_a_range_about_the_measured_pace_and_narrower_than_the_plan():
    view = run(*[0.2] * 20)
    found, plan = known(planned(), view), planned()
    left = STEPS - view.step
    assert found.left_s is not None and plan.examples_per_s is not None
    assert found.left_s.low < left * 0.2 * view.wall_per_step_time() < found.left_s.high
    assert found.left_s.high / found.left_s.low < plan.examples_per_s.high / plan.examples_per_s.low
    assert view.time_left_s() == pytest.approx(found.left_s.expected)


def test_steps_that_differ_from_each_other_make_the_range_wider():
    even, uneven = known(planned(), run(*[0.1] * 20)), known(planned(), run(*[0.05, 0.2] * 10))
    assert even.left_s and uneven.left_s
    assert uneven.left_s.high / uneven.left_s.low > 1.2 * even.left_s.high / even.left_s.low


def test_a_pace_within_the_planned_range_needs_no_word():
    plan, view = planned(), run(*[0.11] * 20)
    found = known(plan, view)
    assert found.compared == "as-planned" and runpace.notice(plan, view, found) is None
    assert runpace.beside_plan(found) == "110 ms a step, planned 90–140 ms"


def test_slower_than_planned_on_a_rented_tpu_says_what_it_costs_and_what_the_cap_leaves():
    # 0.5 s a step: 895 left take about 450 s, at $36 an hour $4.5; with $2 in all the cap comes at about epoch 3
    plan, view = planned("cloud", money_usd=2.0), run(*[0.5] * 20, rate=36.0)
    found = known(plan, view)
    said = runpace.notice(plan, view, found)
    assert said is not None and said.title == "Training is slower than planned"
    assert found.capped and found.cap == "money" and found.epochs is not None
    spent = view.usd
    assert found.epochs.expected == pytest.approx(view.step / 100 + (2.0 - spent) / 36 * 3600 / 100 / 0.5, rel=0.35)
    assert found.epochs.low < found.epochs.expected < found.epochs.high < 10
    assert "will have cost $" in said.meaning and "The cost limit of $2.00" in said.meaning
    assert said.action.startswith("Stop it and keep the model")


def test_slower_without_a_limit_in_the_way_only_takes_longer():
    plan, view = planned(), run(*[0.5] * 20)
    said = runpace.notice(plan, view, known(plan, view))
    assert said is not None and "more than planned." in said.meaning and "$" not in said.meaning
    assert said.meaning.startswith("A step takes 500 ms instead of 90–140 ms. It has ")
    assert said.action == "Future estimates use this."


def test_so_near_the_end_the_pace_is_no_news():
    plan, view = planned(), run(*[0.5] * 20, each=20)
    found = known(plan, replace(view, step=STEPS))
    assert found.compared == "slower" and found.left_s is not None and found.left_s.high == 0
    assert runpace.notice(plan, view, found) is None
    assert runpace.notice(plan, view, known(plan, view)) is not None


def test_an_end_that_hardly_moves_is_no_news_but_a_limit_in_the_way_is():
    """Six times slower, and over in a minute; or by a tenth, for half an hour."""
    plan, short = planned(), run(*[0.5] * 20, each=45)
    assert known(plan, short).compared == "slower" and runpace.notice(plan, short, known(plan, short)) is None
    long = replace(run(*[0.15] * 20), steps_planned=100_000)
    found = known(plan, long)
    assert found.compared == "slower" and found.left_s is not None and found.left_s.expected > 3600
    assert runpace.notice(plan, long, replace(found, planned_step_s=found.step_s.scaled(0.9))) is None
    assert runpace.notice(plan, long, found) is not None
    assert runpace.notice(plan, short, replace(known(plan, short), capped=True)) is not None


def test_practice_money_is_never_told_as_real():
    plan, view = planned("practice", money_usd=50.0), run(*[0.5] * 20, rate=36.0)
    said = runpace.notice(plan, view, known(plan, view))
    assert said is not None and "nothing is charged" in said.meaning


def test_faster_than_planned_is_told_too():
    plan, view = planned(), replace(run(*[0.02] * 40), steps_planned=100_000)
    said = runpace.notice(plan, view, known(plan, view))
    assert said is not None and said.title == "Training is faster than planned"
    assert "less than planned" in said.meaning


def test_the_latest_steps_tell_how_it_goes_on_and_all_of_them_what_it_was():
    found = known(planned(), run(*[0.1] * 60, *[0.3] * 32))
    assert found.step_s.expected == pytest.approx(0.1)
    assert found.left_s and found.left_s.expected > 0.28 * (STEPS - 461)


def test_a_long_run_keeps_few_reports_and_the_same_median():
    pace = run(*[0.1, 0.12, 0.08] * 400, each=1).pace
    assert len(pace.measured) <= 96 and pace.steps == 1200
    assert pace.step_s == pytest.approx(0.1, rel=0.1)


def test_for_scripts_all_of_it_is_plain():
    plan, view = planned("cloud", money_usd=2.0), run(*[0.5] * 20, rate=36.0)
    told = runpace.to_json(plan, view, known(plan, view))
    assert told is not None
    assert told["compared"] == "slower" and told["limit"] == "money" and told["limit_comes_first"]
    assert set(told["planned_step_s"]) == set(told["cost_usd"]) == {"low", "expected", "high"}
    assert told["notice"]["title"] == "Training is slower than planned"
    assert runpace.to_json(plan, RunView(), None) is None
