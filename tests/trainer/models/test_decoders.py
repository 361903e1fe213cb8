"""Language models of Hugging Face folders answer as Transformers' own do, in both frameworks; small matrices beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.presets import decoders
from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine
PROGRAM = Path(__file__).with_name("program_decoders.py")


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_each_answers_as_its_own_network_does(tmp_path: Path, framework: str) -> None:
    found = run_in_engine(PROGRAM, "seen", str(tmp_path), backend=framework)
    assert list(found) == decoders() and len(found) == 7
    for name, one in found.items():
        assert one["difference"] < 2e-5 and one["spread"] > 0.5, name
        assert one["opens"] and one["looks_ahead"] < 1e-5, name


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_under_bfloat16_what_stays_takes_two_bytes_a_weight_and_answers_the_same(
    tmp_path: Path, framework: str
) -> None:
    """Bit for bit: products are of bfloat16 numbers either way."""
    for name, one in run_in_engine(PROGRAM, "narrow", str(tmp_path), backend=framework).items():
        assert one["learns_in"] == ["float32"] == one["result_in"], name
        assert one["narrow"] > 10 and set(one["wide"]) <= {"answer/kernel", "frequencies/embeddings"}, name
        assert one["as_wide"] == 0.0 and one["spread"] > 0.5, name


def test_small_matrices_learn_beside_the_weights_and_are_added_to_them_in_the_end(tmp_path: Path) -> None:
    for name, one in run_in_engine(PROGRAM, "adapted", str(tmp_path), backend="jax").items():
        assert one["begins"] < 2e-5, name  # nothing is changed before the first step
        assert one["learn"] == ["lora_kernel_a", "lora_kernel_b"] and one["frozen"], name
        learn, all_of_it = one["numbers"]
        assert 0 < learn < all_of_it / 2 and one["same_seed"], name
        assert one["changed"] > 0.1 and one["merged"] < 1e-4 and one["plain"], name
