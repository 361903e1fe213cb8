"""What a column's values are told as."""

import pytest

from tpu_studio.data.looked import ColumnLook
from tpu_studio.gui.plan.preview import values_of


def test_years_and_codes_are_told_as_they_stand_in_the_data():
    """Nobody writes the year 1,900; how many are missing is a count."""
    column = ColumnLook(name="year", kind="number", missing=1200, distinct=9, minimum=1900.0, maximum=20_241_231.0)
    assert values_of(column) == "1900 – 20241231 · 1,200 missing"


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(20.0, 299.0, "20 – 299"), (0.2, 5.01, "0.2 – 5.01"), (0.0, 10.0, "0 – 10"), (-3.0, 18_823.0, "-3 – 18823")],
)
def test_a_column_of_whole_numbers_has_whole_ends(low, high, told):
    column = ColumnLook(name="n", kind="number", missing=2, distinct=9, minimum=low, maximum=high)
    assert values_of(column) == f"{told} · 2 missing"
