"""Movement: a value that glides, instant when the person or the system asks for no motion or nobody can see it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEasingCurve, QVariantAnimation
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.kit.theme import controller

HOVER_MS = 120
CHANGE_MS = 180
BAR_MS = 300


class Glide:
    """A number drawn by *widget* that moves to its target in *duration_ms*, repainting on the way."""

    def __init__(
        self, widget: QWidget, duration_ms: int, start: float = 0.0, moved: Callable[[], None] | None = None
    ) -> None:
        self._widget = widget
        self._duration = duration_ms
        self._moved = moved or widget.update
        self._run: QVariantAnimation | None = None
        self.value = start
        self.target = start

    def to(self, target: float) -> None:
        runs = self._run is not None and self._run.state() == QVariantAnimation.State.Running
        if target == self.target and (runs or self.value == target):
            return
        self.target = target
        if controller().reduce_motion or not self._widget.isVisible():
            self.jump(target)
            return
        if self._run is None:
            self._run = QVariantAnimation(self._widget)
            self._run.setEasingCurve(QEasingCurve.Type.OutCubic)
            self._run.setDuration(self._duration)
            self._run.valueChanged.connect(self._step)
        self._run.stop()
        self._run.setStartValue(float(self.value))
        self._run.setEndValue(float(target))
        self._run.start()

    def jump(self, target: float) -> None:
        if self._run is not None:
            self._run.stop()
        self.value = self.target = target
        self._moved()

    def _step(self, value: float) -> None:
        self.value = float(value)
        self._moved()
