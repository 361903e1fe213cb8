"""What "auto" becomes on well-known data sets, and that every choice is explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Finding, Look
from tpu_studio.planner.timing import Timing
from tpu_studio.wire import plan as plans
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.schema import KEYS

EVERY = [
    (job("small-cnn", "digits", training={"epochs": 30}), DIGITS),
    (job("small-cnn", "images", training={"epochs": 30}), HANDS),
    (job("mlp", "table", data={"target": "price"}, training={"epochs": 30}), DIAMONDS),
    (job("gpt-nano", "text"), PLAYS),
    (job("mlp", "digits"), DIGITS),
    (job(None, "images", model={"file": "model.py"}), HANDS),
]
NAMES = ["digits", "hands", "diamonds", "plays", "digits-mlp", "own"]


def planned(job: Job, look: Look, **more: object) -> Plan:
    return make_plan(job, look, now=NOW, computer=LAPTOP, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("job", "look"), EVERY, ids=NAMES)
def test_no_auto_is_left_but_the_cost_limit_where_nothing_costs(job: Job, look: Look):
    plan = planned(job, look)
    left = [path for path, value in plan.job.values.items() if value == AUTO]
    assert left == ["limits.money_usd"]


@pytest.mark.parametrize(("job", "look"), EVERY, ids=NAMES)
def test_every_auto_is_explained_in_a_plain_sentence(job: Job, look: Look):
    plan = planned(job, look)
    autos = [key.path for key in KEYS if job[key.path] == AUTO]
    assert [path for path in autos if not plan.reasons.get(path, "").endswith(".")] == []


@pytest.mark.parametrize(("job", "look"), EVERY, ids=NAMES)
def test_a_plan_survives_its_file(job: Job, look: Look):
    plan = planned(job, look)
    assert plans.loads(plans.dumps(plan)) == plan


@pytest.mark.parametrize(("job", "look"), EVERY, ids=NAMES)
def test_bundles_of_steps_fit_between_checks_and_copies(job: Job, look: Look):
    values = planned(job, look, timing=Timing(0.013)).job
    bundle = values["training.steps_per_call"]
    assert values["training.evaluate_every"] % bundle == 0
    assert values["training.checkpoint_every"] % bundle == 0


ON_A_TPU = [
    (job("small-cnn", "digits", where={"place": "cloud"}), DIGITS),
    (job("mlp", "table", data={"target": "price"}, where={"place": "cloud"}), DIAMONDS),
    (job("gpt-nano", "text", where={"place": "cloud"}), PLAYS),
    (job("gpt-nano", "text", where={"place": "colab"}), PLAYS),
]


@pytest.mark.parametrize(("job", "look"), ON_A_TPU)
def test_a_tpu_computes_in_bfloat16_and_no_reason_speaks_of_a_processor(job: Job, look: Look):
    plan = planned(job, look)
    assert plan.job["training.precision"] == "bfloat16"
    assert "stay float32" in plan.reasons["training.precision"]
    assert [path for path, why in plan.reasons.items() if "processor" in why] == []
    assert planned(set_values(job, {"where.place": "computer"}), look).job["training.precision"] == "float32"


def test_a_model_of_ones_own_is_handed_bundles_of_steps_on_a_tpu_and_single_ones_here():
    own = job(None, "digits", model={"file": "model.py"}, training={"steps": 5_000})
    there = planned(set_values(own, {"where.place": "cloud"}), DIGITS).job["training.steps_per_call"]
    assert (there, planned(own, DIGITS).job["training.steps_per_call"]) == (32, 1)


def test_pictures_are_handed_over_to_a_tpu_in_bundles_that_stay_small():
    def per_call(size: int) -> int:
        large = {"image_size": size}
        made = planned(job("small-cnn", "images", data=large, training={"epochs": 30}, where={"place": "cloud"}), HANDS)
        return int(made.job["training.steps_per_call"])

    assert (per_call(64), per_call(512)) == (32, 2)


def test_what_the_person_gave_is_never_touched():
    given = {
        "framework": "jax",
        "global_batch": 48,
        "learning_rate": 0.5,
        "epochs": 2,
        "evaluate_every": 7,
        "warmup": 0.0,
    }
    plan = planned(job("small-cnn", "digits", training=given), DIGITS)
    assert {name: plan.job[f"training.{name}"] for name in given} == given
    assert not any(f"training.{name}" in plan.reasons for name in given)


def test_a_fixed_interval_makes_the_bundles_fit_it():
    plan = planned(job("mlp", "table", training={"epochs": 30, "evaluate_every": 50}), DIAMONDS)
    assert plan.job["training.steps_per_call"] == 25


def test_this_computer_takes_tensorflow_and_a_tpu_takes_jax():
    assert planned(job("mlp", "digits"), DIGITS).framework == "tensorflow"
    practice = planned(job("mlp", "digits", where={"place": "practice"}), DIGITS)
    assert practice.framework == "jax"
    assert practice.reasons["training.framework"] == "JAX is documented for every TPU that can be rented."
    assert planned(job("mlp", "digits", where={"place": "colab"}), DIGITS).framework == "jax"


def test_convolutions_on_a_processor_go_one_step_a_call_and_small_models_thirty_two():
    assert planned(EVERY[1][0], HANDS).job["training.steps_per_call"] == 1
    assert planned(EVERY[2][0], DIAMONDS).job["training.steps_per_call"] == 32


def test_steps_follow_from_epochs_and_whole_batches_only():
    plan = planned(job("small-cnn", "images", training={"epochs": 30, "global_batch": 32}), HANDS)
    assert plan.steps_per_epoch == 51  # 1,650 // 32
    assert plan.steps == 30 * 51


def test_what_is_said_of_the_size_of_pictures_is_the_size_that_the_plan_has():
    """The look, which knows no model, had named another number than the plan, beside it on the same page."""
    mixed = replace(HANDS, findings=(Finding("mixed-sizes", "info", {"sizes": 7, "image_size": 128}),))
    for one, size in (("small-cnn", 64), ("mlp", 32)):
        (check,) = (found for found in planned(job(one, "images"), mixed).checks if found.id == "mixed-sizes")
        assert check.facts == {"sizes": 7, "image_size": size}
    asked = job("small-cnn", "images", data={"image_size": 96})
    (check,) = (found for found in planned(asked, mixed).checks if found.id == "mixed-sizes")
    assert check.facts["image_size"] == 96


def test_large_pictures_are_made_smaller_and_small_ones_stay():
    assert planned(EVERY[1][0], HANDS).job["data.image_size"] == 64
    assert planned(EVERY[0][0], DIGITS).job["data.image_size"] == 8
    assert planned(job("mlp", "images"), HANDS).job["data.image_size"] == 32


def test_few_pictures_are_varied_but_not_those_of_eight_pixels():
    assert planned(EVERY[1][0], HANDS).job["data.augment"] is True
    assert planned(EVERY[0][0], DIGITS).job["data.augment"] is False


def test_the_learning_rate_grows_with_the_square_root_of_the_batch():
    small = planned(job("mlp", "table", training={"global_batch": 64}), DIAMONDS).job["training.learning_rate"]
    large = planned(job("mlp", "table", training={"global_batch": 1024}), DIAMONDS).job["training.learning_rate"]
    assert large / small == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(
    ("training", "batch"),
    [
        ({"steps": 5_000}, 32 * 8),  # each chip gets what one alone would take, and the steps are given
        ({}, 128),  # 40 times through 4,000 pieces in 1,000 steps at least: 160, as a power of two
    ],
)
def test_the_batch_counts_the_chips_as_far_as_steps_are_left(training: dict[str, int], batch: int):
    given = job("gpt-nano", "text", training=training, data={"sequence_length": 250})
    text = replace(PLAYS, train=1_000_000, validation=100_000)
    alone, eight = (
        planned(set_values(given, {"where.place": "cloud", "where.accelerator": one}), text).job
        for one in ("v5litepod-1", "v5litepod-8")
    )
    assert (alone["training.global_batch"], eight["training.global_batch"]) == (32, batch)


def test_a_short_text_is_read_in_short_pieces_so_that_it_is_enough():
    text = replace(PLAYS, train=1, validation=1, numbers={"tokens": 125})
    plan = planned(job("gpt-nano", "text"), text)
    assert plan.job["data.sequence_length"] == 25
    assert "100 tokens" in plan.reasons["data.sequence_length"]
    assert planned(job("gpt-nano", "text", data={"sequence_length": 60}), text).job["data.sequence_length"] == 60
    assert planned(job("gpt-nano", "text"), PLAYS).job["data.sequence_length"] == 64


@pytest.mark.parametrize(
    ("accelerator", "options", "batch"),
    [
        ("v5litepod-1", {}, 16),  # 16,384 tokens keep a chip busy
        ("v5litepod-8", {}, 128),
        ("v5litepod-8", {"layers": 48, "vocabulary": 50_257}, 64),  # four times the layers leave room for half as many
        ("v5litepod-64", {}, 512),  # 524,288 tokens: as far as the learning rate reaches
    ],
)
def test_long_sequences_are_as_many_as_the_memory_of_each_chip_holds(
    accelerator: str, options: dict[str, int], batch: int
):
    given = job("gpt-124m", "text", model={"name": "gpt-124m", "options": options}, training={"steps": 2000})
    text = replace(PLAYS, numbers={"tokens": 50_000_000})
    plan = planned(set_values(given, {"where.place": "cloud", "where.accelerator": accelerator}), text)
    assert plan.job["training.global_batch"] == batch
    assert plan.fits


def test_the_batch_grows_no_further_than_the_learning_rate_carries():
    large = replace(DIAMONDS, examples=20_000_000, train=18_000_000, validation=2_000_000)
    given = job("mlp", "table", where={"place": "cloud", "accelerator": "v5litepod-64"}, data={"target": "price"})
    values = planned(given, large).job
    assert values["training.global_batch"] == 1024  # which one chip would take
    assert values["training.learning_rate"] == pytest.approx(1e-3 * 32**0.5, rel=0.02)


def test_a_handful_of_examples_still_makes_a_plan():
    tiny = Look("images", "classification", examples=6, train=4, validation=2, input_shape=(64, 64, 3), outputs=2)
    plan = planned(job("small-cnn", "images"), tiny)
    assert plan.job["training.global_batch"] == 1
    assert "tiny-data" in [check.id for check in plan.checks]


def test_copies_come_about_every_forty_five_seconds_once_the_speed_is_known():
    every = planned(job("gpt-nano", "text"), PLAYS, timing=Timing(0.03)).job["training.checkpoint_every"]
    assert 30 <= every * 0.03 <= 60


def test_relative_paths_become_absolute():
    assert planned(EVERY[1][0], HANDS).job["data.path"] == "/jobs/somewhere"


def test_converted_data_is_planned_as_what_it_was_converted_from():
    from dataclasses import replace

    converted = replace(HANDS, kind="tfrecord", image_sizes=None, input_shape=(100, 100, 3))
    plan = planned(job("small-cnn", "tfrecord"), converted)
    assert plan.blocking == ()
    assert plan.job["data.augment"] is True
    assert plan.job["data.image_size"] == 100
