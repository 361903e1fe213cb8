"""The matrix unit, drawn: weights stand in the grid, inputs flow through along the diagonal, what is empty is padding.

The grid stands for the whole unit, 16 × 16 cells of it; its width comes from the catalogue. With reduced motion the
inputs are through at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEasingCurve, QRectF, QSize, Qt, QVariantAnimation
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.slider import MoneySlider
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, controller, ink, px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.learnwidgets import BY_CATALOGUE, Filling, Unit, units

CELLS = 16
FLOW_MS = 3500
ROWS = 128  # of the input: enough that only the width tells
NARROWEST = 8
_CENTRE = Qt.AlignmentFlag.AlignHCenter


class Grid(Themed, QWidget):
    """The unit: `fill` sets what stands in it, `flow` lets the inputs through."""

    def __init__(self, flowed: Callable[[], None]) -> None:
        super().__init__()
        self._filling: Filling | None = None
        self._phase = 1.0  # how far the wave is through, 0 to 1; at both ends nothing moves
        self._flow = QVariantAnimation(self)
        self._flow.setDuration(FLOW_MS)
        self._flow.setStartValue(0.0)
        self._flow.setEndValue(1.0)
        self._flow.setEasingCurve(QEasingCurve.Type.Linear)
        self._flow.valueChanged.connect(self._moved)
        self._flow.finished.connect(flowed)
        self._flowed = flowed
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Matrix unit")
        self.follow_theme()

    def sizeHint(self) -> QSize:
        return QSize(px(300), px(300))

    def restyle(self) -> None:
        self.setFixedSize(self.sizeHint())

    def fill(self, filling: Filling) -> None:
        self._filling = filling
        wide = filling.unit.width
        self.setAccessibleDescription(
            f"A grid of {wide} × {wide} multipliers on {filling.unit.name}. {filling.sentence}"
        )
        self.update()

    def flow(self) -> None:
        self._flow.stop()
        if controller().reduce_motion:
            self._moved(1.0)
            self._flowed()
        else:
            self._flow.start()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        """Nothing moves that nobody sees."""
        super().hideEvent(event)
        self._flow.stop()
        self._moved(1.0)

    def _moved(self, phase: float) -> None:
        self._phase = float(phase)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._filling is None:
            return
        painter = paint.open_painter(self)
        cell = self.width() / CELLS
        held = max(1, math.ceil(self._filling.grid_share * CELLS - 1e-9))
        front = self._phase * (2 * CELLS + 6) - 3
        for row in range(CELLS):
            for column in range(CELLS):
                box = QRectF(column * cell + 1, row * cell + 1, cell - 2, cell - 2)
                if row < held and column < held:
                    near = max(0.0, 1 - abs(row + column - front) / 2.5) if 0.0 < self._phase < 1.0 else 0.0
                    paint.outlined(painter, box, 3, ink("accent", 0.45 + 0.55 * near), ink("accent"))
                else:
                    paint.outlined(painter, box, 3, ink("neutral_tint"), ink("border_strong"))
                    face = fonts.font("caption", numbers=True)
                    if cell > 15:
                        middle = box.adjusted(0, 0, 0, 0)
                        paint.draw_text(painter, middle, "0", face, ink("text_2"), _CENTRE, elide=False)


class MatrixUnit(Card):
    """Goals: ``flow`` seen, another ``width`` chosen, and more than half of it ``empty``."""

    def __init__(self, reached: Callable[[str], None], parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._reached = reached
        self._units = {one.id: one for one in units()}
        first = units()[0]
        self.grid = Grid(lambda: reached("flow"))
        self.choice = Segmented(
            [(one.id, f"{one.name} ({one.width})") for one in units()], first.id, name="Generation, width of its unit"
        )
        self.choice.changed.connect(self._chosen)
        self.width_slider = MoneySlider(128, 512, name="Width of the layer", step=8, spelled="{:,.0f} wide".format)
        self.width_slider.moved.connect(lambda _: self._draw())
        self.button = Button("Let the numbers flow", icon="play")
        self.button.clicked.connect(self.grid.flow)
        self.sentence = Text("", "section", numbers=True)
        words = QVBoxLayout()
        words.setSpacing(Space.l)
        words.addWidget(self.sentence)
        words.addWidget(Text("Width of the layer", "label"))
        words.addWidget(self.width_slider)
        words.addWidget(Text(_SAID, "secondary", "text_2"))
        words.addStretch(1)
        words.addWidget(self.button, 0)
        words.addWidget(Text(BY_CATALOGUE, "caption", "text_3"))
        row = QHBoxLayout()
        row.setSpacing(Space.xxl)
        row.addWidget(self.grid)
        row.addLayout(words, 1)
        self.title("A matrix unit at work")
        self.body.addWidget(self.choice)
        self.body.addLayout(row)
        self._first = first
        self._draw()

    @property
    def unit(self) -> Unit:
        return self._units[self.choice.value]

    def _chosen(self, _id: str) -> None:
        self._draw()
        if self.unit.width != self._first.width:
            self._reached("width")

    def _draw(self) -> None:
        wide = max(NARROWEST, int(self.width_slider.amount))
        filling = Filling(ROWS, wide, self.unit)
        self.grid.fill(filling)
        self.sentence.setText(filling.sentence)
        if filling.used < 0.5:
            self._reached("empty")


_SAID = (
    "Each cell holds one weight of the layer and multiplies and adds at every tick; inputs come in on one side and "
    "sums leave on another. A cell that holds a zero of padding takes its tick all the same."
)
