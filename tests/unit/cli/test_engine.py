"""``engine``: what stands beside the training engine is listed, asked for with its licence, and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.cli.main import main


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "engine"))

    def ask(*arguments: str) -> tuple[int, Any, str]:
        code = main(["engine", *arguments, "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out.splitlines()[-1]), said.err

    return ask


def test_what_stands_beside_the_engine_is_listed(ask: Any, tmp_path: Path) -> None:
    code, told, _ = ask()
    assert code == 4
    assert {name: one["status"] for name, one in told["extras"].items()} == {
        "tpu-compiler": "missing",
        "tf-tpu-compiler": "missing",
        "starter-weights": "missing",
        "onnx-exporter": "missing",
    }
    assert told["extras"]["tf-tpu-compiler"]["path"] == str(tmp_path / "engine" / "tf-tpu-compiler")


@pytest.mark.parametrize(("name", "size"), [("tpu-compiler", "1.4 GB"), ("tf-tpu-compiler", "2.2 GB")])
def test_nothing_is_fetched_before_its_licence_is_accepted(ask: Any, tmp_path: Path, name: str, size: str) -> None:
    code, told, said = ask("--install", "--with", name)
    assert (code, told["error"]["id"]) == (4, "tpu-compiler-licence")
    assert size in said
    assert not (tmp_path / "engine").exists()


def test_removing_what_is_not_there_is_no_error(ask: Any) -> None:
    code, told, _ = ask("--remove", "--with", "tf-tpu-compiler")
    assert (code, told["status"]) == (0, "missing")


def test_starter_weights_say_whose_they_are_and_need_the_engine_to_be_fetched(ask: Any, tmp_path: Path) -> None:
    code, told, said = ask("--install", "--with", "starter-weights")
    assert (code, told["error"]["id"]) == (4, "engine-not-ready")
    assert "110 MB" in said and "Apache-2.0" in said and "ML Illustrated" in said and "sentence-transformers" in said
    assert not (tmp_path / "engine").exists()
