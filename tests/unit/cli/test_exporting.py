"""``export``: what of a run goes elsewhere, whole or damaged."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import finished
from tests.fakes.terminal import JOB, Terminal
from tests.unit.workflow.test_bringing import with_model
from tpu_studio.workflow import packing


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished(tmp_path_factory.mktemp("there"))
    with_model(folder)
    return folder


@pytest.fixture
def here(tmp_path: Path, trained: Path) -> Iterator[tuple[Terminal, Path]]:
    terminal = Terminal(tmp_path / "home")
    folder = terminal.home / "runs" / trained.name
    shutil.copytree(trained, folder)
    yield terminal, folder


def test_a_run_without_its_plan_gives_its_model_and_says_what_it_has_lost(
    here: tuple[Terminal, Path], tmp_path: Path
) -> None:
    terminal, folder = here
    (folder / "plan.json").unlink()
    done = terminal.run("export", folder.name, tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'out'}\n")
    assert (tmp_path / "out" / "model.keras").read_bytes() == (folder / "result" / "model.keras").read_bytes()
    assert "its model and its curves are there" in done.stderr and "plan.json is missing" in done.stderr


def test_a_run_saved_as_a_zip_is_the_same_run_on_another_computer(here: tuple[Terminal, Path], tmp_path: Path) -> None:
    terminal, folder = here
    (folder / "watching.json").write_text("{}")
    (folder / "notes.txt").write_text("mine")
    file = tmp_path / "to a friend.zip"
    done = terminal.run("export", folder.name, "--as", "zip", "--to", file)
    assert (done.returncode, done.stdout) == (0, f"{file}\n")
    assert "tpu-studio import" in done.stderr and "Left out: your data" in done.stderr
    assert "first rows or texts" in done.stderr  # the plan holds them
    with zipfile.ZipFile(file) as archive:
        names = {name.removeprefix(f"{folder.name}/") for name in archive.namelist()}
    assert {"plan.json", "result/model.keras", "events/a0001-w000.jsonl"} <= names
    assert not names & {"owner.json", "watching.json", "notes.txt"}
    there = Terminal(tmp_path / "elsewhere")
    code, told = there.json("import", file)
    assert (code, told) == (
        0,
        {"run": folder.name, "already": False, "left_out": [], "damaged": None, "replaced": None},
    )
    for name in names - {"guardian.log"}:
        if not name.startswith(("control/", "events/desk-")):
            assert (there.home / "runs" / folder.name / name).read_bytes() == (folder / name).read_bytes(), name
    shown, same = terminal.json("show", folder.name)[1], there.json("show", folder.name)[1]
    assert (same["status"], same["steps"], same["final"]) == (shown["status"], shown["steps"], shown["final"])
    assert there.json("import", file)[1]["already"]


def test_a_zip_is_not_written_over_another_nor_of_a_damaged_model_nor_half(
    here: tuple[Terminal, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal, folder = here
    file = tmp_path / "it.zip"
    file.write_text("another")
    assert terminal.json("export", folder.name, "--as", "zip", "--to", file)[1]["error"]["id"] == "page-exists"
    with monkeypatch.context() as patched:
        patched.setattr(packing, "open_below", lambda *about: (_ for _ in ()).throw(OSError(28, "No space left")))
        code, told = terminal.json("export", folder.name, "--as", "zip", "--to", file, "--force")
        assert (code, told["error"]["id"]) == (1, "disk-full")
    assert file.read_text() == "another" and sorted(path.name for path in tmp_path.iterdir()) == ["home", "it.zip"]
    model = folder / "result" / "model.keras"
    model.write_bytes(model.read_bytes()[:-1])
    code, told = terminal.json("export", folder.name, "--as", "zip", "--to", file, "--force")
    assert (code, told["error"]["id"]) == (1, "result-damaged")
    assert file.read_text() == "another"


def test_of_a_run_that_goes_on_no_zip_is_made(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home")
    terminal.trainer = ("--steps", "100000", "--step-s", "0.05")
    run = terminal.json("run", JOB, "--detach")[1]["run"]
    code, told = terminal.json("export", run, "--as", "zip", "--to", tmp_path / "it.zip")
    assert (code, told["error"]["id"], (tmp_path / "it.zip").exists()) == (1, "zip-run-goes-on", False)
    terminal.run("stop", run, "--discard")


def test_a_file_name_of_two_lines_forges_none(here: tuple[Terminal, Path], tmp_path: Path) -> None:
    _, folder = here
    (folder / "x\nNothing was left out").write_text("")
    (folder / "result" / "y\nAll of it is yours").write_text("")
    told = Terminal(tmp_path / "elsewhere").run("import", folder)
    assert "\nAll of it" not in told.stderr
    assert told.returncode == 0 and "\nNothing was" not in told.stderr and "Nothing was left out" in told.stderr
