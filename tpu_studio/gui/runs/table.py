"""Runs as a table: name, status, place, the small loss curve, the key figure, time and cost. Used by Home and Runs.

Rows are painted; Qt's own table keeps keyboard, screen readers and sorting. Enter or a click opens a row; in Runs a box
before each row chooses several. Columns that do not fit are left out, the least needed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QScrollArea, QTableView, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.theme import Themed, ink, px, soft_px
from tpu_studio.gui.kit.tokens import Radius
from tpu_studio.gui.runs.model import (
    CHOOSE,
    COST,
    KEYS,
    LOSS,
    METRIC,
    NAME,
    OPEN,
    PLACE,
    STAR,
    STATUS,
    TIME,
    WHEN,
    RunModel,
)
from tpu_studio.gui.runs.rowpainter import EDGE, RIGHT, Header, RowPainter, cost_width, row_height
from tpu_studio.viewmodels.runrows import RunRow

_WIDTHS = {
    CHOOSE: 44,
    STAR: 30,
    STATUS: 152,
    PLACE: 146,
    LOSS: 118,
    METRIC: 108,
    TIME: 92,
    COST: 78,
    WHEN: 118,
    OPEN: 40,
}
_NAME_AT_LEAST = 170
_GIVE_UP_FIRST = (LOSS, WHEN, PLACE, TIME, COST)  # a date that has no column stands under the name


class RunTable(Themed, QTableView):
    """`opened`, `star_asked`, `rename_asked` (F2) and `again_asked` (Ctrl+D) carry a run's id; `sorting_changed` the
    column and its direction; `menu_asked` a run and where.

    Args:
        sortable: Heads can be clicked. choosing: A box before each row. fit: As high as its rows, never scrolls (Home).
    """

    opened = Signal(str)
    sorting_changed = Signal(str, bool)
    menu_asked = Signal(str, QPoint)
    delete_asked = Signal()
    rename_asked = Signal(str)
    star_asked = Signal(str)
    again_asked = Signal(str)

    def __init__(
        self, *, sortable: bool = False, choosing: bool = False, fit: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.hovered = -1
        self.by_keyboard = False
        self.sorted_by, self.descending = ("created", True)
        self._sortable, self._choosing, self._fit = sortable, choosing, fit
        self._asks = {QKeySequence("F2"): self.rename_asked, QKeySequence("Ctrl+D"): self.again_asked}
        self.runs = RunModel(self)
        self.setModel(self.runs)
        self.setItemDelegate(RowPainter(self, self))
        self.setHorizontalHeader(Header(self, self))
        self.horizontalHeader().setSectionsClickable(sortable)
        self.horizontalHeader().setMinimumSectionSize(20)
        self.horizontalHeader().sectionClicked.connect(self._sort)
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if fit:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Runs")
        self.viewport().setAutoFillBackground(False)
        self.horizontalHeader().viewport().setAutoFillBackground(False)
        self.setStyleSheet("QTableView, QHeaderView { background: transparent; border: none; }")
        self.setColumnHidden(CHOOSE, not choosing)
        self.setColumnHidden(STAR, not choosing)
        self.follow_theme()

    def restyle(self) -> None:
        self.verticalHeader().setDefaultSectionSize(row_height())
        self._share_width()
        self._take_height()

    def set_rows(self, rows: Sequence[RunRow]) -> None:
        run = self.current_run
        self.runs.set_rows(rows)
        if run and self.current_run != run:
            for place, row in enumerate(self.runs.rows):
                if row.run == run:
                    self.setCurrentIndex(self.runs.index(place, NAME))
        self._share_width()
        self._take_height()

    def show_sorting(self, column: str, descending: bool) -> None:
        self.sorted_by, self.descending = column, descending
        self.horizontalHeader().viewport().update()

    @property
    def current_run(self) -> str:
        row = self.currentIndex().row()
        return self.runs.rows[row].run if 0 <= row < len(self.runs.rows) else ""

    @property
    def has_dates(self) -> bool:
        return not self.isColumnHidden(WHEN)

    def is_lit(self, row: int) -> bool:
        """Pointed at, or where the keyboard is."""
        return row == self.hovered or (self.hasFocus() and self.by_keyboard and self.currentIndex().row() == row)

    def is_chosen(self, run: str) -> bool:
        return run in self.runs.chosen

    def edge_of(self, column: int) -> int:
        """The room before a column's words: the first one shown stands in from the card's edge."""
        if column == NAME:
            return 2 if self._choosing else EDGE
        return 0 if column in RIGHT else 2

    def _sort(self, section: int) -> None:
        key = KEYS[section]
        if section == CHOOSE:
            everything = {row.run for row in self.runs.rows}
            self.runs.choose(set() if self.runs.chosen == everything else everything)
        elif key:
            down = (
                not self.descending if key == self.sorted_by else key in ("created", "star", "metric", "time", "cost")
            )
            self.show_sorting(key, down)
            self.sorting_changed.emit(key, down)

    def sizeHint(self) -> QSize:
        """As high as all rows: no empty ground under the last one; where there is less room, it scrolls."""
        return QSize(px(640), px(36) + row_height() * max(len(self.runs.rows), 1) + 1)

    def minimumSizeHint(self) -> QSize:
        height = self.sizeHint().height()
        return QSize(px(320), height if self._fit else min(height, px(36) + 2 * row_height()))

    def _take_height(self) -> None:
        if self._fit:
            self.setFixedHeight(self.sizeHint().height())
        else:
            self.setMaximumHeight(self.sizeHint().height())
        self.updateGeometry()

    def _share_width(self) -> None:
        room = self.viewport().width()
        widths = {
            column: soft_px(width)
            for column, width in _WIDTHS.items()
            if column not in (CHOOSE, STAR) or self._choosing
        }
        widths[COST] = max(widths[COST], cost_width(self.runs.rows))  # money is never shortened
        gone = []
        for column in _GIVE_UP_FIRST:
            if room - sum(widths.values()) >= soft_px(_NAME_AT_LEAST):
                break
            widths.pop(column)
            gone.append(column)
        for column in _GIVE_UP_FIRST:
            self.setColumnHidden(column, column in gone)
        for column, width in widths.items():
            self.setColumnWidth(column, width)
        self.setColumnWidth(NAME, max(room - sum(widths.values()), px(80)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._hover(self.indexAt(event.position().toPoint()).row())

    def leaveEvent(self, event: Any) -> None:
        super().leaveEvent(event)
        self._hover(-1)

    def _hover(self, row: int) -> None:
        if row != self.hovered:
            self.hovered = row
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if row >= 0 else Qt.CursorShape.ArrowCursor)
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self.by_keyboard = False
        index = self.indexAt(event.position().toPoint())
        if event.button() is not Qt.MouseButton.LeftButton or not index.isValid():
            return
        run = self.runs.rows[index.row()].run
        reach = self._choosing and bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        several = self._choosing and bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if reach and self.runs.chosen:
            self.runs.choose_up_to(run)
        elif index.column() == CHOOSE or several or reach:
            self.runs.toggle(run)
        elif index.column() == STAR:
            self.star_asked.emit(run)
        else:
            self.opened.emit(run)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.by_keyboard = True
        run = self.current_run
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and run:
            self.opened.emit(run)
        elif key == Qt.Key.Key_Space and run and self._choosing:
            self.runs.toggle(run)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and self.runs.rows:  # Qt's own go to a row's other end
            self.setCurrentIndex(self.runs.index(0 if key == Qt.Key.Key_Home else len(self.runs.rows) - 1, NAME))
            self._bring_row_into_view()
        elif event.matches(QKeySequence.StandardKey.SelectAll) and self._choosing:
            self.runs.choose({row.run for row in self.runs.rows})
        elif key == Qt.Key.Key_Delete and self._choosing:
            self.delete_asked.emit()
        elif run and self._choosing and QKeySequence(event.keyCombination()) in self._asks:
            self._asks[QKeySequence(event.keyCombination())].emit(run)
        elif key == Qt.Key.Key_Menu and run:
            self.menu_asked.emit(run, self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).bottomLeft()))
        else:
            super().keyPressEvent(event)
            self.viewport().update()
            self._bring_row_into_view()

    def _bring_row_into_view(self) -> None:
        """Where the page scrolls, not the table."""
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        page = area.widget() if area is not None else None
        if self._fit and area is not None and page is not None and self.currentIndex().isValid():
            row = self.visualRect(self.currentIndex())
            middle = self.viewport().mapTo(page, row.center())
            area.ensureVisible(0, middle.y(), 0, row.height())

    def focusInEvent(self, event: Any) -> None:
        super().focusInEvent(event)
        self.by_keyboard = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        if self.by_keyboard and self.currentIndex().row() < 0 and self.runs.rows:
            self.setCurrentIndex(self.runs.index(0, NAME))
        self.viewport().update()

    def focusOutEvent(self, event: Any) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.indexAt(event.pos())
        if index.isValid():
            self.menu_asked.emit(self.runs.rows[index.row()].run, event.globalPos())

    def paintEvent(self, event: Any) -> None:
        super().paintEvent(event)
        if self.hasFocus() and self.by_keyboard and self.currentIndex().isValid():
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(self.visualRect(self.runs.index(self.currentIndex().row(), NAME)))
            around = QRectF(2, box.y() + 2, self.viewport().width() - 4, box.height() - 4)
            paint.outlined(painter, around, Radius.control, None, ink("accent"), 2)
            painter.end()
