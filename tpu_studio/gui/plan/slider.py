"""The limit of a plan as the kit's slider: its title and value above, the estimate as a band on it; money or hours."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.slider import MoneySlider
from tpu_studio.gui.kit.text import Line
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.planwords import Limit, limit_words

_FULL = 100.0  # the slider counts shares of the right end, since that moves with the estimate


class LimitSlider(QWidget):
    """`moved` carries the new value in the limit's own unit."""

    moved = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._limit: Limit | None = None
        self.title = Line("Stop after", "label")
        self.value = Line("", "row-title", numbers=True, fit=True)
        self.track = MoneySlider(0.0, _FULL, name="Limit", step=0.5, spelled=self._spelled)
        self.track.moved.connect(self._moved)
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.value)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.xs)
        column.addLayout(head)
        column.addWidget(self.track)

    def set_limit(self, limit: Limit) -> None:
        self._limit = limit
        self.title.setText(limit.title)
        self.value.setText(limit.words)
        self.track.setAccessibleName(limit.title)
        self.track.set_amount(limit.value / limit.top * _FULL)
        self.track.set_estimate(limit.band[0] / limit.top * _FULL, limit.band[1] / limit.top * _FULL)

    def _spelled(self, amount: float) -> str:
        return limit_words(self._limit.path, amount / _FULL * self._limit.top) if self._limit else ""

    def _moved(self, amount: float) -> None:
        if self._limit is not None:
            self.moved.emit(float(f"{max(amount, 0.5) / _FULL * self._limit.top:.3g}"))
