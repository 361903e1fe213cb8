"""What the Compare page shows of runs that may be anybody's."""

from __future__ import annotations

from tpu_studio.domain.comparison import Contender, compare
from tpu_studio.viewmodels.comparing import LONGEST, _table, table_of


def test_a_setting_of_millions_of_letters_is_cut_in_its_cell_and_whole_in_the_table_that_is_saved() -> None:
    """Two runs of somebody held the window for ten seconds at each drawing."""
    runs = [
        Contender(name, name, "computer", "cpu", "classification", {"model.options.a": mark * 1_000_000})
        for name, mark in (("one", "x"), ("other", "y"))
    ]
    found = compare(runs)
    _, rows, _ = _table(found, runs)
    assert [len(row.cells[-1]) for row in rows] == [LONGEST, LONGEST]
    assert len(table_of(found)) > 2_000_000
