"""Depthwise convolutions in JAX on a processor are worked out another way, to the same numbers and the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_depthwise_convolutions_give_the_same_forward_and_backward_without_xlas_loop() -> None:
    found = run_in_engine(Path(__file__).with_name("program_quick.py"), backend="jax")

    assert max(one["far"] for one in found.values()) < 1e-5
    assert all(one["same_file"] for one in found.values())
    assert {name: one["convolutions"] for name, one in found.items()} == {
        name: int(name.startswith("kept")) for name in found
    }
