"""A model that somebody sent is built no larger, and works no more, than one of its size can in earnest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine
PROGRAM = Path(__file__).with_name("program_bounded.py")


def test_what_makes_or_works_too_much_is_not_built() -> None:
    found = run_in_engine(PROGRAM, backend="jax")
    tables = found.pop("tables")
    assert tables.pop("<lambda>") == "" and all(tables.values())
    assert "a list where a word" in tables["words"] and "packed" in tables["packed"]
    assert found.pop("usual") == found.pop("rows") == ""
    asked = found.pop("folded")
    small = {"turned", "unsized", "nested", "fixed"}  # odd, and no work
    assert {name for name, why in asked.items() if not why} == small
    assert all("of one example" in why for name, why in asked.items() if name not in small), asked
    assert "makes 4,096 numbers" in found.pop("outer")
    assert set(found.values()) == {"it works far more than a model of its size"} and len(found) == 4
