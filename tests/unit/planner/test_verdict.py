"""Is a TPU worth it? The recommendation and its numbers, and the list of places to choose from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Look
from tpu_studio.domain.catalogue import title_of
from tpu_studio.planner.computer import Computer
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.planner.timing import Timing
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan, dumps, loads

SLOW = Computer(cores=1, memory_bytes=16_000_000_000)


def planned(job: Job, look: Look, computer: Computer = LAPTOP, **more: Any) -> Plan:
    return make_plan(job, look, now=NOW, computer=computer, **more)


@pytest.mark.parametrize(
    ("model", "kind", "look"),
    [
        ("small-cnn", "digits", DIGITS),
        ("small-cnn", "images", HANDS),
        ("mlp", "table", DIAMONDS),
    ],
)
def test_small_work_belongs_on_this_computer_wherever_it_was_planned(model: str, kind: str, look: Look):
    here = planned(job(model, kind), look).verdict
    assert (here.worth_it, here.instead) == (True, None)
    for place in ("cloud", "practice"):
        told = planned(job(model, kind, where={"place": place}), look).verdict
        assert (told.worth_it, told.instead) == (False, "computer"), place
        assert "This computer does it in about" in told.why
        assert "$" in told.why


def test_a_long_run_of_a_large_model_says_which_slice_and_why():
    large: dict[str, Any] = {"training": {"steps": 100_000, "framework": "jax"}}
    here = planned(job("gpt-124m", "text", **large), PLAYS).verdict
    assert here.worth_it is False
    assert here.instead.startswith("v")
    assert "days" in here.why
    there = planned(job("gpt-124m", "text", where={"place": "cloud", "accelerator": here.instead}, **large), PLAYS)
    assert (there.verdict.worth_it, there.verdict.instead) == (True, None)
    assert title_of(here.instead) in there.verdict.why


def test_a_practice_plan_is_judged_by_the_figures_of_the_tpu_it_rehearses_and_says_why_its_own_differ():
    where = {"accelerator": "v5litepod-1"}
    there = planned(job("small-cnn", "digits", where={"place": "cloud", **where}), DIGITS)
    practised = planned(job("small-cnn", "digits", where={"place": "practice", **where}), DIGITS)
    figures = {
        plan.place: next(
            way for way in plan.alternatives if (way.accelerator, way.tier) == ("v5litepod-1", "on-demand")
        )
        for plan in (there, practised)
    }
    assert there.time_s and practised.time_s and practised.time_s.expected < there.time_s.expected
    assert figures["practice"].time_s.to_json() == pytest.approx(figures["cloud"].time_s.to_json(), rel=0.1)
    assert str(there.verdict.why) != str(practised.verdict.why)
    assert "the practice machine is a process on this computer" in str(practised.verdict.why)


def test_a_colab_plan_is_compared_with_colabs_own_chip_not_with_a_rented_one():
    told = str(planned(job("small-cnn", "digits", where={"place": "colab"}), DIGITS).verdict.why)
    assert "the free TPU of Colab would need about" in told
    assert "$" not in told


@pytest.mark.parametrize("place", ["cloud", "practice"])
def test_a_slice_of_several_machines_that_holds_the_model_is_not_said_to_be_too_small(place: str):
    plan = planned(job("small-cnn", "digits", where={"place": place, "accelerator": "v5p-16"}), DIGITS)
    assert plan.fits
    assert "fit" not in plan.verdict.why


def test_work_of_half_an_hour_on_one_chip_that_takes_days_here_belongs_on_free_colab():
    told = planned(job("gpt-mini", "text", training={"steps": 30_000}), PLAYS, SLOW).verdict
    assert told.instead == "colab"
    assert "no cost" in told.why


def test_what_a_free_session_cannot_finish_is_not_sent_to_colab():
    plan = planned(job("gpt-mini", "text", training={"steps": 500_000}), PLAYS, SLOW)
    assert plan.verdict.instead != "colab"
    assert "colab" not in [way.place for way in plan.alternatives]


def test_the_verdict_says_whether_this_computer_was_timed():
    before = job("small-cnn", "digits", where={"place": "cloud"})
    assert "not timed yet" in planned(before, DIGITS).verdict.why
    timed = planned(before, DIGITS, here=Timing(step_time_s=0.01, compile_s=2.0, setup_s=3.0)).verdict.why
    assert "not timed yet" not in timed


def test_a_measured_slow_computer_changes_the_verdict():
    before = job("small-cnn", "digits", where={"place": "cloud"})
    told = planned(before, DIGITS, here=Timing(step_time_s=60.0)).verdict
    assert told.instead != "computer"


def test_what_fits_nowhere_is_said_with_what_it_needs():
    tiny = Computer(cores=4, memory_bytes=2_000_000_000)
    training = {"global_batch": 4096, "rematerialize": False, "steps": 1000}
    model = {"name": "gpt-124m", "options": {"vocabulary": 50_257, "layers": 24}}
    plan = planned(job("gpt-124m", "text", model=model, training=training, where={"place": "cloud"}), PLAYS, tiny)
    assert not plan.fits
    assert plan.verdict.instead is None or "does not fit" in plan.verdict.why
    assert plan.verdict.worth_it is False or plan.verdict.instead


def test_a_plan_that_cannot_start_says_that_and_advises_nothing():
    plan = planned(job("small-cnn", "table", where={"place": "cloud"}), DIAMONDS)
    assert plan.verdict.worth_it is False
    assert plan.verdict.why.startswith("It cannot start yet")
    assert not [check for check in plan.checks if check.id.startswith("advice-")]


@pytest.mark.parametrize("place", ["computer", "practice", "cloud"])
def test_alternatives_are_the_best_ones_first_and_never_practice(place: str):
    plan = planned(job("gpt-nano", "text", where={"place": place}), PLAYS)
    ways = plan_to_public_json(plan)["alternatives"]
    assert {way["place"] for way in ways} == {"computer", "colab", "cloud"}
    assert sum(way["place"] == "cloud" for way in ways) <= 12
    assert all(set(way) == {"place", "accelerator", "tier", "time_s", "cost_usd"} for way in ways)
    points = [(way["time_s"]["expected"], way["cost_usd"]["expected"]) for way in ways]

    def beaten(point: tuple[float, float]) -> bool:
        return any(other[0] <= point[0] and other[1] <= point[1] and other != point for other in points)

    beaten_ones = [beaten(point) for point in points]
    assert beaten_ones == sorted(beaten_ones)
    front = [point for point, lost in zip(points, beaten_ones, strict=True) if not lost]
    assert front == sorted(front)
    assert [cost for _, cost in front] == sorted((cost for _, cost in front), reverse=True)


def test_the_planned_slice_stands_among_the_alternatives_with_the_plan_s_own_figures():
    plan = planned(job("gpt-nano", "text", where={"place": "cloud", "accelerator": "v6e-1"}), PLAYS)
    own = next(way for way in plan.alternatives if (way.accelerator, way.tier) == ("v6e-1", "on-demand"))
    assert plan.time_s
    assert own.time_s == plan.time_s


def test_verdict_and_alternatives_are_kept_in_the_frozen_plan_and_older_plans_have_none():
    plan = planned(job("mlp", "table"), DIAMONDS)
    assert loads(dumps(plan)).verdict == plan.verdict
    assert len(loads(dumps(plan)).alternatives) == len(plan.alternatives)
    tree = plan.to_json()
    del tree["verdict"], tree["alternatives"]
    import json

    assert loads(json.dumps(tree).encode()).verdict is None


def test_without_advice_a_plan_is_only_itself():
    plan = planned(job("mlp", "table"), DIAMONDS, advise=False)
    assert (plan.verdict, plan.alternatives) == (None, ())
