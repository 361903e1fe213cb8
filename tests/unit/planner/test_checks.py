"""What a plan warns of, what it refuses, and the one press that repairs it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, LAPTOP, NOW, PLAYS, counted, job, with_finding
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Finding, Look
from tpu_studio.domain.sentences import say_check
from tpu_studio.planner.checks import nearest_batches
from tpu_studio.planner.computer import Computer
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.ownimports import asked
from tpu_studio.wire.plan import Check, Plan


def planned(job: Job, look: Look, computer: Computer = LAPTOP, **more: object) -> Plan:
    return make_plan(job, look, now=NOW, computer=computer, **more)  # type: ignore[arg-type]


def check(plan: Plan, id: str) -> Check:
    return next(check for check in plan.checks if check.id == id)


def test_good_jobs_have_nothing_to_look_at():
    for plan in (
        planned(job("small-cnn", "images"), HANDS),
        planned(job("mlp", "table"), DIAMONDS),
        planned(job("gpt-nano", "text"), PLAYS),
    ):
        assert [check.id for check in plan.checks if check.level in ("error", "warning")] == []


def test_a_picture_model_on_a_table_is_refused_and_one_press_chooses_a_fitting_one():
    found = check(planned(job("small-cnn", "table"), DIAMONDS), "model-data-mismatch")
    assert (found.level, found.fix) == ("error", {"model.name": "mlp"})


def test_a_model_that_cannot_give_that_answer_is_refused():
    regression = replace(HANDS, task="regression", outputs=1)
    assert check(planned(job("small-cnn", "images"), regression), "model-task-mismatch").fix == {"model.name": "mlp"}


def test_a_fixed_batch_above_the_data_is_refused_and_the_repair_works():
    large = job("small-cnn", "images", training={"global_batch": 5000})
    found = check(planned(large, HANDS), "batch-above-data")
    assert found.level == "error"
    repaired = set_values(large, dict(found.fix or {}))
    assert planned(repaired, HANDS).blocking == ()


def test_a_batch_that_its_parts_do_not_divide_is_refused():
    found = check(
        planned(job("mlp", "table", training={"global_batch": 50, "accumulate": 4}), DIAMONDS), "batch-not-divisible"
    )
    assert found.fix == {"training.global_batch": 48}
    assert found.facts["nearest"] == [48, 52]
    assert "Take 48 or 52 examples" in say_check(found.id, "", found.facts).action


@pytest.mark.parametrize(
    ("batch", "more", "near"),
    [(509, {}, [504, 512]), (3, {}, [8, 16]), (100, {"accumulate": 2}, [96, 112])],  # 509 is prime
)
def test_a_batch_that_the_chips_do_not_divide_is_refused_with_the_two_next_to_it(batch, more, near):
    where = {"place": "cloud", "accelerator": "v5litepod-8"}
    wanted = job("gpt-nano", "text", where=where, training={"global_batch": batch, **more})
    found = check(planned(wanted, PLAYS), "batch-not-divisible")
    assert (found.level, found.facts["nearest"]) == ("error", near)
    assert "8 chips" in found.title
    for one in near:
        repaired = planned(set_values(wanted, {"training.global_batch": one}), PLAYS)
        assert "batch-not-divisible" not in {found.id for found in repaired.checks}


def test_of_little_data_the_nearest_batches_are_no_larger_than_it():
    assert nearest_batches(30, 8, 31) == (16, 24)
    assert nearest_batches(10, 8, 15) == (8,)


def test_jax_with_pictures_on_a_processor_suggests_tensorflow():
    assert check(
        planned(job("small-cnn", "images", training={"framework": "jax"}), HANDS), "jax-convolutions-slow"
    ).fix == {"training.framework": "tensorflow"}
    assert planned(job("gpt-nano", "text", training={"framework": "jax"}), PLAYS).checks == ()


def test_an_unusual_learning_rate_is_told_with_the_recommended_one():
    found = check(planned(job("mlp", "table", training={"learning_rate": 1.0}), DIAMONDS), "learning-rate-high")
    recommended = planned(job("mlp", "table"), DIAMONDS).job["training.learning_rate"]
    assert found.fix == {"training.learning_rate": recommended}


def test_a_model_too_large_for_the_memory_does_not_fit():
    plan = planned(job("gpt-124m", "text"), PLAYS, Computer(cores=2, memory_bytes=2_000_000_000))
    assert not plan.fits
    assert check(plan, "memory-does-not-fit").level == "warning"
    assert plan_to_public_json(plan)["verdict"]["worth_it"] is False


def test_one_press_makes_a_batch_that_is_far_too_large_fit():
    for accelerator in ("v5e-1", "v5e-8"):
        wanted = job(
            "gpt-124m",
            "text",
            model={"name": "gpt-124m", "options": {"vocabulary": 50_257}},
            training={"global_batch": 1024, "rematerialize": False},
            where={"place": "cloud", "accelerator": accelerator},
        )
        too_big = planned(wanted, PLAYS)
        assert not too_big.fits
        fix = check(too_big, "memory-does-not-fit").fix
        assert fix is not None
        smaller = planned(set_values(wanted, fix), PLAYS)
        assert smaller.fits and not smaller.blocking, fix
        assert "memory-tight" not in [one.id for one in smaller.checks]


def test_no_smaller_batch_is_offered_where_the_weights_alone_are_too_large():
    plan = planned(job("gpt-124m", "text"), PLAYS, Computer(cores=2, memory_bytes=2_000_000_000))
    assert check(plan, "memory-does-not-fit").fix is None


def test_recomputing_is_chosen_when_remembering_would_not_fit():
    plan = planned(job("gpt-124m", "text"), PLAYS, Computer(cores=2, memory_bytes=12_000_000_000))
    assert plan.job["training.rematerialize"] is True
    assert plan.fits


def test_findings_of_the_data_become_checks_with_words():
    plan = planned(
        job("small-cnn", "images"), with_finding(HANDS, Finding("broken-items", "warning", {"count": 3, "of": 2065}))
    )
    found = check(plan, "broken-items")
    assert found.level == "warning"
    assert found.title


def test_an_own_model_waits_for_consent_and_a_missing_file_is_refused():
    own = job(None, "images", model={"file": "model.py"})
    assert check(planned(own, HANDS, model_facts={"sha256": "aa"}), "model-file-consent").level == "warning"
    agreed = planned(own, HANDS, model_facts={"sha256": "aa", **counted(1000, 6e3)}, consent="aa")
    assert [found.id for found in agreed.checks] == []
    assert agreed.consent == "aa"
    changed = planned(own, HANDS, model_facts={"sha256": "bb"}, consent="aa")
    assert check(changed, "model-file-consent")
    assert planned(own, HANDS, model_facts={"missing": True}).blocking[0].id == "model-file-missing"
    told = check(planned(own, HANDS, model_facts={"sha256": "aa", "secret_line": 3}, consent="aa"), "model-file-secret")
    assert told.level == "warning"
    assert "line 3" in say_check(told.id, "", told.facts).title


MODEL = """\
import math
import keras, jax.numpy as jnp
from PIL import Image
{first}

