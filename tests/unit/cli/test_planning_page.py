"""`plan` says where else it could be trained and what would help, and writes it all as one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[3] / "resources" / "examples"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["plan", *arguments, "--no-measure", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_plan_is_written_as_a_page_beside_its_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.html"
    code, told = planned(capsys, str(EXAMPLES / "digits.tpujob"), "--on", "practice", "--report", str(file))
    assert code == 0
    assert told["verdict"]["instead"] == "computer"
    text = file.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "No: train on this computer." in text


def test_a_page_that_cannot_be_written_is_said_and_nothing_else_happens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    file = tmp_path / "file" / "plan.html"
    code = main(["plan", str(EXAMPLES / "digits.tpujob"), "--no-measure", "--report", str(file), "--json"])
    assert code == 2
    assert "plan-report-unwritable" in capsys.readouterr().out
    assert (tmp_path / "file").read_text() == "no folder"


def test_nothing_that_is_there_is_written_over_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also the job itself, or its data, given by a slip."""
    job = tmp_path / "digits.tpujob"
    job.write_bytes((EXAMPLES / "digits.tpujob").read_bytes())
    before = job.read_bytes()
    assert main(["plan", str(job), "--no-measure", "--report", str(job), "--json"]) == 2
    assert "file-exists" in capsys.readouterr().out and job.read_bytes() == before
    page = tmp_path / "plan.html"
    page.write_text("an older page")
    assert planned(capsys, str(job), "--report", str(page), "--force")[0] == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_what_the_text_advises_can_be_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = str(EXAMPLES / "gpt-124m.tpujob")
    assert main(["plan", job, "--on", "practice", "--no-measure"]) == 0
    told = capsys.readouterr().out
    assert "Worth it?" in told
    assert "--set model.name=gpt-mini" in told
    code, after = planned(capsys, job, "--on", "practice", "--set", "model.name=gpt-mini")
    assert code == 0
    assert "advice-smaller-model" not in [check["id"] for check in after["checks"]]


def test_the_batch_that_the_text_gives_for_a_plan_too_large_fits(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [str(EXAMPLES / "gpt-124m.tpujob"), "--set", "where.accelerator=v5e-1", "--set"]
    asked += ["training.rematerialize=false", "--no-measure", "--set"]
    assert main(["plan", *asked, "training.global_batch=512"]) == 1
    told = capsys.readouterr().out
    [smaller] = [line.split()[1] for line in told.splitlines() if "--set training.global_batch=" in line]
    assert main(["plan", *asked, smaller]) == 0


def test_the_text_names_what_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = "a,b\n" + "".join(f"{n % 7},{n % 5}\n" for n in range(60)) + "1,2,3\n"
    (tmp_path / "shop.csv").write_text(table)
    job = tmp_path / "shop.tpujob"
    job.write_text('format = 1\n[model]\nname = "mlp"\n[data]\nkind = "table"\npath = "shop.csv"\ntarget = "b"\n')
    assert main(["plan", str(job), "--no-measure"]) == 0
    told = capsys.readouterr().out
    assert "! 1 broken item is left out\n    It is line 62: it has more or fewer fields" in told
