"""Deleting where it is hard: a full disk, a crash at any instant, and two programs at once. Nothing is ever lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tests.fakes.studio import Studio, loss_points
from tests.fakes.waiting import PATIENCE_S
from tests.unit.workflow.test_bringing import deep
from tpu_studio.wire import runfolder
from tpu_studio.wire.errors import NotReady, RunError
from tpu_studio.workflow import decide, deleting, trash

ROOT = Path(__file__).resolve().parents[3]
DIES = """
import os, signal, sys
from tests.fakes.studio import Studio
from pathlib import Path
studio, left = Studio(Path(sys.argv[1])), [int(sys.argv[4])]
def hook(event, arguments):
    if event in ("os.rename", "os.utime", "os.remove", "os.rmdir", "shutil.rmtree") and "index" not in str(arguments):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
getattr(studio.runs, sys.argv[2])(sys.argv[3])
"""


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home", "--steps", "20")
    yield made
    made.close()


@pytest.fixture
def run(studio: Studio) -> str:
    name = studio.runs.launch(plan())
    studio.wait(name)
    return name


def fill(studio: Studio) -> None:
    """The journal finds no room any more, as on a full disk."""
    pages = studio.journal._db.execute("PRAGMA page_count").fetchone()[0]
    studio.journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(NotReady, match="disk-full"):
        while True:
            studio.journal.open("delete", "x" * 300, {}, 0.0)


def test_on_a_full_disk_a_run_is_deleted_brought_back_and_removed_for_good(studio: Studio, run: str) -> None:
    fill(studio)
    studio.runs.delete(run)
    assert [one.run for one in studio.runs.deleted()] == [run]
    studio.runs.undo_delete(run)
    assert studio.points(run) == loss_points(1, 20)
    studio.runs.delete(run)
    assert studio.runs.empty_trash() == 1
    assert list((studio.home / "trash").iterdir()) == []


def test_where_not_even_a_name_has_room_the_person_is_told_and_removes_it_for_good(
    studio: Studio, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*names: object) -> None:
        raise OSError(trash.NO_ROOM[0], "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(RunError, match="trash-no-room"):
        studio.runs.delete(run)
    assert [row.run for row in studio.runs.list()] == [run]
    assert studio.runs.remove_for_good(run) == run
    assert list(studio.runs.runs_folder.iterdir()) == [] == studio.runs.list()


def test_killed_at_any_instant_of_deleting_the_run_is_in_the_list_or_in_the_trash(studio: Studio, run: str) -> None:
    copy = studio.home / "copy"
    shutil.copytree(studio.runs.folder(run), copy)
    places, calls = set(), 0
    while True:
        calls += 1
        code = dies(studio, "delete", run, calls)
        studio.runs.reconcile()
        studio.runs.empty_trash(7 * 86_400.0)
        here, gone = [row.run for row in studio.runs.list()], [one.run for one in studio.runs.deleted()]
        assert [*here, *gone] == [run]
        if gone:
            studio.runs.undo_delete(run)
        assert studio.points(run) == loss_points(1, 20)
        places.add(bool(gone))
        os.utime(studio.runs.folder(run), (1, 1))  # an old one: its time in the trash begins when it is deleted
        if code == 0:
            break
    assert calls > 3 and places == {False, True}


def test_what_a_crash_left_half_removed_is_never_brought_back_and_goes_with_the_next(studio: Studio, run: str) -> None:
    studio.runs.delete(run)
    assert dies(studio, "remove_for_good", run, 4) != 0
    assert studio.runs.deleted() == []
    assert len(list((studio.home / "trash").iterdir())) == 1
    studio.runs.empty_trash()
    assert list((studio.home / "trash").iterdir()) == []


def dies(studio: Studio, verb: str, run: str, call: int) -> int:
    """The exit code of a program that is killed at its *call*th change on the disk."""
    command = [sys.executable, "-c", DIES, str(studio.home), verb, run, str(call)]
    return subprocess.run(command, cwd=ROOT, timeout=PATIENCE_S).returncode


# ------------------------------------------------------------------------------------------------------ two at once


def meanwhile(studio: Studio, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> list[str]:
    """*act* happens right after the next intent was recorded; what it raised."""
    raised: list[str] = []
    record = studio.journal.open

    def opening(*arguments: Any) -> int:
        monkeypatch.setattr(studio.journal, "open", record)
        number = record(*arguments)
        try:
            act()
        except RunError as error:
            raised.append(error.id)
        return number

    monkeypatch.setattr(studio.journal, "open", opening)
    return raised


@pytest.fixture
def other(studio: Studio) -> Iterator[Studio]:
    """Another program in the same home."""
    made = Studio(studio.home, "--steps", "20")
    yield made
    made.close()


def test_a_run_that_another_deletes_while_it_is_extended_is_told_as_gone(
    studio: Studio, other: Studio, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = decide.extend

    def meanwhile_deleted(*given: Any, **more: Any) -> Any:
        other.runs.delete(run)
        return real(*given, **more)

    monkeypatch.setattr(decide, "extend", meanwhile_deleted)
    with pytest.raises(RunError, match="run-unknown"):
        studio.runs.extend(run, 1.0)


def test_two_who_delete_at_once_lose_nothing(
    studio: Studio, other: Studio, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleting, "BUSY_S", 0.0)
    raised = meanwhile(studio, monkeypatch, lambda: other.runs.delete(run))
    studio.runs.delete(run)
    assert raised == ["run-busy"]
    with pytest.raises(RunError, match="run-unknown"):
        other.runs.delete(run)
    other.runs.undo_delete(run)
    with pytest.raises(RunError, match="run-not-in-trash"):
        studio.runs.undo_delete(run)
    assert studio.points(run) == loss_points(1, 20)


def test_a_run_that_is_deleted_while_it_is_to_be_extended_is_put_away_whole(
    studio: Studio, other: Studio, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = meanwhile(studio, monkeypatch, lambda: other.runs.delete(run))
    with pytest.raises(RunError, match="run-unknown"):
        studio.runs.extend(run, 1)
    assert raised == []
    assert list(studio.runs.runs_folder.iterdir()) == []
    assert [one.run for one in studio.runs.deleted()] == [run]


def test_a_word_to_a_run_that_has_just_ended_and_was_deleted_leaves_nothing_in_its_place(
    studio: Studio, other: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.trainer = ["--steps", "20", "--step-s", "0.02"]
    run = studio.runs.launch(plan())

    def end() -> None:
        other.wait(run)
        other.runs.delete(run)

    studio.wait(run, lambda row: row.step > 0)
    assert meanwhile(studio, monkeypatch, end) == []
    with pytest.raises(RunError, match="run-unknown"):
        studio.runs.stop(run)
    assert other.runs.undo_delete(run) == run
    assert studio.points(run) == loss_points(1, 20)


def test_an_export_of_a_run_that_is_deleted_meanwhile_says_so_and_leaves_no_half_of_it(
    studio: Studio, other: Studio, run: str, tmp_path: Path
) -> None:
    (studio.runs.folder(run) / "result" / "second").write_bytes(b"file")
    with pytest.raises(RunError, match="run-unknown"):
        studio.runs.export(run, tmp_path / "model", lambda share, words: gone(other, run))
    assert not (tmp_path / "model").exists()
    other.runs.undo_delete(run)
    assert studio.runs.export(run, tmp_path / "model") == tmp_path / "model"


def gone(studio: Studio, run: str) -> None:
    if studio.runs.list():
        studio.runs.delete(run)


def test_two_who_extend_at_once_extend_once(
    studio: Studio, other: Studio, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(studio, monkeypatch, lambda: other.runs.extend(run, 1))
    with pytest.raises(RunError, match="run-busy"):
        studio.runs.extend(run, 1)
    row = studio.wait(run, lambda row: row.over and not row.alive and row.attempt == 2)
    assert (row.status, row.step) == ("finished", 30)


def test_a_start_elsewhere_leaves_a_run_alone_that_is_just_being_launched(
    studio: Studio, other: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start() -> None:
        other.runs.reconcile()
        assert len(list(other.runs.runs_folder.iterdir())) == len(other.journal.open_intents()) == 1

    meanwhile(studio, monkeypatch, start)
    run = studio.runs.launch(plan())
    assert studio.wait(run).status == "finished"
    assert not studio.journal.open_intents()


def test_a_launch_that_died_before_its_plan_was_written_is_taken_back(studio: Studio) -> None:
    folder = studio.runs.runs_folder / "early-aaaa"
    folder.mkdir(parents=True)
    studio.journal.open("launch", folder.name, {}, 0.0)
    studio.runs.reconcile()
    assert not folder.exists() and not studio.journal.open_intents()


def test_stops_that_are_left_at_google_stay_in_the_journal_until_they_are_removed(studio: Studio) -> None:
    studio.journal.open("stops-left", "digits-k3f7", {"name": "ts-digits-k3f7-a1-t1"}, 0.0)
    studio.runs.reconcile()
    assert [one.action for one in studio.journal.open_intents()] == ["stops-left"]


def test_threads_that_create_the_same_file_at_once_find_one_of_them_first(tmp_path: Path) -> None:
    ready, made, failed = threading.Barrier(8), [], []

    def create() -> None:
        ready.wait()
        try:
            for number in range(40):
                made.append(runfolder.create_once(tmp_path / str(number), b"whole\n"))
                runfolder.write_atomically(tmp_path / "one", b"whole\n")
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and sum(made) == 40
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"whole\n"}


def test_one_run_of_folders_in_folders_keeps_no_other_from_being_removed(studio: Studio, run: str) -> None:
    """Each deletion after it ended in "something went wrong": the trash was never emptied again."""
    odd = studio.runs.runs_folder / "odd-aaaa"
    shutil.copytree(studio.runs.folder(run), odd)
    deep(odd / "result" / "more", 5000)
    studio.runs.remove_for_good("odd-aaaa")
    studio.runs.delete(run)
    assert studio.runs.empty_trash() == 1
    assert list((studio.home / "trash").iterdir()) == []


def test_what_cannot_be_removed_keeps_nothing_else(studio: Studio, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = studio.home / "trash" / ".stuck-aaaa-0123"
    stuck.mkdir(parents=True)
    remove = trash.remove

    def closed(folder: Path) -> None:
        if folder == stuck:
            raise PermissionError(13, "closed", str(folder))
        remove(folder)

    monkeypatch.setattr(trash, "remove", closed)
    studio.runs.remove_for_good(run)
    assert [path.name for path in (studio.home / "trash").iterdir()] == [stuck.name]


def test_a_link_among_the_runs_goes_for_good_and_what_it_leads_to_stays(
    studio: Studio, run: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(studio.runs.folder(run), elsewhere)
    before = sorted(elsewhere.rglob("*"))
    (studio.runs.runs_folder / "link-aaaa").symlink_to(elsewhere)
    (elsewhere / "claims" / "a0002.json").write_text("{}")  # as of a run that was lost: it is given no end there
    assert studio.runs.reconcile() == []
    studio.runs.remove_for_good("link-aaaa")
    assert sorted(elsewhere.rglob("*")) == sorted([*before, elsewhere / "claims" / "a0002.json"])
    assert list((studio.home / "trash").iterdir()) == []
