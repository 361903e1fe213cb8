"""The smoothed line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_studio.gui.plots import smooth
from tpu_studio.gui.plots.smooth import MOST_POINTS, pieces, smoothed, width_for


def test_a_straight_line_stays_straight_up_to_its_ends():
    x = np.linspace(0, 100, 300)
    got_x, got_y = smoothed(x, 3 - 0.02 * x, 5.0)
    np.testing.assert_allclose(got_y, 3 - 0.02 * got_x, atol=1e-9)


def test_noise_shrinks_as_the_width_of_the_window_says():
    """A mean over about 2·sqrt(pi)·sigma/step = 35 values: the deviation falls to about 1/6."""
    y = np.random.default_rng(1).normal(0, 1, 1000)
    _x, line = smoothed(np.arange(1000.0), y, 10.0, 1000)
    assert 0.1 < line[50:-50].std() < 0.25


def test_a_loss_that_is_almost_nothing_is_never_shown_below_it():
    steps = np.arange(16_000.0)
    loss = np.full(16_000, 1e-6)
    loss[-500:-400] = 0.01  # the line over a spike falls, and goes on falling to the end
    _x, line = smoothed(steps, loss, 200.0)
    assert line.min() >= loss.min()
    assert line.max() <= loss.max()


def test_gaps_are_not_joined_and_do_not_smear():
    x = np.arange(100.0)
    y = np.where(x < 50, 1.0, 5.0)
    y[50] = np.nan
    got_x, got_y = smoothed(x, y, 3.0)
    assert np.isnan(got_y).sum() == 1
    np.testing.assert_allclose(got_y[got_x < 50][:-1], 1.0, atol=1e-9)
    np.testing.assert_allclose(got_y[got_x > 51], 5.0, atol=1e-9)


@given(st.lists(st.one_of(st.floats(-1e3, 1e3), st.just(float("nan"))), min_size=1, max_size=400), st.floats(0, 50))
@settings(deadline=None, max_examples=80)
def test_any_curve_gives_few_finite_points_between_its_gaps(values, sigma):
    y = np.array(values)
    x, line = smoothed(np.arange(len(y), dtype=float), y, sigma)
    assert len(x) == len(line)
    assert (np.diff(x) >= 0).all()
    runs = pieces(np.arange(len(y), dtype=float), y)
    assert len(pieces(x, line)) == len(runs)
    assert len(x) <= max(len(y), MOST_POINTS + 4 * len(runs)) + len(runs)


@pytest.mark.parametrize(("amount", "width"), [(0, 0), (1, 50), (0.5, 12.5), (7, 50)])
def test_the_slider_sets_a_share_of_the_whole_curve(amount, width):
    assert width_for(amount, 1000) == width


def test_steps_that_lie_on_one_another_are_drawn_all_the_same() -> None:
    """Of a saved page that anybody may have made: infinity is no number of cells."""
    x = np.array([0.0, 5e-324, 1e-323, 1.5e-323])
    for sigma in (1e-323, 1.0, 1e299):
        found = smooth._piece(x, np.array([0.0, 1.0, 2.0, 3.0]), sigma, 100)
        assert len(found[0]) == len(found[1])
