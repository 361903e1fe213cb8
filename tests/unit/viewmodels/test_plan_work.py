"""The Plan page and what the engine counts in a model: in the background, once, and never beside a timing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.fakes.looks import counted
from tests.fakes.planning import World
from tests.fakes.tasks import LaterTasks
from tpu_studio.planner import modelwork

SOURCE = b"def build_model(job): ..."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_bytes(SOURCE)
    return path


def open_own(world: World, file: Path, place: str, *, agreed: bool = True) -> None:
    """Plan *file*, a person's own model, on digits, for *place*, where it may run if that is *agreed*."""
    if agreed:
        world.agree(hashlib.sha256(SOURCE).hexdigest(), str(file), place)
    world.model.choose_data("digits", None)
    world.model.set("where.place", place)
    world.model.choose_file(file)


def ids(world: World) -> set[str]:
    assert world.view.plan is not None
    return {check.id for check in world.view.plan.checks}


def test_a_model_of_ones_own_is_counted_while_nothing_is_edited(file: Path) -> None:
    world = World()
    world.stopwatch.seen = counted(7_000_000, 5e9)
    open_own(world, file, "cloud")
    assert "model-not-counted" in ids(world)
    world.pause()
    assert world.view.plan is not None
    assert world.view.plan.memory.params == 7_000_000
    assert world.view.plan.basis.flops_per_example == 5e9
    assert "model-not-counted" not in ids(world)
    world.pause()
    assert len(world.stopwatch.built) == 1


def test_nothing_of_a_file_runs_before_consent_to_count_it(file: Path) -> None:
    world = World()
    open_own(world, file, "cloud", agreed=False)
    world.pause()
    assert world.stopwatch.built == []


def test_a_model_that_cannot_be_trained_is_told_before_anything_is_started(file: Path) -> None:
    world = World()
    world.stopwatch.seen = {"problem": "model-raises", "facts": {"file": "/jobs/model.py", "line": 3, "raw": "no"}}
    open_own(world, file, "cloud")
    world.pause()
    assert "model-raises" in ids(world)


def test_a_model_of_ours_is_looked_up_and_never_built() -> None:
    world = World()
    world.stopwatch.kept = counted(123, 456.0)
    world.model.choose_data("digits", None)
    world.pause()
    assert world.view.plan is not None
    assert world.view.plan.memory.params == 123
    assert world.stopwatch.built == []


def test_a_family_without_a_formula_is_counted_by_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(modelwork._FORMULAS, "cnn")
    world = World()
    world.stopwatch.seen = counted(123, 456.0)
    world.model.choose_data("digits", None)
    assert "model-not-counted" in ids(world)
    world.pause()
    assert len(world.stopwatch.built) == 1
    assert "model-not-counted" not in ids(world)


def test_steps_are_not_timed_while_a_model_is_built(file: Path) -> None:
    tasks = LaterTasks()
    world = World(tasks)
    open_own(world, file, "computer")
    tasks.finish_all()
    world.pause()
    tasks.finish()
    assert (len(world.stopwatch.built), len(world.timed)) == (1, 0)
    tasks.finish_all()
    world.pause()
    tasks.finish_all()
    assert (len(world.stopwatch.built), len(world.timed)) == (1, 1)


def test_another_model_is_built_after_the_one_that_is_given_up(file: Path) -> None:
    tasks = LaterTasks()
    world = World(tasks)
    open_own(world, file, "cloud")
    tasks.finish_all()
    world.pause()
    world.model.set("model.options", {"width": 9})
    world.pause()
    tasks.finish_all()
    world.pause()
    tasks.finish_all()
    assert [plan.job.model.options for plan in world.stopwatch.built] == [{}, {"width": 9}]
