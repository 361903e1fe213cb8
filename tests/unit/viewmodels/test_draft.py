"""The job behind a plan, given back for editing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, NOW, PLAYS
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Look
from tpu_studio.viewmodels import draft
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.plan import dumps, loads
from tpu_studio.wire.schema import BY_PATH
from tpu_studio.workflow import desk

JOBS = {
    "digits": ({"model": {"name": "small-cnn"}, "data": {"kind": "digits"}, "training": {"epochs": 3}}, DIGITS),
    "hands": ({"model": {"name": "small-cnn"}, "data": {"kind": "images", "path": "/d/hands"}}, HANDS),
    "diamonds": (
        {"model": {"name": "mlp"}, "data": {"kind": "table", "path": "/d/diamonds.csv"}, "training": {"seed": 7}},
        DIAMONDS,
    ),
    "plays": (
        {
            "model": {"name": "gpt-nano"},
            "data": {"kind": "text", "path": "/d/plays.txt"},
            "training": {"steps": 90, "learning_rate": 0.002},
            "limits": {"hours": 2.0},
        },
        PLAYS,
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_plan_gives_back_the_job_it_was_made_of_with_every_choice_of_the_planner_open_again(
    name: str, tmp_path: Path
):
    tree, look = JOBS[name]
    job = parse({"name": name, **tree})
    again = draft.of_plan(loads(dumps(_planned(job, look))), tmp_path)
    assert dict(again.values) == dict(job.values)
    assert again.given == {path for path in job.given if job[path] != again_default(path)}
    assert _planned(again, look).job.values == _planned(job, look).job.values


def test_limits_of_a_run_that_somebody_sent_are_not_the_persons_own(tmp_path: Path):
    """$250,000 of a stranger's stood in the new plan as if the person had asked for them."""
    tree, look = JOBS["plays"]
    whole = parse({"name": "plays", **tree})
    plan = _planned(whole.with_values({"where.project": "strangers", "where.usd_per_hour": 0.001}), look)
    assert draft.of_plan(plan, tmp_path).limits.hours == 2.0
    desk.write_owner(tmp_path, "abcd", t=NOW, imported=True)
    again = draft.of_plan(plan, tmp_path)
    assert {path for path in again.given if path.startswith("limits.")} == set()
    assert all(again[path] == again_default(path) for path in BY_PATH if path.startswith("limits."))
    assert again.training.steps == 90 and again.where.project is None
    assert draft.of_plan(plan, tmp_path / "mine").where.usd_per_hour == 0.001 and again.where.usd_per_hour is None


def again_default(path: str) -> object:
    return draft.empty()[path]


def _planned(job: Job, look: Look):
    return make_plan(job, look, now=NOW)


LIMIT = BY_PATH["limits.money_usd"]


@pytest.mark.parametrize(("typed", "meant"), [("2,50", 2.5), ("2.50", 2.5), ("0,5", 0.5), ("1 234,5", 1234.5)])
def test_a_limit_is_as_large_as_it_was_typed_with_either_decimal_mark(typed: str, meant: float):
    assert draft.value_of(LIMIT, typed) == meant


@pytest.mark.parametrize(("typed", "small", "large"), [("2,500", 2.5, 2500), ("1.000", 1, 1000)])
def test_a_limit_with_two_readings_is_refused_with_both(typed: str, small: float, large: float):
    with pytest.raises(JobError) as refused:
        draft.value_of(LIMIT, typed)
    assert refused.value.id == "job-two-readings"
    assert (refused.value.facts["small"], refused.value.facts["large"]) == (small, large)
