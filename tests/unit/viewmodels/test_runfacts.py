"""What the Run page takes of a plan that may be anybody's, or damaged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.plans import plan
from tpu_studio.viewmodels.planpace import needs_pace
from tpu_studio.viewmodels.runfacts import facts_of


@pytest.mark.parametrize("classes", [[[]], [None], [7, []], [["a", 3], []], "ab", {"a": 1}, 7])
def test_classes_of_an_odd_look_are_left_out(classes: Any) -> None:
    """An empty row of them ended the page of that run in an IndexError."""
    assert set(facts_of(replace(plan(), data={"classes": classes})).classes) <= {"a"}


GOOD = {"name": "age", "kind": "number", "examples": ["1"], "top": [["a", 3]], "distinct": 2}


@pytest.mark.parametrize(
    "column",
    [
        7,
        None,
        [],
        {},
        {"kind": "number"},
        GOOD | {"name": ["x"]},
        GOOD | {"top": [["a"]]},
        GOOD | {"top": [7]},
        GOOD | {"top": [["a", 1, 2]]},
        GOOD | {"distinct": "many"},
        GOOD | {"examples": 7},
        GOOD | {"examples": [{}]},
    ],
)
def test_a_column_that_no_form_has_a_field_for_is_left_out(column: Any) -> None:
    assert facts_of(replace(plan(), data={"columns": [column, GOOD]})).columns == (GOOD,)


def test_of_words_without_end_a_form_has_as_many_as_a_look_writes_down() -> None:
    """Each was an entry of a field, made as the page was drawn: 16 MB of them stopped the window for 16 seconds."""
    many = {
        **GOOD,
        "kind": "category",
        "top": [[f"word {n} " * 50, n] for n in range(5000)],
        "examples": ["long " * 500] * 900,
        "distinct": 1,
    }
    (column,) = facts_of(replace(plan(), data={"columns": [many]})).columns
    assert len(column["top"]) == len(column["examples"]) == 12
    assert max(len(word) for word, _ in column["top"]) == len(column["examples"][0]) == 80


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None, [7]])
def test_a_look_of_no_numbers_needs_no_pace(value: Any) -> None:
    needs_pace(replace(plan(), data={"input_shape": [value, value, value], "examples": value, "kind": "images"}))
