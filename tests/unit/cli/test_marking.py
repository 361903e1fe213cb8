"""``tag``, ``note`` and ``star``: said in words and JSON, found by ``runs``, kept out of what is sent."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.fakes.terminal import JOB, Terminal


@pytest.fixture
def run(terminal: Terminal) -> str:
    return str(terminal.json("run", JOB)[1]["run"])


def test_a_run_is_tagged_noted_and_starred_and_the_list_tells_it(terminal: Terminal, run: str) -> None:
    assert terminal.json("tag", run, "baseline", "warm-up") == (0, {"run": run, "tags": ["baseline", "warm-up"]})
    assert terminal.json("tag", run[:-1], "second", "--remove", "warm-up")[1]["tags"] == ["baseline", "second"]
    assert terminal.run("tag", run).stdout == f"{run}: baseline, second\n"
    assert terminal.json("note", run, "first\nsecond") == (0, {"run": run, "note": "first\nsecond", "before": ""})
    assert terminal.run("note", run).stdout == "first\nsecond\n"
    assert terminal.json("star", run) == (0, {"run": run, "star": True})
    (row,) = terminal.json("runs")[1]["runs"]
    assert (row["star"], row["tags"], row["note"]) == (True, ["baseline", "second"], "first\nsecond")
    assert "★ baseline, second" in terminal.run("runs").stdout
    shown = terminal.run("show", run).stdout
    assert "baseline, second" in shown and "first\nsecond" in shown
    replaced = terminal.run("note", run, "")
    assert "Before, its note was: first" in replaced.stderr and replaced.stdout == "No note.\n"
    assert terminal.json("star", run, "--off")[1]["star"] is False


def test_what_is_too_much_is_refused_and_nothing_is_changed(terminal: Terminal, run: str) -> None:
    terminal.run("tag", run, "kept")
    for arguments in (("tag", run, "x" * 10_000), ("tag", run, *map(str, range(1000))), ("note", run, "x" * 10_000)):
        refused = terminal.run(*arguments)
        assert refused.returncode == 2 and "Traceback" not in refused.stderr
    assert terminal.run("star", "nothing-like-it").returncode == 1
    (row,) = terminal.json("runs")[1]["runs"]
    assert (row["star"], row["tags"], row["note"]) == (False, ["kept"], "")


def test_nothing_of_it_goes_along_where_a_run_is_sent(terminal: Terminal, run: str, tmp_path: Path) -> None:
    terminal.run("tag", run, "secrettag")
    terminal.run("note", run, "secretnote")
    packed, page = tmp_path / "run.zip", tmp_path / "run.html"
    assert terminal.run("export", run, "--as", "zip", "--to", packed).returncode == 0
    assert terminal.run("export", run, "--as", "page", "--to", page).returncode == 0
    with zipfile.ZipFile(packed) as archive:
        inside = b"".join(archive.read(name) for name in archive.namelist())
    for written in (inside, page.read_bytes()):
        assert b"secrettag" not in written and b"secretnote" not in written


def test_damaged_notes_are_told_and_where_they_are_put(terminal: Terminal, run: str) -> None:
    """The list showed names of jobs and no tags, and a note was “No note.”, without a word."""
    terminal.run("note", run, "mine")
    file = terminal.home / "marks.json"
    file.write_bytes(file.read_bytes()[:-4])
    for verb in (("runs",), ("show", run), ("note", run), ("tag", run)):
        told = terminal.run(*verb)
        assert told.returncode == 0 and "Names, tags, notes and stars of your runs cannot be read" in told.stderr, verb
        assert "marks.damaged-1.json" in told.stderr and str(terminal.home) in told.stderr
    assert "marks.damaged-1.json" in terminal.run("star", run).stderr
    assert "mine" in (terminal.home / "marks.damaged-1.json").read_text()
    assert "cannot be read" not in terminal.run("runs").stderr
