"""TensorFlow over several devices: the code that a TPU runs, with logical processors in the place of chips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine
CASES = ("classification, 1 parts", "classification, 4 parts", "regression, 1 parts", "multi-label, 1 parts")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return dict(run_in_engine(Path(__file__).parent / "program_replicas.py", backend="tensorflow"))


@pytest.mark.parametrize("case", CASES)
def test_replicas_learn_as_one_processor_does(told: dict[str, Any], case: str) -> None:
    one, two = told["steps"][case]["1"], told["steps"][case]["2"]
    assert one["loss"][0] != one["loss"][-1]
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)
    assert two["state"] == pytest.approx(one["state"], rel=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_what_is_seen_of_unseen_data_is_that_of_all_replicas_in_order(told: dict[str, Any], case: str) -> None:
    one, two = told["steps"][case]["1"]["unseen"], told["steps"][case]["2"]["unseen"]
    assert two == {name: pytest.approx(values, rel=1e-5, abs=1e-6) for name, values in one.items()}


@pytest.mark.parametrize("case", CASES)
def test_replicas_go_on_bit_for_bit_and_calls_of_any_length_share_one_program(told: dict[str, Any], case: str) -> None:
    two = told["steps"][case]["2"]
    assert two["resumed"]
    assert two["compiles"] == 2  # of training and of evaluation


def test_a_batch_that_replicas_do_not_divide_goes_through_a_network_whole(told: dict[str, Any]) -> None:
    assert told["forward"] < 1e-5


def test_the_strategy_of_a_tpu_makes_each_step_of_a_call_one_program_with_its_sums(told: dict[str, Any]) -> None:
    train, evaluate = told["tpu"]["train"], told["tpu"]["evaluate"]
    assert train["step in a loop"] == train["2 replicas"] == 1
    assert train["CrossReplicaSum"] >= 3  # loss, examples, right answers; then gradients and statistics
    assert evaluate["2 replicas"] == 1
    assert "CrossReplicaSum" not in evaluate  # added up beside the chips
    assert train["AssignVariableOp"] >= told["tpu"]["tensors"]


def test_the_recipe_of_a_tpu_is_followed_as_far_as_there_is_none(told: dict[str, Any]) -> None:
    assert "ConfigureDistributedTPU" in told["opened"]
