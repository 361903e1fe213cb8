"""Our conditions are known again by what they say, not by how they are laid out."""

from __future__ import annotations

import pytest

from tpu_studio.domain.grants import OWN_MACHINES, is_same, own_words

EXPRESSION = OWN_MACHINES["expression"]


@pytest.mark.parametrize(
    "expression",
    [
        EXPRESSION.replace(" ", ""),
        EXPRESSION.replace(" && ", " &&\n    "),
        EXPRESSION.replace('"', "'"),
        f"  {EXPRESSION}\n",
        EXPRESSION.replace("(", "( "),
    ],
    ids=["no space", "lines", "other quotes", "ends", "brackets"],
)
def test_the_layout_says_nothing(expression: str) -> None:
    assert is_same({**OWN_MACHINES, "expression": expression}, OWN_MACHINES)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        EXPRESSION.replace("ts-", " ts-"),
        EXPRESSION.replace("ts-", "TS-"),
        EXPRESSION.replace("&&", "||"),
        f"{EXPRESSION} || true",
        EXPRESSION.replace("resource.name", "resource. na me"),
    ],
    ids=["none", "space in a string", "letters", "operator", "more", "a name torn"],
)
def test_another_condition_is_not_ours(expression: str) -> None:
    assert not is_same({**OWN_MACHINES, "expression": expression}, OWN_MACHINES)


@pytest.mark.parametrize("held", [None, "text", {}, {"title": OWN_MACHINES["title"]}, {**OWN_MACHINES, "title": ""}])
def test_what_is_no_condition_of_ours_is_not(held: object) -> None:
    assert not is_same(held, OWN_MACHINES)


def test_of_the_words_in_a_bucket_the_bucket_counts() -> None:
    ours = own_words("a-b")
    assert is_same({**ours, "expression": ours["expression"].replace(" && ", "&&")}, ours)
    assert not is_same(own_words("a-c"), ours)
