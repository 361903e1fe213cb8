"""What a column's values are told as."""

import pytest

from tpu_studio.data.looked import ColumnLook
from tpu_studio.gui.plan.preview import values_of


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(20.0, 299.0, "20 – 299"), (0.2, 5.01, "0.200 – 5.01"), (0.0, 10.0, "0 – 10"), (-3.0, 18_823.0, "-3 – 18,823")],
)
def test_a_column_of_whole_numbers_has_whole_ends(low, high, told):
    column = ColumnLook(name="n", kind="number", missing=2, distinct=9, minimum=low, maximum=high)
    assert values_of(column) == f"{told} · 2 missing"
