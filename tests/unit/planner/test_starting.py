"""A model that begins from starter weights: what is planned for it, what it costs while most of it stays as it is, and
when it cannot be begun."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.looks import HANDS, LAPTOP, NOW, PLAYS, counted, job
from tests.fakes.making import estimate_of, make_plan
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.planner.facts import facts_of
from tpu_studio.planner.known import Known
from tpu_studio.planner.modelwork import work_of
from tpu_studio.planner.parts import parts_of
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import set_values
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.schema import step_values

STARTER = "starter:efficientnet-lite0"
PHOTOS = replace(HANDS, examples=300, train=240, validation=60, classes=(("cat", 150), ("dog", 150)), outputs=2)


def planned(look: Any = PHOTOS, model: str = "efficientnet-lite0", /, **tables: Any) -> Plan:
    known = tables.pop("known", {})
    return make_plan(job(model, look.kind, **tables), look, now=NOW, computer=LAPTOP, **known)


def test_a_few_pictures_train_the_last_layer_first_and_then_everything() -> None:
    plan = planned()
    training = plan.job.training

    assert plan.job.model.preset == STARTER and plan.job.model.starts_from == STARTER
    assert training.freeze == "head-first"
    assert 0 < training.unfreeze_at == round(plan.steps / 2)
    assert "1.3 million photographs" in plan.reasons["model.preset"]
    assert plan.reasons["training.unfreeze_at"] == "50% of the steps, which cost next to nothing."


@pytest.mark.parametrize(
    ("tables", "freeze", "unfreeze_at"),
    [
        ({"training": {"freeze": "backbone", "steps": 80}}, "backbone", 80),
        ({"training": {"freeze": "none", "steps": 80}}, "none", 0),
        ({"training": {"steps": 80, "unfreeze_at": 7}}, "head-first", 7),
        ({"model": {"preset": "none"}, "training": {"steps": 80}}, "none", 0),
    ],
)
def test_what_the_person_decides_stands(tables: dict[str, Any], freeze: str, unfreeze_at: int) -> None:
    training = planned(PHOTOS, **tables).job.training
    assert (training.freeze, training.unfreeze_at) == (freeze, unfreeze_at)


def test_many_pictures_train_the_last_layer_alone_on_a_processor() -> None:
    many = replace(PHOTOS, examples=25_000, train=20_000, validation=5_000)
    plan = planned(many)
    assert plan.job.training.freeze == "backbone" and plan.job.training.unfreeze_at == plan.steps
    assert "20,000 pictures" in plan.reasons["training.freeze"]


def test_a_model_without_starter_weights_learns_everything_from_nothing() -> None:
    plan = planned(PHOTOS, "small-cnn")
    assert (plan.job.model.preset, plan.job.model.starts_from) == ("none", "")
    assert (plan.job.training.freeze, plan.job.training.unfreeze_at) == ("none", 0)


@pytest.mark.parametrize(
    ("model", "preset", "id"),
    [
        ("efficientnet-lite0", "starter:efficientnet-lite9", "job-not-a-choice"),
        ("efficientnet-lite0", "hf:somebody/something", "job-preset-of-another"),
        ("small-cnn", STARTER, "job-preset-of-another"),
    ],
)
def test_a_preset_that_is_not_the_models_is_refused(model: str, preset: str, id: str) -> None:
    with pytest.raises(JobError) as refused:
        planned(PHOTOS, model, model={"preset": preset})
    assert refused.value.id == id
    assert refused.value.facts["key"] == "model.preset"


def test_another_model_does_not_keep_the_preset_of_the_one_before() -> None:
    asked = job("efficientnet-lite0", "images", model={"preset": STARTER})
    changed = set_values(asked, {"model.name": "small-cnn"})
    assert (changed.model.preset, "model.preset" in changed.given) == ("auto", False)
    both = set_values(asked, {"model.name": "efficientnet-lite0", "model.preset": "none"})
    assert both.model.preset == "none"


def test_a_picture_model_does_not_learn_from_text() -> None:
    assert "model-data-mismatch" in {check.id for check in planned(PLAYS).blocking}


@pytest.mark.parametrize("problem", ["starter-missing", "starter-damaged"])
def test_without_its_weights_it_is_not_begun(problem: str) -> None:
    (check,) = planned(PHOTOS, known={"starter": problem}).blocking
    assert check.id == problem
    assert not planned(PHOTOS, known={"starter": ""}).blocking


@pytest.mark.parametrize("place", ["computer", "practice", "cloud"])
def test_it_trains_on_this_computer_and_on_rented_machines(place: str) -> None:
    assert not planned(PHOTOS, where={"place": place}).blocking
    assert planned(PHOTOS, where={"place": place}).job.training.freeze == "head-first"


@pytest.mark.parametrize(
    ("where", "id", "fix"),
    [
        ({"place": "colab"}, "starter-not-in-notebook", {"where.place": "computer"}),
        ({"place": "cloud", "accelerator": "v5litepod-16"}, "starter-one-machine", {"where.accelerator": "auto"}),
    ],
)
def test_where_it_cannot_be_trained_says_so_before_anything_is_rented(
    where: dict[str, str], id: str, fix: dict[str, str]
) -> None:
    found = {check.id: check for check in planned(PHOTOS, where=where).blocking}
    assert found[id].fix == fix
    assert id not in {check.id for check in planned(PHOTOS, where=where, model={"preset": "none"}).blocking}


def work(**training: Any) -> Any:
    asked = job("efficientnet-lite0", "images", training=training)
    facts = counted(3_331_554, 2.4e9, convolutions=True)
    parts = parts_of(asked, PHOTOS, Known(SHIPPED, computer=LAPTOP))
    return parts.resolved, work_of(parts.resolved, facts_of(PHOTOS, asked), facts)


def test_the_work_while_it_stays_as_it_is_is_once_through_for_each_picture() -> None:
    """300 pictures once, forward only (a third), over 10 steps of 32: 2.4e9 · 300 / 3 / 320 = 7.5e8 a picture."""
    _, still = work(freeze="backbone", steps=10, global_batch=32)
    assert still.flops == pytest.approx(7.5e8)
    _, whole = work(freeze="none", steps=10, global_batch=32)
    assert whole.flops == 2.4e9
    _, both = work(freeze="head-first", unfreeze_at=5, steps=10, global_batch=32)
    assert both.flops == pytest.approx(1.2e9 + 7.5e8)
    assert still.activation_bytes < whole.activation_bytes == both.activation_bytes


def test_the_estimate_of_the_last_layer_alone_is_far_below_that_of_everything() -> None:
    known = {"computer": LAPTOP, "model_facts": counted(3_331_554, 2.4e9, convolutions=True)}

    def seconds(freeze: str) -> float:
        asked = job("efficientnet-lite0", "images", training={"freeze": freeze, "steps": 400, "global_batch": 32})
        return estimate_of(asked, PHOTOS, **known).training_s.expected

    assert seconds("backbone") < seconds("head-first") / 4 < seconds("none") / 4


def test_a_plan_of_before_is_written_again_as_it_was_and_begins_from_nothing() -> None:
    """It lacks the keys that came with starter weights."""
    tree = json.loads(plans.dumps(planned(PHOTOS, "small-cnn")))
    del tree["job"]["model"]["preset"], tree["job"]["training"]["freeze"], tree["job"]["training"]["unfreeze_at"]
    before = json.dumps(tree, indent=1, sort_keys=True).encode()

    plan = plans.loads(before)
    assert plan.job.model.starts_from == ""
    assert plans.dumps(plan) == before


def test_what_was_timed_and_counted_before_there_were_starter_weights_still_counts() -> None:
    """Keys of work leave out what begins from nothing, as all models did."""
    plan = planned(PHOTOS, "small-cnn")
    kept = step_values(plan.job.values)
    assert not {"model.preset", "training.freeze", "training.unfreeze_at"} & kept.keys()

    begun = step_values(planned(PHOTOS).job.values)
    assert (begun["model.preset"], begun["training.freeze"]) == (STARTER, "head-first")
    assert begun["training.unfreeze_at"]


SORTED = replace(
    PLAYS,
    task="text-classification",
    examples=1500,
    train=1200,
    validation=300,
    classes=(("good", 700), ("bad", 800)),
    outputs=2,
    numbers={"bytes_each": 128, "tokens_each": 48, "vocabulary": 2944},
)


@pytest.mark.parametrize(
    ("model", "tables", "tokenizer", "length"),
    [
        ("all-minilm-l6-v2", {}, "preset", 48),
        ("all-minilm-l6-v2", {"model": {"preset": "none"}}, "bpe", 48),
        ("text-classifier", {}, "bpe", 48),
        ("text-classifier", {"data": {"tokenizer": "bytes"}}, "bytes", 128),
        ("text-classifier", {"data": {"sequence_length": 20}}, "bpe", 20),
    ],
)
def test_texts_to_tell_apart_get_the_tokens_of_their_model_and_a_length_that_fits(
    model: str, tables: dict[str, Any], tokenizer: str, length: int
) -> None:
    plan = planned(SORTED, model, **tables)
    assert (plan.job.data.tokenizer, plan.job.data.sequence_length) == (tokenizer, length)
    assert plan.task == "text-classification" and not [check for check in plan.checks if check.level == "error"]
    assert "texts" in plan.reasons.get("data.sequence_length", "texts")


def test_starter_weights_for_text_learn_the_last_layer_for_most_of_the_steps() -> None:
    plan = planned(SORTED, "all-minilm-l6-v2")
    assert plan.job.training.freeze == "head-first"
    assert plan.job.training.unfreeze_at == round(0.85 * plan.steps)
    assert "a billion pairs" in plan.reasons["model.preset"]
    assert 0 < plan.job.training.learning_rate < 0.01


def test_a_model_that_writes_cannot_tell_texts_apart() -> None:
    (check,) = [one for one in planned(SORTED, "gpt-nano").checks if one.level == "error"]
    assert (check.id, check.fix) == ("model-task-mismatch", {"model.name": "text-classifier"})


def test_few_texts_are_counted_in_texts() -> None:
    few = replace(SORTED, examples=50, train=40, validation=10)
    (check,) = [one for one in planned(few, "text-classifier").checks if one.id == "tiny-data"]
    assert check.facts == {"train": 40, "usual": 100} and "characters" not in check.title


def test_text_that_is_continued_is_not_read_by_a_presets_tokens() -> None:
    with pytest.raises(JobError) as refused:
        planned(PLAYS, "gpt-nano", data={"tokenizer": "preset"})
    assert (refused.value.id, refused.value.facts["allowed"]) == ("job-tokenizer-unfit", ["bytes", "bpe"])
