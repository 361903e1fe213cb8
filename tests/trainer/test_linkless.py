"""Of weights that somebody sent, nothing outside their file is opened, wherever in it a link stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.openings import openings
from tests.trainer.in_engine import run_in_engine

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PROGRAM = Path(__file__).with_name("program_linkless.py")


def test_what_a_link_in_a_file_of_weights_leads_to_is_not_opened(tmp_path: Path) -> None:
    found = run_in_engine(PROGRAM, str(tmp_path), backend="jax")
    whole = [found.pop(name)["words"] for name in list(found) if name in ("vit", "sharded") or " whole" in name]
    assert whole == [""] * 6
    assert len(found) == 25 and {name for name, one in found.items() if one["opened"]} == set()
    why = "Not allowed: H5 file with ExternalLink"
    assert {name for name, one in found.items() if why not in one["words"]} == set()
    del found["asked for"]  # by itself, not by a reading
    assert {name for name, one in found.items() if "unreadable" not in one["at_once"]} == set()


def test_that_a_file_is_opened_is_seen(tmp_path: Path) -> None:
    (file := tmp_path / "x").write_text("x")
    with openings(file) as opened:
        assert not opened()
        file.read_text()
        assert opened() and not opened()
