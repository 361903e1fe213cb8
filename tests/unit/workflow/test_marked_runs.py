"""What becomes of tags, notes and stars when a run is deleted, removed, or another takes its place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tpu_studio.domain.mark import Mark
from tpu_studio.wire.claims import try_lock
from tpu_studio.workflow import marks


def test_tags_note_and_star_stay_with_a_run_that_is_deleted_and_go_with_one_that_is_removed(studio: Studio) -> None:
    run = studio.runs.launch(plan(), beside=True)
    studio.wait(run)
    studio.runs.tag(run, ["baseline"])
    studio.runs.note(run, "a note")
    _, mark = studio.runs.star(run)
    assert (
        studio.runs.summary(run).mark == studio.runs.list()[0].mark == mark == Mark("", ("baseline",), "a note", True)
    )
    studio.runs.delete(run)
    studio.runs.undo_delete(run)
    assert studio.runs.summary(run).mark == mark
    studio.runs.delete(run)
    studio.runs.empty_trash()
    assert marks.read(studio.home) == {}


def test_the_trash_is_emptied_while_another_holds_the_notes_and_they_stay(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = studio.runs.launch(plan(), beside=True)
    studio.wait(run)
    studio.runs.note(run, "a note")
    studio.runs.delete(run)
    monkeypatch.setattr(marks, "BUSY_S", 0.0)
    with open(studio.home / marks.LOCK, "r+b") as held:
        assert try_lock(held.fileno())
        assert studio.runs.empty_trash() == 1
    assert set(marks.read(studio.home)) == {run}


def test_a_copy_that_takes_the_place_of_a_run_keeps_what_was_noted_here(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(plan(), beside=True)
    studio.wait(run)
    copy = tmp_path / "copy" / run
    shutil.copytree(studio.runs.folder(run), copy)
    studio.runs.extend(run, 1)
    studio.wait(run)
    studio.runs.note(run, "mine")
    assert studio.runs.import_folder(copy, replace=True).replaced
    assert studio.runs.summary(run).mark.note == "mine"


def test_notes_stay_of_runs_that_are_not_seen_now(studio: Studio) -> None:
    """The runs lie on a disk that is not there when the trash is emptied, as the program does at its start."""
    kept, gone = (studio.runs.launch(plan(), beside=True) for _ in range(2))
    for run in (kept, gone):
        studio.wait(run)
        studio.runs.note(run, f"about {run}")
    studio.runs.delete(gone)
    runs, away = studio.home / "runs", studio.home / "away"
    runs.rename(away)
    runs.symlink_to(studio.home / "not-mounted")
    assert studio.runs.empty_trash() == 1
    runs.unlink()
    away.rename(runs)
    assert studio.runs.summary(kept).mark.note == f"about {kept}"
    assert set(marks.read(studio.home)) == {kept, gone}  # a copy of it might have lain there


def test_the_note_of_a_run_that_is_away_outlives_an_earlier_copy_in_the_trash(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(plan(), beside=True)
    studio.wait(run)
    copy = tmp_path / run
    shutil.copytree(studio.runs.folder(run), copy)
    studio.runs.delete(run)
    studio.runs.import_folder(copy)
    studio.runs.note(run, "weeks of thought")
    runs, away = studio.home / "runs", studio.home / "away"
    runs.rename(away)
    assert studio.runs.empty_trash() == 1
    away.rename(runs)
    assert marks.read(studio.home)[run].note == "weeks of thought"


def test_what_was_noted_of_a_deleted_run_outlives_a_copy_that_comes_in(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(plan(), beside=True)
    studio.wait(run)
    studio.runs.note(run, "why it diverged")
    copy = tmp_path / run
    shutil.copytree(studio.runs.folder(run), copy)
    studio.runs.delete(run)
    studio.runs.import_folder(copy)
    assert marks.read(studio.home)[run].note == "why it diverged"
