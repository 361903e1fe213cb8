"""The pyramid behind every plot: what a reduced curve must still tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_studio.domain.pyramid import Pyramid

values = st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))


def filled(ys, xs=None, batches=1):
    pyramid = Pyramid()
    xs = np.arange(len(ys), dtype=float) if xs is None else xs
    for x, y in zip(np.array_split(xs, batches), np.array_split(np.asarray(ys, dtype=float), batches), strict=True):
        pyramid.append(x, y)
    return pyramid


def test_a_curve_with_fewer_points_than_buckets_comes_back_as_it_was():
    x, low, high = filled([3.0, 2.0, 1.5]).window(0, 10, 100)
    assert x.tolist() == [0, 1, 2]
    assert low.tolist() == high.tolist() == [3.0, 2.0, 1.5]


@given(st.lists(values, min_size=1, max_size=3000), st.integers(1, 200), st.integers(1, 7))
@settings(max_examples=150, deadline=None)
def test_whole_view_keeps_lowest_highest_first_last_and_every_gap(ys, buckets, batches):
    ys = np.array(ys)
    x, low, high = filled(ys, batches=batches).window(-1, len(ys) + 1, buckets)
    numbers = ys[~np.isnan(ys)]
    if len(numbers):
        assert np.nanmin(low) == numbers.min()
        assert np.nanmax(high) == numbers.max()
    np.testing.assert_equal((low[0], high[0]), (ys[0], ys[0]))
    np.testing.assert_equal((low[-1], high[-1]), (ys[-1], ys[-1]))
    assert (np.diff(x) >= 0).all()
    assert np.isnan(low).any() == np.isnan(ys).any()
    gaps_seen = np.isnan(low).sum()
    assert len(x) <= max(buckets, 1) + gaps_seen + 40


@given(
    st.lists(st.floats(0.0, 3.0), min_size=2, max_size=2000),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 60),
)
@settings(max_examples=150, deadline=None)
def test_a_zoomed_view_covers_what_lies_in_it_and_lets_the_line_leave_at_both_sides(steps, a, b, buckets):
    xs = np.cumsum(steps)
    ys = np.sin(xs)
    low_x, high_x = sorted((xs[0] + a * (xs[-1] - xs[0]), xs[0] + b * (xs[-1] - xs[0])))
    x, low, high = filled(ys, xs).window(low_x, high_x, buckets)
    inside = ys[(xs >= low_x) & (xs <= high_x)]
    if len(inside):
        assert low.min() <= inside.min()
        assert high.max() >= inside.max()
    assert x[0] <= low_x
    assert x[-1] >= high_x or x[-1] == xs[-1]


@given(st.lists(values, min_size=1, max_size=600), st.integers(0, 600), st.lists(values, max_size=300))
@settings(max_examples=100, deadline=None)
def test_cutting_and_writing_anew_equals_having_written_it_so(ys, kept, more):
    kept = min(kept, len(ys) - 1)
    pyramid = filled(ys)
    pyramid.cut_after(kept)
    pyramid.append(np.arange(kept + 1, kept + 1 + len(more)), more)
    straight = filled([*ys[: kept + 1], *more])
    for got, wanted in zip(pyramid.window(0, 1e9, 10), straight.window(0, 1e9, 10), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_one_missing_point_in_a_million_is_still_a_gap():
    ys = np.ones(1_000_000)
    ys[654_321] = np.nan
    x, low, _high = filled(ys).window(0, 1e6, 500)
    assert np.isnan(low).sum() == 1
    assert abs(x[np.isnan(low)][0] - 654_321) <= 4096  # one group of this view


def test_trend_is_the_mean_of_each_group():
    ys = np.arange(64.0)
    x, mean = filled(ys).trend(0, 64, 16)
    inner = mean[1:-1]  # first and last point stand by themselves
    assert inner.tolist() == [4 * group + 1.5 for group in range(16)]
    assert x[1] == 0


def test_last_skips_missing_values_at_the_end():
    assert filled([1.0, 2.0, np.nan, np.nan]).last() == (1.0, 2.0)
    assert filled([np.nan, 5.0]).first() == (1.0, 5.0)
    assert Pyramid().last() is None


def test_an_infinite_value_is_a_gap():
    _x, low, _high = filled([1.0, np.inf, 2.0]).window(0, 5, 10)
    assert np.isnan(low[1])


@pytest.mark.parametrize("x", [[2.0, 1.0], [np.nan]])
def test_falling_or_missing_x_is_refused_and_nothing_is_added(x):
    pyramid = filled([1.0])
    with pytest.raises(ValueError):
        pyramid.append(x, [0.0] * len(x))
    assert len(pyramid) == 1


def test_chunks_join_without_a_seam():
    size = 200_000
    pyramid = Pyramid()
    for start in range(0, size, 977):
        x = np.arange(start, min(start + 977, size), dtype=float)
        pyramid.append(x, x)
    x, low, high = pyramid.window(65_000, 66_500, 5_000)
    assert x.tolist() == low.tolist() == high.tolist() == list(range(64_999, 66_502))


def test_of_a_million_points_a_window_has_as_many_as_were_asked_for_and_its_highest_and_lowest():
    x, y = np.arange(1e6), np.random.default_rng(1).normal(size=1_000_000)
    pyramid = Pyramid()
    pyramid.append(x, y)
    shown, low, high = pyramid.window(1e5, 9e5, 2000)
    assert 500 <= len(shown) <= 2020
    assert low.min() <= y[100_000:900_000].min() and high.max() >= y[100_000:900_000].max()
