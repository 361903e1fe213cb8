"""The drawing area of a plot: lines by pyqtgraph, everything around them painted here, moved by mouse and keyboard.

Drag across zooms, a double click or Home shows all and follows the live end again; the wheel with Ctrl zooms, sideways
it moves along. Arrow keys move the crosshair, + and - zoom at it, with Shift the arrows move along, Esc puts it away.
While zoomed nothing moves under the hand. `refresh` is called by the cadence only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsView, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.theme import controller, ink, px
from tpu_studio.gui.plots import endlabels, marks, ranges, smooth
from tpu_studio.gui.plots.cadence import cadence
from tpu_studio.gui.plots.drawn import Drawn
from tpu_studio.gui.plots.ranges import View
from tpu_studio.gui.plots.scale import Scale
from tpu_studio.gui.plots.source import Curve, Forecast, Gap, Limit, start_of

_GraphicsView: Any = pg.GraphicsView


class PlotCanvas(RingFocus, _GraphicsView):  # type: ignore[misc]
    zoomed = Signal(bool)
    read_anew = Signal()  # after each refresh: legend and summary may have changed

    def __init__(
        self,
        x: Scale,
        y: Scale,
        *,
        waits_for: str,
        y_top: float | None,
        include_zero: bool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, background=None)
        self.x_scale, self.y_scale = x, y
        self.waits_for = waits_for
        self._y_top, self._include_zero = y_top, include_zero
        self.drawn: list[Drawn] = []
        self.limits: tuple[Limit, ...] = ()
        self.forecast: Forecast | None = None
        self.gaps: tuple[Gap, ...] = ()
        self.log = False
        self.smoothing = 0.5
        self.pointed = ""  # key of the curve that stands out
        self.frame: marks.Frame | None = None
        self.end_labels: list[endlabels.EndLabel] = []
        self._zoom: View | None = None
        self._fits = True  # its height is that of what it shows: found once, by the next refresh
        self._cross: float | None = None
        self._drag: tuple[float, float] | None = None
        self._paint_s = 0.0
        self._ratio: float | None = None
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
        self.scene().addItem(self._box)
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)  # pyqtgraph's kept the tick words of the last view
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setMinimumSize(px(200), px(120))
        controller().changed.connect(self.touch)

    # ------------------------------------------------------------------------------------------------- what is shown

    def inputMethodQuery(self, query: Qt.InputMethodQuery) -> Any:
        """The whole plot is what a page scrolls to, not the text cursor that a graphics view may have."""
        return QWidget.inputMethodQuery(self, query)

    def set_curves(self, curves: Sequence[Curve]) -> None:
        kept = {drawn.curve.key: drawn for drawn in self.drawn}
        new: list[Drawn] = []
        for curve in curves:
            old = kept.pop(curve.key, None)
            if old is not None and old.curve.kind == curve.kind:
                old.curve = curve
                new.append(old)
            else:
                if old is not None:
                    old.remove()
                new.append(Drawn(curve, self._box))
        for gone in kept.values():
            gone.remove()
        self.drawn = new
        cadence().want(self, at_once=True)

    def touch(self) -> None:
        """What is shown has changed; the picture follows with the next beat."""
        cadence().want(self)

    @property
    def following(self) -> bool:
        return self._zoom is None

    def show_all(self) -> None:
        """Back to everything, following the live end."""
        if self._zoom is not None:
            self._zoom = None
            self.zoomed.emit(False)
        cadence().want(self, at_once=True)

    def zoom_to(self, low: float, high: float) -> None:
        if self.frame is None or high <= low:
            return
        view = self.frame.view
        ticks = tuple(self.x_scale.ticks(low, high))
        self._zoom = View(low, high, view.y_low, view.y_high, ticks, view.y_ticks, view.log)
        self._fits = False
        self.zoomed.emit(True)
        cadence().want(self, at_once=True)

    def zoom_by(self, factor: float, at: float) -> None:
        """Show *factor* times as much, with *at* (in units of x) where it is; everything where that is less."""
        whole = self._whole_view()
        if whole is None:
            return
        view = self._zoom or whole
        low, high = at + (view.x_low - at) * factor, at + (view.x_high - at) * factor
        if factor > 1 and high - low >= whole.x_high - whole.x_low:
            self.show_all()
        else:
            self._move_to(low, high - low, whole)

    def move_along(self, share: float) -> None:
        """By a share of what is seen, to the right if positive, and not beyond the ends; only while zoomed."""
        whole = self._whole_view()
        if self._zoom is not None and whole is not None:
            span = self._zoom.x_high - self._zoom.x_low
            self._move_to(self._zoom.x_low + share * span, span, whole)

    def _move_to(self, low: float, span: float, whole: View) -> None:
        low = min(max(low, whole.x_low), max(whole.x_high - span, whole.x_low))
        self.zoom_to(low, low + span)

    def refresh(self) -> float:
        started = time.perf_counter()
        view = self._zoom or self._whole_view()
        self.frame = None if view is None else self._frame_of(view)  # so many pixels the lines have
        if view is not None:
            if self._zoom is not None and self._fits:
                self._read(view.x_low, view.x_high)
            else:
                view = self._fit(view.x_low, view.x_high, view.x_ticks) or view
                self._zoom, self._fits = (view if self._zoom is not None else None), True
            self.frame = self._frame_of(view)
            ratio = self._ratio or self.devicePixelRatioF()
            for drawn in self.drawn:
                standing_out = self.pointed in ("", drawn.curve.key)
                drawn.show(view.log, ratio, 1.0 if standing_out else 0.3)
            self.end_labels = endlabels.lay_out(self.frame, self.drawn, self.y_scale)
        self._place()
        self.viewport().update()
        self.read_anew.emit()
        return time.perf_counter() - started + self._paint_s

    def _whole_view(self) -> View | None:
        starts, ends = [], []
        for drawn in self.drawn:
            last = drawn.curve.source.last()
            if last is None:
                continue
            starts.append(start_of(drawn.curve.source))
            ends.append(last[0])
        if not ends:
            return None
        planned = (self.forecast.x_end or None) if self.forecast else None
        ended = all(drawn.curve.ended for drawn in self.drawn)
        low, high, ticks = ranges.across(self.x_scale, min(starts), max(ends), planned, ended=ended)
        self._length = max(ends) - min(starts)
        before = self.frame.view if self.frame else None
        y_low, y_high, y_ticks = (before.y_low, before.y_high, before.y_ticks) if before else (0.0, 1.0, ())
        return View(low, high, y_low, y_high, tuple(ticks), tuple(y_ticks), self.log)

    _length = 0.0

    def _read(self, low: float, high: float) -> None:
        pixels = int(self.frame.box.width()) if self.frame else 400
        sigma = smooth.width_for(self.smoothing, self._length)
        for drawn in self.drawn:
            drawn.read(low, high, pixels, sigma if drawn.curve.kind == "noisy" else 0.0)

    def _fit(self, low: float, high: float, x_ticks: tuple[float, ...]) -> View | None:
        """The view from *low* to *high* whose height fits what is drawn there."""
        self._read(low, high)
        extents = [extent for drawn in self.drawn if (extent := drawn.extent()) is not None]
        if not extents:
            return None
        bottom, top = min(extent[0] for extent in extents), max(extent[1] for extent in extents)
        if self.log:
            positive = [drawn.low[drawn.low > 0] for drawn in self.drawn]
            smallest = min((float(part.min()) for part in positive if len(part)), default=0.0)
            if smallest > 0:
                y_low, y_high, y_ticks = ranges.upward_log(max(smallest, top * 1e-9), top)
                return View(low, high, y_low, y_high, x_ticks, tuple(y_ticks), True)
        for it in self.limits:
            top = max(top, it.value)
        if self.forecast is not None:
            top, bottom = max(top, self.forecast.high), min(bottom, self.forecast.low)
        y_low, y_high, y_ticks = ranges.upward(
            self.y_scale, bottom, top, include_zero=self._include_zero, top=self._y_top
        )
        return View(low, high, y_low, y_high, x_ticks, tuple(y_ticks), False)

    def _frame_of(self, view: View) -> marks.Frame:
        """Leave room for the words at left and below, and give the rest to the lines."""
        face = fonts.font("caption", numbers=True)
        words = [paint.text_width(face, word) for word in self.y_scale.spelled(view.y_ticks)]
        left = max([*words, px(26)]) + 12
        above = px(18) if any(not it.below for it in self.limits) else 8  # words on a limit at the very top
        box = QRectF(left, above, max(self.width() - left - 6, 20), max(self.height() - above - px(32), 20))
        return marks.Frame(box, view)

    def _place(self) -> None:
        """Put the lines where the frame says, before they are painted: a scene that changes while it is painted is
        painted twice."""
        self._box.setVisible(self.frame is not None)
        if self.frame is None:
            return
        view = self.frame.view
        self._box.setGeometry(self.frame.box)
        self._box.setRange(xRange=(view.x_low, view.x_high), yRange=(view.y_low, view.y_high), padding=0)
        self.scene().prepareForPaint()

    # -------------------------------------------------------------------------------------------------------- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        started = time.perf_counter()
        super().paintEvent(event)
        self._paint_s = time.perf_counter() - started

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        if self.frame is None:
            return
        marks.axes(painter, self.frame, self.x_scale, self.y_scale)
        painter.save()
        painter.setClipRect(self.frame.box)
        for drawn in self.drawn:
            if drawn.curve.fill and not self.frame.view.log:
                marks.fill(painter, self.frame, drawn)
        if self.forecast is not None and not self.frame.view.log:
            marks.forecast(painter, self.frame, self.forecast)
        painter.restore()

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        if self.frame is None:
            self._draw_waiting(painter)
            return
        taken = [marks.limit(painter, self.frame, it) for it in self.limits]
        for hole in self.gaps:
            marks.gap(painter, self.frame, hole, self.drawn)
        if self.forecast is not None and not self.frame.view.log:
            marks.forecast_words(painter, self.frame, self.forecast, taken)
        for drawn in self.drawn:
            marks.dots(painter, self.frame, drawn)
        endlabels.draw(painter, self.end_labels)
        if self._drag is not None:
            a, b = sorted(self._drag)
            painter.fillRect(QRectF(a, self.frame.box.top(), b - a, self.frame.box.height()), ink("accent", 0.14))
        elif self._cross is not None:
            lines, foot = self.reading(self._cross)
            head = f"At {self.x_scale.value(self._cross)}"
            marks.crosshair(painter, self.frame, self._cross, head, lines, foot, self.drawn)

    def _draw_waiting(self, painter: QPainter) -> None:
        box = QRectF(self.rect())
        side = px(20)
        face = fonts.font("secondary")
        icons.paint(painter, "hourglass", QRectF(0, box.center().y() - side - 6, box.width(), side), "text_3", side)
        layout, _height, _used = paint.lay_out(self.waits_for, face, min(box.width() - 40, px(360)))
        option = layout.textOption()
        option.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        layout.setTextOption(option)
        width = min(box.width() - 40, px(360))
        painter.setPen(ink("text_2"))
        layout.draw(painter, QPointF((box.width() - width) / 2, box.center().y() + 6))

    def reading(self, x: float) -> tuple[list[marks.CardLine], str]:
        """What the crosshair's card says at *x*."""
        lines = []
        for drawn in self.drawn:
            value = drawn.value_at(x)
            if value is None:
                words = "–"
            elif drawn.end is not None and x > drawn.end[0]:
                words = f"done, {self.y_scale.value(value)}"
            else:
                words = self.y_scale.value(value)
            lines.append(marks.CardLine(drawn.curve.tone, drawn.name, words))
        near = (
            0.0 if self.frame is None else 8 / self.frame.box.width() * (self.frame.view.x_high - self.frame.view.x_low)
        )
        return lines, next((hole.why for hole in self.gaps if abs(hole.x - x) <= near), "")

    def picture(self, ratio: float = 2.0) -> QPixmap:
        """The drawing area alone, at *ratio* pixels per logical pixel, without crosshair."""
        cross, self._cross, self._ratio = self._cross, None, ratio
        self.refresh()
        pixels = QPixmap(self.size() * ratio)
        pixels.setDevicePixelRatio(ratio)
        pixels.fill(ink("card"))
        painter = QPainter(pixels)
        self.render(painter)
        painter.end()
        self._cross, self._ratio = cross, None
        self.refresh()
        return pixels

    # ---------------------------------------------------------------------------------------------- mouse and keyboard

    @property
    def crosshair(self) -> float | None:
        """Where the crosshair stands, in units of x."""
        return self._cross

    def point_at(self, x: float | None) -> None:
        self._cross = x
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.frame is None:
            return
        place = min(max(event.position().x(), self.frame.box.left()), self.frame.box.right())
        if self._drag is not None:
            self._drag = (self._drag[0], place)
            self.viewport().update()
        elif self.frame.box.adjusted(-10, -10, 10, 10).contains(event.position()):
            self.point_at(self.frame.x_at(place))
        else:
            self.point_at(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.frame is not None and event.button() == Qt.MouseButton.LeftButton:
            place = min(max(event.position().x(), self.frame.box.left()), self.frame.box.right())
            self._drag = (place, place)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        drag, self._drag = self._drag, None
        if drag is not None and self.frame is not None and abs(drag[1] - drag[0]) > 6:
            a, b = sorted(drag)
            self.zoom_to(self.frame.x_at(a), self.frame.x_at(b))
        self.viewport().update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._drag = None
        self.show_all()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned, zooms = event.angleDelta(), event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if self.frame is None or not (zooms or (self._zoom is not None and abs(turned.x()) > abs(turned.y()))):
            event.ignore()  # the page scrolls
        elif zooms:
            place = min(max(event.position().x(), self.frame.box.left()), self.frame.box.right())
            self.zoom_by(2.0 ** (-(turned.y() or turned.x()) / 240), self.frame.x_at(place))
        else:
            self.move_along(-turned.x() / 1200)

    def leaveEvent(self, event: QEvent) -> None:
        if not self.hasFocus():
            self.point_at(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.frame is None:
            event.ignore()
            return
        view, key = self._zoom or self.frame.view, event.key()
        span = view.x_high - view.x_low
        far = 10 if event.modifiers() & Qt.KeyboardModifier.ControlModifier else 1
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.move_along(0.1 if key == Qt.Key.Key_Right else -0.1)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            ends = [drawn.end[0] for drawn in self.drawn if drawn.end is not None]
            start = self._cross if self._cross is not None else max(ends, default=view.x_high)
            moved = start + (span / 100 * far if key == Qt.Key.Key_Right else -span / 100 * far)
            self.point_at(float(np.clip(moved, view.x_low, view.x_high)))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            middle = (view.x_low + view.x_high) / 2
            away = 0.0 if self._cross is None else self._cross - middle  # the crosshair comes to the middle
            factor = 2.0 if key == Qt.Key.Key_Minus else 0.5
            self.zoom_by(factor, middle + away / (1 - factor))
        elif key == Qt.Key.Key_Home:
            self.show_all()
        elif key == Qt.Key.Key_Escape and self._cross is not None:
            self.point_at(None)
        else:
            event.ignore()

    def sizeHint(self) -> QSize:
        return QSize(px(360), px(210))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._box is not None:
            self.touch()

    _box: Any = None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.touch()
