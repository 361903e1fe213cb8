"""Plans for rented places: the slice, its price, its limits, what happens at the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Look
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.sentences import say_check
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED
from tpu_studio.planner import rented, work
from tpu_studio.planner.checks import FLEX_MOST_HOURS
from tpu_studio.planner.estimate import limit_hours
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.planner.report.worst import worst_case
from tpu_studio.wire import models
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.plan import Plan, Range, dumps, from_json, loads


def planned(job: Job, look: Look) -> Plan:
    return make_plan(job, look, now=NOW, computer=LAPTOP)


def test_a_small_model_gets_the_cheapest_chip_and_says_why():
    plan = planned(job("mlp", "digits", where={"place": "cloud"}), DIGITS)
    prices = [
        price.usd_per_hour(part.chips)
        for one in catalogue().offered()
        for part in one.slices
        if part.vms == 1 and one.control_plane == "cloud-tpu"
        for price in catalogue().prices(one.id, part.chips)[:1]
    ]
    assert plan.price is not None
    assert plan.price.usd_per_hour == pytest.approx(min(prices))
    assert plan.price.as_of
    assert plan.price.source
    assert plan.reasons["where.accelerator"].startswith("The cheapest TPU that holds the model")
    assert plan.framework == "jax"
    assert plan.blocking == ()


def test_limits_are_one_and_a_half_times_the_estimates_high():
    plan = planned(job("mlp", "digits", where={"place": "cloud"}), DIGITS)
    assert plan.time_s is not None
    assert plan.cost_usd is not None
    assert plan.price is not None
    assert plan.cost_usd.high == pytest.approx(plan.time_s.high / 3600 * plan.price.usd_per_hour)
    besides = plan.extras.reserved_usd + plan.extras.machine_usd_per_hour * plan.limits.hours
    assert plan.limits.money_usd == pytest.approx(1.5 * plan.cost_usd.high + besides, abs=0.021)
    assert plan.limits.hours == pytest.approx(1.5 * plan.time_s.high / 3600, rel=0.06)
    assert plan.limits.stops == ("guardian", "outside", "desktop")
    assert plan.limits.wait_hours == 4.0


def test_on_practice_the_limit_is_half_an_hour_at_least_and_the_money_goes_with_it():
    plan = planned(job("mlp", "digits", where={"place": "practice"}), DIGITS)
    assert plan.time_s is not None and plan.time_s.high < 1200
    assert plan.price is not None
    assert plan.limits.hours == 0.5
    assert plan.limits.money_usd >= 0.5 * plan.price.usd_per_hour
    assert plan.reasons["limits.hours"].startswith("Half an hour at least")
    own = planned(job("mlp", "digits", where={"place": "practice"}, limits={"hours": 0.1}), DIGITS)
    assert own.limits.hours == 0.1


LARGE = {"layers": 36, "width": 1280, "heads": 20, "vocabulary": 50_257}  # GPT-2 large, 774 million weights


@pytest.mark.parametrize(
    ("accelerator", "options", "sharded"),
    [("v5litepod-8", LARGE, True), ("v5litepod-8", {}, False), ("v5p-8", LARGE, False), ("v5litepod-1", LARGE, False)],
)
def test_state_that_takes_over_a_quarter_of_a_chip_is_shared_out_over_the_chips(
    accelerator: str, options: dict[str, int], sharded: bool
):
    where = {"place": "cloud", "accelerator": accelerator}
    model = {"name": "gpt-124m", "options": options}
    given = job("gpt-124m", "text", model=model, where=where, training={"steps": 2000})
    plan = planned(given, replace(PLAYS, numbers={"tokens": 50_000_000}))
    assert plan.sharded == sharded
    state = plan.memory.parts["weights"] + plan.memory.parts["optimizer"]
    weights = work.gpt(models.options("gpt-124m", options), tokens=1024).params
    assert state == pytest.approx(12 * weights / (8 if sharded else 1), rel=1e-6)  # float32: weight and two moments
    assert plan.basis.floor_s >= 2 * state / 819e9 * (1 if "v5l" in accelerator else 0)


@pytest.mark.parametrize(
    ("accelerator", "vocabulary", "at_once"),
    [
        ("v5litepod-8", 50_257, 4096),  # of 16,384 tokens a chip, whose scores would take 4.6 of 15.75 GiB
        ("v6e-8", 50_257, 8192),  # twice the memory
        ("v5litepod-8", 256, 0),  # bytes: hardly any scores
    ],
)
def test_scores_that_take_much_of_a_chip_are_made_a_few_tokens_at_a_time(
    accelerator: str, vocabulary: int, at_once: int
):
    where = {"place": "cloud", "accelerator": accelerator}
    model = {"name": "gpt-124m", "options": {"vocabulary": vocabulary}}
    given = job("gpt-124m", "text", model=model, where=where, training={"steps": 2000, "global_batch": 128})
    plan = planned(given, PLAYS)
    assert plan.scored_at_once == at_once
    assert loads(dumps(plan)).scored_at_once == at_once
    older = {key: value for key, value in plan.to_json().items() if key != "scored_at_once"}
    assert from_json(older).scored_at_once == 0  # a run of an older version goes on as it began
    here = planned(set_values(given, {"where.place": "computer", "where.accelerator": "auto"}), PLAYS)
    assert here.scored_at_once == 0


def test_all_zones_lend_the_slice_and_lie_in_the_region_of_the_price():
    plan = planned(job("mlp", "digits", where={"place": "cloud", "tier": "spot"}), DIGITS)
    zones = plan.job["where.zones"]
    assert zones
    assert plan.price is not None
    assert {zone.rpartition("-")[0] for zone in zones} == {plan.price.region}
    generation = catalogue().slice(plan.accelerator).generation
    assert all(catalogue().possible(generation, "jax", "spot", zone).possible for zone in zones)


def test_a_slice_of_ones_own_choice_is_kept_and_an_impossible_one_is_said():
    kept = planned(job("mlp", "digits", where={"place": "cloud", "accelerator": "v6e-8"}), DIGITS)
    assert (kept.accelerator, kept.devices) == ("v6e-8", 8)
    assert kept.job["training.global_batch"] % 8 == 0
    wrong = planned(
        job("mlp", "digits", where={"place": "cloud", "accelerator": "v6e-8", "zones": ["mars-1-a"]}), DIGITS
    )
    assert "accelerator-impossible" in [check.id for check in wrong.blocking]


@pytest.mark.parametrize("limits", [{}, {"money_usd": 5.0, "hours": 100.0}])
def test_without_a_price_no_cost_limit_can_hold(monkeypatch: pytest.MonkeyPatch, limits: dict[str, object]):
    monkeypatch.setattr(rented, "likeliest", lambda rented: None)  # as of a TPU that no list has
    where = {"place": "cloud", "accelerator": "v5p-8", "zones": ["us-east5-a"], "tier": "flex-start"}
    plan = planned(job("mlp", "digits", where=where, limits=limits), DIGITS)
    assert plan.price is None
    assert "price-unknown" in [check.id for check in plan.blocking]
    there = planned(job("mlp", "digits", where={**where, "usd_per_hour": 9.0}, limits=limits), DIGITS)
    assert "price-unknown" not in [check.id for check in there.blocking]


@pytest.mark.parametrize(
    ("where", "usd"),
    [
        ({"accelerator": "v5litepod-1", "zones": ["us-central1-a", "us-east9-z"]}, 1.2),
        ({"accelerator": "v5p-8", "zones": ["us-east5-a"], "tier": "flex-start"}, None),
    ],
)
def test_an_area_without_a_price_takes_no_cost_limit_away(where: dict[str, object], usd: float | None):
    """A stranger's job named one more, which nobody has: then nothing counted, and "Cap $5.00" ended nothing."""
    limits = {"money_usd": 5.0, "hours": 100.0}
    plan = planned(job("mlp", "digits", where={"place": "cloud", **where}, limits=limits), DIGITS)
    assert (
        plan.price is not None
        and not plan.price.from_job
        and plan.price.usd_per_hour == (usd or plan.price.usd_per_hour)
    )
    assert plan.cost_usd and worst_case(plan).usd
    check = next(one for one in plan.checks if one.id == "price-of-elsewhere")
    assert check.level == "warning" and "too late" in say_check(check.id, check.title, check.facts).meaning


