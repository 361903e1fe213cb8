"""The chapters of Learn, `resources/learn/*.toml`: what each teaches, and steps that are done by doing them for real.

A chapter that is not written is not there: the list is what the folder holds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tpu_studio.domain.learning.glossary import Term, marks
from tpu_studio.wire.resources import resource_path

FORMAT = 1
WHENS = {
    "started": "the run that its own button planned has been started",
    "finished": "the run that it is *about* has finished",
    "resumed": "that run was taken back and has gone on",
    "tried": "its model has answered",
    "receipt": "its receipt has been read",
    "asked": "its question was answered right",
    "widget": "the chapter's live widget has reached the goal *subject*",
    "verdict": "the Plan page has answered for the job *subject*, or for one that Learn did not plan",
    "told": "the Plan page says *subject*, the id of a check, of the job that its own button opened",
    "mended": "the Plan page, which said *subject* of that job, has looked anew and does not say it any more",
    "account": "the practice account is set up",
    "quota": "the quota of the practice account has been read",
    "compared": "the runs that it is about stood beside each other on the Compare page",
}
"""What makes a step done."""
ON_PLAN = ("told", "mended")  # these come after the steps that they are *about*, whatever runs there are
_CHAPTER = {"format", "id", "number", "title", "minutes", "sentence", "learns", "sources", "steps"}
_STEP = {"id", "title", "text", "when"}
_STEP_MAY = {"button", "act", "job", "fault", "about", "subject", "question", "answers", "right", "wrong"}
_SLUG = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        key: ``chapter/step``, by which progress is kept.
        text: What to do and what it means; marks terms of the glossary.
        when: What makes it done, of `WHENS`.
        act: What its *button* does: ``plan`` the *job*, ``photos``: make large photographs and plan the *job* beside
            them, ``practise`` it with *fault* armed, ``new`` run, ``run``, ``account``, ``compare``; "" for no button.
        job: A file of ``resources/examples`` or ``resources/learn``.
        about: The steps of this chapter whose runs it is about.
        subject: Goal of the widget, name of the job, or id of the check.
        answers: To *question*, of which number *right* is right; *wrong* is told for each other.
    """

    key: str
    title: str
    text: str
    when: str
    button: str = ""
    act: str = ""
    job: str = ""
    fault: str = ""
    about: tuple[str, ...] = ()
    subject: str = ""
    question: str = ""
    answers: tuple[str, ...] = ()
    right: int = 0
    wrong: str = ""

    @property
    def job_path(self) -> Path:
        return resource_path(*self.job.split("/"))


@dataclass(frozen=True)
class Chapter:
    """*learns*: in a few words each; *sources*: where its facts come from; *widget*: id of its live widget, or ""."""

    id: str
    number: int
    title: str
    minutes: int
    sentence: str
    learns: tuple[str, ...]
    sources: tuple[str, ...]
    steps: tuple[Step, ...]
    widget: str = ""

    def step(self, key: str) -> Step | None:
        return next((step for step in self.steps if step.key == key), None)


def read_chapter(raw: Mapping[str, Any]) -> Chapter:
    """A chapter from its file. Raises ValueError with what is wrong."""
    name = raw.get("id", "?")
    if raw.get("format") != FORMAT or not _CHAPTER <= set(raw) <= _CHAPTER | {"widget"}:
        raise ValueError(f"chapter {name}: keys too many or too few, or another format: {sorted(raw)}")
    if not _SLUG.fullmatch(name):
        raise ValueError(f"chapter {name}: not a slug")
    fields = {key: value for key, value in raw.items() if key != "format"}
    steps = tuple(_step(name, entry) for entry in raw["steps"])
    keys = [step.key for step in steps]
    for number, step in enumerate(steps):
        if keys.count(step.key) > 1 or not set(step.about) <= set(keys[:number]):
            raise ValueError(f"chapter {name}: {step.key} is there twice, or is about a step that does not precede it")
    return Chapter(**fields | {"learns": tuple(raw["learns"]), "sources": tuple(raw["sources"]), "steps": steps})


def _step(chapter: str, entry: Mapping[str, Any]) -> Step:
    key = f"{chapter}/{entry.get('id', '?')}"
    if not _STEP <= set(entry) <= _STEP | _STEP_MAY:
        raise ValueError(f"step {key}: keys too many or too few: {sorted(entry)}")
    if entry["when"] not in WHENS:
        raise ValueError(f"step {key}: {entry['when']!r} is nothing that makes a step done")
    if bool(entry.get("button")) != bool(entry.get("act")):
        raise ValueError(f"step {key}: a button without an act, or an act without a button")
    if entry["when"] == "asked" and not 0 <= entry.get("right", -1) < len(entry.get("answers", ())):
        raise ValueError(f"step {key}: no answer is right")
    fields = {name: value for name, value in entry.items() if name != "id"}
    about = tuple(f"{chapter}/{one}" for one in entry.get("about", ()))
    return Step(key, **fields | {"about": about, "answers": tuple(entry.get("answers", ()))})


@cache
def chapters() -> tuple[Chapter, ...]:
    """All that ship, by number. Raises ValueError for a damaged file, or a number or id that is there twice."""
    read = [read_chapter(tomllib.loads(path.read_text("utf-8"))) for path in resource_path("learn").glob("*.toml")]
    if len({one.id for one in read}) < len(read) or len({one.number for one in read}) < len(read):
        raise ValueError("chapters: an id or a number is there twice")
    return tuple(sorted(read, key=lambda one: one.number))


def settings_of(term: Term) -> str:
    """The settings that *term* names, as a job file spells them; "" for none."""
    return f"In a job file: {', '.join(term.keys)}" if term.keys else ""


def taught_in(term: Term) -> tuple[Chapter, ...]:
    """The chapters that mark *term*."""
    return tuple(one for one in chapters() if any(term.id in marks(step.text) for step in one.steps))
