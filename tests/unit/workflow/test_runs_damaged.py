"""Folders of runs that are damaged: each is a row with its problem, can be deleted, and hurts no other."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tests.unit.workflow.test_runs import studio
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow.desk import write_event

__all__ = ["studio"]


@pytest.mark.parametrize("damage", [b"[" * 100_000, b'"run": 7', b'"steps": "many"', b'"limits": null'])
def test_a_plan_of_any_other_shape_is_no_plan(studio: Studio, tmp_path: Path, damage: bytes) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    shutil.copytree(studio.runs.folder(run), tmp_path / "stick")
    frozen = tmp_path / "stick" / PLAN
    key = damage.split(b":")[0]
    tree = json.loads(frozen.read_bytes()) | (json.loads(b"{" + damage + b"}") if b":" in damage else {})
    frozen.write_bytes(json.dumps(tree).encode() if b":" in damage else key)
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(tmp_path / "stick")
    assert caught.value.id == "plan-unreadable"


def test_a_pipe_in_place_of_the_plan_is_not_waited_for(studio: Studio, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / PLAN)
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(tmp_path)
    assert caught.value.id == "import-special-file"


def test_a_damaged_folder_is_a_row_with_its_problem(studio: Studio) -> None:
    folder = studio.runs.runs_folder / "broken-aaaa"
    folder.mkdir(parents=True)
    (folder / PLAN).write_text("{")
    rows = studio.runs.list()
    assert [(row.run, row.problem) for row in rows] == [("broken-aaaa", "plan-unreadable")]
    assert list(studio.runs.reconcile()) == []


def test_a_run_whose_plan_is_damaged_can_be_deleted_and_brought_back(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    (studio.runs.folder(run) / PLAN).write_text("{")
    studio.runs.delete(run)
    assert studio.runs.list() == []
    studio.runs.undo_delete(run)
    assert [row.run for row in studio.runs.list()] == [run]


def test_a_damaged_run_whose_machine_may_be_there_is_not_put_away(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    folder = studio.runs.folder(run)
    t = time.time()
    name = f"ts-{run}-a1-t1"
    write_event(folder, "other234", "intent", t=t, action="create", name=name, zone="us-west4-a", attempt=1)
    (folder / PLAN).write_text("{")
    with pytest.raises(RunError, match="plan-unreadable"):
        studio.runs.delete(run)
    write_event(folder, "other234", "deleted", t=t + 1, name=name, proof="404")
    studio.runs.delete(run)
    assert studio.runs.list() == []


def test_a_folder_that_lost_its_plan_is_told_as_damaged_and_can_only_be_deleted(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    (studio.runs.runs_folder / run / PLAN).unlink()
    assert [(row.run, row.problem) for row in studio.runs.list()] == [(run, "plan-missing")]
    for verb in (studio.runs.stop, studio.runs.resume, studio.runs.summary):
        with pytest.raises(RunError) as caught:
            verb(run)
        assert caught.value.id == "plan-missing"
    studio.runs.delete(run)
    assert [(one.run, one.name) for one in studio.runs.deleted()] == [(run, run)]
    studio.runs.undo_delete(run)
    assert [row.run for row in studio.runs.list()] == [run]


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe../../x", b"UPPER-CASE\n"])
def test_a_damaged_install_id_is_made_anew(studio: Studio, damage: bytes) -> None:
    (studio.home / "install-id").write_bytes(damage)
    run = studio.runs.launch(plan())
    studio.wait(run)
    studio.runs.extend(run, 1)
    studio.wait(run)
