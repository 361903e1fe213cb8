"""What the compiler says, read into figures; the search for the largest batch, with a compiler that only counts."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_studio.trainer.check.compiling import Compiled, StepCompiler, amounts, batch_guess, largest_batch

GIB = 2**30


# Said by libtpu 0.0.42.1 and 0.0.51 (trainer-facts §3a, tpu-guide §13) and by older ones.
@pytest.mark.parametrize(
    ("words", "needed", "there"),
    [
        (
            "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (62.44G)"
            " exceeds available HBM (15.75G).",
            62.44,
            15.75,
        ),
        (
            "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
            "Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G.",
            21.95,
            15.48,
        ),
        ("Used 512.00M of 0.5G hbm", 0.5, 0.5),
    ],
)
def test_a_refusal_tells_what_is_needed_and_what_is_there(words: str, needed: float, there: float) -> None:
    told = amounts(words)
    assert told is not None
    assert told == (int(needed * GIB), int(there * GIB))


def test_a_refusal_about_something_else_has_no_figures() -> None:
    assert amounts("INTERNAL: Mosaic failed to compile TPU kernel") is None


def test_the_guess_keeps_what_does_not_grow_with_the_batch() -> None:
    # 1 GiB of weights, 62 GiB at batch 62: 1 GiB each and 15 left: 14 fit beside the weights.
    assert batch_guess(62, 63 * GIB, 15 * GIB, 1 * GIB, 1) == 14
    assert batch_guess(62, 63 * GIB, 15 * GIB, 1 * GIB, 8) == 8
    assert batch_guess(8, 20 * GIB, 15 * GIB, 16 * GIB, 1) == 0


class Counting:
    """A compiler whose programs take *fixed* bytes and *each* byte an example."""

    def __init__(self, fixed: int, each: int, limit: int) -> None:
        self.fixed, self.each, self.limit = fixed, each, limit
        self.fixed_bytes = fixed
        self.compiled: list[int] = []

    def compile(self, batch: int) -> Compiled:
        self.compiled.append(batch)
        needs = self.fixed + self.each * batch
        return Compiled(needs <= self.limit, batch, needs, 0.1, {})


def search(compiler: Any, batch: int, unit: int = 1) -> int:
    best, tried = largest_batch(compiler, compiler.compile(batch), compiler.limit, unit)
    assert len(tried) == len(compiler.compiled) <= 4
    if best:
        assert best in compiler.compiled
    return best


def test_the_largest_batch_is_found_from_above_in_one_more_compile() -> None:
    compiler = Counting(1000, 100, 2650)
    assert search(compiler, 64) == 16
    assert compiler.compiled == [64, 16]


def test_the_largest_batch_is_found_from_below() -> None:
    compiler = Counting(1000, 10, 2650)
    assert search(compiler, 8) == 160


def test_a_batch_is_a_multiple_of_the_devices() -> None:
    assert search(Counting(1000, 100, 2650), 64, unit=4) == 16
    assert search(Counting(1000, 100, 2650), 64, unit=6) == 12


def test_a_refusal_that_tells_too_little_is_tried_again_smaller() -> None:
    class Underrating(Counting):
        def compile(self, batch: int) -> Compiled:
            told = super().compile(batch)
            return told if told.fits else Compiled(False, batch, told.device_bytes * 3 // 4, 0.1, {})

    assert 0 < search(Underrating(0, 100, 1650), 64) <= 16


def test_weights_that_are_too_large_leave_no_batch() -> None:
    compiler = Counting(5000, 100, 2650)
    assert search(compiler, 64) == 0


class TwoEfforts(StepCompiler):
    """Needs *quick* bytes with the least effort and *full* with that of training."""

    def __init__(self, quick: int, full: int, limit: int) -> None:
        self.needs = {False: quick, True: full}
        self.limit = limit
        self.efforts: list[bool] = []

    def compile(self, batch: int, *, full: bool = False) -> Compiled:
        self.efforts.append(full)
        return Compiled(self.needs[full] <= self.limit, batch, self.needs[full], 0.1, {})


def test_what_clearly_fits_or_clearly_does_not_is_compiled_once_with_the_least_effort() -> None:
    for quick in (50, 66 * 100):
        compiler = TwoEfforts(quick, 0, 100)
        assert compiler.verdict(8, 100).fits == (quick == 50)
        assert compiler.efforts == [False]


def test_what_is_near_the_limit_is_compiled_again_as_for_training() -> None:
    refused = TwoEfforts(quick=110, full=97, limit=100)
    assert refused.verdict(8, 100).fits
    assert refused.efforts == [False, True]
    accepted = TwoEfforts(quick=98, full=101, limit=100)
    assert not accepted.verdict(8, 100).fits
