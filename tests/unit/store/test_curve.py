"""Looking at a part of a curve: nothing is lost that an eye would miss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tpu_studio.store import columns
from tpu_studio.store.columns import ROW
from tpu_studio.store.curve import ColumnCurve


def curve_of(folder: Path, values: np.ndarray, *, at_once: int | None = None) -> ColumnCurve:
    length = 0
    at_once = at_once or len(values)
    for start in range(0, len(values), at_once):
        part = values[start : start + at_once]
        rows = np.empty(len(part), ROW)
        rows["step"] = np.arange(start, start + len(part)) + 1
        rows["t"] = 1000.0 + rows["step"] / 10
        rows["value"] = part
        length = columns.append(folder, 0, length, rows)
    curve = ColumnCurve(folder, 0)
    curve.show(length)
    return curve


def test_few_points_come_as_they_are(tmp_path: Path) -> None:
    curve = curve_of(tmp_path, np.array([3.0, 1.0, 2.0]))
    x, low, high = curve.window(0, 10, 100)
    assert x.tolist() == [1, 2, 3]
    assert low.tolist() == high.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("length", [300, 1023, 1024, 4097, 20_000, 65_537])
@pytest.mark.parametrize("at_once", [None, 777])
def test_a_single_spike_survives_at_every_length(tmp_path: Path, length: int, at_once: int | None) -> None:
    values = np.sin(np.arange(length) / 50)
    spike = length * 2 // 3
    values[spike], values[spike + 1] = 100.0, -100.0
    curve = curve_of(tmp_path, values, at_once=at_once)
    x, low, high = curve.window(1, length, 200)
    assert len(x) <= 200
    assert (low.min(), high.max()) == (-100.0, 100.0)
    assert x[0] == 1
    assert x[-1] == length
    assert abs(x[int(high.argmax())] - spike) <= length / 100


def test_a_window_shows_exactly_the_extremes_of_its_part(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=50_000)
    curve = curve_of(tmp_path, values)
    for start, end in ((1, 50_000), (777, 31_003), (49_000, 50_000), (12_345, 12_400)):
        x, low, high = curve.window(start, end, 300)
        inside = values[start - 1 : end]
        assert low.min() <= inside.min()
        assert high.max() >= inside.max()
        wide = values[max(0, start - 600) : end + 600]
        assert low.min() >= wide.min()
        assert high.max() <= wide.max()
        assert len(x) <= 300
        assert (np.diff(x) > 0).all()


def test_growing_never_changes_a_group_that_is_complete(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=10_000)
    first = curve_of(tmp_path / "a", values[:9000]).window(1, 9000, 1000)
    later = curve_of(tmp_path / "b", values[:9100]).window(1, 9100, 1000)
    assert first[1][:500].tolist() == later[1][:500].tolist()


def test_a_gap_of_nans_stays_a_gap_and_a_lone_nan_hides_nothing(tmp_path: Path) -> None:
    values = np.ones(10_000)
    values[4000:6000] = np.nan
    values[100] = np.inf
    x, low, high = curve_of(tmp_path, values).window(1, 10_000, 500)
    assert np.isnan(low[(x > 4100) & (x < 5900)]).all()
    assert (high[(x < 3900) & ~np.isnan(high)] == 1.0).all()
    assert np.isnan(high[x < 3900]).sum() == 1  # the lone one is a gap that no zoom closes


def test_the_trend_is_the_mean_of_what_is_finite(tmp_path: Path) -> None:
    values = np.random.default_rng(3).normal(size=40_000)
    values[::7] = np.nan
    curve = curve_of(tmp_path, values)
    x, mean = curve.trend(1, 40_000, 100)
    size = 512  # smallest power of two that makes at most 99 groups of 40,000
    expected = [np.nanmean(values[start : start + size]) for start in range(0, 40_000, size)]
    assert mean.tolist() == pytest.approx(expected)
    assert len(x) == len(mean)


def test_time_is_an_axis_like_steps(tmp_path: Path) -> None:
    curve = curve_of(tmp_path, np.arange(5000, dtype=float))
    assert curve.bounds("time") == (1000.1, 1500.0)
    x, low, high = curve.window(1100.0, 1200.0, 50, axis="time")
    assert 1095 < x[0] <= 1100.0
    assert 1200.0 <= x[-1] < 1205
    assert len(x) <= 50
    assert high[-1] >= low[0]


def test_levels_written_bit_by_bit_are_those_written_at_once(tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(size=9000)
    curve_of(tmp_path / "once", values)
    curve_of(tmp_path / "bits", values, at_once=137)
    for path in (tmp_path / "once").iterdir():
        assert path.read_bytes() == (tmp_path / "bits" / path.name).read_bytes(), path.name


def test_cutting_back_and_growing_again_leaves_nothing_of_the_old(tmp_path: Path) -> None:
    old = np.full(9000, 5.0)
    curve_of(tmp_path, old)
    rows = np.empty(6000, ROW)
    rows["step"], rows["t"], rows["value"] = np.arange(3001, 9001), 0.0, 1.0
    length = columns.append(tmp_path, 0, 3000, rows)
    curve = ColumnCurve(tmp_path, 0)
    curve.show(length)
    x, low, high = curve.window(1, 9000, 100)
    assert (high[x > 3200] == 1.0).all()
    assert (low[x < 2900] == 5.0).all()
