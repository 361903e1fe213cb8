"""The lines under the fields of the Plan page."""

from __future__ import annotations

import pytest

from tests.fakes.looks import LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.viewmodels.planform import field


@pytest.mark.parametrize(
    ("batch", "told"), [(512, "1 step each time through the data"), (8, " steps each time through the data")]
)
def test_the_batch_tells_how_many_steps_the_data_makes(batch: int, told: str):
    wanted = job("gpt-124m", "text", training={"global_batch": batch})
    plan = make_plan(wanted, PLAYS, now=NOW, computer=LAPTOP)
    hint = field("training.global_batch", wanted, plan, {}, {}).hint
    assert hint.endswith(told) and not hint.startswith("1 steps")
