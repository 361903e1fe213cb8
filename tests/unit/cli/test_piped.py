"""Progress that goes to a file or a log instead of a terminal: a few whole lines, and the last one says it is done."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fakes.terminal import JOB, Terminal
from tpu_studio.cli import output as outputs
from tpu_studio.cli.output import Output


def test_each_tenth_is_a_line_however_quick_and_slow_work_says_something_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    clock = SimpleNamespace(at=1000.0)
    monkeypatch.setattr(outputs, "time", SimpleNamespace(monotonic=lambda: clock.at))
    output = Output(as_json=False)
    for percent in range(101):
        output.progress(percent / 100, f"file {percent}")
    output.answer({}, "the answer")
    told = capsys.readouterr()
    assert told.out == "the answer\n"
    assert told.err.splitlines() == [*(f"{n}%  file {n}" for n in range(0, 101, 10)), "Done."]
    output = Output(as_json=False)
    for second in range(31):
        clock.at = 2000.0 + second
        output.progress(0.001 * second, f"{second} s")
    output.say("Ready.")
    output.answer({})
    assert capsys.readouterr().err.splitlines() == ["0%  0 s", "1%  10 s", "2%  20 s", "3%  30 s", "Ready."]


def test_words_between_two_shares_do_not_begin_the_tenths_anew(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(outputs, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    output = Output(as_json=False)
    for step in range(5):
        output.progress(0.5 + step / 1000, f"step {step}")
        output.progress(None, "evaluating")
    assert capsys.readouterr().err.splitlines() == ["50%  step 0"]


def test_export_and_convert_into_a_log(tmp_path: Path):
    terminal = Terminal(tmp_path / "home")
    run = terminal.json("run", JOB)[1]["run"]
    done = terminal.run("export", run, tmp_path / "model")
    assert done.returncode == 0 and done.stdout == f"{tmp_path / 'model'}\n"
    lines = done.stderr.splitlines()
    assert lines[-1] == f"{run} is exported: its model and its curves are there."
    assert lines[-2].startswith("100%") and len(lines) <= 12
    data = tmp_path / "data.csv"
    data.write_text("width,price\n" + "".join(f"{n},{2 * n}\n" for n in range(200)))
    converted = terminal.run("convert", data, tmp_path / "records")
    lines = converted.stderr.splitlines()
    assert lines[0] == "Looking at the data…" and lines[-1].startswith("160 train"), converted.stderr
    assert any(line.startswith("100%") for line in lines) and len(lines) <= 13
    assert "\r" not in done.stderr + converted.stderr and "\x1b" not in done.stderr + converted.stderr
    quiet = terminal.run("export", run, tmp_path / "again", "--json")
    assert [json.loads(line) for line in quiet.stdout.splitlines()] == [{"run": run, "folder": str(tmp_path / "again")}]
    assert "%" not in quiet.stderr
