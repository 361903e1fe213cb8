"""What stands in the records of families, frameworks and kinds holds together with the models that name them."""

from __future__ import annotations

import pytest

from tpu_studio.planner.modelwork import _FORMULAS
from tpu_studio.planner.throughput import families as published
from tpu_studio.wire import families, frameworks, kinds, models, tasks


@pytest.mark.parametrize("model", models.MODELS, ids=lambda model: model.name)
def test_a_model_names_only_what_is_declared(model: families.ModelSpec) -> None:
    assert not families.by_id(model.family).own
    assert set(model.takes) <= set(kinds.IDS) and set(model.tasks) <= set(tasks.IDS)


@pytest.mark.parametrize("family", families.all_families(), ids=lambda family: family.id)
def test_each_family_has_its_rules_and_its_published_one(family: families.Family) -> None:
    assert not (family.own and family.id in _FORMULAS)
    assert family.throughput is None or family.throughput in published.FAMILIES
    assert family.reads_tokens or family.epochs[-1][0] == families.ALL
    assert family.batch_least <= family.batch_most and family.icon
    begins = any(model.starter or model.from_folder for model in family.models)
    assert begins == bool((family.features and family.head_rate) or family.lora_rate) and 0 < family.rate_after <= 1


@pytest.mark.parametrize("kind", kinds.all_kinds(), ids=lambda kind: kind.id)
def test_the_first_choice_for_a_kind_takes_it(kind: kinds.DataKind) -> None:
    if kind.is_converted:
        assert not kind.model and not kind.tasks
        return
    first = models.spec(kind.model)
    assert kind.id in first.takes and set(kind.tasks) & set(first.tasks)
    assert kind.is_built_in or all(kind.drop)


def test_one_framework_leads_on_chips_and_one_on_processors() -> None:
    assert frameworks.for_chips() != frameworks.for_processors()
    assert frameworks.title_of("jax") == "JAX" and frameworks.title_of("torch") == "torch"
