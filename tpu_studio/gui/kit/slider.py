"""The cost limit slider: how much it may cost, with the estimate drawn as a band on it. A QSlider underneath."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QSlider, QWidget

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.theme import Themed, ink, px

_KNOB = 9.0


class MoneySlider(RingFocus, Themed, QSlider):
    """From 0 to *most*, in steps of *step* (dollars). `moved` carries what a person sets; `set_amount` is silent."""

    moved = Signal(float)

    def __init__(
        self,
        amount: float = 5.0,
        most: float = 10.0,
        *,
        name: str,
        step: float = 0.25,
        spelled: Callable[[float], str] = "${:,.2f}".format,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._step, self._spelled, self._name = step, spelled, name
        self._band: tuple[float, float] | None = None
        self._band_words = "your estimate"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._silent = True
        self.valueChanged.connect(self._changed)
        self.set_range(most)
        self.set_amount(amount)
        self.follow_theme()

    @property
    def amount(self) -> float:
        return self.value() * self._step

    def set_amount(self, amount: float) -> None:
        self._silent = True
        self.setValue(round(amount / self._step))
        self._silent = False
        self._rename()

    def set_range(self, most: float) -> None:
        self._silent = True
        self.setRange(0, max(round(most / self._step), 1))
        self.setPageStep(max(self.maximum() // 10, 1))
        self._silent = False
        self.update()

    def set_estimate(self, low: float, high: float, words: str = "your estimate") -> None:
        """The band; (0, 0) takes it away."""
        self._band = (low, high) if high > 0 else None
        self._band_words = words
        self._rename()
        self.update()

    def _changed(self, _value: int) -> None:
        self._rename()
        if not self._silent:
            self.moved.emit(self.amount)

    def _rename(self) -> None:
        self.setAccessibleName(self._name)
        words = self._spelled(self.amount)
        if self._band is not None:
            words += f", {self._band_words} {self._spelled(self._band[0])} to {self._spelled(self._band[1])}"
        self.setAccessibleDescription(words)

    def sizeHint(self) -> QSize:
        return QSize(px(240), 24 + px(20))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(140), 24 + px(20))

    def _place(self, amount: float) -> float:
        most = self.maximum() * self._step
        return _KNOB + min(max(amount / most, 0.0), 1.0) * (self.width() - 2 * _KNOB)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        rail = QRectF(_KNOB, 9, self.width() - 2 * _KNOB, 6)
        knob = self._place(self.amount)
        paint.bar(painter, rail, (knob - rail.left()) / rail.width(), ink("band"), ink("track"))
        low, high = fonts.font("caption", numbers=True), 26.0
        ends = QRectF(0, high, self.width(), px(18))
        first, last = (
            self._spelled(0.0).removesuffix(".00"),
            self._spelled(self.maximum() * self._step).removesuffix(".00"),
        )
        paint.draw_text(painter, ends, first, low, ink("text_3"))
        paint.draw_text(painter, ends, last, low, ink("text_3"), Qt.AlignmentFlag.AlignRight)
        if self._band is not None:
            a, b = (self._place(amount) for amount in self._band)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink("accent"))
            painter.drawRoundedRect(QRectF(a, 9, max(b - a, 6), 6), 3, 3)
            width = paint.text_width(low, self._band_words) + 1
            left = paint.text_width(low, first) + 10
            right = self.width() - paint.text_width(low, last) - 10 - width
            if right > left:
                at = min(max((a + b) / 2 - width / 2, left), right)
                paint.draw_text(
                    painter, QRectF(at, high, width, px(18)), self._band_words, low, ink("text_2"), elide=False
                )
        painter.setPen(QPen(ink("accent"), 2))
        painter.setBrush(ink("card"))
        painter.drawEllipse(QPointF(knob, 12), _KNOB - 1, _KNOB - 1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._drag_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._drag_to(event.position().x())

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # a page that scrolls must not move money

    def _drag_to(self, x: float) -> None:
        share = (x - _KNOB) / max(self.width() - 2 * _KNOB, 1)
        self.setValue(round(share * self.maximum()))
