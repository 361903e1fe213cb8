"""The chapters that ship, and how strictly their files are read."""

from __future__ import annotations

import tomllib

import pytest

from tpu_studio.domain import jobfile
from tpu_studio.domain.learning import glossary
from tpu_studio.domain.learning.chapters import ON_PLAN, Chapter, Step, chapters, read_chapter, settings_of, taught_in
from tpu_studio.domain.sentences import FINDINGS
from tpu_studio.wire.resources import resource_path

STEPS = [step for chapter in chapters() for step in chapter.steps]


def test_the_first_chapter_is_the_first_model() -> None:
    first = chapters()[0]
    assert (first.id, first.number, len(first.steps)) == ("first-model", 0, 4)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.id)
def test_a_chapter_names_its_sources_and_what_it_teaches(chapter: Chapter) -> None:
    assert chapter.sources and chapter.learns and 1 <= chapter.minutes <= 10


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_a_step_can_be_done(step: Step) -> None:
    """What it waits for is something that its button, its question, the widget or an earlier step's run brings."""
    by_widget = step.when == "widget" and step.subject
    by_verdict = step.when == "verdict" and step.act in ("plan", "new") and step.subject in (step.key, "own")
    by_run = step.when in ("finished", "resumed", "tried", "receipt", "compared") and step.about
    started = step.when == "started" and step.act in ("plan", "practise")
    on_plan = step.when in ON_PLAN and step.act in ("plan", "photos") and step.subject in FINDINGS
    by_account = step.when in ("account", "quota") and step.act == "account"
    assert by_widget or by_verdict or by_run or started or on_plan or by_account or step.when == "asked"


@pytest.mark.parametrize("step", [one for one in STEPS if one.job], ids=lambda step: step.key)
def test_a_job_that_a_step_plans_is_a_good_one(step: Step) -> None:
    job = jobfile.load(step.job_path)
    assert job.where.place == ("practice" if step.act == "practise" else job.where.place)


def changed(**changes: object) -> dict[str, object]:
    raw = tomllib.loads(resource_path("learn", "00-first-model.toml").read_text("utf-8"))
    return {key: value for key, value in (raw | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"format": 2}, "another format"),
        ({"title": None}, "too few"),
        ({"id": "First Model"}, "slug"),
        ({"steps": [{"id": "a", "title": "A", "text": "A.", "when": "wished"}]}, "nothing that makes a step done"),
        ({"steps": [{"id": "a", "title": "A", "text": "A.", "when": "started", "button": "Go"}]}, "without an act"),
        ({"steps": [{"id": "a", "title": "A", "text": "A.", "when": "asked", "answers": ["b"]}]}, "no answer is right"),
        ({"steps": [{"id": "a", "title": "A", "text": "A.", "when": "tried", "about": ["b"]}]}, "does not precede"),
    ],
)
def test_a_damaged_chapter_says_what_is_wrong(changes: dict[str, object], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        read_chapter(changed(**changes))


def test_an_entry_of_the_glossary_says_where_it_is_met() -> None:
    known = glossary.glossary()
    where = {name: (settings_of(term), [one.title for one in taught_in(term)]) for name, term in known.items()}
    assert where["weight-decay"] == ("In a job file: training.weight_decay", [])
    assert where["overfitting"] == ("", ["First model"])
    assert where["zone"] == ("In a job file: where.zones", ["Getting a TPU"])
