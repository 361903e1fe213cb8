"""A rented run that came here as files: what is told of it is what it says of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes.views import T, view_of
from tests.unit.viewmodels.test_rented_words import END, NAME, THERE, plan_at
from tpu_studio.cli.keeping import _as_table
from tpu_studio.viewmodels import runfacts
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.viewmodels.runstate import RunPageState
from tpu_studio.workflow import desk
from tpu_studio.workflow.ports import RunSummary

GONE = (
    (70.0, "deleted", {"name": NAME, "zone": "us-west4-a", "proof": "404", "made": True, "created": T + 9}),
    (71.0, "phase", {"phase": "done", "detail": "", "attempt": 1}),
)


def page(*told: Any, strangers: bool) -> RunPageState:
    plan, view = plan_at("cloud"), view_of(*THERE, *told)
    facts = runfacts.facts_of(plan)
    return RunPageState("r", facts, Path("/none"), view, T + 80, plan=plan, strangers=strangers)


def test_a_copy_says_who_says_that_all_was_removed():
    own, copy = page(END, *GONE, strangers=False).removal, page(END, *GONE, strangers=True).removal
    assert own is not None and own.kind == "ok" and "It says" not in own.title
    assert copy is not None and copy.kind == "neutral"
    assert copy.title.startswith("It says: everything rented in the cloud")
    assert "This computer has not checked it." in copy.text and copy.lines == own.lines
    going = page(END, strangers=True).removal
    assert going is not None and going.title == "It says: the TPU is being given back"
    assert "is asked until" not in going.text  # nobody here asks
    assert page(strangers=True).removal is None


def test_pill_timeline_figures_and_lines_of_a_copy_are_what_it_says_and_nothing_is_green():
    own, copy = page(END, *GONE, strangers=False), page(END, *GONE, strangers=True)
    assert own.pill == ("Finished", "ok") and copy.pill == ("Copy: finished", "neutral")
    told = [(mine.state, its.state) for mine, its in zip(own.stages, copy.stages, strict=True)]
    assert set(told) == {("done", "told"), ("ahead", "ahead")} and told[-1] == ("done", "told")
    assert own.stages[-1].caption.startswith("verified at ")
    assert copy.stages[-1].caption == f"it says: {own.stages[-1].caption}"
    cost = next(number for number in copy.numbers if number.icon == "circle-dollar-sign")
    assert cost.label == "Cost, it says"
    proof = next(line for line in copy.happened if line.proof)
    assert proof.text == "It says: the TPU is deleted, and that is verified"
    assert any(line.tone == "ok" for line in own.happened)
    assert {line.tone for line in copy.happened} == {"neutral"}
    assert [line.more for line in copy.happened if line.more and "on this computer." in line.more] == []


def test_an_unfinished_copy_stands_still_and_says_nothing_of_its_machine():
    own, copy = page(strangers=False), page(strangers=True)
    later = replace(copy, now=T + 86_400.0)
    assert own.pill[0].startswith("Training") and copy.pill == ("Copy: unfinished", "neutral")
    assert later.numbers == copy.numbers and later.stages == copy.stages and not later.stale
    assert replace(own, now=T + 86_400.0).numbers != own.numbers
    assert (later.stages[-1].title, later.stages[-1].caption) == ("Cleaned up", "not in the copy")
    assert "current" not in {stage.state for stage in copy.stages} and later.waiting is None


def test_an_unfinished_copy_does_not_go_on_in_the_lists(tmp_path: Path):
    own = RunSummary("digits-k3f7", "digits", tmp_path, T, "cloud", "mlp", status="training")
    assert row_of(own).live and row_of(own).tone == "accent"
    waits = replace(own, status="queued")
    assert row_of(waits).waiting
    desk.write_owner(tmp_path, "x", t=T, imported=True)
    for one in (own, waits):
        row = row_of(one)
        assert (row.status, row.tone, row.live, row.waiting) == ("Unfinished copy", "neutral", False, False)
    over = replace(own, status="finished", reason="completed", over=True)
    assert row_of(over).tone == "neutral"


def test_a_copy_promises_no_model_in_a_bucket_that_nobody_here_has_looked_into():
    own, copy = page(END, *GONE, strangers=False).ending, page(END, *GONE, strangers=True).ending
    assert own is not None and "is in the bucket and on this computer" in own.meaning
    assert copy is not None and "on this computer." not in copy.meaning
    assert "this computer has not checked it" in copy.meaning


def test_a_copy_is_marked_in_the_lists(tmp_path: Path):
    own = RunSummary(
        run="digits-k3f7",
        name="digits",
        created=T,
        place="cloud",
        model="mlp",
        status="finished",
        reason="completed",
        folder=tmp_path,
    )
    assert "imported" not in row_of(own).subtitle and "imported" not in _as_table([own])
    desk.write_owner(tmp_path, "x", t=T, imported=True)
    assert row_of(own).subtitle.startswith("imported, ") and "finished, imported" in _as_table([own])
    here = replace(own, place="computer")
    assert "imported" not in row_of(here).subtitle and "imported" not in _as_table([here])
