"""Programs as they are traced on a TPU, and over several chips, by the compiler's own count: 8 processors stand in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine
from tpu_studio.planner import work

HERE = Path(__file__).parent
pytestmark = pytest.mark.engine


Asked = Callable[[str], dict[str, Any]]
FEW_AND_MORE = pytest.mark.parametrize(
    ("which", "count"), [("few", 4), pytest.param("more", 3, marks=pytest.mark.thorough)]
)


@pytest.fixture(scope="module")
def asked() -> Asked:
    """``asked("few")`` or ``asked("more")`` of the variants."""
    return functools.cache(lambda which: run_in_engine(HERE / "program_chips.py", which, backend="jax"))


@pytest.fixture(scope="module")
def told(asked: Asked) -> dict[str, Any]:
    return asked("few")


@pytest.fixture
def chips(told: dict[str, Any]) -> dict[str, Any]:
    return dict(told["parts"])


def test_parts_over_several_chips_cost_the_same_work(chips: dict[str, Any]) -> None:
    whole, part = chips["1 parts, 8 chips"]["flops"], chips["4 parts, 8 chips"]["flops"]
    assert part * 4 == pytest.approx(whole, rel=0.05)  # the optimizer's sums are in both


def test_parts_over_several_chips_save_memory(chips: dict[str, Any]) -> None:
    assert chips["4 parts, 8 chips"]["temporary_bytes"] < 0.45 * chips["1 parts, 8 chips"]["temporary_bytes"]


@FEW_AND_MORE
def test_parts_and_chips_together_learn_as_one_step_on_one_chip(asked: Asked, which: str, count: int) -> None:
    chips = asked(which)["parts"]
    alone = chips["1 parts, 1 chips"]["loss"]
    assert alone[0] != alone[-1]
    assert len(chips) == count  # one of them with its state sharded
    for told in chips.values():
        assert told["loss"] == pytest.approx(alone, rel=1e-5)


@FEW_AND_MORE
def test_parts_and_chips_together_resume_bit_for_bit(asked: Asked, which: str, count: int) -> None:
    assert [told["same_when_resumed"] for told in asked(which)["parts"].values()] == [True] * count


def test_evaluation_makes_nothing_wider_than_training_does(told: dict[str, Any]) -> None:
    widest = told["unseen"]["bytes"]
    assert widest["evaluate"] <= widest["train"]


def test_the_plan_counts_the_same_widest_array_as_the_trainer(told: dict[str, Any]) -> None:
    cnn = work.small_cnn({"width": 32, "blocks": 4}, size=32, channels=3, answers=3)
    counted = {
        "gpt-nano": work.gpt({"layers": 2, "width": 64, "heads": 4, "vocabulary": 50_000}, tokens=64).widest,
        "small-cnn": cnn.widest,
        "mlp": work.mlp({"layers": 3, "width": 256}, inputs=26, answers=1).widest,
        "own": None,  # attention layers hide how wide they are
    }
    assert told["unseen"]["widest"] == counted


def test_keras_alone_puts_its_kernel_in_on_a_tpu(told: dict[str, Any]) -> None:
    assert told["attention"]["Keras alone"]["kernels"] > 0  # else `models/attention.py` is not needed any more


@pytest.mark.parametrize(
    ("which", "variant"),
    [
        *(("few", variant) for variant in ("plain", "masked and causal", "asks for the kernel", "own layer")),
        pytest.param("more", "causal", marks=pytest.mark.thorough),
        pytest.param("more", "masked", marks=pytest.mark.thorough),
    ],
)
def test_attention_is_on_a_tpu_what_it_is_on_a_processor(asked: Asked, which: str, variant: str) -> None:
    found = asked(which)["attention"][variant]
    assert found["kernels"] == 0
    assert found["one"] < 1e-5
    assert found["eight"] < 1e-5
    assert (found["differs"] > 1e-3) == (variant not in ("plain", "asks for the kernel"))


def test_the_first_chip_holds_the_state_and_nothing_beside_it(told: dict[str, Any]) -> None:
    assert told["held"]["times"] == pytest.approx(3, rel=0.02)  # weights and two moments


def test_state_that_is_sharded_lies_on_each_chip_by_its_share(told: dict[str, Any]) -> None:
    assert told["held sharded"]["times"] == pytest.approx(3 / 8, rel=0.2)  # biases and the like stay whole


@pytest.mark.parametrize("state", ["held", "held sharded"])
def test_the_model_has_the_trained_values_for_its_result(told: dict[str, Any], state: str) -> None:
    assert told[state]["back"]


def test_a_copy_sends_for_all_of_the_state_before_it_waits_for_the_first(told: dict[str, Any]) -> None:
    half = len(told["copied"]) // 2
    assert half > 3
    assert told["copied"] == ["sent for"] * half + ["waited for"] * half
