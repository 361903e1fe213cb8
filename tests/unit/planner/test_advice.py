"""What a plan advises: each press does what was promised, and no two pieces of advice contradict each other."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Look
from tpu_studio.data.sources import MEMORY_BUDGET_BYTES
from tpu_studio.domain.sentences import say_check
from tpu_studio.domain.sentences.advice import CHECKS
from tpu_studio.planner import assumptions
from tpu_studio.planner.advice import learning
from tpu_studio.planner.timing import Timing
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.plan import Check, Plan, Range
from tpu_studio.wire.schema import BY_PATH


def planned(job: Job, look: Look, timing: Timing | None = None, region: str = "") -> Plan:
    return make_plan(job, look, now=NOW, computer=LAPTOP, timing=timing, bucket_region=region)


def pressed(job: Job, check: Check) -> Job:
    """As `viewmodels.plan.apply` does it: "auto" takes a value back."""
    changes = dict(check.fix or {})
    changes |= {path: None for path, value in changes.items() if value == "auto" and BY_PATH[path].auto}
    return set_values(job, changes)


def advice(plan: Plan) -> dict[str, Check]:
    return {check.id: check for check in plan.checks if check.id.startswith("advice-")}


LONG: dict[str, Any] = {"training": {"steps": 100_000}}


def test_on_a_tpu_a_chosen_float32_is_told_with_what_bfloat16_saves():
    where = {"place": "cloud", "accelerator": "v6e-1"}
    assert "advice-bfloat16" not in advice(planned(job("gpt-124m", "text", where=where, **LONG), PLAYS))
    before = job("gpt-124m", "text", where=where, training={"steps": 100_000, "precision": "float32"})
    plan = planned(before, PLAYS)
    found = advice(plan)["advice-bfloat16"]
    assert found.fix == {"training.precision": "bfloat16"}
    after = planned(pressed(before, found), PLAYS)
    assert plan.cost_usd
    assert after.cost_usd
    saved = found.facts["saves_usd"]["expected"]
    assert saved == pytest.approx(plan.cost_usd.expected - after.cost_usd.expected, rel=1e-6)
    assert "saves about" in found.title


def test_a_batch_that_leaves_rows_empty_goes_to_the_next_multiple_of_8_for_each_device():
    where = {"place": "cloud", "accelerator": "v5litepod-4"}
    before = job("gpt-mini", "text", where=where, training={"global_batch": 20, "learning_rate": 0.001, "epochs": 30})
    found = advice(planned(before, PLAYS))["advice-batch"]
    assert found.fix is not None
    assert found.fix["training.global_batch"] == 32  # 20 on 4 devices are 5 each, padded to 8
    assert found.fix["training.learning_rate"] == pytest.approx(0.001 * math.sqrt(32 / 20), rel=0.05)


def test_a_batch_given_alone_keeps_its_rate_on_auto():
    where = {"place": "cloud", "accelerator": "v5litepod-4"}
    before = job("gpt-mini", "text", where=where, training={"global_batch": 20, "epochs": 30})
    assert advice(planned(before, PLAYS))["advice-batch"].fix == {"training.global_batch": 32}


@pytest.mark.parametrize(("width", "better"), [(160, 128), (200, 256), (96, 128), (64, 128)])
def test_a_width_between_tiles_of_128_goes_down_where_little_is_lost_and_up_where_it_is_free(width: int, better: int):
    where = {"place": "cloud", "accelerator": "v5litepod-1"}
    before = job("gpt-mini", "text", where=where, model={"options": {"width": width, "heads": 8}}, **LONG)
    found = advice(planned(before, PLAYS)).get("advice-pad-width")
    padded = math.ceil(width / 128) * 128
    if padded / width < 1.3:
        assert found is None
    else:
        assert found is not None
        assert found.fix == {"model.options": {"width": better, "heads": 8}}


def test_rows_of_the_vocabulary_that_bytes_never_use_are_left_out():
    more: dict[str, Any] = {"where": {"place": "cloud"}, "data": {"sequence_length": 64}, **LONG}
    before = job("gpt-124m", "text", model={"name": "gpt-124m", "options": {"vocabulary": 50_257}}, **more)
    told = advice(planned(before, PLAYS))
    assert told.keys() & {"advice-vocabulary", "advice-smaller-model"}  # the one that saves more is shown
    small = {"name": "gpt-nano", "options": {"vocabulary": 50_257}}
    found = advice(planned(job("gpt-nano", "text", model=small, **more), PLAYS))["advice-vocabulary"]
    assert found.fix == {"model.options": {"vocabulary": 256}}
    assert "advice-vocabulary" not in advice(planned(job("gpt-124m", "text", **more), PLAYS))


def test_a_model_with_more_weights_than_tokens_is_told_a_smaller_one():
    before = job("gpt-124m", "text", where={"place": "cloud"}, **LONG)
    found = advice(planned(before, PLAYS))["advice-smaller-model"]
    assert found.fix is not None
    assert found.fix["model.name"] == "gpt-mini"
    after = planned(pressed(before, found), PLAYS)
    assert after.memory.params < 892_315 * 40


def test_spot_is_advised_with_the_odds_it_assumes_and_copies_by_young_and_daly():
    before = job(
        "gpt-mini",
        "text",
        where={"place": "cloud", "accelerator": "v5litepod-1"},
        training={"steps": 400_000, "checkpoint_every": 200_000, "early_stopping": 3},
    )
    found = advice(planned(before, PLAYS))
    spot = found.get("advice-spot") or found["advice-flex-start"]
    assert spot.fix
    assert "where.tier" in spot.fix
    on_spot = set_values(before, {"where.tier": "spot"})
    rhythm = advice(planned(on_spot, PLAYS))["advice-checkpoint"]
    every_s = rhythm.facts["every_s"]
    params = planned(on_spot, PLAYS).memory.params
    best = math.sqrt(2 * (0.05 + params * 12 / 100e6) * 8 * 3600)
    assert every_s == pytest.approx(best, rel=0.1)


def test_where_spot_saves_too_little_that_is_said_with_both_costs():
    plan = planned(job("small-cnn", "digits", where={"place": "cloud"}), DIGITS)
    told = advice(plan)["advice-no-spot"]
    spot = next(way for way in plan.alternatives if (way.accelerator, way.tier) == (plan.accelerator, "spot"))
    assert told.fix is None
    assert told.facts["spot_usd"] == spot.cost_usd.expected
    assert 0 < told.facts["usd"] - told.facts["spot_usd"] < assumptions.CLEARLY_USD
    assert "$" in say_check(told.id, told.title, told.facts).meaning
    on_spot = job("small-cnn", "digits", where={"place": "cloud", "tier": "spot"})
    assert "advice-no-spot" not in advice(planned(on_spot, DIGITS))


def test_the_interval_of_young_and_daly_worked_out_by_hand():
    assert assumptions.best_interval_s(18.0, 10_000.0) == pytest.approx(600.0 - 18.0)  # √(2·18·10000) = 600


def test_time_on_spot_counts_what_is_lost_when_it_is_taken_back():
    hour = Range(3600.0, 3600.0, 3600.0)
    found = assumptions.spot_time(hour, Range(300.0, 300.0, 300.0), 1200.0)
    assert found.expected == pytest.approx(3600 + 3600 / (8 * 3600) * (300 + 600))
    assert found.low < found.expected < found.high


def test_a_rate_that_fits_another_batch_is_told_by_the_rule_of_its_optimizer():
    found = advice(planned(job("mlp", "table", training={"learning_rate": 1e-4, "global_batch": 512}), DIAMONDS))
    told = found["advice-learning-rate"]
    assert told.fix == {"training.learning_rate": pytest.approx(1e-3 * math.sqrt(512 / 32), rel=0.05)}
    assert "square-root" in say_check(told.id, told.title, told.facts).meaning


def test_many_times_more_through_the_data_than_usual_is_told():
    found = advice(planned(job("small-cnn", "images", training={"epochs": 400}), HANDS))["advice-epochs"]
    assert found.fix == {"training.epochs": 25}


def test_a_run_of_hours_without_early_stopping_is_told_what_it_may_save():
    found = advice(planned(job("gpt-mini", "text", training={"steps": 6000}), PLAYS))["advice-early-stopping"]
    assert "may save" in found.title
    assert found.facts["saves_s"]["low"] == 0


def test_without_a_gentle_start_a_gpt_is_told_to_have_one():
    before = job("gpt-mini", "text", training={"warmup": 0})
    assert advice(planned(before, PLAYS))["advice-warmup"].fix == {"training.warmup": "auto"}


def test_steps_that_wait_for_data_are_told_from_the_timing():
    slow = Timing(step_time_s=0.5, waiting_share=0.63)
    found = advice(planned(job("small-cnn", "images"), HANDS, slow))["advice-input"]
    assert (found.level, found.fix) == ("warning", None)
    assert "63%" in found.title
    assert "advice-input" not in advice(planned(job("small-cnn", "images"), HANDS, Timing(step_time_s=0.5)))


def test_the_bucket_s_region_is_advised_where_it_costs_no_more():
    before = job("gpt-124m", "text", where={"place": "cloud", "accelerator": "v6e-1", "zones": ["us-east1-d"]}, **LONG)
    plan = planned(before, PLAYS, region="us-central1")
    found = advice(plan).get("advice-region")
    if found is None:  # five others save more: then the press on each of them leads to it
        assert len(advice(plan)) == 5
    else:
        assert found.fix is not None
        assert all(zone.startswith("us-central1-") for zone in found.fix["where.zones"])
    assert "advice-region" not in advice(planned(before, PLAYS, region="us-east1"))


def test_short_steps_are_handed_over_in_bundles():
    where = {"place": "cloud", "accelerator": "v6e-8"}
    training = {"steps_per_call": 1, "steps": 60_000, "precision": "bfloat16", "early_stopping": 3}
    before = job("gpt-mini", "text", where=where, training=training, data={"sequence_length": 64})
    found = advice(planned(before, PLAYS))["advice-steps-per-call"]
    assert found.fix is not None
    assert found.fix["training.steps_per_call"] == 64


LARGE_PICTURES: dict[str, Any] = {"data": {"image_size": 640}, "training": {"epochs": 30}}


def test_a_tpu_that_would_wait_for_pictures_is_told_with_the_size_at_which_all_lie_in_memory():
    before = job("small-cnn", "images", where={"place": "cloud", "accelerator": "v6e-1"}, **LARGE_PICTURES)
    quick = make_plan(before, HANDS, now=NOW, computer=LAPTOP, picture_s=1e-6)
    slow = make_plan(before, HANDS, now=NOW, computer=LAPTOP, picture_s=0.2)
    assert "advice-tpu-waits" not in advice(quick)
    told = advice(slow)["advice-tpu-waits"]
    assert slow.examples_per_s is not None and quick.examples_per_s is not None
    assert slow.examples_per_s.expected == pytest.approx(0.65 * 42 / 0.2)  # 44 threads of 22 cores, two for training
    share = 1 - slow.examples_per_s.expected / quick.examples_per_s.expected
    assert told.facts["share"] == pytest.approx(share)
    assert told.title.startswith(f"The TPU would wait {share:.0%} of the time for pictures: saves about")
    assert told.fix == {"data.image_size": 576}
    after = make_plan(pressed(before, told), HANDS, now=NOW, computer=LAPTOP, picture_s=0.2)
    assert "advice-tpu-waits" not in advice(after)
    assert slow.time_s is not None and after.time_s is not None and after.time_s.expected < slow.time_s.expected


def test_pictures_that_lie_in_memory_keep_nobody_waiting_and_this_computer_is_timed_otherwise():
    small = job("small-cnn", "images", where={"place": "cloud"}, training={"epochs": 30})
    assert "advice-tpu-waits" not in advice(make_plan(small, HANDS, now=NOW, computer=LAPTOP, picture_s=10.0))
    here = job("small-cnn", "images", **LARGE_PICTURES)
    assert "advice-tpu-waits" not in advice(make_plan(here, HANDS, now=NOW, computer=LAPTOP, picture_s=10.0))


def test_what_is_assumed_of_reading_is_what_the_training_program_does():
    assert assumptions.IN_MEMORY_BYTES == MEMORY_BUDGET_BYTES


def test_every_advice_has_its_words():
    for id, entry in CHECKS.items():
        said = say_check(id, "", {})
        assert said.title, id
        assert said.meaning, id
        assert callable(entry)


# ----------------------------------------------------------------------------------------------------------- properties

LOOKS = {"mlp": DIAMONDS, "small-cnn": HANDS, "gpt-nano": PLAYS, "gpt-mini": PLAYS, "gpt-124m": PLAYS}
KINDS = {"mlp": "table", "small-cnn": "images", "gpt-nano": "text", "gpt-mini": "text", "gpt-124m": "text"}


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Job, Look]:
    model = draw(st.sampled_from(sorted(LOOKS)))
    place = draw(st.sampled_from(("computer", "practice", "cloud", "cloud")))
    training: dict[str, Any] = {}
    if draw(st.booleans()):
        training["global_batch"] = draw(st.integers(1, 1500))
    if draw(st.booleans()):
        training["learning_rate"] = draw(st.sampled_from((1e-5, 1e-4, 1e-3, 1e-2, 0.1)))
    if draw(st.booleans()):
        training["epochs"] = draw(st.sampled_from((1, 10, 60, 500)))
    elif draw(st.booleans()):
        training["steps"] = draw(st.integers(1, 500_000))
    for name, values in (
        ("precision", ("float32", "bfloat16")),
        ("warmup", (0, 0.1)),
        ("early_stopping", (0, 3)),
        ("optimizer", ("adamw", "sgd")),
        ("steps_per_call", (1, 16)),
        ("checkpoint_every", (1, 500, 20_000)),
        ("accumulate", (1, 4)),
        ("framework", ("jax", "tensorflow")),
    ):
        if draw(st.integers(0, 2)) == 0:
            training[name] = draw(st.sampled_from(values))
    where: dict[str, Any] = {"place": place}
    if place != "computer":
        where["tier"] = draw(st.sampled_from(("on-demand", "spot", "flex-start")))
        if draw(st.booleans()):
            where["accelerator"] = draw(st.sampled_from(("v5litepod-1", "v5litepod-8", "v6e-1", "v6e-8", "v5p-8")))
    options: dict[str, Any] = {}
    if model != "small-cnn" and draw(st.booleans()):
        options["width"] = draw(st.sampled_from((48, 96, 144, 192, 240, 384)))
    options |= {"heads": 6} if model.startswith("gpt") and "width" in options else {}
    return job(model, KINDS[model], training=training, where=where, model={"options": options}), LOOKS[model]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(jobs(), st.sampled_from(("", "us-central1", "europe-west4")))
def test_each_press_makes_a_valid_job_keeps_its_promise_and_takes_its_advice_away(found: tuple[Job, Look], region: str):
    before, look = found
    try:
        plan = planned(before, look, region=region)
    except StudioError:
        assume(False)
    told = advice(plan)
    assert len(told) <= 5
    assert not (told and plan.blocking)
    for check in told.values():
        if check.fix is None:
            continue
        after = planned(pressed(before, check), look, region=region)
        assert not after.blocking, check
        assert check.id not in advice(after), check
        assert plan.fits <= after.fits, check
        if "saves_usd" in check.facts:
            assert plan.cost_usd is not None
            assert after.cost_usd is not None
            assert after.cost_usd.expected <= plan.cost_usd.expected * 1.000001, check
        if "saves_s" in check.facts:
            assert plan.time_s is not None
            assert after.time_s is not None
            assert after.time_s.expected <= plan.time_s.expected * 1.000001, check


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(jobs())
def test_no_two_pieces_of_advice_set_the_same_and_most_saving_comes_first(found: tuple[Job, Look]):
    before, look = found
    try:
        plan = planned(before, look)
    except StudioError:
        assume(False)
    told = [check for check in advice(plan).values() if check.level == "info"]
    for one, other in itertools.combinations(told, 2):
        assert not set(one.fix or {}) & set(other.fix or {}), (one, other)

    def worth(check: Check) -> float:
        usd, time = (check.facts.get(name, {}).get("expected", 0.0) for name in ("saves_usd", "saves_s"))
        return float(usd + time / 3600 * assumptions.WAIT_USD_PER_HOUR)

    assert [worth(check) for check in told] == sorted((worth(check) for check in told), reverse=True)


def test_advice_on_digits_on_a_rented_tpu_is_to_train_here():
    plan = planned(job("small-cnn", "digits", where={"place": "cloud"}), DIGITS)
    assert list(advice(plan)) == ["advice-train-here", "advice-no-spot"]


def test_a_slice_advised_for_its_memory_is_not_called_better_for_a_larger_model():
    where = {"place": "cloud", "accelerator": "v5e-1"}
    model, training = {"options": {"vocabulary": 50_257}}, {"global_batch": 128, "rematerialize": False}
    plan = planned(job("gpt-124m", "text", model=model, where=where, training=training), PLAYS)
    found = advice(plan)["advice-slice"]
    meaning = say_check(found.id, found.title, found.facts).meaning
    assert not plan.fits and "its memory holds the model" in meaning and "better" not in meaning


def test_where_no_rate_is_recommended_none_is_compared_with_it():
    """A learning rate of nothing, as odd settings make it, was a mistake of the program."""
    rule, training = SimpleNamespace(reads_tokens=False), SimpleNamespace(learning_rate=1.0)
    odd = SimpleNamespace(
        job=SimpleNamespace(training=training), usual_rate=0.0, resolved=SimpleNamespace(rule=rule), value=lambda _: 1.0
    )
    assert list(learning.learning_rate(odd)) == []
