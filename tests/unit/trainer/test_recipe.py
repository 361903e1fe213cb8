"""The constants of a step, out of a plan."""

from __future__ import annotations

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.trainer.recipe import from_plan


@pytest.mark.parametrize(
    ("model", "options", "beta2"),
    [("gpt-nano", {}, 0.99), ("gpt-124m", {}, 0.95), ("gpt-nano", {"width": 768, "heads": 12}, 0.95)],
)
def test_language_models_of_gpt2s_width_remember_gradients_as_gpt2_did(
    model: str, options: dict[str, int], beta2: float
) -> None:
    given = job(model, "text", model={"name": model, "options": options})
    assert from_plan(make_plan(given, PLAYS, now=NOW, computer=LAPTOP)).beta2 == beta2


def test_everything_else_remembers_longer() -> None:
    assert from_plan(make_plan(job("mlp", "digits"), DIGITS, now=NOW, computer=LAPTOP)).beta2 == 0.999
    own = job(None, "text", model={"file": "model.py"})
    assert from_plan(make_plan(own, PLAYS, now=NOW, computer=LAPTOP)).beta2 == 0.99
