"""A program's figures as they are told: loops by their trips, kernels by their formula, the optimizer once."""

from __future__ import annotations

import pytest

from tpu_studio.trainer.check.compiling import Compiled
from tpu_studio.trainer.check.programs import Loops, told

FOUND = Compiled(True, 64, 1 << 20, 3.0, {}, flops=100.0, bytes_accessed=1000.0)


def test_the_inside_of_loops_counts_by_its_trips_and_what_the_optimizer_moves_once() -> None:
    program = told(FOUND, 1 << 30, devices=8, loops=Loops(flops=3.0, products=4.0), update_bytes=200)
    assert program["flops"] == 3 * 100
    assert program["bytes_accessed"] == 200 + 4 * (1000 - 200)


def test_kernels_that_the_compiler_cannot_count_are_shared_by_the_chips() -> None:
    assert told(FOUND, 1 << 30, devices=8, loops=Loops(hidden=800.0))["flops"] == 100 + 800 / 8


@pytest.mark.parametrize(("fits", "flops"), [(True, 100.0), (False, None)])
def test_a_program_that_is_nothing_but_a_kernel_has_its_work_too(fits: bool, flops: float | None) -> None:
    bare = Compiled(fits, 64, 1 << 20, 3.0, {})
    assert told(bare, 1 << 30, devices=8, loops=Loops(hidden=800.0))["flops"] == flops
    assert told(bare, 1 << 30, devices=8)["flops"] is None
