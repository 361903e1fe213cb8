"""Attention by JAX's kernel, interpreted on processors: the training that the formula gives; nothing in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    told: dict[str, Any] = run_in_engine(Path(__file__).parent / "program_splash.py", backend="jax")
    return told


@pytest.mark.parametrize("variant", ["one chip", "eight chips, recomputing"])
def test_twenty_steps_by_the_kernel_are_those_of_the_formula(told: dict[str, Any], variant: str) -> None:
    plain, found = told["off a TPU"], told[variant]
    assert all(found["kernels"])
    assert len(plain["loss"]) == 20
    assert plain["loss"][-1] < plain["loss"][0] - 0.3
    for name in ("loss", "grad_norm", "val_loss"):
        assert found[name] == pytest.approx(plain[name], abs=1e-4)


def test_recomputing_does_all_again_but_the_kernel(told: dict[str, Any]) -> None:
    assert told["eight chips, recomputing"]["kernels"] == told["one chip"]["kernels"]


@pytest.mark.parametrize("variant", ["off a TPU", "dropout", "a length that 128 does not divide"])
def test_what_the_kernel_cannot_do_is_done_as_it_is_written(told: dict[str, Any], variant: str) -> None:
    assert told[variant]["kernels"] == [0, 0]


@pytest.mark.parametrize("variant", ["off a TPU", "one chip", "eight chips, recomputing"])
def test_a_model_is_written_down_without_the_kernel(told: dict[str, Any], variant: str) -> None:
    assert told[variant]["written"]


def test_work_and_traffic_of_the_kernel_are_counted_by_hand(told: dict[str, Any]) -> None:
    heads, block, wide = 4 * 2, 512, 1024 * 64 * 2  # bytes of a head's queries
    product = 3 * 2 * block * block * 64  # three of four blocks: none sees only later tokens
    lanes, rows = 1024 * 128 * 4, 3 * 3 * block * 8 * 4
    forward = [heads * 2 * product, heads * (2 * wide + 2 * 1.5 * wide + lanes)]
    assert told["counted"]["forward"] == forward
    flops, moved = told["counted"]["both"]
    assert flops == heads * (2 + 5) * product
    # The sums of rows beside what came out; then k, v, dk, dv once, q and the gradient by blocks, dq twice.
    assert moved == forward[1] + heads * (lanes + 4 * wide + 2 * 1.5 * wide + rows + 2 * wide)


def test_of_each_row_one_sum_is_kept_and_nothing_goes_on_before(told: dict[str, Any]) -> None:
    assert told["together"] == [[4, 2, 1024, 64], [4, 2, 1024]]  # the kernel writes 128 sums a row


def test_rows_that_fill_the_table_of_tokens_change_nothing(told: dict[str, Any]) -> None:
    filled = told["filled"]
    assert filled["outputs of 384"] == filled["outputs of 300"] == 300
    assert filled["loss of 384"] == pytest.approx(filled["loss of 300"], abs=1e-6)
    assert filled["loss of 300"][-1] < filled["loss of 300"][0] - 0.1
    assert filled["apart"] < 1e-5
    assert not filled["unused changed"]


def test_scores_and_their_gradients_are_products_of_what_a_matrix_unit_takes(told: dict[str, Any]) -> None:
    assert max(told["scored"].values()) < 1e-4  # of sums of 24 to 48 products of about 1
