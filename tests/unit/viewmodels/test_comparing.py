"""What the Compare page shows of runs that may be anybody's."""

from __future__ import annotations

import json

import pytest

from tpu_studio.cli.comparing import _words, as_json
from tpu_studio.cli.output import words_for_numbers
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


@pytest.mark.parametrize("edge", [1e308, -1e308, float("inf"), float("nan")])
def test_figures_at_the_edge_of_numbers_are_told_in_words_a_table_and_json(edge: float) -> None:
    runs = [
        Contender(str(n), str(n), "computer", "cpu", "regression", {"a": n % 2}, "d", {"val_r2": edge}, 1.0, edge)
        for n in range(6)
    ]
    found = compare(runs)
    assert json.dumps(words_for_numbers(as_json(found)), allow_nan=False)
    assert _words(found) and table_of(found) and _table(found, runs)
