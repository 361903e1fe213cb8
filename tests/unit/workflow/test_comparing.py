"""Runs read for a comparison: what each had reached by the time that so much was spent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.plans import plan
from tpu_studio.domain.pyramid import Pyramid
from tpu_studio.wire.errors import RunError
from tpu_studio.workflow.comparing import Reading, compare_runs
from tpu_studio.workflow.ports import RunSummary

QUALITY, COST = "val_accuracy", "usd"


class Points(Pyramid):
    """A curve along time, as the store gives them."""

    version = 1

    def window(self, x_min: float, x_max: float, buckets: int, axis: str = "time") -> Any:
        assert axis == "time"
        return super().window(x_min, x_max, buckets)


def curve(*points: tuple[float, float]) -> Points:
    made = Points()
    made.append([t for t, _ in points], [value for _, value in points])
    return made


class Runs:
    """Runs that are over, by name: their curves and batch."""

    def __init__(self, **runs: dict[str, Points]) -> None:
        self.runs = runs

    def summary(self, run: str) -> RunSummary:
        curves = self.runs[run]
        last = curves[COST].last() if COST in curves else None
        spent = last[1] if last else 0.0
        return RunSummary(run, run, Path(run), 0.0, status="finished", over=True, usd=spent, usd_most=spent)

    def follow(self, run: str) -> Any:
        curves = self.runs[run]
        best = {QUALITY: (last[1], 1)} if QUALITY in curves and (last := curves[QUALITY].last()) else {}
        batch = 32 * (1 + list(self.runs).index(run))
        known = plan()
        known = replace(known, job=known.job.with_values({"training.global_batch": batch}))
        return SimpleNamespace(
            plan=known,
            metrics=tuple(curves),
            curve=curves.__getitem__,
            view=SimpleNamespace(best=best, begun=(0.0,)),
            poll=lambda: None,
            close=lambda: None,
        )


CHEAP = {QUALITY: curve((10, 0.5), (20, 0.8)), COST: curve((0, 0.0), (20, 1.0))}
DEAR = {QUALITY: curve((10, 0.4), (20, 0.6), (40, 0.9)), COST: curve((0, 0.0), (40, 4.0))}


def test_the_dearer_one_is_better_and_the_cheaper_one_was_ahead_for_the_same_money() -> None:
    found = compare_runs(Runs(cheap=CHEAP, dear=DEAR), ["cheap", "dear"])
    assert found.finding.title == "dear is ahead: 10 points better than cheap for $3.00 more."
    assert found.finding.same_money == ("For the first $1.00 that each of them cost, cheap was ahead: 80%, dear 40%.")


def test_a_run_that_was_deleted_is_not_taken_for_one_whose_id_begins_so() -> None:
    runs = Runs(dear=DEAR)
    reading = Reading(runs, "dear")
    assert not reading.has_changed()
    row = runs.summary("dear")
    runs.summary = lambda run: replace(row, run="dear-k3f7")  # type: ignore[method-assign]
    for ask in (reading.poll, reading.has_changed):
        with pytest.raises(RunError) as caught:
            ask()
        assert caught.value.id == "run-unknown"


def test_a_run_that_costs_nothing_is_told_at_no_price() -> None:
    here = {QUALITY: DEAR[QUALITY]}
    assert compare_runs(Runs(cheap=CHEAP, here=here), ["cheap", "here"]).finding.same_money == ""


def test_the_column_that_the_look_has_found_counts_where_the_job_names_none() -> None:
    """Of chats the column of answers is found; two tables may have been read with other ones."""
    runs = Runs(cheap=CHEAP, dear=DEAR)
    follow = runs.follow

    def found(run: str) -> Any:
        following = follow(run)
        following.plan = replace(following.plan, data={"fingerprint": "d", "target": f"{run}_answer"})
        return following

    runs.follow = found  # type: ignore[method-assign]
    finding = compare_runs(runs, ["cheap", "dear"]).finding
    assert finding.title == "These runs learn to predict different columns" and "“dear_answer”" in finding.text


@pytest.mark.parametrize(("usd", "best"), [(0.5, None), (1.0, 0.4), (2.0, 0.6), (3.99, 0.6), (9.0, 0.9)])
def test_the_best_by_an_amount_is_what_was_measured_before_it_was_spent(usd: float, best: float | None) -> None:
    reading = Reading(Runs(dear=DEAR), "dear")
    assert reading.best_by(QUALITY, usd) == best
    assert reading.best_by("never_measured", usd) is None


@pytest.mark.parametrize(("place", "known"), [("cloud", False), ("computer", True)])
def test_a_rented_run_whose_machine_told_of_far_less_than_was_billed_has_no_curve_of_dollars(
    place: str, known: bool
) -> None:
    """$0.02 with each report, of a bill of $8.05, was "ahead for the same money". Here the price is only simulated."""
    runs = Runs(cheap=CHEAP, dear=DEAR | {COST: curve((0, 0.0), (40, 0.02))})
    summary, follow = runs.summary, runs.follow

    def billed(run: str) -> RunSummary:
        return replace(summary(run), usd=8.05, usd_most=8.05) if run == "dear" else summary(run)

    def at_place(run: str) -> Any:
        following = follow(run)
        following.plan = replace(following.plan, place=place)
        return following

    runs.summary, runs.follow = billed, at_place  # type: ignore[method-assign]
    assert (Reading(runs, "dear").spending() is not None) == known  # type: ignore[arg-type]
    if not known:
        assert compare_runs(runs, ["cheap", "dear"]).finding.same_money == ""  # type: ignore[arg-type]
