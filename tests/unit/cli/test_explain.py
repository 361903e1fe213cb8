"""`tpu-studio explain` as it is typed: a file, a pipe, JSON, words, and texts that cannot be read."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tpu_studio.cli.main import main

MEMORY = "E0101 noise\nRESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm.\n"


def test_json_has_causes_best_first_with_lines_and_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(MEMORY + "RPC failed with status = Unavailable: Socket closed\n")
    assert main(["explain", str(tmp_path / "log"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    first, second = told["causes"]
    assert (first["id"], second["id"]) == ("hbm-oom", "worker-lost")
    assert set(first) >= {"id", "title", "sure", "lines", "means", "do", "source"}
    assert first["sure"] > second["sure"] and "21.95G" in first["means"]
    assert told["harmless"] == []


def test_words_come_from_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MEMORY.encode("utf-16"))))
    assert main(["explain"]) == 0
    said = capsys.readouterr().out
    assert "The program needs more memory than the chip has" in said and "1. Take a smaller batch" in said


def test_nothing_known_says_what_helps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"all is well\n")))
    assert main(["explain", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["causes"] == []
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"all is well\n")))
    assert main(["explain", "-"]) == 0
    assert "Give more of it" in capsys.readouterr().out


def test_what_is_no_text_and_what_is_not_there_are_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 10)
    assert main(["explain", str(tmp_path / "model.bin"), "--json"]) == 2
    assert main(["explain", str(tmp_path / "absent"), "--json"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_no_key_of_the_text_is_said_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("DefaultCredentialsError: token=ya29.abcdefghijklmnop1234 was refused\n")
    assert main(["explain", str(tmp_path / "log")]) == 0
    assert "ya29" not in capsys.readouterr().out
