"""A run that comes again where one of its plan is here: how they differ, and which of them stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import rented as rented_run
from tests.fakes.plans import plan
from tests.fakes.studio import Studio, loss_points
from tests.unit.workflow.test_bringing import with_model, zipped
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import RunError
from tpu_studio.workflow import bringing, desk

WAYS = pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])


@pytest.fixture
def friends(trained: Path, tmp_path: Path) -> Path:
    """The whole run, with a model, as a friend sends it."""
    folder = tmp_path / "stick" / trained.name
    shutil.copytree(trained, folder)
    with_model(folder)
    return folder


def sent(friends: Path, tmp_path: Path, as_zip: bool) -> Path:
    return zipped(friends, tmp_path / "it.zip") if as_zip else friends


def cut_events(here: Path) -> None:
    (path,) = (here / "events").glob("a0001-*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    half = next(number for number, line in enumerate(lines) if b'"metric"' in line) + 1
    path.write_bytes(b"".join(lines[:half]))


def change_model(here: Path) -> None:
    path = here / "result" / "model.keras"
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def lose_model(here: Path) -> None:
    (here / "result" / "model.keras").unlink()


def link_events(here: Path) -> None:
    (path,) = (here / "events").glob("a0001-*.jsonl")
    path.unlink()
    path.symlink_to("/etc/passwd")


DAMAGE = pytest.mark.parametrize(
    ("damage", "words"),
    [
        (cut_events, "The run here ends at step 1, the copy at step 20."),
        (change_model, "Its model is damaged here, and is whole in the copy."),
        (lose_model, "Its model is damaged here, and is whole in the copy."),
        (link_events, "The run here ends at step unknown, the copy at step 20."),
    ],
)


@WAYS
@DAMAGE
def test_a_whole_copy_of_a_damaged_run_is_told_apart_and_takes_its_place_when_asked_to(
    studio: Studio, friends: Path, tmp_path: Path, as_zip: bool, damage: Callable[[Path], None], words: str
) -> None:
    run = studio.runs.import_folder(friends).run
    here = studio.runs.folder(run)
    damage(here)
    path = sent(friends, tmp_path, as_zip)
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert caught.value.id == "import-differs"
    assert words in say(caught.value).meaning
    made = studio.runs.import_folder(path, replace=True)
    assert (made.run, made.already, made.damaged, made.replaced) == (run, False, "", f"{run}-2")
    assert studio.points(run) == loss_points(1, 20)
    assert studio.runs.export(run, tmp_path / "out").is_dir()
    assert studio.runs.import_folder(path).already  # the same now
    assert [one.run for one in studio.runs.deleted()] == [f"{run}-2"]
    studio.runs.undo_delete(f"{run}-2")
    assert {row.run for row in studio.runs.list()} == {run, f"{run}-2"}


@WAYS
def test_a_copy_that_has_less_than_the_run_here_changes_nothing_and_says_so(
    studio: Studio, friends: Path, tmp_path: Path, as_zip: bool
) -> None:
    run = studio.runs.import_folder(friends).run
    cut_events(friends)
    found = studio.runs.import_folder(sent(friends, tmp_path, as_zip))
    assert found.already and found.behind is not None
    assert (found.behind.here.step, found.behind.there.step) == (20, 1)
    assert studio.points(run) == loss_points(1, 20)


def test_two_courses_of_one_run_are_told_apart_and_neither_is_lost(studio: Studio, friends: Path) -> None:
    run = studio.runs.import_folder(friends).run
    (path,) = (friends / "events").glob("a0001-*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"loss"', b'"LOSS"'))
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(friends)
    assert f"events/{path.name}" in say(caught.value).meaning
    made = studio.runs.import_folder(friends, replace=True)
    assert (made.run, studio.points(run)) == (run, [])
    studio.runs.undo_delete(made.replaced)
    assert studio.points(made.replaced) == loss_points(1, 20)


def test_a_run_of_ones_own_that_goes_on_is_never_replaced(tmp_path: Path) -> None:
    studio = Studio(tmp_path / "home", "--steps", "100000", "--step-s", "0.05")
    run = studio.runs.launch(plan())
    studio.wait(run, lambda row: row.step > 0)
    copy = tmp_path / "stick" / run
    shutil.copytree(studio.runs.folder(run), copy)
    with_model(copy)  # which the run here has not
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(copy, replace=True)
    assert caught.value.id == "run-goes-on"
    assert studio.runs.summary(run).alive and studio.runs.deleted() == []
    studio.runs.stop(run, keep=False)
    studio.wait(run)
    studio.close()


def test_a_rented_run_of_ones_own_keeps_its_place_with_what_it_has_recorded(studio: Studio, tmp_path: Path) -> None:
    source = rented_run(tmp_path / "there")
    copy = tmp_path / "stick" / source.name
    shutil.copytree(source, copy)
    here = studio.runs.runs_folder / source.name
    shutil.copytree(source, here)
    desk.write_owner(here, desk.install_id(studio.home), t=1.0)
    with_model(copy)
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(copy, replace=True)
    assert caught.value.id == "import-keeps-own"
    assert here.is_dir() and studio.runs.deleted() == []


def test_an_import_that_ends_before_the_copy_is_whole_leaves_the_run_here_where_it_is(
    studio: Studio, friends: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = studio.runs.import_folder(friends).run
    change_model(studio.runs.folder(run))

    def full(*rest: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bringing, "write_atomically", full)
    with pytest.raises(RunError, match="disk-full"):
        studio.runs.import_folder(friends, replace=True)
    assert studio.points(run) == loss_points(1, 20)
    assert studio.runs.deleted() == []
