"""A run folder or zip from elsewhere: what it may hold, and what is left out of it and said."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.studio import Studio
from tpu_studio.domain.sentences import say
from tpu_studio.wire import sums
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.runfolder import DESKS_AT_MOST, LIMITS_ASKED, OWNER, PLAN, is_run_id
from tpu_studio.workflow import bringing, trash

FOREIGN = {
    "argparse.py": b"raise SystemExit",
    "tpu_studio/__init__.py": b"",
    "events/json.py": b"",
    "notes/readme.txt": b"x",
    "claims/x.so": b"",
    "sitecustomize.pyc": b"",
}
LEFT_OUT = ("argparse.py", "claims/x.so", "events/json.py", "notes", "sitecustomize.pyc", "tpu_studio")


@pytest.fixture
def foreign(trained: Path, tmp_path: Path) -> Path:
    """A run with more in its folder than a run has."""
    folder = tmp_path / "stick" / trained.name
    shutil.copytree(trained, folder)
    for name, data in FOREIGN.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in sorted(folder.rglob("*")):
            if one.is_file():
                archive.write(one, f"{folder.name}/{one.relative_to(folder).as_posix()}")
    return path


@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_only_what_a_run_has_is_taken_along_and_the_rest_is_named(
    studio: Studio, foreign: Path, tmp_path: Path, as_zip: bool
) -> None:
    made = studio.runs.import_folder(zipped(foreign, tmp_path / "it.zip") if as_zip else foreign)
    assert made.left_out == LEFT_OUT
    here = studio.runs.runs_folder / made.run
    assert not any((here / name).exists() for name in FOREIGN)
    assert studio.runs.summary(made.run).reason == "completed"
    assert (here / "result").is_dir() == (foreign / "result").is_dir()


@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_of_events_of_desktops_so_many_are_taken_along_and_the_rest_is_named(
    studio: Studio, trained: Path, tmp_path: Path, as_zip: bool
) -> None:
    folder = tmp_path / "stick" / trained.name
    shutil.copytree(trained, folder)
    for old in (folder / "events").glob("desk-*.jsonl"):
        old.unlink()
    names = [f"events/desk-{number:08d}.jsonl" for number in range(DESKS_AT_MOST + 3)]
    for name in names:
        (folder / name).write_bytes(b"\n")
    made = studio.runs.import_folder(zipped(folder, tmp_path / "it.zip") if as_zip else folder)
    assert made.left_out == tuple(names[DESKS_AT_MOST:])
    here = studio.runs.runs_folder / made.run
    assert [name for name in names if (here / name).exists()] == names[:DESKS_AT_MOST]
    assert studio.runs.summary(made.run).reason == "completed"


@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_what_the_program_writes_for_one_computer_only_stays_and_is_not_worth_telling(
    studio: Studio, trained: Path, tmp_path: Path, as_zip: bool
) -> None:
    folder = tmp_path / "stick" / trained.name
    shutil.copytree(trained, folder)
    (folder / LIMITS_ASKED).write_bytes(b"{}\n")
    made = studio.runs.import_folder(zipped(folder, tmp_path / "it.zip") if as_zip else folder)
    assert made.left_out == ()
    assert not (studio.runs.runs_folder / made.run / LIMITS_ASKED).exists()


def test_all_that_the_program_writes_itself_is_taken_along(studio: Studio, trained: Path) -> None:
    made = studio.runs.import_folder(trained)
    assert made.left_out == ()
    here = studio.runs.runs_folder / made.run
    names = {path.relative_to(trained).as_posix() for path in trained.rglob("*") if path.is_file()}
    assert names <= {path.relative_to(here).as_posix() for path in here.rglob("*")}


def test_a_copy_that_was_saved_and_zipped_is_no_run_and_one_changed_byte_is_seen(
    studio: Studio, trained: Path, tmp_path: Path
) -> None:
    """*Export* gives the result; a zip of it has no plan. Of a zip of the run, each byte is covered by a sum."""
    if not (trained / "result").is_dir():
        (trained / "result").mkdir()
        (trained / "result" / "model.keras").write_bytes(b"model" * 1000)
    copy = zipped(trained / "result", tmp_path / "copy.zip")
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(copy)
    assert caught.value.id == "zip-not-a-run"
    whole = bytearray(zipped(trained, tmp_path / "run.zip").read_bytes())
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        filled = [one for one in archive.infolist() if one.file_size and OWNER not in one.filename]
    places = [(one.header_offset + 30 + len(one.filename), one.compress_size) for one in filled]
    for start, size in places:
        changed = bytearray(whole)
        changed[start + size // 2] ^= 0x10
        (tmp_path / "run.zip").write_bytes(changed)
        with pytest.raises(RunError) as caught:
            studio.runs.import_folder(tmp_path / "run.zip")
        assert caught.value.id == "zip-unreadable"
        assert say(caught.value).action
    assert studio.runs.list() == []


def test_a_run_whose_id_is_as_long_as_one_may_be_gets_a_number_and_still_has_an_id(
    studio: Studio, trained: Path, tmp_path: Path
) -> None:
    """With a number behind its 64 letters it was no run's id: nothing could begin from it."""
    run, made = "a" * 64, []
    for seed in range(11):
        folder = tmp_path / f"stick-{seed}" / run
        shutil.copytree(trained, folder)
        plan = json.loads((folder / PLAN).read_bytes())
        (folder / PLAN).write_text(json.dumps(plan | {"run": run, "created": float(seed)}))
        made.append(studio.runs.import_folder(folder).run)
    assert made[:2] == [run, "a" * 62 + "-2"] and made[-1] == "a" * 61 + "-11"
    assert len(set(made)) == 11 and all(map(is_run_id, made))


