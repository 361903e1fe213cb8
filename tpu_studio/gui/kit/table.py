"""A read-only table: rows of 52, hairlines, words left and numbers right, an ellipsis and all of it on hover.

A column says how its cells look; a cell is a `Cell` (or a plain string). Enter or a double click opens a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.pill import draw_pill, pill_size
from tpu_studio.gui.kit.spark import draw_spark
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Height, Radius
from tpu_studio.gui.kit.tooltip import plain

_Index = QModelIndex | QPersistentModelIndex
_CELL = int(Qt.ItemDataRole.UserRole)
_PAD = 18
_LEAST = 120


@dataclass(frozen=True)
class Column:
    """*width* 0 takes what is left; where that is less than 120, the others have only what they need. Numbers stand
    right and keep their places."""

    title: str
    width: int = 0
    kind: Literal["text", "number"] = "text"


@dataclass(frozen=True)
class Cell:
    """*text* alone, or over a small *below*; with an icon, a pill's kind, a colour square, or a small curve."""

    text: str = ""
    below: str = ""
    icon: str = ""
    pill: str = ""
    dot: bool = False
    swatch: str = ""
    spark: tuple[float, ...] = ()
    strong: bool = False
    tone: str = ""
    words: str = ""  # what a screen reader and hovering say, if not text and below

    def spoken(self) -> str:
        return self.words or ", ".join(part for part in (self.text, self.below) if part)


class _Model(QAbstractTableModel):
    def __init__(self, columns: Sequence[Column], parent: QWidget) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self.rows: list[tuple[str, tuple[Cell, ...]]] = []
        self.sorted_by = (-1, False)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        cell = self.rows[index.row()][1][index.column()]
        if role == _CELL:
            return cell
        if role == Qt.ItemDataRole.DisplayRole:
            return cell.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.columns[index.column()].title}: {cell.spoken()}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(cell.spoken())
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.columns[section].title
        if role == Qt.ItemDataRole.AccessibleTextRole and section == self.sorted_by[0]:
            return f"{self.columns[section].title}, sorted {'down' if self.sorted_by[1] else 'up'}"
        return None

    def set_rows(self, rows: list[tuple[str, tuple[Cell, ...]]]) -> None:
        if [key for key, _cells in rows] == [key for key, _cells in self.rows]:
            self.rows = rows
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(self.columns) - 1))
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()


class _Delegate(QStyledItemDelegate):
    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._table = table

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(80, px(Height.row))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        painter.save()
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        row = QRectF(option.rect)
        chosen = self._table.selectionModel().isRowSelected(index.row(), QModelIndex())
        if chosen or index.row() == self._table.hovered:
            painter.fillRect(row, ink("hover"))
        if index.row():
            painter.fillRect(QRectF(row.x(), row.y(), row.width(), 1), ink("border"))
        column = self._table.columns[index.column()]
        cell: Cell = index.data(_CELL)
        box = row.adjusted(
            _PAD if index.column() == 0 else 10, 0, -_PAD if index.column() == len(self._table.columns) - 1 else -10, 0
        )
        self._draw(painter, box, cell, column)
        painter.restore()

    def _draw(self, painter: QPainter, box: QRectF, cell: Cell, column: Column) -> None:
        if cell.spark:
            draw_spark(
                painter, QRectF(box.x(), box.center().y() - px(16), min(box.width(), px(104)), px(32)), cell.spark
            )
            return
        right = column.kind == "number"
        if cell.pill:
            size = pill_size(cell.text, dot=cell.dot, icon=cell.icon)
            wide = min(size.width(), box.width())
            left = box.right() - wide if right else box.x()
            pill = QRectF(left, box.center().y() - size.height() / 2, wide, size.height())
            draw_pill(painter, pill, cell.text, cell.pill, dot=cell.dot, icon=cell.icon)
            return
        if cell.swatch:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink(cell.swatch))
            painter.drawRoundedRect(QRectF(box.x(), box.center().y() - 6, 12, 12), 4, 4)
            box.setLeft(box.x() + 24)
        if cell.icon:
            side = px(16)
            icons.paint(painter, cell.icon, QRectF(box.x(), box.y(), side, box.height()), cell.tone or "text_2", side)
            box.setLeft(box.x() + side + 8)
        align = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        face = _face(cell, column)
        tone = cell.tone if cell.tone and not cell.icon else "text" if cell.strong or right else "text_2"
        if cell.below:
            half = px(18)
            top = QRectF(box.x(), box.center().y() - half, box.width(), half)
            paint.draw_text(painter, top, cell.text, face, ink(tone), align)
            below = top.translated(0, half)
            paint.draw_text(painter, below, cell.below, fonts.font("caption", numbers=right), ink("text_3"), align)
        else:
            paint.draw_text(painter, box, cell.text, face, ink(tone), align)


def _face(cell: Cell, column: Column) -> QFont:
    right = column.kind == "number"
    return fonts.font("row-title" if cell.strong else "label" if right else "secondary", numbers=right)


def _width(cell: Cell, column: Column) -> float:
    """What *cell* takes whole."""
    if cell.spark:
        return px(104)
    if cell.pill:
        return pill_size(cell.text, dot=cell.dot, icon=cell.icon).width()
    words = paint.text_width(_face(cell, column), cell.text)
    words = max(words, paint.text_width(fonts.font("caption", numbers=column.kind == "number"), cell.below))
    return words + (24 if cell.swatch else 0) + (px(16) + 8 if cell.icon else 0)


