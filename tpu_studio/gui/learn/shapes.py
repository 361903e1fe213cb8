"""Lines of a real text handed to a chip in three ways: how many programs that makes, and what it costs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.numbers import BigNumberRow
from tpu_studio.gui.kit.text import Text
from tpu_studio.viewmodels.learnwidgets import CUTS, compile_source, lengths

PROGRAMS, TIME, PADDING = "Shapes to compile", "Compiling, by estimate", "Padding"
_ABOUT = "2,000 lines of the plays that ship, to be read by a model. How shall they be handed over?"


class Shapes(Card):
    """Goals: the id of each way that was chosen, ``powers`` or ``one``."""

    def __init__(self, reached: Callable[[str], None], parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._reached = reached
        self.choice = Segmented(list(CUTS), CUTS[0][0], name="Lengths of the lines")
        self.choice.changed.connect(self._chosen)
        self.numbers = BigNumberRow(PROGRAMS, TIME, PADDING, medium=True)
        self.title("How many programs?")
        for widget in (Text(_ABOUT, "body", "text_2"), self.choice, self.numbers):
            self.body.addWidget(widget)
        self.body.addWidget(Text(compile_source(), "caption", "text_3"))
        self._draw()

    def _chosen(self, cut: str) -> None:
        self._draw()
        self._reached(cut)

    def _draw(self) -> None:
        cut = next(one for one, _ in CUTS if one == self.choice.value)
        known = lengths(cut)
        programs = figures.count(known.shapes)
        self.numbers.tile(PROGRAMS).set_number(programs, "", "each is a program of its own")
        self.numbers.tile(TIME).set_number(known.time, "", "before all of them are there")
        self.numbers.tile(PADDING).set_number(f"{known.padding:.0%}", "", "of the letters are computed for nothing")
