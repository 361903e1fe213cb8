"""A Plan page over a world in memory, in the light theme and the usual size of text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tpu_studio.gui.kit import theme
from tpu_studio.gui.plan.page import PlanPage


@pytest.fixture(autouse=True, scope="module")
def dress(qapp: QApplication) -> None:
    theme.install(qapp, mode="light")


@pytest.fixture(autouse=True)
def usual_text_size() -> Iterator[None]:
    yield
    if theme.controller().text_scale != 1.0:
        theme.controller().set_text_scale(1.0)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def page(qtbot: QtBot, world: World) -> PlanPage:
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    page.resize(1216, 900)
    page.show()
    page.window().setMinimumWidth(1)
    return page
