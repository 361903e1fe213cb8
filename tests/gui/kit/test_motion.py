"""A value that glides arrives, wherever it was put meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tpu_studio.gui.kit.motion import Glide
from tpu_studio.gui.kit.theme import controller


@pytest.fixture
def moving() -> Iterator[None]:
    before, controller().reduce_motion = controller().reduce_motion, False
    yield
    controller().reduce_motion = before


def test_it_glides_to_the_same_place_again_after_somebody_moved_it(qtbot: QtBot, moving: None) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    glide = Glide(widget, 20)
    glide.to(10.0)
    qtbot.waitUntil(lambda: glide.value == 10.0)
    glide.value = 50.0  # as a scroll bar in the hand
    glide.to(10.0)
    qtbot.waitUntil(lambda: glide.value == 10.0)