def build_model(job):
    {inside}
    return keras.Sequential([keras.layers.Dense(job.outputs)])
"""


@pytest.mark.parametrize(
    ("first", "inside", "place", "found"),
    [
        ("import tensorflow as tf", "pass", "cloud", {"model-imports-tensorflow": ("error", 4)}),
        ("import tensorflow as tf", "pass", "colab", {"model-imports-tensorflow": ("error", 4)}),
        ("import tensorflow as tf", "pass", "computer", {}),
        ('if keras.backend.backend() == "tensorflow": import tensorflow as tf', "pass", "cloud", {}),
        ("", "m.fit(x, y, class_weight={0: 9.0})", "computer", {"model-weighs-examples": ("error", 7)}),
        ("", "m.compile('adam', loss='mse')", "cloud", {"model-compiles": ("warning", 7)}),
        ("import re", "re.compile('a')", "cloud", {}),
        ("", "from keras_hub.models import Backbone", "cloud", {"model-imports-missing": ("error", 7)}),
        ("try: import sklearn\nexcept ImportError: sklearn = None", "pass", "cloud", {}),
        ("import os", 'os.environ["KERAS_BACKEND"] = "torch"', "computer", {"model-sets-backend": ("info", 7)}),
        ("", "pass", "cloud", {}),
    ],
)
def test_what_an_own_model_imports_is_told_before_anything_is_rented(first, inside, place, found):
    own = job(None, "images", model={"file": "model.py"}, where={"place": place})
    facts = {"sha256": "aa", **asked(MODEL.format(first=first, inside=inside))}
    checks = {
        one.id: (one.level, one.facts["line"])
        for one in planned(own, HANDS, model_facts=facts, consent="aa").checks
        if one.id.startswith(("model-imports", "model-sets", "model-weighs", "model-compiles"))
    }
    assert checks == found


def test_the_public_form_has_exactly_the_promised_keys():
    public = plan_to_public_json(planned(job("small-cnn", "digits"), DIGITS))
    assert set(public) == {
        "place",
        "framework",
        "accelerator",
        "fits",
        "memory",
        "examples_per_s",
        "time_s",
        "cost_usd",
        "price",
        "checks",
        "alternatives",
        "verdict",
    }
    assert set(public["memory"]) == {"device_bytes", "limit_bytes", "by"}
    assert public["memory"]["by"] == "estimate"
    assert set(public["time_s"]) == {"low", "expected", "high"}
    assert set(public["price"]) == {"usd_per_hour", "as_of", "source"}
    assert set(public["verdict"]) == {"worth_it", "instead", "why"}
    assert public["verdict"]["worth_it"] is True


def test_a_plan_of_weeks_is_not_worth_it_here():
    verdict = plan_to_public_json(planned(job("gpt-124m", "text", training={"steps": 100_000}), PLAYS))["verdict"]
    assert verdict["worth_it"] is False
    assert "days" in verdict["why"]
