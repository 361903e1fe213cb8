"""The catalogue's models: the same in both frameworks, of the size worked out by hand, plain Keras when saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine
PROGRAM = Path(__file__).with_name("program_build.py")


@pytest.fixture(scope="module")
def in_tensorflow() -> Any:
    return run_in_engine(PROGRAM, backend="tensorflow")


@pytest.fixture(scope="module")
def in_jax() -> Any:
    return run_in_engine(PROGRAM, backend="jax")


def test_initial_weights_are_the_same_in_both_frameworks(in_tensorflow: Any, in_jax: Any) -> None:
    assert {name: facts["sha256"] for name, facts in in_tensorflow.items()} == {
        name: facts["sha256"] for name, facts in in_jax.items()
    }


def test_weights_have_the_same_names_in_both_frameworks(in_tensorflow: Any, in_jax: Any) -> None:
    assert {name: facts["paths"] for name, facts in in_tensorflow.items()} == {
        name: facts["paths"] for name, facts in in_jax.items()
    }
    assert all(len(set(facts["paths"])) == len(facts["paths"]) for facts in in_jax.values())


def test_a_seed_gives_the_same_weights_every_time_and_another_seed_others(in_tensorflow: Any) -> None:
    assert all(facts["same_twice"] for facts in in_tensorflow.values())
    assert in_tensorflow["gpt-nano"]["sha256"] != in_tensorflow["gpt-nano seed 1"]["sha256"]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("mlp rows", 26 * 256 + 256 + 2 * (256 * 256 + 256) + 256 + 1),
        ("mlp digits", 64 * 256 + 256 + 2 * (256 * 256 + 256) + 256 * 10 + 10),
        # 3 → 32 → 64 → 128 → 256 channels, 3 × 3 without bias; scale and offset a channel; 3 answers
        ("small-cnn", 9 * (3 * 32 + 32 * 64 + 64 * 128 + 128 * 256) + 2 * (32 + 64 + 128 + 256) + 256 * 3 + 3),
        # 8 × 8 has room for three blocks, whatever was asked for
        ("small-cnn digits", 9 * (1 * 32 + 32 * 64 + 64 * 128) + 2 * (32 + 64 + 128) + 128 * 10 + 10),
        # V·W + T·W + L·(12·W² + 13·W) + 2·W
        ("gpt-nano", 256 * 128 + 64 * 128 + 3 * (12 * 128**2 + 13 * 128) + 2 * 128),
        ("gpt-mini", 256 * 384 + 256 * 384 + 6 * (12 * 384**2 + 13 * 384) + 2 * 384),
    ],
)
def test_weights_are_as_many_as_counted_by_hand(in_tensorflow: Any, name: str, params: int) -> None:
    assert in_tensorflow[name]["params"] == params


def test_answers_are_float32_logits_of_the_right_shape_in_either_precision(in_tensorflow: Any, in_jax: Any) -> None:
    wanted = {"mlp rows": [1], "mlp pictures": [3], "small-cnn bfloat16": [3], "gpt-nano bfloat16": [64, 256]}
    for found in (in_tensorflow, in_jax):
        for name, shape in wanted.items():
            assert (found[name]["output"], found[name]["dtype"]) == (shape, "float32")
            assert found[name]["weights_float32"]


def test_both_frameworks_answer_the_same(in_tensorflow: Any, in_jax: Any) -> None:
    for name, facts in in_tensorflow.items():
        tolerance = 2e-2 if "bfloat16" in name or name == "mlp pictures" else 1e-4
        assert in_jax[name]["mean"] == pytest.approx(facts["mean"], rel=tolerance)


def test_a_saved_model_opens_with_keras_alone_and_answers_exactly_the_same(in_tensorflow: Any, in_jax: Any) -> None:
    for found in (in_tensorflow, in_jax):
        assert all(facts["standard"] for facts in found.values())
        assert {name: facts["reload_difference"] for name, facts in found.items()} == dict.fromkeys(found, 0.0)
