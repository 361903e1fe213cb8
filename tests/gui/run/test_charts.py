"""The Run page's curves: on which axes they stand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pytestqt.qtbot import QtBot

from tpu_studio.gui.run.charts import Charts
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.wire import metrics, places, tasks


@pytest.mark.parametrize("task", [one.id for one in tasks.all_tasks()])
def test_a_perplexity_stands_along_a_logarithmic_axis(qtbot: QtBot, task: str) -> None:
    """It falls from thousands in the first seconds: on a plain axis all that follows is one flat line."""
    facts = SimpleNamespace(task=task, place=places.default().id, noun="rows", usd_per_hour=None, usd_limit=None)
    model = SimpleNamespace(state=SimpleNamespace(value=SimpleNamespace(facts=facts)))
    charts = Charts(cast(RunViewModel, model))
    for card in charts.cards:
        qtbot.addWidget(card)
    is_perplexity = metrics.by_id(tasks.by_id(task).metric).unit == "nats"
    assert charts.quality.canvas.log == is_perplexity and not charts.loss.canvas.log
