"""``data``: a data set of the Hugging Face Hub is told, fetched, planned with and deleted by commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import hub as fakes
from tests.fakes import hubdata as samples
from tpu_studio.cli.main import main

NAME = "hf:owner/reviews"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fakes.Fake]:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with fakes.running() as found:
        monkeypatch.setenv("HF_ENDPOINT", found.address)
        found.datasets["owner/reviews"] = samples.reviews(tmp_path / "hub")
        yield found


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(*arguments: str, code: int = 0) -> Any:
        assert main([*arguments, "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return ask


def test_from_its_name_to_a_plan(fake: fakes.Fake, ask: Any, tmp_path: Path) -> None:
    """Looked up, fetched, named in a job by its folder, planned."""
    found = ask("data", NAME)["dataset"]
    train = found["subsets"][0]["splits"][0]
    assert (found["licence"], train["name"], train["rows"], train["files"]) == ("mit", "train", 160, 2)
    assert found["subsets"][0]["columns"] == {"text": "string", "label": "class_label"} and not train["downloaded"]
    told = ask("data", NAME, "--subset", "plain_text", "--download")
    assert told["splits"] == ["train"] and told["dataset"]["subsets"][0]["splits"][0]["bytes"] == train["bytes"]
    job = tmp_path / "reviews.tpujob"
    model = '[model]\nname = "text-classifier"\n'
    job.write_text(f'name = "reviews"\n{model}[data]\nkind = "text"\npath = "{told["path"]}"\n')
    fake.asked.clear()
    plan = ask("plan", str(job), "--no-measure")
    assert plan["fits"] and plan["time_s"]["expected"] > 0 and plan["checks"] == []
    assert fake.asked == []
    (listed,) = ask("data")["datasets"]
    assert listed["subsets"][0]["splits"][0]["downloaded"] and not listed["subsets"][0]["splits"][1]["downloaded"]
    assert ask("data", NAME, "--delete")["deleted_bytes"] > train["bytes"]
    assert ask("data")["datasets"] == []


def test_words_say_rows_sizes_columns_and_what_was_converted_in_part(
    fake: fakes.Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", NAME]) == 0
    said = capsys.readouterr().out
    assert "licence mit (https://huggingface.co/datasets/owner/reviews)" in said
    assert "columns text, label" in said and "train: 160 rows, " in said and " in 2 files" in said
    assert "a first part only: the Hub converts 5 GB" in said and "--subset NAME --download" in said
    assert main(["data"]) == 0 and "plain_text" in capsys.readouterr().out


def test_what_is_not_told_apart_is_asked_for(fake: fakes.Fake, ask: Any) -> None:
    assert ask("data", NAME, "--download", code=2)["error"]["id"] == "hub-no-subset"
    assert (
        ask("data", NAME, "--download", "--subset", "plain_text", "--split", "dev", code=2)["error"]["id"]
        == "hub-no-split"
    )
    assert ask("data", "--download", code=2)["error"]["id"] == "command-line"
    assert ask("data", "imdb", code=2)["error"]["id"] == "hub-data-name"
    assert ask("data", "imdb", "--delete", code=2)["error"]["id"] == "hub-data-name"
