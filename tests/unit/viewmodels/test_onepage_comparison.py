"""A comparison as one page: as small, as private and as free of markup as the page of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.fakes.pages import curve_of, data_of, read, shape
from tests.fakes.views import view_of
from tests.unit.viewmodels.test_onepage import HOSTILE, MEGABYTE, TABLE, ended, plan_of
from tests.unit.wire.test_secrets import SHAPED
from tpu_studio.domain.comparison import AT_MOST
from tpu_studio.domain.run import RunView
from tpu_studio.viewmodels.onepage.comparison import compose, page_of_comparison
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.comparing import Reading
from tpu_studio.workflow.ports import RunSummary

METRICS = ("loss", "val_loss", "val_r2")


class Runs:
    """As many runs as there are plans, each with the same *values* in each of its curves."""

    def __init__(self, folder: Path, plans: Sequence[Plan], values: Any, view: RunView | None = None) -> None:
        self._folder, self._plans, self._view = folder, plans, view or ended()
        self._curves = {name: curve_of(folder / "columns", values, number) for number, name in enumerate(METRICS)}

    @property
    def names(self) -> list[str]:
        return [str(number) for number in range(len(self._plans))]

    def summary(self, run: str) -> RunSummary:
        plan = self._plans[int(run)]
        folder = self._folder / "jane" / "runs" / run
        return RunSummary(run, plan.job.name, folder, 1.0, plan.place, task=plan.task, over=self._view.over)

    def follow(self, run: str) -> Any:
        return SimpleNamespace(
            plan=self._plans[int(run)],
            folder=self._folder / "jane" / "runs" / run,
            view=self._view,
            metrics=METRICS,
            curve=self._curves.__getitem__,
            poll=lambda: None,
            close=lambda: None,
        )


def two(word: str) -> list[Plan]:
    """Plans that differ in what a stranger can write."""
    plans = [plan_of(word, data={**TABLE, "path": f"/data/{word}{number}", "target": word}) for number in (1, 2)]
    return [replace(plan, app=word, data={"fingerprint": "the same", "target": word}) for plan in plans]


@pytest.mark.parametrize("word", [word.replace("\0", "") for word in HOSTILE], ids=range(len(HOSTILE)))
def test_whatever_runs_are_called_their_page_has_the_same_elements(tmp_path: Path, word: str) -> None:
    pages = []
    for name, each in (("a", "tame"), ("b", word)):
        runs = Runs(tmp_path / name, two(each), np.linspace(2.0, 1.0, 30))
        pages.append(read(page_of_comparison(runs, runs.names).page.data))
    assert shape(pages[1]) == shape(pages[0])


def test_as_many_runs_as_can_be_compared_make_a_small_page_in_which_each_has_its_curves(tmp_path: Path) -> None:
    plans = [plan_of(training={"epochs": 2, "global_batch": 32, "seed": seed}) for seed in range(AT_MOST)]
    runs = Runs(tmp_path, plans, np.random.default_rng(0).normal(size=100_000) + 1.0)
    made = page_of_comparison(runs, runs.names).page
    assert len(made.data) <= 3 * MEGABYTE
    plots = data_of(read(made.data))["plots"]
    assert [plot["title"] for plot in plots] == [
        "Loss (training)",
        "Loss (validation)",
        "R² (validation)",
    ]
    names = [f"{plans[0].job.name} ({run})" for run in runs.names]  # all are called the same
    assert all([line["name"] for line in plot["lines"]] == names for plot in plots)


def test_runs_are_called_and_coloured_as_in_the_window(tmp_path: Path) -> None:
    plans = [plan_of(name, training={"epochs": 2, "global_batch": 2**n}) for n, name in enumerate(("a", "b", "c"), 4)]
    runs = Runs(tmp_path, plans, np.linspace(2.0, 1.0, 30))
    readings = [Reading(runs, run) for run in ("0", "2")]  # "b" was deleted meanwhile
    told = data_of(read(compose(readings, ("0", "1", "2")).page.data))
    assert all(
        [(line["name"], line["tone"]) for line in plot["lines"]] == [("a", 1), ("c", 3)] for plot in told["plots"]
    )
    assert sorted(row[0] for row in told["sections"][0]["rows"]) == ["a", "c"]


@pytest.mark.parametrize("whose", SHAPED)
def test_a_setting_that_differs_by_a_path_or_a_key_shows_neither(tmp_path: Path, whose: str) -> None:
    plans = [plan_of(data={**TABLE, "path": f"/srv/jane doe/{whose}/r.csv", "target": f"p {SHAPED[whose]}"}), plan_of()]
    runs = Runs(tmp_path, plans, np.linspace(2.0, 1.0, 30))
    told = page_of_comparison(runs, runs.names).page.data.decode()
    for word in (SHAPED[whose][6:], "jane", str(tmp_path)):
        assert word not in told


def test_runs_that_go_on_are_not_compared_on_a_page(tmp_path: Path) -> None:
    going_on = view_of((0.0, "phase", {"phase": "training"}))
    runs = Runs(tmp_path, [plan_of(), plan_of()], np.linspace(2.0, 1.0, 30), going_on)
    with pytest.raises(RunError) as error:
        page_of_comparison(runs, runs.names)
    assert error.value.id == "page-run-goes-on"
