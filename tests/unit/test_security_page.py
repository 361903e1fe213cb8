"""docs/security.md names a test for whatever it says is held: each of them exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_the_page_names_is_a_test(file: str, name: str):
    functions = [node for node in ast.parse((ROOT / file).read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    assert name in [function.name for function in functions]


def test_every_row_of_the_table_is_held_by_a_test():
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and "---" not in line][1:]
    assert [row for row in rows if "::" not in row.rsplit("|", 2)[-2]] == []
