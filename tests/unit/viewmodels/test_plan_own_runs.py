"""The Plan page with runs of before: its numbers rest on them, say so, and nothing is timed that they tell already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.fakes.looks import job
from tests.fakes.planning import World
from tests.unit.planner.own.test_user import Person, step_range
from tpu_studio.planner.own import OwnRuns
from tpu_studio.viewmodels.planexplain import explained


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    someone = Person(tmp_path)
    yield someone
    someone.index.close()


def taught(world: World, own: OwnRuns) -> None:
    """The list of runs was read anew."""
    world.runs.state.set(replace(world.runs.state.value, taught=own))


def test_the_numbers_say_that_they_come_from_own_runs(person: Person):
    world = World()
    world.model.open_draft(job("mlp", "digits", training={"epochs": 30}))
    first = world.view.plan
    assert first is not None and world.view.pill == ("neutral", "Rough")
    for name in ("digits-aaaa", "digits-bbbb"):
        person.runs(name, first, 3 * step_range(first)[1])
    taught(world, person.taught())
    second, parts = world.view.plan, world.view.parts
    assert second is not None and parts is not None
    assert step_range(second)[1] == pytest.approx(3 * step_range(first)[1], rel=0.15)
    assert world.view.pill == ("neutral", "From your own runs")
    source = explained(second, parts, date(2026, 11, 22))["Speed"].source
    assert source.startswith("From 2 of your own runs, newest of 21 Nov 2026.")


def test_what_own_runs_tell_already_is_not_timed_again(person: Person):
    world = World()
    world.model.open_draft(job("mlp", "digits", training={"epochs": 30}))
    plan = world.view.plan
    assert plan is not None
    for name in ("digits-aaaa", "digits-bbbb"):
        person.runs(name, plan, 2 * step_range(plan)[1])
    taught(world, person.taught())
    world.pause()
    assert not world.timed
    world.model.measure()  # who asks gets one
    assert len(world.timed) == 1


def test_each_edit_is_drawn_once():
    world = World()
    world.model.open_draft(job("mlp", "digits"))
    drawn = []
    end = world.model.state.subscribe(drawn.append, now=False)
    world.model.set("training.epochs", 7)
    assert len(drawn) == 1 and drawn[0].plan is not None and drawn[0].plan.job["training.epochs"] == 7
    world.model.undo()
    world.model.redo()
    assert len(drawn) == 3
    end()


def test_another_list_of_runs_with_the_same_lessons_plans_nothing_anew(person: Person):
    world = World()
    world.model.open_draft(job("mlp", "digits"))
    plan = world.view.plan
    assert plan is not None
    person.runs("digits-aaaa", plan, 0.1)
    taught(world, person.taught())
    before = world.view.plan
    taught(world, person.taught())
    assert world.view.plan is before
