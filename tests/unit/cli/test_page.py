"""`tpu-studio export RUN --as page --to FILE`: what it writes and says, and what it refuses."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.fakes.pages import data_of, read
from tests.fakes.terminal import JOB, Terminal


def test_a_run_is_saved_as_one_page_once(terminal: Terminal, tmp_path: Path) -> None:
    run = terminal.json("run", JOB)[1]["run"]
    file = tmp_path / "page.html"
    code, told = terminal.json("export", run, "--as", "page", "--to", file)
    assert (code, told["run"], told["file"], told["bytes"]) == (0, run, str(file), file.stat().st_size)
    page = read(file.read_bytes())
    assert [plot["title"] for plot in data_of(page)["plots"]] == [plot["title"] for plot in told["curves"]] != []
    assert str(terminal.home) not in file.read_text() and str(Path.home()) not in file.read_text()
    assert "its job file, to repeat it" in told["inside"] and told["left_out"]
    code, told = terminal.json("export", run, "--as", "page", "--to", file)
    assert (code, told["error"]["id"]) == (1, "page-exists")
    file.write_text("old")
    again = terminal.run("export", run, "--as", "page", "--to", file, "--force")
    assert (again.returncode, again.stdout.strip()) == (0, str(file))
    assert "Left out: your data" in again.stderr and read(file.read_bytes())


def test_a_saved_page_is_shown_again(terminal: Terminal, tmp_path: Path) -> None:
    run = terminal.json("run", JOB)[1]["run"]
    file = tmp_path / "page.html"
    saved = terminal.json("export", run, "--as", "page", "--to", file)[1]
    code, told = terminal.json("show", file)
    assert (code, told["state"]) == (0, "Finished")
    assert [one["title"] for one in told["curves"]] == [one["title"] for one in saved["curves"]]
    assert any("[training]" in one["code"] for one in told["sections"])
    _, _, repeat = terminal.run("show", file).stdout.partition("Then, with TPU Studio:\n")
    assert repeat.startswith("    tpu-studio run job.tpujob\n\n    ") and "[training]" in repeat
    file.write_bytes(file.read_bytes()[:-2000])
    file.write_text(file.read_text().replace('"format":1', '"format":1,"x":1'))
    code, told = terminal.json("show", file)
    assert (code, told["error"]["id"]) == (1, "page-changed")
    assert terminal.json("show", tmp_path / "none.html")[1]["error"]["id"] == "page-unreadable"


def test_what_is_no_page_is_said_and_nothing_is_written(terminal: Terminal, tmp_path: Path) -> None:
    run = terminal.json("run", JOB)[1]["run"]
    file = tmp_path / "page.html"
    assert terminal.json("compare", run, run, "--as", "page")[0] == 2
    for wrong in (("--as", "page"), ("--to", file), ("--as", "page", "--to", file, tmp_path), (), ("--force",)):
        code, told = terminal.json("export", run, *wrong)
        assert (code, told["error"]["id"]) == (2, "command-line"), wrong
    assert terminal.json("export", "nothing-like-it", "--as", "page", "--to", file)[0] == 1
    (terminal.home / "runs" / run / "plan.json").write_text("{")
    code, told = terminal.json("export", run, "--as", "page", "--to", file)
    assert (code, told["error"]["title"] != "") == (1, True)
    assert not file.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
@pytest.mark.parametrize("form", ["page", "zip"])
def test_only_a_file_gives_way_to_one(terminal: Terminal, tmp_path: Path, form: str) -> None:
    """A device was replaced by the page, with --force and the rights to it; of a folder temporary names were told."""
    run = terminal.json("run", JOB)[1]["run"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for place, what in (
        (pipe, "a device or a pipe"),
        (tmp_path / "link", "a device or a pipe"),
        (tmp_path, "a folder"),
    ):
        for more in ((), ("--force",)):
            code, told = terminal.json("export", run, "--as", form, "--to", place, *more)
            assert (code, told["error"]["id"]) == (2, "place-no-file")
            assert told["error"]["title"] == f"“{place.name}” is {what}"
    assert terminal.json("export", run, "--as", form, "--to", "", "--force")[1]["error"]["id"] == "place-no-file"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    file, link = tmp_path / "old", tmp_path / "link to old"
    file.write_text("old")
    link.symlink_to(file)
    assert terminal.json("export", run, "--as", form, "--to", link, "--force")[0] == 0
    assert not link.is_symlink() and file.read_text() == "old"


def test_a_run_that_goes_on_is_not_saved(terminal: Terminal, tmp_path: Path) -> None:
    terminal.trainer = ("--steps", "100000", "--step-s", "0.05")
    run = terminal.json("run", JOB, "--detach")[1]["run"]
    code, told = terminal.json("export", run, "--as", "page", "--to", tmp_path / "page.html")
    assert (code, told["error"]["id"]) == (1, "page-run-goes-on")
    assert terminal.run("stop", run).returncode == 0
    assert not (tmp_path / "page.html").exists()


def test_a_comparison_is_saved_as_one_page(terminal: Terminal, tmp_path: Path) -> None:
    runs = [
        terminal.json("run", JOB, "--set", f"training.global_batch={batch}", "--set", f"name=<b>{batch}</b>")[1]["run"]
        for batch in (32, 64)
    ]
    file = tmp_path / "compared.html"
    code, told = terminal.json("compare", *runs, "--as", "page", "--to", file)
    assert (code, told["file"], told["bytes"]) == (0, str(file), file.stat().st_size)
    assert "training.global_batch" in told["differing"]
    page = read(file.read_bytes())
    (plot, *_) = data_of(page)["plots"]
    assert [line["name"] for line in plot["lines"]] == ["<b>32</b>", "<b>64</b>"]
    assert told["finding"]["title"].rstrip(".") in page.words()
    assert str(terminal.home) not in file.read_text()
    said = terminal.run("show", file).stdout
    table = next(one for one in terminal.json("show", file)[1]["sections"] if one["head"])
    assert all(title in said for title in table["head"])
    assert terminal.json("compare", *runs, "--as", "page", "--to", file)[1]["error"]["id"] == "page-exists"
    forced = terminal.json("compare", *runs, "--as", "page", "--to", tmp_path, "--force")
    assert (forced[0], forced[1]["error"]["id"]) == (2, "place-no-file")
