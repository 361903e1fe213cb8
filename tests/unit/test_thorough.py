"""What `make test` leaves out (the mark *thorough*) is a variant of a test that has another there, never all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = {file: file.read_text("utf-8") for file in sorted(TESTS.rglob("*.py")) if file != Path(__file__)}
MARKED = {file: ast.parse(text) for file, text in FILES.items() if "thorough" in text}


def marks(tree: ast.AST) -> list[ast.Attribute]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "thorough"]


def choices(tree: ast.AST) -> Iterator[list[ast.expr]]:
    """What a parameter may be, where some of it is thorough."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List) and any(marks(one) for one in node.elts):
            yield node.elts


def test_there_are_some() -> None:
    assert sum(len(marks(tree)) for tree in MARKED.values()) > 10


@pytest.mark.parametrize("file", MARKED, ids=lambda file: file.stem)
def test_each_test_that_has_thorough_variants_has_one_in_make_test(file: Path) -> None:
    tree = MARKED[file]
    assert len(marks(tree)) == sum(len(marks(one)) for elements in choices(tree) for one in elements)
    assert [elements for elements in choices(tree) if all(marks(one) for one in elements)] == []
