"""What tests of the window share: a whole window with real services (`studio`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.studios import OpenStudio, open_studio


@pytest.fixture
def studio(qtbot: QtBot, home: Path) -> Iterator[OpenStudio]:
    with open_studio(qtbot, home) as opened:
        yield opened
