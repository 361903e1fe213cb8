"""Plots under test stand in the light theme at 100%, and go back there after each test."""

import pytest
from PySide6.QtWidgets import QApplication

from tpu_studio.gui.kit import theme


@pytest.fixture(autouse=True)
def kit(qapp: QApplication):
    it = theme.install(qapp, mode="light", contrast="normal")
    it.reduce_motion = True
    yield it
    it.mode, it.contrast, it.text_scale = "light", "normal", 1.0
    it.apply()
