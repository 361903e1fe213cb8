"""Steps over several chips, by the compiler's own count: 8 processors stand for the chips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

HERE = Path(__file__).parent
pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def chips() -> dict[str, Any]:
    told: dict[str, Any] = run_in_engine(HERE / "program_chips.py", backend="jax")
    return told


def test_parts_over_several_chips_cost_the_same_work(chips: dict[str, Any]) -> None:
    whole, part = chips["1 parts, 8 chips"]["flops"], chips["4 parts, 8 chips"]["flops"]
    assert part * 4 == pytest.approx(whole, rel=0.05)  # the optimizer's sums are in both


def test_parts_over_several_chips_save_memory(chips: dict[str, Any]) -> None:
    assert chips["4 parts, 8 chips"]["temporary_bytes"] < 0.45 * chips["1 parts, 8 chips"]["temporary_bytes"]


def test_parts_and_chips_together_learn_as_one_step_on_one_chip(chips: dict[str, Any]) -> None:
    alone = chips["1 parts, 1 chips"]["loss"]
    assert alone[0] != alone[-1]
    for told in chips.values():
        assert told["loss"] == pytest.approx(alone, rel=1e-5)


def test_parts_and_chips_together_resume_bit_for_bit(chips: dict[str, Any]) -> None:
    assert all(told["same_when_resumed"] for told in chips.values())
