"""What the Compare page shows of runs that may be anybody's."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.fakes.tasks import InlineTasks
from tpu_studio.cli.comparing import _words, as_json
from tpu_studio.cli.output import words_for_numbers
from tpu_studio.domain.comparison import Contender, compare
from tpu_studio.viewmodels.comparing import LONGEST, CompareView, CompareViewModel, Row, _table, table_of


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


def row(name: str, *keys: object) -> Row:
    return Row(name, name, "This computer", 0, tuple(str(key) for key in keys), keys)


def test_rows_are_sorted_by_a_column_and_what_is_not_known_comes_last_in_either_direction() -> None:
    rows = row("b", 0.9, "adam"), row("A", 0.7, None), row("c", None, "sgd"), row("d", float("nan"), 3)
    view = CompareView(rows=rows, columns=("Accuracy", "Optimizer"))

    def names(column: str, *, down: bool = False) -> str:
        return "".join(one.name for one in replace(view, sorted_by=column, descending=down).sorted_rows)

    assert names("") == "bAcd"  # by the finding
    assert names("name") == "Abcd" and names("name", down=True) == "dcbA"
    assert names("Accuracy") == "Abcd" and names("Accuracy", down=True) == "bAcd"
    assert names("Optimizer") == "dbcA" and names("Optimizer", down=True) == "cbdA"
    assert names("a column that went away") == "bAcd"


def test_pressing_a_head_sorts_turns_round_and_goes_back_to_the_finding() -> None:
    model = CompareViewModel(InlineTasks(), lambda run: pytest.fail(run))

    def pressed() -> tuple[str, bool]:
        model.sort("Time")
        return model.state.value.sorted_by, model.state.value.descending

    assert [pressed(), pressed(), pressed()] == [("Time", False), ("Time", True), ("", False)]
