"""Depthwise convolutions in JAX on a processor, run forward only, are worked out another way, to the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_depthwise_convolutions_run_forward_without_xlas_loop_and_are_as_before_afterwards() -> None:
    found = run_in_engine(Path(__file__).with_name("program_quick.py"), backend="jax")

    assert max(max(one["far"], one["compiled"]) for one in found.values()) < 1e-5
    assert all(one["same_file"] and one["afterwards"] == 1 for one in found.values())
    assert {name: one["convolutions"] for name, one in found.items()} == {
        name: int(name.startswith("kept")) for name in found
    }
