"""A mistake of ours at the terminal: a sentence, and a file that can be sent along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tpu_studio.cli.output import Output

KEY = "hf_" + "a1B2" * 9


def test_what_is_kept_and_said_of_it_holds_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    try:
        raise KeyError(f"nobody foresaw {KEY}")
    except KeyError as error:
        Output(as_json=True).unexpected(error)
    kept, said = (tmp_path / "errors.log").read_text(), capsys.readouterr()
    assert "nobody foresaw …" in kept and "nobody foresaw …" in json.loads(said.out)["error"]["facts"]["raw"]
    assert KEY not in kept + said.out + said.err
