"""The GPT family is GPT-2: its size, its formula, and no token that sees the future."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PROGRAM = Path(__file__).with_name("program_gpt.py")


@pytest.fixture(scope="module", params=["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def found(request: pytest.FixtureRequest) -> Any:
    return run_in_engine(PROGRAM, backend=request.param)


def test_gpt_124m_with_gpt2s_vocabulary_has_as_many_weights_as_gpt2_small(found: Any) -> None:
    assert found["gpt-124m"] == [124_439_808, 1024, 50_257]


def test_no_token_sees_a_later_one(found: Any) -> None:
    assert found["before"] == 0.0
    assert found["after"] > 1e-3


def test_answers_agree_with_the_formula_written_out_in_numpy(found: Any) -> None:
    assert found["by_hand"] < 1e-5


def test_initial_weights_spread_as_in_gpt2(found: Any) -> None:
    for path, deviation in found["deviations"].items():
        if path.endswith(("gamma", "beta", "bias", "seed_generator_state")):
            continue
        into_stream = "attention_out" in path or "mlp_out" in path
        wanted = 0.01 if path.startswith("positions") else 0.02 / 2 if into_stream else 0.02  # 1/sqrt(2 · 2 blocks)
        assert deviation == pytest.approx(wanted, rel=0.05), path


def test_recomputing_a_block_changes_no_gradient_not_even_with_dropout(found: Any) -> None:
    assert found["gradient"] > 0
    assert found["recomputed"] < 1e-6


@pytest.mark.parametrize(("precision", "near"), [("float32", 1e-4), ("bfloat16", 0.05)])
def test_what_is_said_to_xla_another_way_learns_the_same(found: Any, precision: str, near: float) -> None:
    if f"quick_{precision}" not in found:
        pytest.skip("TensorFlow keeps Keras's own")
    assert found[f"quick_{precision}"] < near
    assert found[f"quick_differs_{precision}"], "it was not put in"
    # Two blocks: the layers that narrow (one each), and two products of attention each.
    assert found[f"quick_products_{precision}"] == 2 * (1 + 2)
    assert found[f"quick_kept_{precision}"], "the file must need nothing of ours"
