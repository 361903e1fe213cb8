"""The job behind a plan, given back for editing."""

from __future__ import annotations

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, NOW, PLAYS
from tpu_studio.data.looked import Look
from tpu_studio.planner.make import make_plan
from tpu_studio.viewmodels import draft
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.plan import dumps, loads

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
def test_a_plan_gives_back_the_job_it_was_made_of_with_every_choice_of_the_planner_open_again(name: str):
    tree, look = JOBS[name]
    job = parse({"name": name, **tree})
    again = draft.of_plan(loads(dumps(_planned(job, look))))
    assert dict(again.values) == dict(job.values)
    assert again.given == {path for path in job.given if job[path] != again_default(path)}
    assert _planned(again, look).job.values == _planned(job, look).job.values


def again_default(path: str) -> object:
    return draft.empty()[path]


def _planned(job: Job, look: Look):
    return make_plan(job, look, now=NOW)