class _Header(Themed, QHeaderView):
    def __init__(self, table: Table, sortable: bool) -> None:
        super().__init__(Qt.Orientation.Horizontal, table)
        self._table = table
        self.setSectionsClickable(sortable)
        if sortable:
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        self.setHighlightSections(False)
        self.setStretchLastSection(False)
        self.viewport().setAutoFillBackground(False)
        self.follow_theme()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), px(36))

    def paintSection(self, painter: QPainter, rect: Any, section: int) -> None:
        columns = self._table.columns
        box = QRectF(rect).adjusted(_PAD if section == 0 else 10, 0, -_PAD if section == len(columns) - 1 else -10, 0)
        align = Qt.AlignmentFlag.AlignRight if columns[section].kind == "number" else Qt.AlignmentFlag.AlignLeft
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        painter.fillRect(QRectF(rect.x(), rect.bottom(), rect.width(), 1), ink("border"))
        face = fonts.font("caption-medium")
        place, down = self._table.sorted_by
        if place == section:  # its arrow stands before a number's title: the figures stay below its end
            side = px(14)
            wide = min(paint.text_width(face, columns[section].title), box.width() - side)
            left = box.right() - wide - side - 2 if columns[section].kind == "number" else box.x() + wide + 2
            arrow = QRectF(left, box.y(), side, box.height())
            icons.paint(painter, "chevron-down" if down else "chevron-up", arrow, "text_2", side)
        paint.draw_text(painter, box, columns[section].title, face, ink("text_3"), align)


class Table(RingFocus, Themed, QTableView):
    """`set_rows([(key, [cells])])` keeps the selection while keys stay; `opened` and `chosen` carry the key,
    `sort_asked` the place of a column whose head was pressed."""

    opened = Signal(str)
    chosen = Signal(str)
    sort_asked = Signal(int)
    ring_radius = Radius.card

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        name: str,
        all_rows: bool = False,
        sortable: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """*all_rows*: as tall as its rows, the page scrolls; otherwise the table scrolls. *sortable*: heads can be
        pressed; who hears of it sorts, and tells by `show_sorting`."""
        super().__init__(parent)
        self.columns = tuple(columns)
        self.hovered = -1
        self._all_rows = all_rows
        self._model = _Model(columns, self)
        self.setModel(self._model)
        self.setAccessibleName(name)
        self.setItemDelegate(_Delegate(self))
        self.setHorizontalHeader(_Header(self, sortable))
        self.horizontalHeader().sectionClicked.connect(self.sort_asked)
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if all_rows:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.viewport().setAutoFillBackground(False)
        bare = QPalette()
        bare.setColor(QPalette.ColorRole.Highlight, Qt.GlobalColor.transparent)  # `_Delegate` draws what is selected
        self.setPalette(bare)
        self.entered.connect(self._entered)
        self.doubleClicked.connect(lambda index: self._open(index.row()))
        self.selectionModel().selectionChanged.connect(lambda *_: self._chose())
        self.follow_theme()

    def set_rows(self, rows: Sequence[tuple[str, Sequence[Cell | str]]]) -> None:
        self._model.set_rows(
            [(key, tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)) for key, cells in rows]
        )
        self._fit()

    @property
    def sorted_by(self) -> tuple[int, bool]:
        """The column that the rows are sorted by, and whether downwards; -1 for none."""
        return self._model.sorted_by

    def show_sorting(self, column: int, descending: bool) -> None:
        if (column, descending) != self._model.sorted_by:
            self._model.sorted_by = column, descending
            self._model.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)
            self._fit()

    @property
    def value(self) -> str:
        """Key of the selected row, "" for none."""
        rows = self.selectionModel().selectedRows()
        return self._model.rows[rows[0].row()][0] if rows else ""

    def restyle(self) -> None:
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setMinimumSectionSize(px(Height.row))
        self.verticalHeader().setDefaultSectionSize(px(Height.row))
        header = self.horizontalHeader()
        for index, column in enumerate(self.columns):
            mode = QHeaderView.ResizeMode.Fixed if column.width else QHeaderView.ResizeMode.Stretch
            header.setSectionResizeMode(index, mode)
        self._fit()

    def _fit(self) -> None:
        widths = {index: px(column.width) for index, column in enumerate(self.columns) if column.width}
        for index in widths:
            if self.columns[index].kind == "number":  # a number is never shortened
                widths[index] = max(widths[index], self._needs(index))
        if len(widths) < len(self.columns) and self.viewport().width() - sum(widths.values()) < px(_LEAST):
            widths = {index: min(width, self._needs(index)) for index, width in widths.items()}
        for index, width in widths.items():
            self.horizontalHeader().resizeSection(index, width)
        if self._all_rows:
            self.setFixedHeight(px(36) + self._model.rowCount() * px(Height.row) + 2)

    def _needs(self, index: int) -> int:
        """How wide a column is with all of its words."""
        column = self.columns[index]
        cells = [cells[index] for _key, cells in self._model.rows]
        title = paint.text_width(fonts.font("caption-medium"), column.title)
        title += px(14) + 4 if index == self.sorted_by[0] else 0
        return int(max([title, *(_width(cell, column) for cell in cells)])) + _PAD + 14

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _open(self, row: int) -> None:
        if 0 <= row < len(self._model.rows):
            self.opened.emit(self._model.rows[row][0])

    def _chose(self) -> None:
        self.viewport().update()
        self.chosen.emit(self.value)

    def _entered(self, index: QModelIndex) -> None:
        if index.row() != self.hovered:
            self.hovered = index.row()
            self.viewport().update()

    def leaveEvent(self, event: Any) -> None:
        self.hovered = -1
        self.viewport().update()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._open(self.currentIndex().row())
        else:
            super().keyPressEvent(event)
