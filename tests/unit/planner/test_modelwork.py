"""Where a model's work comes from: the engine's count, else a formula, else a guess that says so."""

from __future__ import annotations

import pytest

from tests.fakes.looks import HANDS, LAPTOP, NOW, PLAYS, counted, job
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Look
from tpu_studio.planner import modelwork
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan


def planned(asked: Job, look: Look = HANDS, **known: object) -> Plan:
    return make_plan(asked, look, now=NOW, computer=LAPTOP, **known)


def ids(plan: Plan) -> set[str]:
    return {check.id for check in plan.checks}


CNN = job("small-cnn", "images")


def test_what_the_engine_counted_goes_before_the_formula() -> None:
    key = modelwork.key_of_plan(planned(CNN))
    seen = planned(CNN, model_facts=counted(123, 456.0, key=key))
    assert (seen.memory.params, seen.basis.flops_per_example) == (123, 456.0)
    assert planned(CNN).memory.params > 300_000  # the formula's


def test_what_was_counted_in_another_model_is_not_taken_for_this_one() -> None:
    key = modelwork.key_of_plan(planned(CNN))
    wider = job("small-cnn", "images", model={"options": {"width": 64}})
    assert planned(wider, model_facts=counted(123, 456.0, key=key)).memory.params > 1_000_000


@pytest.mark.parametrize(
    "change",
    [
        {"training": {"global_batch": 64}},
        {"training": {"learning_rate": 0.1}},
        {"training": {"precision": "bfloat16"}},
        {"where": {"place": "cloud"}},
    ],
)
def test_what_does_not_change_the_work_of_an_example_needs_no_new_count(change: dict[str, dict[str, object]]) -> None:
    assert modelwork.key_of_plan(planned(job("small-cnn", "images", **change))) == modelwork.key_of_plan(planned(CNN))


@pytest.mark.parametrize("change", [{"data": {"image_size": 16}}, {"model": {"options": {"blocks": 1}}}])
def test_what_changes_the_work_of_an_example_does(change: dict[str, dict[str, object]]) -> None:
    assert modelwork.key_of_plan(planned(job("small-cnn", "images", **change))) != modelwork.key_of_plan(planned(CNN))


def test_without_a_formula_the_plan_says_that_the_engine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(modelwork._FORMULAS, "cnn")
    plan = planned(CNN)
    assert "model-not-counted" in ids(plan)
    assert "counted when the engine has looked" in plan.reasons["estimate"]
    assert modelwork.needs_engine(plan)
    key = modelwork.key_of_plan(plan)
    seen = planned(CNN, model_facts=counted(391_466, 1e8, key=key, activation_bytes=1e6))
    assert "model-not-counted" not in ids(seen)
    assert seen.memory.parts["activations"] == 1_000_000 * seen.job.training.global_batch
    assert seen.examples_per_s is not None and plan.examples_per_s is not None
    assert seen.examples_per_s.high / seen.examples_per_s.low < plan.examples_per_s.high / plan.examples_per_s.low / 5


def test_a_text_family_without_a_formula_trains_as_long_as_its_text_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    with_formula = planned(job("gpt-nano", "text"), PLAYS)
    monkeypatch.delitem(modelwork._FORMULAS, "gpt")
    plan = planned(job("gpt-nano", "text"), PLAYS)
    assert "epochs of the text" in plan.reasons["training.steps"]
    seen = planned(job("gpt-nano", "text"), PLAYS, model_facts=counted(636_032, 2.6e8, key=modelwork.key_of_plan(plan)))
    assert seen.steps == with_formula.steps


def test_memory_counted_under_bfloat16_is_twice_that_in_float32() -> None:
    own = job(None, "images", model={"file": "model.py"})
    facts = {"sha256": "aa", **counted(1000, 6e3, activation_bytes=1000.0, precision="bfloat16")}
    plan = planned(own, model_facts=facts, consent="aa")
    assert plan.job.training.precision == "float32"
    assert plan.memory.parts["activations"] == 2000 * plan.job.training.global_batch
