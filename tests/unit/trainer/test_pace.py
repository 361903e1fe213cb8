"""How many steps a call makes: a stop is heard soon from the first call on, and short steps still go out together."""

from __future__ import annotations

import itertools
from collections import deque

import pytest

from tpu_studio.trainer.pace import Pace

MOST, MADE_AHEAD, OVERHEAD_S = 32, 4, 0.002


def calls(step_s: float, number: int) -> list[int]:
    """Steps of each call on a device whose steps take *step_s*; pieces are made before earlier calls are measured."""
    pace, ahead = Pace(MOST), deque([1] * MADE_AHEAD)
    made = []
    for _ in range(number):
        count = ahead.popleft()
        made.append(count)
        pace.took(count, OVERHEAD_S + count * step_s)
        ahead.append(pace.at_once)
    return made


@pytest.mark.parametrize("step_s", [0.01, 0.03, 0.1, 0.2, 3.0])
def test_no_call_is_longer_than_half_a_second_unless_a_step_is(step_s: float) -> None:
    assert max(calls(step_s, 60)) * step_s <= max(0.5, step_s)


def test_short_steps_go_out_all_at_once_after_few_steps() -> None:
    made = calls(0.0005, 60)
    assert made[-1] == MOST
    assert sum(itertools.takewhile(lambda count: count < MOST, made)) < 200


def test_a_computer_that_stood_still_for_a_minute_does_not_make_calls_short() -> None:
    pace = Pace(MOST)
    for _ in range(10):
        pace.took(MOST, 0.1)
    pace.took(MOST, 60.0)
    assert pace.at_once == MOST


def test_steps_that_become_slow_are_called_one_by_one() -> None:
    pace = Pace(MOST)
    for seconds in (*[0.1] * 10, *[16.0] * 3):
        pace.took(MOST, seconds)
    assert pace.at_once == 1
