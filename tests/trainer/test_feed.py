"""Both ways to feed a training give the same batches, from any step on; and a call of slow steps is short at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = [pytest.mark.engine]


def test_memory_and_grain_give_the_same_batches_and_go_on_at_any_step() -> None:
    told = run_in_engine(Path(__file__).with_name("program_feed.py"))
    assert told["steps"] == 60
    assert told["found"] == dict.fromkeys(told["found"], True)
    assert len(told["found"]) == 6


def test_slow_steps_are_called_one_by_one_from_the_first_call_on_so_that_a_stop_is_heard_and_all_are_told() -> None:
    told = run_in_engine(Path(__file__).with_name("program_pace.py"))
    assert set(told["calls"]) == {1}
    assert told["steps"] == 63  # all but the one that compiles
    assert told["seconds"] == pytest.approx(63 * 0.2)
