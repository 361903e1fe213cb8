"""A home that somebody else made, or may write into: nothing in it is run or believed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tpu_studio.cli.main import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no modes there")


@pytest.fixture
def engine_of_others(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What its "engine" writes when it is run."""
    monkeypatch.delenv("TPU_STUDIO_ENGINE")
    python = home / "engine" / "main" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch {home}/ran\n")
    python.chmod(0o755)
    home.chmod(0o777)
    return home / "ran"


@pytest.mark.parametrize("verb", [["engine"], ["runs"], ["run", "x.tpujob", "--yes"], ["predict", "a-aaaa", "x.png"]])
def test_every_verb_says_so_and_runs_nothing(
    engine_of_others: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    assert main(verb) == 4
    said = capsys.readouterr()
    assert "may be written into by others" in said.out + said.err and "charged for" in said.out + said.err
    assert not engine_of_others.exists()
