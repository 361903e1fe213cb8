"""The lines under the fields of the Plan page."""

from __future__ import annotations

import re

import pytest

from tests.fakes.looks import LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.viewmodels.planform import field, option_fields
from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.keys import Key
from tpu_studio.wire.models import MODELS
from tpu_studio.wire.schema import KEYS


@pytest.mark.parametrize(("batch", "told"), [(512, "; 1 step per epoch"), (8, " steps per epoch")])
def test_the_batch_tells_how_many_steps_the_data_makes(batch: int, told: str):
    wanted = job("gpt-124m", "text", training={"global_batch": batch})
    plan = make_plan(wanted, PLAYS, now=NOW, computer=LAPTOP)
    hint = field("training.global_batch", wanted, plan, {}, {}).hint
    assert hint.endswith(told) and not hint.startswith("1 steps")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_every_setting_is_explained_in_two_sentences_at_least(key: Key):
    told = field(key.path, job("small-cnn", "digits"), None, {}, {}).help
    assert len(re.findall(r"[.?!](?: |$)", told)) >= 2, told
    assert "[[" not in told


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_option_of_a_model_is_explained_in_two_sentences_at_least(model: ModelSpec):
    for option in option_fields(job(model.name, "digits"), None, {}, {}):
        assert len(re.findall(r"[.?!](?: |$)", option.help)) >= 2, option.help
