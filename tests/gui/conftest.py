"""What tests of the window share: a whole window with real services (`studio`), and a clean screen after each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from tests.gui.studios import OpenStudio, open_studio


@pytest.fixture(autouse=True)
def delete_what_is_closed() -> Iterator[None]:
    """Windows of earlier tests are really deleted: with no event loop running Qt keeps them, and each restyle visits
    all."""
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def studio(qtbot: QtBot, home: Path) -> Iterator[OpenStudio]:
    with open_studio(qtbot, home) as opened:
        yield opened
