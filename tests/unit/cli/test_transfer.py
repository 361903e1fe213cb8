"""Beginning from another run, by the command line: what is planned, and what is said where that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.bases import PICTURES, RUN, card, run, tuned
from tpu_studio.cli.main import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "no engine"))  # nothing is timed
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def job(home: Path, preset: str) -> str:
    path = home.parent / "digits.tpujob"
    text = f'format = 1\n[model]\nname = "small-cnn"\npreset = "{preset}"\n[data]\nkind = "digits"\n'
    path.write_text(text)
    return str(path)


def test_a_plan_says_what_it_begins_from(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(home, card(data=PICTURES | {"input_shape": [8, 8, 1]}, options={"width": 8}))
    assert main(["plan", job(home, f"run:{RUN}"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "base-taken-over" in [check["id"] for check in told["checks"]]
    assert main(["plan", job(home, f"run:{RUN}")]) == 0
    assert f"It begins from what the run “{RUN}” has learned" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("run:hands-ab13", ("There is no run “hands-ab13”", "Did you mean “run:hands-ab12”?")),
        ("run:../../etc", ("names no run", "tpu-studio runs")),
        (f"run:{RUN}", ("sees pictures from 16 pixels", "have 8")),
    ],
)
def test_what_cannot_be_begun_from_is_said_with_what_to_do(
    home: Path, capsys: pytest.CaptureFixture[str], preset: str, words: tuple[str, ...]
) -> None:
    run(home)
    assert main(["run", job(home, preset)]) == 2
    told = capsys.readouterr()
    said = " ".join((told.out + told.err).split())
    assert all(one in said for one in words) and "Traceback" not in said and "charged" in said
    assert [path.name for path in (home / "runs").iterdir()] == [RUN]  # nothing was begun


def test_another_width_is_refused_by_its_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(home, card(data=PICTURES | {"input_shape": [8, 8, 1]}))
    assert main(["plan", job(home, f"run:{RUN}"), "--set", "model.options={width = 64}"]) == 2
    assert "model.options.width is 32 in the run" in capsys.readouterr().err


def test_a_fine_tuned_language_model_is_begun_from_by_one_setting(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(home, *tuned("qwen2", home))
    (home.parent / "tale.txt").write_text("quick brown foxes jump over the lazy dog.\n" * 2000)
    path = home.parent / "tale.tpujob"
    path.write_text('format = 1\n[model]\nname = "pretrained-lm"\n[data]\nkind = "text"\npath = "./tale.txt"\n')
    assert main(["plan", str(path), "--set", f"model.preset=run:{RUN}", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "base-taken-over" in [check["id"] for check in told["checks"]]
    assert main(["plan", str(path), "--set", f"model.preset=run:{RUN}"]) == 0
    assert f"begins from the run {RUN}" in " ".join(capsys.readouterr().out.split())
    assert main(["models", "--kind", "text"]) == 0
    said = capsys.readouterr().out.split("\n\n")
    assert "run:ID" in next(one for one in said if one.startswith("pretrained-lm"))
