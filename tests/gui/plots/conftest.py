"""Plots under test stand in the light theme at 100%, as the kit does."""

from tests.gui.kit.conftest import kit

__all__ = ["kit"]