def test_a_price_in_the_job_cannot_make_a_real_machine_cheaper_than_the_list():
    """By a stranger's $0.001 an hour a hundred hours "cost" ten cents, and no limit of money ever came."""

    def at(place: str, usd: float | None, **more: object) -> Plan:
        where = {"place": place, "accelerator": "v5litepod-1", **more, **({"usd_per_hour": usd} if usd else {})}
        return planned(job("mlp", "digits", where=where, limits={"money_usd": 5.0, "hours": 100.0}), DIGITS)

    listed, cheap, dear = at("cloud", None), at("cloud", 0.001), at("cloud", 30.0)
    assert listed.price is not None and cheap.price == listed.price and cheap.cost_usd == listed.cost_usd
    assert cheap.extras == listed.extras and worst_case(cheap) == worst_case(listed)
    check = next(one for one in cheap.checks if one.id == "price-below-list")
    said = say_check(check.id, check.title, check.facts)
    assert check.level == "warning" and "$0.001" in said.meaning and "$1.20" in said.meaning
    again = at("cloud", float(str((check.fix or {})["where.usd_per_hour"])))
    assert again.checks == listed.checks
    assert dear.price is not None and (dear.price.usd_per_hour, dear.price.from_job) == (30.0, True)
    assert not any(one.id.startswith("price-") for one in dear.checks)
    rehearsed = at("practice", 0.001)
    assert rehearsed.price is not None and rehearsed.price.usd_per_hour == 0.001
    assert not any(one.id.startswith("price-") for one in rehearsed.checks)


