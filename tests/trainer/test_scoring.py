"""A few tokens scored at a time: the loss, the gradients and the training of all at once, without all in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    told: dict[str, Any] = run_in_engine(Path(__file__).parent / "program_scoring.py", backend="jax")
    return told


def test_loss_right_answers_and_gradients_are_those_of_all_scores(told: dict[str, Any]) -> None:
    assert len(told["apart"]) == 12
    for variant, apart in told["apart"].items():
        assert apart["right"] < 1e-4, variant  # of some 1.5 by weight
        assert max(apart[name] for name in ("loss", "alone", "x", "table")) < 1e-6, (variant, apart)


def test_in_bfloat16_they_are_those_of_the_products_that_a_matrix_unit_takes(told: dict[str, Any]) -> None:
    assert told["narrow"]["loss"] < 1e-6
    assert max(told["narrow"][name] for name in ("x", "table")) < 5e-3  # what goes back is rounded to 8 bits in both


@pytest.mark.parametrize("variant", ["few", "few, eight chips", "few, two chips, four parts"])
def test_twenty_steps_are_those_of_all_scores(told: dict[str, Any], variant: str) -> None:
    plain, found = told["all"], told[variant]
    assert plain["loss"][-1] < plain["loss"][0] - 0.1
    for name in ("loss", "grad_norm"):
        assert found[name] == pytest.approx(plain[name], abs=1e-4)
    assert found["evaluated"] == pytest.approx(plain["evaluated"], rel=1e-5)
    assert plain["evaluated"]["total"] == 6 * 128 > plain["evaluated"]["right"] > 0


@pytest.mark.parametrize("variant", ["few", "few, eight chips"])
def test_no_array_of_the_program_holds_all_scores(told: dict[str, Any], variant: str) -> None:
    assert min(told["all"]["largest"]) >= told["scores"] * 300 // 384
    assert max(told[variant]["largest"]) < told["scores"] * 300 // 384
