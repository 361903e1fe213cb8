"""What the Compare page shows of runs that may be anybody's."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.tasks import InlineTasks
from tpu_studio.cli.comparing import _words, as_json
from tpu_studio.cli.output import words_for_numbers
from tpu_studio.domain.comparison import Contender, compare
from tpu_studio.viewmodels.comparing import LONGEST, CompareView, CompareViewModel, Row, _measures, _table, table_of
from tpu_studio.wire.errors import RunError


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


def test_no_head_of_the_table_is_a_formula() -> None:
    runs = [
        Contender(str(n), str(n), "computer", "cpu", "regression", {"=1+1": n}, "d", {"=HYPERLINK(1)": 1.0}, 1.0, 1.0)
        for n in range(2)
    ]
    head = table_of(compare(runs)).splitlines()[0].split(",")
    assert head[-2:] == ["'=HYPERLINK(1)", "'=1+1"]


@pytest.mark.parametrize("edge", [1e308, -1e308, float("inf"), float("nan")])
def test_figures_at_the_edge_of_numbers_are_told_in_words_a_table_and_json(edge: float) -> None:
    runs = [
        Contender(str(n), str(n), "computer", "cpu", "regression", {"a": n % 2}, "d", {"val_r2": edge}, 1.0, edge)
        for n in range(6)
    ]
    found = compare(runs)
    assert json.dumps(words_for_numbers(as_json(found)), allow_nan=False)
    assert _words(found) and table_of(found) and _table(found, runs)


class Readings:
    """Runs that are over, some of which can't be read, or no more."""

    def __init__(self, **accuracy: float) -> None:
        self.accuracy, self.closed, self.asked = accuracy, list[str](), list[str]()
        self.damaged, self.deleted, self.names = set[str](), set[str](), dict[str, str]()

    def open(self, run: str) -> Any:
        self.asked.append(run)
        self.poll(run)
        best = {"val_accuracy": self.accuracy[run]}
        settings = {"training.global_batch": list(self.accuracy).index(run)}
        contender = Contender(run, self.name(run), "computer", "cpu", "classification", settings, "d", best, 1.0)

        def poll() -> None:
            self.poll(run)
            made.contender = replace(contender, name=self.name(run))

        def has_changed() -> bool:
            self.poll(run)
            return bool(made.contender.name != self.name(run))

        made = SimpleNamespace(
            run=run,
            contender=contender,
            poll=poll,
            has_changed=has_changed,
            metrics=lambda: (),
            spending=lambda: None,
            close=lambda: self.closed.append(run),
        )
        return made

    def name(self, run: str) -> str:
        return self.names.get(run, f"The {run}")

    def poll(self, run: str) -> None:
        if run in self.damaged:
            raise RunError("run-unreadable", run=run, folder="/x")
        if run in self.deleted or run not in self.accuracy:
            raise RunError("run-unknown", run=run)


def test_one_run_that_is_damaged_hides_none_of_the_others_and_can_be_taken_out() -> None:
    """One damaged run among twenty, and there was no table."""
    runs = Readings(a=0.8, b=0.5, c=0.9)
    runs.damaged.add("b")
    model = CompareViewModel(InlineTasks(), runs.open)
    model.show(("a", "b", "c"))

    view = model.state.value
    assert (view.best, view.compared, [one.run for one in view.rows]) == ("c", 2, ["c", "a", "b"])
    assert [(one.colour, one.problem) for one in view.rows] == [
        (2, ""),
        (0, ""),
        (1, "The run cannot be read at the moment"),
    ]
    assert view.rows[-1].cells == ("–",) * len(view.columns)
    assert view.problem is not None and view.problem.title == "“b” can't be compared"
    assert "compared without it" in view.problem.text and "take it out" in view.problem.action

    model.remove("b")
    assert model.state.value.problem is None and len(model.state.value.rows) == 2
    assert runs.asked == ["a", "b", "c"]


def test_a_run_that_was_deleted_while_it_is_shown_keeps_its_name_and_the_others_their_table() -> None:
    runs = Readings(a=0.8, b=0.5, c=0.9)
    model = CompareViewModel(InlineTasks(), runs.open)
    model.show(("a", "b", "c"))
    runs.deleted.update("bc")
    model.show(("a", "b", "c"))
    view = model.state.value
    assert [(one.name, bool(one.problem)) for one in view.rows] == [("The a", False), ("The b", True), ("The c", True)]
    assert (view.best, view.title, view.compared) == ("", "", 1) and sorted(runs.closed) == ["b", "c"]
    assert view.problem is not None and view.problem.title == "2 of these runs can't be compared"
    runs.deleted.clear()  # brought back from the trash
    model.show(("a", "b", "c"))
    assert (model.state.value.best, model.state.value.problem) == ("c", None)


def test_what_is_deleted_renamed_and_brought_back_while_it_is_shown_is_seen_by_itself() -> None:
    """Deleted runs kept their rows and the verdict; a new name was not taken up."""
    runs = Readings(a=0.8, b=0.5, c=0.9)
    model = CompareViewModel(InlineTasks(), runs.open)
    model.show(("a", "b", "c"))
    before = model.state.value
    model.tick()
    assert model.state.value is before  # nothing to draw anew

    runs.deleted.add("c")
    model.tick()
    view = model.state.value
    assert (view.best, [one.problem for one in view.rows]) == ("a", ["", "", "The run was deleted"])
    assert view.problem is not None and view.problem.title == "“The c” can't be compared"
    assert view.problem.meaning == "The run was deleted. The others are compared without it."
    model.show(view.runs)  # and so it stays
    assert model.state.value.rows[-1].problem == "The run was deleted"

    runs.names["a"] = "Mine"
    model.tick()
    assert [one.name for one in model.state.value.rows] == ["Mine", "The b", "The c"]
    runs.deleted.clear()
    model.tick()
    assert (model.state.value.best, model.state.value.problem) == ("c", None)


def test_a_run_that_was_deleted_this_moment_is_left_out_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, made = Readings(a=0.8, b=0.5, c=0.9), list[str]()

    def compose(readings: Any, chosen: tuple[str, ...]) -> Any:
        assert chosen == ("a", "b", "c")  # whose colours stay
        made.extend(one.run for one in readings)
        return SimpleNamespace(page="the page")

    monkeypatch.setattr("tpu_studio.viewmodels.onepage.comparison.compose", compose)
    model = CompareViewModel(InlineTasks(), runs.open)
    model.show(("a", "b", "c"))
    runs.deleted.add("b")
    model.make_page(lambda page: None)
    assert made == ["a", "c"]


def test_each_figure_has_a_name_of_its_own() -> None:
    """Of “Loss, Loss, Accuracy, Accuracy” nobody could tell which is of unseen data."""
    named = dict(_measures([("val_loss", "loss"), ("accuracy", "val_accuracy", "learning_rate", "examples_per_s")]))
    assert list(named.values()) == [
        "Loss (training)",
        "Loss (validation)",
        "Accuracy (training)",
        "Accuracy (validation)",
        "Learning rate",
        "Speed",
    ]


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
