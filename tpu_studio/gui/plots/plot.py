"""A whole plot: title, legend, menu, drawing area, and the sentence under it. Put it into a `Card`.

New points: tell it with `touch()`; it reads its sources at most 4 times a second while it can be seen.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QSlider, QVBoxLayout, QWidget, QWidgetAction

from tpu_studio.gui.kit import icons
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.notice import Notices
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plots.canvas import PlotCanvas
from tpu_studio.gui.plots.drawn import Drawn
from tpu_studio.gui.plots.legend import Entry, Legend
from tpu_studio.gui.plots.scale import Scale
from tpu_studio.gui.plots.source import Curve, Forecast, Gap, Limit


class Plot(QWidget):
    help_asked = Signal()
    finding_acted = Signal()
    moved_away = Signal(bool)

    def __init__(
        self,
        title: str,
        x: Scale,
        y: Scale,
        *,
        waits_for: str,
        y_top: float | None = None,
        include_zero: bool = True,
        log: bool = False,
        explain: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """
        Args:
            waits_for: What an empty plot says: "Waits for the first step, in about a minute."
            y_top: At least up to here (1.0 for shares).
            log: Offer a logarithmic axis in the menu (off at first).
            explain: Show the (i) beside the title; `help_asked` fires.
        """
        super().__init__(parent)
        self._name = title
        self._log_offered = log
        self._noisy = False
        self._values: Mapping[str, float] = {}
        self.canvas = PlotCanvas(x, y, waits_for=waits_for, y_top=y_top, include_zero=include_zero)
        self.legend = Legend()
        self.title = Line(title, "plot-title", fit=True)
        self._more = IconButton("ellipsis", f"{title}: table, picture, smoothing", side=28, icon_size=16)
        self._more.clicked.connect(self._open_menu)
        self._head = QHBoxLayout()
        self._head.setSpacing(Space.m)
        self._head.addWidget(self.title)
        if explain:
            info = IconButton("info", f"What is {title.lower()}?", side=22, icon_size=15)
            info.clicked.connect(self.help_asked)
            self._head.addWidget(info)
        self._head.addStretch(1)
        self._head.addWidget(self.legend, 20)
        self._head.addWidget(self._more)
        self._finding = Text("", "caption", "text_2")
        self._fix = Button("", "link", size="small")
        self._fix.clicked.connect(self.finding_acted)
        self._foot = QWidget()
        foot = QHBoxLayout(self._foot)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.addWidget(self._finding, 1, Qt.AlignmentFlag.AlignVCenter)
        foot.addWidget(self._fix)
        self._foot.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        column.addLayout(self._head)
        self._second = QHBoxLayout()  # the legend's place when the title line is too short for it
        column.addLayout(self._second)
        column.addWidget(self.canvas, 1)
        column.addWidget(self._foot)
        self._follow = Button(
            "Follow live", size="small", icon="activity", hover="Show all again (Home)", parent=self.canvas
        )
        self._follow.clicked.connect(self.canvas.show_all)
        self._follow.hide()
        self.canvas.zoomed.connect(self._zoomed)
        self.canvas.read_anew.connect(self._retell)
        self._retell()

    # ------------------------------------------------------------------------------------------------- what is shown

    def set_curves(self, curves: Sequence[Curve]) -> None:
        self._noisy = any(curve.kind == "noisy" for curve in curves)
        self.canvas.set_curves(curves)

    def set_values(self, values: Mapping[str, float]) -> None:
        """What legend and summary say of the curves of these keys, as the page does elsewhere; of others, and where
        it is no number, they say the value at the end of the line."""
        values = {key: value for key, value in values.items() if math.isfinite(value)}
        if values != self._values:
            self._values = values
            self._retell()

    def set_explained(self, words: str) -> None:
        """What the lines mean: hovering over title or legend, and to screen readers."""
        self.title.set_hover_text(words)
        self.legend.set_explained(words)
        self.canvas.setAccessibleDescription(words)

    def touch(self) -> None:
        """Points have come (or gone)."""
        self.canvas.touch()

    def set_axis(self, scale: Scale) -> None:
        """What stands across; the curves that are given next follow it."""
        self.canvas.x_scale = scale
        self.canvas.show_all()

    def set_waits_for(self, words: str) -> None:
        self.canvas.waits_for = words
        self.touch()

    def set_limits(self, limits: Sequence[Limit]) -> None:
        self.canvas.limits = tuple(limits)
        self.touch()

    def set_forecast(self, forecast: Forecast | None) -> None:
        self.canvas.forecast = forecast
        self.touch()

    def set_gaps(self, gaps: Sequence[Gap]) -> None:
        self.canvas.gaps = tuple(gaps)
        self.touch()

    def set_badge(self, badge: QWidget | None) -> None:
        """A pill on the title line ("Input-bound 34%"), before the menu; None takes it away."""
        if self._badge is not None:
            self._badge.hide()
            self._badge.setParent(None)
            self._badge.deleteLater()
        self._badge = badge
        if badge is not None:
            self._head.insertWidget(self._head.count() - 1, badge, 0, Qt.AlignmentFlag.AlignVCenter)

    def _newest(self, drawn: Drawn) -> float | None:
        return None if drawn.end is None else self._values.get(drawn.curve.key, drawn.end[1])

    _badge: QWidget | None = None
    _notices: Notices | None = None

    def set_finding(self, sentence: str, action: str = "") -> None:
        """A plain sentence under the plot, with a link at its right; `finding_acted` fires."""
        self._finding.setText(sentence)
        self._fix.setText(action)
        self._fix.setVisible(bool(action))
        self._foot.setVisible(bool(sentence))

    def set_log(self, on: bool) -> None:
        self.canvas.log = on
        self.canvas.show_all()

    def set_smoothing(self, amount: float) -> None:
        """0 (none) to 1."""
        self.canvas.smoothing = amount
        self.touch()

    def summary(self) -> str:
        """The plot in a sentence, for screen readers."""
        parts = []
        scale = self.canvas.y_scale
        for drawn in self.canvas.drawn:
            newest = self._newest(drawn)
            if drawn.end is None or newest is None:
                continue
            words = f"{drawn.curve.name} {scale.value(newest)} at {self.canvas.x_scale.value(drawn.end[0])}"
            numbers = drawn.y[drawn.y == drawn.y]
            if len(numbers) > 1:
                words += f", from {scale.value(float(numbers[0]))}"
                low, high = np.nanmin(drawn.low), np.nanmax(drawn.high)
                words += f", lowest {scale.value(float(low))}, highest {scale.value(float(high))}"
            parts.append(words)
        parts.extend(limit.words for limit in self.canvas.limits if parts)
        return f"{self._name}: {'; '.join(parts)}." if parts else f"{self._name}. {self.canvas.waits_for}"

    def rows(self, most: int = 200) -> tuple[list[str], list[list[str]]]:
        """Heads and rows of "Show as table": what is visible, at up to *most* places."""
        heads = [self.canvas.x_scale.name.capitalize(), *(drawn.name for drawn in self.canvas.drawn)]
        places = sorted({float(x) for drawn in self.canvas.drawn for x in drawn.x})
        frame = self.canvas.frame
        if frame is not None:
            places = [x for x in places if frame.view.x_low <= x <= frame.view.x_high]
        stride = max(-(-len(places) // most), 1)
        spelled = []
        for x in places[::stride]:
            row = [self.canvas.x_scale.value(x)]
            for drawn in self.canvas.drawn:
                value = drawn.value_at(x)
                row.append("–" if value is None else self.canvas.y_scale.value(value))
            spelled.append(row)
        return heads, spelled

    # ------------------------------------------------------------------------------------------------------ behaviour

    def _retell(self) -> None:
        entries = []
        for drawn in self.canvas.drawn:
            if drawn.curve.end_label:
                continue
            newest = self._newest(drawn)
            value = self.canvas.y_scale.value(newest) if newest is not None else ""
            entries.append(Entry(drawn.curve.name, value, drawn.curve.tone))
        if self.canvas.forecast is not None and entries:
            entries.append(Entry("forecast", "", self.canvas.forecast.tone, dashed=True))
        self.legend.set_entries(entries if self.canvas.frame is not None else ())
        self._more.setVisible(self.canvas.frame is not None)
        self._put_legend()
        summary = self.summary()
        if summary != self.canvas.accessibleName():
            self.canvas.setAccessibleName(summary)

    def _zoomed(self, away: bool) -> None:
        self._follow.setVisible(away)
        self._put_follow()
        self.moved_away.emit(away)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._put_follow()
        self._put_legend()

    def _put_legend(self) -> None:
        items = [self._head.itemAt(index) for index in range(self._head.count())]
        others = [widget for item in items if item is not None and (widget := item.widget()) is not None]
        shown = [widget for widget in others if widget is not self.legend and not widget.isHidden()]
        taken = sum(widget.sizeHint().width() + Space.m for widget in shown)
        below = taken + 2 * Space.m + self.legend.sizeHint().width() > self.width() and not self.legend.isHidden()
        if below == (self._second.count() > 0):
            return
        if below:
            self._head.removeWidget(self.legend)
            self._second.addWidget(self.legend)
        else:
            self._second.removeWidget(self.legend)
            self._head.insertWidget(self._head.count() - (2 if self._badge else 1), self.legend, 20)

    def _put_follow(self) -> None:
        self._follow.adjustSize()
        room = self.canvas.size() - self._follow.size()
        self._follow.move(room.width() - 10, room.height() - px(40))

    def _open_menu(self) -> None:
        menu = self.menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(
            self._more.mapToGlobal(QPoint(self._more.width() - menu.sizeHint().width(), self._more.height() + 4))
        )

    def menu(self) -> QMenu:
        menu = QMenu(self)
        if self._noisy:
            menu.addAction(_SmoothingAction(self, menu))
            menu.addSeparator()
        if self._log_offered:
            log = QAction("Logarithmic axis", menu, checkable=True, checked=self.canvas.log)
            log.toggled.connect(self.set_log)
            menu.addAction(log)
        menu.addAction(icons.icon("refresh-cw"), "Show all again\tHome", self.canvas.show_all)
        menu.addSeparator()
        menu.addAction(icons.icon("table"), "Show as table", self.show_table)
        menu.addAction(icons.icon("image"), "Save picture…", self._ask_where)
        return menu

    def show_table(self) -> None:
        from tpu_studio.gui.plots.table import PlotTable

        PlotTable(self._name, *self.rows(), parent=self.window()).open()

    def _ask_where(self) -> None:
        dialog = QFileDialog(self, "Save picture", str(Path.home() / f"{self._name}.png"), "Pictures (*.png)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: self._save(Path(name)))
        dialog.open()

    def _save(self, path: Path) -> None:
        """What could not be saved is told in a notice, with the way to another place."""
        try:
            self.save_picture(path)
        except OSError as error:
            if self._notices is None:
                self._notices = Notices(self.window())
            reason = error.strerror or str(error)
            words = f"{path} cannot be written: {reason}. The run and its numbers are not touched."
            notice = self._notices.show("The picture was not saved", words, "bad", action="Choose another place")
            notice.acted.connect(self._ask_where)

    def save_picture(self, path: Path) -> None:
        """Title, legend and lines as a PNG of twice the screen's size.

        Raises:
            OSError: it could not be written; what stood there before still does, nothing is left half written.
        """
        from PySide6.QtCore import QBuffer
        from PySide6.QtGui import QPainter, QPixmap

        from tpu_studio.gui.kit.theme import ink
        from tpu_studio.wire.plainfiles import what_stands
        from tpu_studio.wire.runfolder import write_atomically

        ratio, edge = 2.0, Space.xl
        lines = self.canvas.picture(ratio)
        head = self.canvas.y() + edge
        size = self.canvas.size()
        pixels = QPixmap(int((size.width() + 2 * edge) * ratio), int((size.height() + head + edge) * ratio))
        pixels.setDevicePixelRatio(ratio)
        pixels.fill(ink("card"))
        painter = QPainter(pixels)
        for widget in (self.title, self.legend):
            widget.render(painter, widget.mapTo(self, QPoint(edge, edge)), renderFlags=QWidget.RenderFlag.DrawChildren)
        painter.drawPixmap(edge, head, lines)
        painter.end()
        if what := what_stands(path):
            raise OSError(f"it is {what}")
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path))
        made = QBuffer()
        if not pixels.save(made, "PNG"):
            raise OSError("the picture could not be made")
        write_atomically(path, bytes(made.data().data()))


class _SmoothingAction(QWidgetAction):
    """A slider in the menu, its value shown."""

    def __init__(self, plot: Plot, menu: QMenu) -> None:
        super().__init__(menu)
        holder = QWidget()
        words = Line(self._words(plot.canvas.smoothing), "label", fit=False)
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setAccessibleName("Smoothing")
        slider.setRange(0, 20)
        slider.setPageStep(4)
        slider.setValue(round(plot.canvas.smoothing * 20))
        slider.setMinimumWidth(px(190))

        def moved(value: int) -> None:
            plot.set_smoothing(value / 20)
            words.setText(self._words(value / 20))

        slider.valueChanged.connect(moved)
        column = QVBoxLayout(holder)
        column.setContentsMargins(12, 8, 12, 8)
        column.addWidget(words)
        column.addWidget(slider)
        self.setDefaultWidget(holder)

    @staticmethod
    def _words(amount: float) -> str:
        return f"Smoothing {amount:.0%}" if amount else "Smoothing off"
