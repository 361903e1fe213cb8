"""Seconds to dollars and back, along a run's own curve of what it cost."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_studio.domain.pyramid import Pyramid
from tpu_studio.domain.spending import Spending


class Stored:
    """Dollars by time, as the store would give them."""

    def __init__(self, times: list[float], dollars: list[float]) -> None:
        self.version = 1
        self._points = Pyramid()
        self._points.append(times, dollars)

    def __len__(self) -> int:
        return len(self._points)

    def append(self, t: float, usd: float) -> None:
        self._points.append([t], [usd])
        self.version += 1

    def window(self, x_min, x_max, buckets, axis="step"):  # type: ignore[no-untyped-def]
        assert axis == "time"
        return self._points.window(x_min, x_max, buckets)


def test_dollars_grow_evenly_between_two_reports_and_stay_beyond_them() -> None:
    spending = Spending(Stored([100.0, 200.0, 300.0], [1.0, 2.0, 4.0]))
    assert spending.total == 4.0 and spending.is_known
    assert [spending.at(t) for t in (50.0, 150.0, 250.0, 900.0)] == [1.0, 1.5, 3.0, 4.0]
    assert np.asarray(spending.at(np.array([100.0, 300.0]))).tolist() == [1.0, 4.0]
    assert spending.when(3.0) == 250.0
    assert spending.between(1.5, 3.0) == (100.0, 300.0)
    assert spending.when(0.5) < -1e200 and spending.when(9.0) > 1e200


def test_while_nothing_is_spent_the_last_moment_of_an_amount_counts() -> None:
    waiting = Spending(Stored([0.0, 10.0, 500.0, 510.0], [0.0, 1.0, 1.0, 2.0]))
    assert waiting.when(1.0) == 500.0
    assert waiting.between(1.0, 1.0) == (0.0, 510.0)


def test_a_run_that_goes_on_spends_on() -> None:
    curve = Stored([0.0, 10.0], [0.0, 1.0])
    spending = Spending(curve)
    assert spending.total == 1.0
    curve.append(20.0, 3.0)
    assert spending.total == 3.0


@pytest.mark.parametrize("odd", [float("nan"), 1e300, -5.0, 0.5])
def test_what_a_damaged_run_tells_makes_no_dollars_that_fall_or_overflow(odd: float) -> None:
    spending = Spending(Stored([0.0, 10.0, 20.0], [1.0, odd, 2.0]))
    assert spending.total == 2.0
    assert 1.0 <= spending.at(10.0) <= 2.0


def test_where_time_costs_nothing_there_is_no_such_axis() -> None:
    assert not Spending(Stored([0.0, 10.0], [0.0, 0.0])).is_known
    assert not Spending(Stored([], [])).is_known
