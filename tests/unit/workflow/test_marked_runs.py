"""What becomes of tags, notes and stars when a run is deleted, removed, or another takes its place."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tpu_studio.domain.mark import Mark
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
