"""A few tokens scored at a time: the loss, the gradients and the training of all at once, without all in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine


Asked = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def asked() -> Asked:
    """``asked("few")`` or ``asked("more")`` of the variants."""
    return functools.cache(
        lambda which: run_in_engine(Path(__file__).parent / "program_scoring.py", which, backend="jax")
    )


@pytest.fixture(scope="module")
def told(asked: Asked) -> dict[str, Any]:
    return asked("few")


@pytest.mark.parametrize(("which", "count"), [("few", 3), pytest.param("more", 9, marks=pytest.mark.thorough)])
def test_loss_right_answers_and_gradients_are_those_of_all_scores(asked: Asked, which: str, count: int) -> None:
    told = asked(which)
    assert len(told["apart"]) == count
    for variant, apart in told["apart"].items():
        assert apart["right"] < 1e-4, variant  # of some 1.5 by weight
        assert max(apart[name] for name in ("loss", "alone", "x", "table")) < 1e-6, (variant, apart)


def test_in_bfloat16_they_are_those_of_the_products_that_a_matrix_unit_takes(told: dict[str, Any]) -> None:
    assert told["narrow"]["loss"] < 1e-6
    assert max(told["narrow"][name] for name in ("x", "table")) < 5e-3  # what goes back is rounded to 8 bits in both


@pytest.mark.parametrize(
    ("which", "variant"),
    [
        ("few", "one chip"),
        ("few", "eight chips"),
        pytest.param("more", "two chips, four parts", marks=pytest.mark.thorough),
    ],
)
def test_twenty_steps_are_those_of_all_scores(asked: Asked, which: str, variant: str) -> None:
    told = asked(which)
    plain, found = told["all"], told[variant]
    assert plain["loss"][-1] < plain["loss"][0] - 0.1
    for name in ("loss", "grad_norm"):
        assert found[name] == pytest.approx(plain[name], abs=1e-4)
    assert found["evaluated"] == pytest.approx(plain["evaluated"], rel=1e-5)
    assert plain["evaluated"]["total"] == 6 * 128 > plain["evaluated"]["right"] > 0


@pytest.mark.parametrize("variant", ["one chip", "eight chips"])
def test_no_array_of_the_program_holds_all_scores(told: dict[str, Any], variant: str) -> None:
    assert min(told["all"]["largest"]) >= told["scores"] * 300 // 384
    assert max(told[variant]["largest"]) < told["scores"] * 300 // 384