def test_a_run_of_a_newer_version_is_told_and_nothing_is_copied(studio: Studio, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "newer"
    shutil.copytree(trained, folder)
    tree = json.loads((folder / PLAN).read_bytes())
    (folder / PLAN).write_text(json.dumps({**tree, "format": 99, "what it may hold": [1]}))
    for path in (folder, zipped(folder, tmp_path / "newer.zip")):
        with pytest.raises(RunError) as caught:
            studio.runs.import_folder(path)
        assert caught.value.id == "plan-newer"
        assert "newer version" in str(say(caught.value))
    shutil.copytree(folder, studio.runs.runs_folder / "newer-one")
    (row,) = studio.runs.list()
    assert (row.run, row.problem) == ("newer-one", "plan-newer")
    assert studio.runs.delete("newer-one") == "newer-one"


@pytest.mark.parametrize("run", ["..", ".", "a/b", "", "n" * 300, "A", "a b"])
def test_a_run_in_a_bucket_whose_name_is_no_runs_is_not_looked_for(studio: Studio, run: str) -> None:
    """`watch gs://bucket/runs/..` would have made the folder above the runs a run."""
    with pytest.raises(BadInput) as caught:
        studio.runs.take_over_from("practice", f"gs://some-bucket/runs/{run}")
    assert caught.value.id == "not-a-run-address"


def deep(folder: Path, levels: int) -> Path:
    """Folders in folders, deeper than any path is long."""
    folder.mkdir(parents=True, exist_ok=True)
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    return folder


@pytest.mark.parametrize("levels", [60, 1500, 5000])
def test_folders_in_folders_without_end_are_refused_in_a_sentence(
    studio: Studio, trained: Path, tmp_path: Path, levels: int
) -> None:
    folder = tmp_path / "stick" / trained.name
    shutil.copytree(trained, folder)
    deep(folder / "result" / "more", levels)
    try:
        with pytest.raises(RunError) as caught:
            studio.runs.import_folder(folder)
        assert caught.value.id == "import-failed"
        with pytest.raises(RunError):
            studio.runs.export(str(folder), tmp_path / "out")
    finally:
        trash.remove(folder)
    assert not folder.exists()


def whoever_changes(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Somebody changes the folder after it was looked through, before it is read."""
    copy = bringing._copy

    def changed(*arguments: Any) -> None:
        change()
        copy(*arguments)

    monkeypatch.setattr(bringing, "_copy", changed)


def test_a_folder_that_becomes_a_link_while_it_is_read_leads_nowhere(
    studio: Studio, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, secret = tmp_path / "share" / trained.name, tmp_path / ".ssh"
    shutil.copytree(trained, folder)
    secret.mkdir()
    for path in (folder / "result").iterdir():
        (secret / path.name).write_text("SECRET")

    def swap() -> None:
        (folder / "result").rename(tmp_path / "aside")
        (folder / "result").symlink_to(secret)

    whoever_changes(monkeypatch, swap)
    with pytest.raises(RunError, match="import-failed"):
        studio.runs.import_folder(folder)
    assert not list(studio.runs.runs_folder.iterdir())


@pytest.mark.parametrize("harm", ["links in it", "a link in its place"])
@pytest.mark.parametrize("ends", ["well", "by Ctrl-C"])
def test_an_export_into_a_folder_of_several_people_writes_over_no_file_elsewhere(
    studio: Studio, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str, ends: str
) -> None:
    """Links laid between the look at it and the copy: a .profile was the model then."""
    run = studio.runs.import_folder(trained).run
    mine, out = tmp_path / "mine", tmp_path / "shared"
    names = sorted(path.name for path in (trained / "result").iterdir())
    for folder in (mine, out):
        folder.mkdir()
    for name in names:
        (mine / name).write_text("all my work")

    def change() -> None:
        if harm == "links in it":
            for name in names:
                (out / name).symlink_to(mine / name)
        else:
            out.rename(tmp_path / "aside")
            out.symlink_to(mine)

    def progress(share: float, words: str) -> None:
        if ends != "well":
            raise KeyboardInterrupt

    whoever_changes(monkeypatch, change)
    with suppress(RunError, KeyboardInterrupt):
        studio.runs.export(run, out, progress)
    assert {path.name: path.read_text() for path in mine.iterdir()} == dict.fromkeys(names, "all my work")


def test_a_pipe_in_the_place_of_a_file_that_was_looked_at_is_not_waited_for(
    studio: Studio, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "share" / trained.name
    shutil.copytree(trained, folder)
    (path := folder / "result" / "x").write_bytes(b"x" * 100)

    def swap() -> None:
        path.unlink()
        os.mkfifo(path)

    whoever_changes(monkeypatch, swap)
    with pytest.raises(RunError, match="import-failed"):
        studio.runs.import_folder(folder)


def test_a_file_that_grows_without_end_is_copied_as_it_was_found_and_the_plan_is_the_one_looked_at(
    studio: Studio, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "share" / trained.name
    shutil.copytree(trained, folder)
    (path := folder / "result" / "x").write_bytes(b"x" * 100)
    frozen = (folder / PLAN).read_bytes()

    def grow() -> None:
        path.write_bytes(b"x" * 100_000)
        (folder / PLAN).write_bytes(b"y" * len(frozen))

    whoever_changes(monkeypatch, grow)
    brought = studio.runs.folder(studio.runs.import_folder(folder).run)
    assert (brought / "result" / "x").stat().st_size == 100
    assert (brought / PLAN).read_bytes() == frozen


def with_model(folder: Path) -> Path:
    """*folder* with a model and a card as the trainer writes them; the model's file."""
    result = folder / "result"
    (result / "saved_model").mkdir(parents=True, exist_ok=True)
    for name in ("model.keras", "saved_model/saved_model.pb"):
        (result / name).write_bytes(b"model" * 1000)
    told = sums.of_files(result, ["model.keras", "saved_model/saved_model.pb"])
    (result / sums.CARD).write_text(json.dumps({"format": 1, sums.KEY: told, "trained": {"steps": 20}}))
    return result / "model.keras"


@pytest.mark.parametrize("name", ["model.keras", "saved_model/saved_model.pb"])
def test_a_model_with_one_changed_byte_is_told_when_it_comes_and_is_not_given_out(
    studio: Studio, trained: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "stick" / trained.name
    shutil.copytree(trained, folder)
    file = with_model(folder).parent / name
    data = file.read_bytes()
    file.write_bytes(data[:17] + b"x" + data[18:])
    made = studio.runs.import_folder(folder)
    assert made.damaged == name
    with pytest.raises(RunError) as caught:
        studio.runs.export(made.run, tmp_path / "out")
    assert caught.value.id == "result-damaged"
    assert name in say(caught.value).meaning and not (tmp_path / "out").exists()


def test_a_whole_model_comes_and_goes_as_it_is_and_one_of_an_earlier_version_too(
    studio: Studio, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "stick" / trained.name
    shutil.copytree(trained, folder)
    with_model(folder)
    made = studio.runs.import_folder(folder)
    assert made.damaged == ""
    assert sums.damaged_file(studio.runs.export(made.run, tmp_path / "out")) is None
    (studio.runs.folder(made.run) / "result" / "model.keras").unlink()
    assert sums.damaged_file(studio.runs.folder(made.run) / "result") == "model.keras"
    (studio.runs.folder(made.run) / "result" / sums.CARD).write_text('{"format": 1}')
    assert studio.runs.export(made.run, tmp_path / "old").is_dir()
