"""The verbs of a run on this computer, with the real guardian and a trainer that counts instead of training."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tests.fakes.studio import Studio, loss_points
from tests.fakes.waiting import eventually
from tpu_studio.wire.errors import BadInput, NotReady, RunError
from tpu_studio.wire.plan import Check, loads
from tpu_studio.wire.runfolder import COMMITTED, OWNER, PLAN, checkpoint_folder, claim_file
from tpu_studio.workflow.desk import install_id


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home", "--steps", "20")
    yield made
    for row in made.runs.list():
        if row.alive and not row.over:
            made.runs.stop(row.run, keep=False)
            made.wait(row.run)
    made.close()


def test_what_is_launched_is_the_plan_that_was_shown(studio: Studio) -> None:
    shown = plan(name="Sign digits, 2nd try!")
    run = studio.runs.launch(shown)
    frozen = loads((studio.runs.folder(run) / PLAN).read_bytes())
    assert run.startswith("sign-digits-2nd-try-")
    assert len(run) == len("sign-digits-2nd-try-") + 4
    assert frozen.job.values == shown.job.values
    assert frozen.run == run
    row = studio.wait(run)
    assert (row.status, row.reason, row.step, row.steps_planned, row.progress) == ("finished", "completed", 20, 20, 1.0)
    assert row.key_metric == ("loss", 0.05)
    assert row.name == "Sign digits, 2nd try!"
    assert studio.points(run) == loss_points(1, 20)
    assert not studio.journal.open_intents()


def test_a_plan_with_an_error_is_not_launched(studio: Studio) -> None:
    from dataclasses import replace

    with pytest.raises(BadInput) as caught:
        studio.runs.launch(replace(plan(), checks=(Check("few", "error", "Too few pictures"),)))
    assert caught.value.facts["checks"] == ["Too few pictures"]
    assert studio.runs.list() == []


def test_a_place_that_is_not_there_yet_is_said_so(studio: Studio) -> None:
    from dataclasses import replace

    with pytest.raises(NotReady) as caught:
        studio.runs.launch(replace(plan(), place="cloud"))
    assert caught.value.id == "place-not-available"


def test_a_guardian_that_cannot_start_ends_the_run_with_its_reason(studio: Studio) -> None:
    studio.computer._guardian = ("--no-such-option",)
    run = studio.runs.launch(plan())
    row = studio.runs.summary(run)
    assert (row.status, row.reason) == ("failed", "start-failed")
    following = studio.runs.follow(run)
    following.poll()
    assert "no-such-option" in following.view.end.facts["raw"]  # type: ignore[union-attr]
    assert not studio.journal.open_intents()


def test_on_a_disk_without_room_for_its_model_no_run_begins(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plan()
    need = 5 * 4 * asked.memory.params + (1 << 20)
    for free in (need, need - 1):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, free=free: shutil._ntuple_diskusage(1 << 40, 0, free))
        if free == need:
            studio.wait(studio.runs.launch(asked))
            continue
        before = sorted(path.name for path in studio.runs.runs_folder.iterdir())
        with pytest.raises(RunError) as refused:
            studio.runs.launch(asked)
        assert refused.value.id == "disk-full"
        assert refused.value.facts["need_bytes"] == need and refused.value.facts["free_bytes"] == free
        assert sorted(path.name for path in studio.runs.runs_folder.iterdir()) == before


def test_a_run_that_has_begun_is_no_refusal_where_the_journal_has_no_room_any_more(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = studio.runs._journal

    def full(*about: object) -> None:
        raise NotReady("disk-full", raw="database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(journal, "close", full)
        run = studio.runs.launch(plan(steps=20))
    assert [intent.run for intent in journal.open_intents()] == [run]
    assert studio.wait(run).over
    studio.runs.reconcile()
    assert not journal.open_intents()


def test_stop_and_keep(studio: Studio) -> None:
    studio.trainer = ["--steps", "5000"]
    run = studio.runs.launch(plan())
    studio.wait(run, lambda row: row.step > 3)
    studio.runs.stop(run)
    row = studio.wait(run)
    assert (row.status, row.reason) == ("stopped", "stopped-by-user")
    assert (studio.runs.folder(run) / "result" / "model.keras").exists()
    with pytest.raises(RunError) as caught:
        studio.runs.stop(run)
    assert caught.value.id == "run-is-over"


def test_a_profile_while_it_runs_and_never_afterwards(studio: Studio) -> None:
    studio.trainer = ["--steps", "10000", "--step-s", "0.02"]
    run = studio.runs.launch(plan(steps=10000))
    studio.wait(run, lambda row: row.step > 3)
    studio.runs.profile(run)
    eventually(lambda: studio.view(run).profiled is not None)
    profile = studio.view(run).profiled
    assert profile is not None and (profile.steps, profile.on_tpu) == (24, False)
    studio.runs.stop(run)
    studio.wait(run)
    with pytest.raises(RunError) as caught:
        studio.runs.profile(run)
    assert caught.value.id == "run-is-over"


def test_extend_while_it_runs(studio: Studio) -> None:
    studio.trainer = ["--steps", "60", "--step-s", "0.02"]
    run = studio.runs.launch(plan(steps=60))
    studio.wait(run, lambda row: row.step > 3)
    studio.runs.extend(run, 2)
    row = studio.wait(run)
    assert (row.step, row.steps_planned, row.attempt) == (80, 80, 1)


def test_extend_after_the_end_is_a_new_attempt_on_the_same_curve(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    studio.runs.extend(run, 1)
    row = studio.wait(run, lambda row: row.over and row.step == 30)
    assert (row.status, row.attempt, row.steps_planned) == ("finished", 2, 30)
    assert studio.points(run) == loss_points(1, 30)
    controls = [json.loads(path.read_text()) for path in sorted((studio.runs.folder(run) / "control").iterdir())]
    assert [control["verb"] for control in controls] == ["limits", "extend"]
    assert controls[0]["hours"] > 1.0  # the time limit grew with the work


def test_an_extension_that_came_as_the_run_ended_is_trained_all_the_same(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    before = replace(studio.runs._seen(studio.runs.folder(run)), alive=True, over=False)
    with monkeypatch.context() as patch:
        patch.setattr(studio.runs, "_seen", lambda folder: before)  # as it was a moment ago
        studio.runs.extend(run, 2)
    row = studio.wait(run, lambda row: row.attempt == 2 and row.over)
    assert (row.reason, row.step, row.steps_planned) == ("completed", 40, 40)
    assert len(list((studio.runs.folder(run) / "control").glob("*.json"))) == 2


def test_resume_goes_on_where_a_stopped_run_stood(studio: Studio) -> None:
    studio.trainer = ["--steps", "100", "--step-s", "0.02"]
    run = studio.runs.launch(plan(steps=100))
    studio.wait(run, lambda row: row.step > 7)
    studio.runs.stop(run)
    studio.wait(run)
    studio.trainer = ["--steps", "100", "--step-s", "0"]
    studio.runs.resume(run)
    row = studio.wait(run, lambda row: row.over and row.attempt == 2)
    assert (row.status, row.step) == ("finished", 100)
    assert studio.points(run) == loss_points(1, 100)
    with pytest.raises(RunError) as caught:
        studio.runs.resume(run)
    assert caught.value.id == "run-complete"


def test_a_second_run_waits_for_its_turn_or_runs_beside(studio: Studio) -> None:
    studio.trainer = ["--steps", "5000"]
    first = studio.runs.launch(plan(name="first"))
    studio.wait(first, lambda row: row.step > 0)
    waiting = studio.runs.launch(plan(name="waiting"))
    beside = studio.runs.launch(plan(name="beside"), beside=True)
    studio.wait(beside, lambda row: row.step > 0)
    assert studio.runs.summary(waiting).status == "queued"
    studio.runs.stop(first, keep=False)
    studio.wait(waiting, lambda row: row.step > 0)


def test_a_run_that_goes_on_is_not_deleted(studio: Studio) -> None:
    studio.trainer = ["--steps", "5000"]
    run = studio.runs.launch(plan())
    with pytest.raises(RunError) as caught:
        studio.runs.delete(run)
    assert caught.value.id == "run-goes-on"


def test_delete_can_be_undone_until_the_trash_is_emptied(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    studio.runs.delete(run)
    assert studio.runs.list() == []
    studio.runs.undo_delete(run)
    assert [row.run for row in studio.runs.list()] == [run]
    assert studio.points(run) == loss_points(1, 20)
    studio.runs.delete(run)
    assert studio.runs.empty_trash(older_than_s=3600) == 0
    assert studio.runs.empty_trash() == 1
    with pytest.raises(RunError) as caught:
        studio.runs.undo_delete(run)
    assert caught.value.id == "run-not-in-trash"


def test_undo_takes_the_beginning_of_an_id_unless_that_can_mean_two(studio: Studio) -> None:
    runs = [studio.runs.launch(plan(), beside=True) for _ in range(2)]
    for run in runs:
        studio.wait(run)
        studio.runs.delete(run)
    with pytest.raises(RunError) as caught:
        studio.runs.undo_delete(runs[0].rpartition("-")[0])
    assert (caught.value.id, caught.value.facts["found"]) == ("run-ambiguous", sorted(runs))
    assert studio.runs.undo_delete(runs[0]) == runs[0]
    assert studio.runs.undo_delete(runs[1].rpartition("-")[0]) == runs[1]


def test_reconcile_gives_a_lost_run_its_end_once(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    folder = studio.runs.folder(run)
    events = folder / "events" / "a0001-w000.jsonl"
    events.write_bytes(b"".join(line for line in events.read_bytes().splitlines(True) if b'"end"' not in line))
    assert list(studio.runs.reconcile()) == [run]
    assert list(studio.runs.reconcile()) == []
    row = studio.runs.summary(run)
    assert (row.status, row.reason) == ("failed", "guardian-gone")


def test_a_run_whose_events_were_cut_short_knows_of_the_copy_in_its_folder(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    folder = studio.runs.folder(run)
    events = folder / "events" / "a0001-w000.jsonl"
    events.write_bytes(b"".join(events.read_bytes().splitlines(True)[:2]))
    for step, whole in ((30, True), (40, False)):
        copy = checkpoint_folder(folder, step)
        copy.mkdir(parents=True, exist_ok=True)
        if whole:
            (copy / COMMITTED).touch()
        else:
            (copy / COMMITTED).unlink(missing_ok=True)
    studio.runs.reconcile()
    following = studio.runs.follow(run)
    following.poll()
    end = following.view.end
    following.close()
    assert end is not None and end.facts["saved_step"] == 30


def test_reconcile_leaves_a_run_alone_that_goes_on_or_belongs_to_another_computer(studio: Studio) -> None:
    studio.trainer = ["--steps", "5000"]
    run = studio.runs.launch(plan())
    assert list(studio.runs.reconcile()) == []
    studio.wait(run, lambda row: row.step > 0)
    studio.runs.stop(run, keep=False)
    studio.wait(run)
    folder = studio.runs.folder(run)
    (folder / OWNER).write_text(json.dumps({"install": "somebodyelse"}))
    events = folder / "events" / "a0001-w000.jsonl"
    events.write_bytes(b"".join(line for line in events.read_bytes().splitlines(True) if b'"end"' not in line))
    assert list(studio.runs.reconcile()) == []
    with pytest.raises(RunError) as caught:
        studio.runs.resume(run)
    assert caught.value.id == "run-elsewhere"


def test_a_launch_that_was_cut_short_before_its_guardian_is_start_failed(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    folder = studio.runs.folder(run)
    shutil.rmtree(folder / "claims")
    (folder / "events" / "a0001-w000.jsonl").unlink()
    studio.journal.open("launch", run, {}, 0.0)
    assert list(studio.runs.reconcile()) == [run]
    assert studio.runs.summary(run).reason == "start-failed"
    assert not studio.journal.open_intents()


def test_runs_are_found_by_the_beginning_of_their_name_or_by_path(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    assert studio.runs.folder(run[:8]) == studio.runs.folder(run)
    assert studio.runs.folder(str(studio.runs.folder(run))) == studio.runs.folder(run)
    with pytest.raises(RunError) as caught:
        studio.runs.folder("digist")
    assert caught.value.facts["nearest"] == run
    studio.wait(run)


def test_a_run_copied_from_another_computer_is_taken_in_and_told_when_it_is_here_already(
    studio: Studio, tmp_path: Path
) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    shutil.copytree(studio.runs.folder(run), tmp_path / "stick" / run)
    there = Studio(tmp_path / "other-home")
    shares: list[float] = []
    brought = there.runs.import_folder(tmp_path / "stick" / run, lambda share, name: shares.append(share))
    assert (brought.run, brought.already) == (run, False)
    assert shares[-1] == 1.0
    assert there.points(run) == loss_points(1, 20)
    assert there.runs.summary(run).status == "finished"
    again = there.runs.import_folder(tmp_path / "stick" / run)
    assert (again.run, again.already) == (run, True)
    changed = tmp_path / "stick" / run / PLAN
    changed.write_bytes(changed.read_bytes().replace(b'"steps": 20', b'"steps": 21'))
    assert there.runs.import_folder(tmp_path / "stick" / run).run == f"{run}-2"
    there.close()


def test_a_folder_with_a_symlink_or_without_a_plan_is_refused(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(plan(name="mine"))
    studio.wait(run)
    stick = tmp_path / "stick"
    shutil.copytree(studio.runs.folder(run), stick)
    frozen = stick / PLAN
    frozen.write_bytes(frozen.read_bytes().replace(run.encode(), b"../../outside"))
    os.symlink("/etc/passwd", stick / "result" / "secrets")
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(stick)
    assert caught.value.id == "import-symlink"
    (stick / "result" / "secrets").unlink()
    assert studio.runs.import_folder(stick).run == "stick"  # never what an escaping name asks for
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(tmp_path)
    assert caught.value.id == "import-not-a-run"


def test_a_result_is_exported_and_never_written_over_another(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    out = tmp_path / "out"
    assert studio.runs.export(run, out) == out
    assert (out / "model.keras").read_bytes() == b"model" * 100
    assert studio.runs.export(run, out) == out / run
    with pytest.raises(RunError) as caught:
        studio.runs.export(run, out)
    assert caught.value.id == "export-exists"


@pytest.mark.parametrize("there_before", [True, False])
def test_an_export_that_fails_half_way_leaves_nothing_behind(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there_before: bool
) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    out = tmp_path / "out"
    if there_before:
        out.mkdir()

    def full(done: float, name: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunError) as caught:
        studio.runs.export(run, out, full)
    assert caught.value.id == "disk-full"
    assert out.exists() == there_before
    assert not out.exists() or not any(out.iterdir())


def test_a_folder_that_is_only_being_made_is_no_damaged_run(studio: Studio) -> None:
    (studio.runs.runs_folder / "early-aaaa").mkdir(parents=True)
    assert studio.runs.list() == []


def test_what_was_deleted_stands_in_a_list_newest_first_until_it_is_brought_back(studio: Studio) -> None:
    assert studio.runs.deleted() == []
    first, second = (studio.runs.launch(plan(), beside=True) for _ in range(2))
    for run, days_ago in ((first, 2), (second, 1)):
        studio.wait(run)
        studio.runs.delete(run)
        when = time.time() - days_ago * 86_400
        os.utime(studio.home / "trash" / run, (when, when))
    assert [one.run for one in studio.runs.deleted()] == [second, first]
    assert [one.name for one in studio.runs.deleted()] == [f"{plan().job.name} (2)", plan().job.name]
    studio.runs.undo_delete(second)
    assert [one.run for one in studio.runs.deleted()] == [first]


def test_the_claim_names_the_install_that_drives_the_run(studio: Studio) -> None:
    run = studio.runs.launch(plan())
    studio.wait(run)
    owner = json.loads((studio.runs.folder(run) / OWNER).read_text())
    assert owner["install"] == install_id(studio.home)
    assert claim_file(studio.runs.folder(run), 1).exists()


@pytest.mark.parametrize(
    ("name", "id"),
    [("Früchte & Käse", "fruchte-kase"), ("Straße", "strasse"), ("Ångström ✋", "angstrom"), ("手", "run")],
)
def test_an_id_keeps_the_letters_of_a_name(studio: Studio, name: str, id: str) -> None:
    assert studio.runs.new_id(name).rpartition("-")[0] == id


def test_runs_of_one_name_are_told_apart_and_one_is_renamed(studio: Studio) -> None:
    first, second = (studio.runs.launch(plan(), beside=True) for _ in range(2))
    name = plan().job.name
    assert [studio.runs.summary(run).name for run in (first, second)] == [name, f"{name} (2)"]
    assert studio.runs.plan(second).job.name == f"{name} (2)"
    assert studio.runs.rename(first[:-1], "the first") == "the first"
    assert {row.run: row.name for row in studio.runs.list()} == {first: "the first", second: f"{name} (2)"}
    assert studio.runs.plan(first).job.name == name and studio.runs.shown_plan(first).job.name == "the first"
    for run in (first, second):
        studio.wait(run)
    third = studio.runs.launch(plan(), beside=True)
    assert studio.runs.summary(third).name == name  # free again
    studio.wait(third)
    studio.runs.delete(first)
    assert [one.name for one in studio.runs.deleted()] == ["the first"]
    assert studio.runs.rename(second, "") == f"{name} (2)"


def test_a_run_that_comes_in_under_an_id_of_before_is_not_called_as_that_was(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(plan(), beside=True)
    studio.wait(run)
    copy = tmp_path / "copy" / run
    shutil.copytree(studio.runs.folder(run), copy)
    studio.runs.rename(run, "my best model")
    studio.runs.remove_for_good(run)
    assert studio.runs.import_folder(copy).run == run
    assert studio.runs.summary(run).name == studio.runs.list()[0].name == plan().job.name


def test_a_strangers_run_of_ones_own_name_is_never_taken_for_ones_own(studio: Studio, tmp_path: Path) -> None:
    """It may lie in a folder of any name: "delete digits" removed one's own."""
    mine = studio.runs.launch(plan(), beside=True)
    studio.wait(mine)
    name = studio.runs.summary(mine).name
    copy = tmp_path / "x-aaaa"
    shutil.copytree(studio.runs.folder(mine), copy)
    tree = json.loads((copy / "plan.json").read_text())
    (copy / "plan.json").write_text(json.dumps(tree | {"run": "x-aaaa"}))
    assert studio.runs.import_folder(copy).run == "x-aaaa"
    assert studio.runs.summary("x-aaaa").name == name
    with pytest.raises(RunError, match="run-ambiguous"):
        studio.runs.delete(name)
    studio.runs.rename(mine, "the best so far")
    assert studio.runs.delete(name) == "x-aaaa" and studio.runs.folder(mine).is_dir()
