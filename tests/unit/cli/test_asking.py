"""A question at a terminal: what stands in it may come from anybody."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tpu_studio.cli import output as outputs
from tpu_studio.cli.output import Output


def test_a_question_says_nothing_to_the_terminal_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A billing account may be called anything: what follows here blanks the line and writes another question."""
    monkeypatch.setattr(outputs.sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(Output, "is_terminal", True)
    monkeypatch.setattr("builtins.input", lambda: "y")
    assert Output(as_json=False).ask("Let Evil\x1b[2K\rFree of charge pay for my-project?")
    assert capsys.readouterr().err == "Let EvilFree of charge pay for my-project? [y/N] "
