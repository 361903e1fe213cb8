"""The Run page of a run that has learnt a number: beside the share it explains stands by how much it is off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIAMONDS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tests.fakes.tasks import InlineTasks
from tests.unit.viewmodels.test_run import Oracle, Verbs, Watched, training
from tpu_studio.gui.kit import theme
from tpu_studio.gui.run.page import RunPage
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.wire.events import event


@pytest.fixture
def shown(qapp: Any, qtbot: Any) -> Iterator[Callable[..., RunPage]]:
    theme.install(qapp)
    pages: list[RunPage] = []

    def show(r2: float, final: dict[str, float]) -> RunPage:
        watched = Watched()
        watched.plan = replace(make_plan(job("mlp", "table"), DIAMONDS, now=NOW, computer=LAPTOP), task="regression")
        watched.tell(*training(), event("metric", t=191, step=[40], val_r2=[r2], val_mae=[400.25]))
        watched.tell(event("end", t=195, status="finished", reason="completed", steps=100, final=final))
        model = RunViewModel(
            "diamonds-ab12",
            Path("/nowhere"),
            watched.plan,
            lambda: watched,
            Verbs(),
            InlineTasks(),
            Oracle,
            clock=lambda: 200.0,
        )
        pages.append(RunPage(model))
        qtbot.addWidget(pages[-1])
        pages[-1].resize(1200, 900)
        pages[-1].show()
        return pages[-1]

    yield show
    for page in pages:
        page.close_run()


def test_the_report_says_by_how_much_the_kept_model_is_off_in_the_unit_of_what_it_foretells(shown: Any):
    page = shown(0.97, {"val_r2": 0.982, "val_mae": 312.4})
    tile = page.numbers.tile("third")
    assert tile.more.text() == "typical error ±312" and tile.more.isVisible()
    assert "Mean absolute error" in tile.accessibleDescription() and "unit of price" in tile.accessibleDescription()
    told = page.ending.title.text()
    assert told.startswith("R² 0.982 on unseen rows after ")
    assert told.endswith("it explains 98.2% of the differences in price. Typical error ±312, in the unit of price.")


def test_a_model_worse_than_the_mean_is_not_said_to_explain_less_than_nothing(shown: Any):
    page = shown(-0.2, {"val_r2": -0.2, "val_mae": 4000.0})
    told = page.ending.title.text()
    assert told.startswith("R² -0.2")
    assert "worse than always saying the mean of price" in told and "explains" not in told
