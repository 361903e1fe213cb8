"""What tests of the window share: a whole window with real services (`studio`), and a clean screen after each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.ended import Ended
from tests.gui.studios import OpenStudio, open_studio
from tpu_studio.gui.kit import theme


@pytest.fixture(autouse=True)
def delete_what_is_closed() -> Iterator[None]:
    """Windows of earlier tests are really deleted: with no event loop running Qt keeps them, and each restyle visits
    all."""
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture(scope="session")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """``ended.put(home, plan, *trainer)``: a run that has ended, made once and copied."""
    return Ended(tmp_path_factory.mktemp("ended"))


@pytest.fixture
def studio(qtbot: QtBot, home: Path) -> Iterator[OpenStudio]:
    with open_studio(qtbot, home) as opened:
        yield opened


@pytest.fixture
def window(qtbot: QtBot, qapp: QApplication) -> QWidget:
    """An empty one, for a sheet to open in."""
    theme.install(qapp, mode="light")
    window = QWidget()
    window.resize(1200, 900)
    qtbot.addWidget(window)
    window.show()
    return window