@pytest.mark.parametrize(
    ("where", "usd"),
    [
        ({"accelerator": "v5litepod-1", "zones": ["us-central1-a", "us-east9-z"]}, 1.2),  # the second is nowhere
        ({"accelerator": "v5p-8", "zones": ["us-east5-a"], "tier": "flex-start"}, None),  # listed on demand and as spot
    ],
)
def test_nor_where_one_of_its_areas_has_no_price(where: dict[str, object], usd: float | None):
    plan = planned(job("mlp", "digits", where={"place": "cloud", **where, "usd_per_hour": 0.001}), DIGITS)
    assert plan.price is not None and not plan.price.from_job and plan.price.usd_per_hour > 1.0
    assert usd in (None, plan.price.usd_per_hour)
    assert "price-below-list" in [check.id for check in plan.checks]


def test_a_price_that_stands_in_the_job_alone_is_said_to(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rented, "likeliest", lambda rented: None)  # as of a TPU that no list has
    where = {"place": "cloud", "accelerator": "v5p-8", "zones": ["us-east5-a"], "tier": "flex-start"}
    plan = planned(job("mlp", "digits", where={**where, "usd_per_hour": 0.001}), DIGITS)
    assert plan.price is not None and plan.price.from_job
    check = next(one for one in plan.checks if one.id == "price-not-listed")
    assert check.level == "warning" and "$0.001" in say_check(check.id, check.title, check.facts).meaning


def test_flex_start_beyond_seven_days_is_refused_with_the_longest_that_google_takes():
    where = {"place": "cloud", "accelerator": "v5litepod-8", "zones": ["us-west4-a"], "tier": "flex-start"}
    long = job("mlp", "digits", where=where, limits={"hours": 168.0, "money_usd": 3000.0})
    check = next(one for one in planned(long, DIGITS).blocking if one.id == "flex-start-too-long")
    assert check.fix == {"limits.hours": 167}  # 7 × 24, less the 20 minutes in which it starts
    said = say_check(check.id, check.title, check.facts)
    assert "167 hours" in said.action and said.meaning.endswith(NOTHING_CHARGED)
    assert planned(set_values(long, check.fix), DIGITS).blocking == ()
    assert planned(set_values(long, {"where.tier": "spot"}), DIGITS).blocking == ()
    assert limit_hours(Range(1e6, 1e6, 1e6), 4.0, FLEX_MOST_HOURS) == 167.0


def tensorflow(**where: object) -> Job:
    return job("mlp", "digits", where={"place": "cloud", **where}, training={"framework": "tensorflow"})


