"""The Run page beside its plan: measured steps, the forecast, and a notice when the pace is another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tests.fakes.tasks import InlineTasks
from tests.unit.planner.own.test_user import Person, step_range
from tpu_studio.gui.kit import theme
from tpu_studio.gui.run.page import RunPage
from tpu_studio.viewmodels.run import RunViewModel


@pytest.fixture
def shown(tmp_path: Path, qapp: Any, qtbot: Any) -> Iterator[Any]:
    theme.install(qapp)
    person, pages = Person(tmp_path), []

    def show(times: float) -> RunPage:
        """A run whose steps take so many times what was planned."""
        made = make_plan(
            job("mlp", "digits", training={"epochs": 400}, limits={"hours": 0.2}), DIGITS, now=NOW, computer=LAPTOP
        )
        folder = person.runs(f"digits-{len(pages)}", made, times * step_range(made)[1], over=False)
        model = RunViewModel(
            folder.name,
            folder,
            made,
            lambda: person.index.follow(folder),
            None,
            InlineTasks(),
            lambda: None,  # type: ignore[arg-type]
            clock=lambda: NOW + 60,
        )
        window = QWidget()
        page = RunPage(model, window)
        window.resize(1200, 900)
        page.resize(1200, 900)
        qtbot.addWidget(window)
        window.show()
        pages.append(page)
        qtbot.waitUntil(lambda: not model.state.value.loading)
        return page

    yield show
    for page in pages:
        page.close_run()
    person.index.close()


def test_a_pace_as_planned_is_told_beside_the_speed_and_needs_no_notice(shown: Any):
    page = shown(1.1)
    assert not page.pace.isVisible()
    speed = page.model.state.value.numbers[1]
    assert "a step, planned" in speed.context and speed.tone == "neutral"
    assert "until about" in page.model.state.value.numbers[3].context
    assert any(line.text.startswith("Real steps are measured:") for line in page.model.state.value.happened)


def test_steps_slower_than_the_plan_said_are_told_with_what_it_means(shown: Any):
    page = shown(200)  # far beyond the time limit
    assert page.pace.isVisible() and page.pace.title.text() == "Training is slower than planned"
    assert "instead of" in page.pace.text.text() and "The time limit of" in page.pace.text.text()
    assert page.model.state.value.numbers[1].tone == "warn"
