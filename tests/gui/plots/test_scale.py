"""Axes: round ticks, three to five of them, unit in the tick."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.gui.plots import ranges
from tpu_studio.gui.plots.scale import COUNT, EPOCHS, EXAMPLES, MONEY, PERCENT, PLAIN, STEPS, TIME, log_ticks
from tpu_studio.gui.plots.source import RunCurve


@pytest.mark.parametrize(
    ("scale", "ticks", "words"),
    [
        (TIME, [0, 300, 600, 900, 1200], ["0", "5 min", "10 min", "15 min", "20 min"]),
        (TIME, [0, 3600, 7200], ["0", "1 h", "2 h"]),
        (TIME, [0, 1800, 3600, 5400], ["0", "30 min", "1 h", "1 h 30"]),
        (TIME, [0, 20, 40, 60, 80], ["0", "20 s", "40 s", "1 min", "1 min 20 s"]),
        (PERCENT, [0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"]),
        (PERCENT, [0.98, 0.985, 0.99], ["98.0%", "98.5%", "99.0%"]),
        (MONEY, [0, 2, 4], ["$0", "$2", "$4"]),
        (MONEY, [0, 0.05, 0.1], ["$0.00", "$0.05", "$0.10"]),
        (COUNT, [0, 2000, 4000], ["0", "2k", "4k"]),
        (COUNT, [0, 500_000, 1_000_000], ["0", "500k", "1.0M"]),
        (PLAIN, [0, 0.5, 1.0], ["0", "0.5", "1.0"]),
        (STEPS, [0, 5000, 10_000], ["0", "5k steps", "10k steps"]),
        (EPOCHS, [0, 0.5, 1], ["0", "0.5 epochs", "1.0 epochs"]),
        (EXAMPLES, [0, 5000, 10_000], ["0", "5k examples", "10k examples"]),
    ],
)
def test_ticks_are_spelled_as_people_read_them(scale, ticks, words):
    assert scale.spelled(ticks) == words


def test_the_far_end_is_the_next_round_place():
    low, high, ticks = ranges.across(TIME, 0, 18.6 * 60, None)
    assert low == 0
    assert ticks == [0, 300, 600, 900, 1200]
    assert high == pytest.approx(1200 * 1.045)


def test_what_is_over_is_given_no_room_to_grow():
    assert ranges.across(TIME, 0, 1.5, None)[2] == [0, 5, 10]
    assert ranges.across(TIME, 0, 1.5, None, ended=True)[2] == [0, 0.5, 1, 1.5]
    assert ranges.across(STEPS, 0, 0, None, ended=True)[1] > 0


def test_the_axis_reaches_the_planned_end():
    assert ranges.across(TIME, 0, 26 * 60, 40 * 60)[2] == [0, 600, 1200, 1800, 2400]


@given(st.floats(1e-3, 1e7), st.sampled_from([TIME, STEPS, EPOCHS, EXAMPLES, MONEY]))
def test_three_to_five_ticks_across_and_the_data_is_inside(end, scale):
    low, high, ticks = ranges.across(scale, 0, end, None)
    assert 3 <= len(ticks) <= 5
    assert low <= 0
    assert high >= end
    words = scale.spelled(ticks)
    assert len(set(words)) == len(words)


@given(
    st.floats(-1e6, 1e6).filter(lambda v: abs(v) > 1e-6 or v == 0),
    st.floats(1e-5, 1e6),
    st.booleans(),
    st.sampled_from([PLAIN, COUNT, MONEY, PERCENT]),
)
def test_three_to_five_ticks_up_with_room_beyond_them(low, span, include_zero, scale):
    high = low + max(span, abs(low) * 1e-3)
    y_low, y_high, ticks = ranges.upward(scale, low, high, include_zero=include_zero, top=None)
    assert 2 <= len(ticks) <= 7
    assert y_low < low
    assert y_high > high
    assert y_low < ticks[0]
    assert ticks[-1] < y_high


def test_a_flat_line_still_gets_an_axis():
    y_low, y_high, ticks = ranges.upward(PLAIN, 0.5, 0.5, include_zero=True, top=None)
    assert y_low < 0 < 0.5 < y_high
    assert len(ticks) >= 2
    y_low, y_high, _ticks = ranges.upward(PLAIN, 0.0, 0.0, include_zero=True, top=None)
    assert y_high > y_low


@given(st.floats(-6, 5), st.floats(0.05, 9))
def test_log_ticks_lie_inside_and_are_few(low, span):
    ticks = log_ticks(low, low + span)
    assert len(ticks) <= 7
    assert all(low - 1e-6 <= math.log10(tick) <= low + span + 1e-6 for tick in ticks)


EDGES = (0.0, 5e-324, 1e-320, 1e-100, 1e-13, 1.0, 1e50, 1e99, 1e100)


@pytest.mark.parametrize("scale", [TIME, STEPS, PLAIN, COUNT, PERCENT, MONEY], ids=lambda scale: scale.name)
def test_whatever_can_be_drawn_has_an_axis(scale):
    """Figures close to the smallest of all had no logarithm, and ticks without end."""
    for low, high in itertools.combinations_with_replacement([*(-edge for edge in EDGES), *EDGES], 2):
        bounds = [ranges.upward(scale, min(low, high), max(low, high), include_zero=False, top=None)]
        if low > 0:
            bounds.append(ranges.upward_log(low, high))
            bounds.append(ranges.across(scale, low, high, None))
        for bottom, top, ticks in bounds:
            assert bottom < top and all(map(math.isfinite, (bottom, top, *ticks))) and len(ticks) < 20
            assert all(scale.spelled(ticks))


class Diverged:
    """A curve whose points went through the roof."""

    values = np.array([1.0, 2.0, 1e308, np.inf, np.nan, -1e308, 3.0])

    def window(self, x_min, x_max, buckets, axis="step"):
        return np.arange(7.0), self.values, self.values

    def bounds(self, axis="step"):
        return 0.0, 6.0

    def __init__(self, end):
        self.end = end

    def last(self):
        return 6, 6.0, self.end


@pytest.mark.parametrize("end", [1e308, -1e308, math.inf, math.nan])
def test_what_no_axis_can_hold_is_a_gap_in_its_curve(end):
    _, low, high = RunCurve(Diverged(end), y_factor=100.0).window(0, 6, 10)
    assert [float(value) for value in low if np.isfinite(value)] == [100.0, 200.0, 300.0]
    assert np.array_equal(low, high, equal_nan=True)
    assert RunCurve(Diverged(end)).last() is None
    assert RunCurve(Diverged(2.0)).last() == (6.0, 2.0)
