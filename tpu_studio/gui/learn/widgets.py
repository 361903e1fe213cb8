"""The live widgets of the chapters, by the id that a chapter names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtWidgets import QWidget

from tpu_studio.gui.learn.matrix import MatrixUnit
from tpu_studio.gui.learn.padding import Padding
from tpu_studio.gui.learn.shapes import Shapes

WIDGETS: Mapping[str, Callable[[Callable[[str], None]], QWidget]] = {
    "matrix-unit": MatrixUnit,
    "padding": Padding,
    "shapes": Shapes,
}


def make(widget: str, reached: Callable[[str], None]) -> QWidget:
    """The live widget *widget*; *reached* is called with each goal that a person reaches on it."""
    return WIDGETS[widget](lambda goal: reached(f"{widget}/{goal}"))
