"""What the live widgets of Learn count, against figures worked out by hand."""

from __future__ import annotations

import pytest

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.viewmodels.learnwidgets import Filling, Unit, compile_source, lengths, units

NARROW, WIDE = Unit("a", "A", 128), Unit("b", "B", 256)


def test_the_units_are_the_catalogues() -> None:
    assert {one.id: one.width for one in units()} == {one.id: one.matrix_unit for one in catalogue().offered()}
    assert {one.width for one in units()} == {128, 256}


@pytest.mark.parametrize(
    ("rows", "width", "unit", "used"),
    [
        (128, 128, NARROW, 1.0),
        (128, 128, WIDE, 0.25),  # a quarter of the grid
        (100, 128, NARROW, 100 / 104),  # 100 rows are computed as 104
        (128, 129, NARROW, (129 / 256) ** 2),
        (1, 64, NARROW, 1 / 8 * 0.25),
    ],
)
def test_the_used_share_of_a_product(rows: int, width: int, unit: Unit, used: float) -> None:
    assert Filling(rows, width, unit).used == pytest.approx(used)


def test_a_filling_is_told_in_a_sentence() -> None:
    assert Filling(128, 128, NARROW).sentence.endswith("everything that A computes was asked for.")
    assert "75% of what B computes is padding (4.0 times" in Filling(128, 128, WIDE).sentence
    assert Filling(128, 192, NARROW).grid_share == 0.5


def test_lines_of_fewer_lengths_are_fewer_programs_and_more_padding() -> None:
    real, powers, one = lengths("as-is"), lengths("powers"), lengths("one")
    assert real.shapes > powers.shapes > one.shapes == 1
    assert real.padding == 0 < powers.padding < one.padding < 1
    assert real.low_s == 10 * real.shapes and real.high_s == 120 * real.shapes
    assert "10 s to 2 min" in compile_source()