def test_tensorflow_takes_the_cheapest_tpu_of_one_machine_and_says_that_nobody_has_seen_it_there():
    plan = planned(tensorflow(), DIGITS)
    assert (plan.framework, plan.blocking, plan.sharded) == ("tensorflow", (), False)
    assert catalogue().drives(catalogue().slice(plan.accelerator).generation, "tensorflow")
    check = next(one for one in plan.checks if one.id == "tensorflow-by-recipe")
    assert (check.level, check.fix) == ("warning", {"training.framework": "jax"})
    assert "by Google's recipe, not yet seen on a TPU" in check.title
    assert "charged" in say_check(check.id, check.title, check.facts).meaning
    assert planned(job("mlp", "digits", where={"place": "cloud"}), DIGITS).framework == "jax"  # which leads there


@pytest.mark.parametrize(
    ("where", "why", "said"),
    [
        ({"accelerator": "v6e-1"}, "generation", "reported not to start"),
        ({"accelerator": "tpu7x-2x2x1", "usd_per_hour": 48.0}, "generation", "not supported on TPU7x"),
        ({"accelerator": "v5litepod-16"}, "machines", "several machines"),
        ({"accelerator": "v5p-8", "backend": "compute-engine"}, "lender", "Cloud TPU API"),
    ],
)
def test_where_tensorflow_is_refused_it_says_why_and_one_press_makes_it_jax(
    where: dict[str, object], why: str, said: str
):
    chosen = tensorflow(**where)
    refused = planned(chosen, DIGITS)
    (check,) = (one for one in refused.blocking if one.id in ("place-needs-jax", "accelerator-impossible"))
    assert (check.id, check.fix, check.facts["why"]) == ("place-needs-jax", {"training.framework": "jax"}, why)
    words = say_check(check.id, check.title, check.facts)
    assert said in words.meaning and words.meaning.endswith(NOTHING_CHARGED) and words.action.startswith("Use JAX")
    assert why != "generation" or refused.accelerator not in [way.accelerator for way in refused.alternatives]
    pressed = planned(set_values(chosen, check.fix), DIGITS)
    assert pressed.framework == "jax" and pressed.blocking == ()


@pytest.mark.parametrize(("accelerator", "replicas"), [("v2-8", 8), ("v3-8", 8), ("v4-8", 4), ("v5litepod-8", 8)])
def test_tensorflow_shares_a_batch_over_devices_which_are_two_a_chip_on_v2_and_v3(accelerator: str, replicas: int):
    plan = planned(tensorflow(accelerator=accelerator), DIGITS)
    assert (plan.devices, plan.blocking) == (replicas, ())
    assert plan.job.values["training.global_batch"] % replicas == 0


def test_the_memory_of_a_language_model_is_counted_without_the_kernel_that_tensorflow_has_not():
    where = {"place": "cloud", "accelerator": "v5litepod-8"}
    jax, tensorflow = (
        planned(job("gpt-124m", "text", where=where, training={"framework": name, "global_batch": 64}), PLAYS)
        for name in ("jax", "tensorflow")
    )
    assert tensorflow.memory.device_bytes > 2 * jax.memory.device_bytes


@pytest.mark.parametrize("place", ["practice", "computer"])
def test_elsewhere_tensorflow_trains_and_a_tpu_is_compared_with_as_jax_would_train_on_it(place: str):
    plan = planned(tensorflow(place=place), DIGITS)
    assert plan.framework == "tensorflow" and plan.blocking == ()
    assert "tensorflow-by-recipe" not in [check.id for check in plan.checks]
    assert any(way.place == "cloud" for way in plan.alternatives)
    assert any(way.accelerator.startswith("v6e") for way in plan.alternatives)


def test_practice_is_planned_for_the_same_tpu_and_takes_as_long_as_here():
    practice = planned(job("mlp", "digits", where={"place": "practice"}), DIGITS)
    here = planned(job("mlp", "digits", training={"framework": "jax"}), DIGITS)
    assert practice.job["where.zones"] == ["us-west4-a"]
    assert practice.accelerator.startswith("v5litepod")
    assert practice.examples_per_s == here.examples_per_s


def test_the_public_plan_names_price_age_and_cost():
    told = plan_to_public_json(planned(job("mlp", "digits", where={"place": "cloud"}), DIGITS))
    assert told["place"] == "cloud"
    assert told["cost_usd"]["low"] < told["cost_usd"]["expected"] < told["cost_usd"]["high"]
    assert told["price"]["usd_per_hour"] > 0
    assert told["verdict"]["why"]
