"""How a row of the table of runs and its heads are painted. Works for any table that has `Painted`'s few facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from tpu_studio.domain import figures
from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.pill import draw_pill, pill_size
from tpu_studio.gui.kit.theme import controller, ink, px
from tpu_studio.gui.runs.model import COST, KEYS, METRIC, ROW, STAR, TIME, TITLES, Index
from tpu_studio.gui.runs.spark import paint_spark
from tpu_studio.viewmodels.runrows import RunRow

EDGE = 18
GAP = 14  # at the right of each column
RIGHT = (METRIC, TIME, COST)


class Painted(Protocol):
    """What painting asks of the table."""

    sorted_by: str
    descending: bool

    @property
    def has_dates(self) -> bool: ...
    def is_lit(self, row: int) -> bool: ...
    def is_chosen(self, run: str) -> bool: ...
    def edge_of(self, column: int) -> int: ...


def row_height() -> int:
    """Two lines of words and air."""
    return max(px(52), round(54 * controller().text_scale))


def cost_width(rows: Sequence[RunRow]) -> int:
    """What the costs of *rows* take, whole, with the room beside them; 0 without rows."""
    if not rows:
        return 0
    figure, kind = fonts.font("body-medium", numbers=True), fonts.font("caption")
    wide = [paint.text_width(kind, one) for one in {row.cost_kind for row in rows}]
    wide.append(paint.text_width(figure, figures.money(max(row.most for row in rows))))
    return int(max(wide) + 1) + GAP


class RowPainter(QStyledItemDelegate):
    def __init__(self, table: Painted, parent: QTableView) -> None:
        super().__init__(parent)
        self._table = table

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(px(60), row_height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: RunRow = index.data(ROW)
        box = QRectF(option.rect)
        painter.save()
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        last = index.row() == index.model().rowCount() - 1
        if self._table.is_lit(index.row()):
            painter.fillRect(box, ink("hover"))
        if not last:
            painter.fillRect(QRectF(box.x(), box.bottom() - 1, box.width(), 1), ink("border"))
        inner = box.adjusted(self._table.edge_of(index.column()), 0, -GAP, -1)
        match index.column():
            case 0:
                self._box(painter, box, self._table.is_chosen(row.run))
            case 1:
                self._star(painter, box, row.mark.star, self._table.is_lit(index.row()))
            case 2:
                self._name(painter, inner, row)
            case 3:
                size = pill_size(row.status, dot=row.live)
                pill = QRectF(
                    inner.x(),
                    inner.center().y() - size.height() / 2,
                    min(size.width(), inner.width() + 8),
                    size.height(),
                )
                draw_pill(painter, pill, row.status, row.tone, dot=row.live)
            case 4:
                side = px(16)
                icons.paint(painter, row.place_icon, QRectF(inner.x(), inner.y(), side, inner.height()), "text_2", side)
                paint.draw_text(
                    painter, inner.adjusted(side + 8, 0, 0, 0), row.place, fonts.font("secondary"), ink("text_2")
                )
            case 5:
                if len(row.losses) > 1:
                    paint_spark(
                        painter, QRectF(inner.x(), inner.center().y() - 13, min(inner.width(), px(102)), 26), row.losses
                    )
                else:
                    paint.draw_text(
                        painter, inner, "not yet" if not row.over else "–", fonts.font("caption"), ink("text_3")
                    )
            case 6:
                self._figure(painter, inner, row)
            case 7:
                paint.draw_text(
                    painter,
                    inner,
                    row.time,
                    fonts.font("secondary", numbers=True),
                    ink("text_2"),
                    Qt.AlignmentFlag.AlignRight,
                )
            case 8:
                self._cost(painter, inner, row)
            case 9:
                paint.draw_text(painter, inner, row.when, fonts.font("secondary", numbers=True), ink("text_2"))
            case 10:
                side = px(16)
                icons.paint(painter, "chevron-right", box, "text_2", side)
        painter.restore()

    def _name(self, painter: QPainter, box: QRectF, row: RunRow) -> None:
        name, below = fonts.font("row-title"), fonts.font("caption")
        told = row.subtitle if self._table.has_dates or row.problem else f"{row.when} · {row.subtitle}".rstrip(" ·")
        if not told:
            self._title(painter, box, row, name)
            return
        middle = box.center().y()
        self._title(painter, QRectF(box.x(), middle - px(20), box.width(), px(20)), row, name)
        paint.draw_text(
            painter,
            QRectF(box.x(), middle, box.width(), px(17)),
            told,
            below,
            ink("bad" if row.problem else "text_3"),
        )

    def _title(self, painter: QPainter, box: QRectF, row: RunRow, face: QFont) -> None:
        """The name, and beside it as many tags as there is room for, and that there is a note."""
        side = px(14)
        chips = _fitting(
            row.mark.tags, box.width() - min(paint.text_width(face, row.name), box.width() * 0.6) - side - 8
        )
        taken = sum(wide + 6 for _, wide in chips) + (side + 6 if row.mark.note else 0)
        used = paint.draw_text(painter, box.adjusted(0, 0, -taken, 0), row.name, face, ink("text"))
        left = box.x() + used + 8
        for words, wide in chips:
            draw_tag(painter, QRectF(left, box.center().y() - px(9), wide, px(18)), words)
            left += wide + 6
        if row.mark.note:
            icons.paint(painter, "notebook-pen", QRectF(left, box.y(), side, box.height()), "text_2", side)

    def _star(self, painter: QPainter, box: QRectF, on: bool, lit: bool) -> None:
        side = px(16)
        if on:
            icons.paint(painter, "star-filled", box, "accent", side)
        elif lit:
            icons.paint(painter, "star", box, "text_3", side)

    def _figure(self, painter: QPainter, box: QRectF, row: RunRow) -> None:
        if row.metric:
            _two_lines(painter, box, row.metric, row.metric_name)
        else:
            right = Qt.AlignmentFlag.AlignRight
            paint.draw_text(painter, box, "–", fonts.font("secondary"), ink("text_3"), right)

    def _cost(self, painter: QPainter, box: QRectF, row: RunRow) -> None:
        if row.cost_kind:
            _two_lines(painter, box, row.cost.removeprefix(f"{row.cost_kind} "), row.cost_kind)
        else:
            figure = fonts.font("body-medium", numbers=True)
            paint.draw_text(painter, box, row.cost, figure, ink("text"), Qt.AlignmentFlag.AlignRight)

    def _box(self, painter: QPainter, box: QRectF, chosen: bool) -> None:
        side = px(18)
        square = QRectF(box.x() + EDGE, box.center().y() - side / 2, side, side)
        if chosen:
            paint.outlined(painter, square, 5, ink("accent"))
            icons.paint(painter, "check", square, "on_accent", px(14))
        else:
            paint.outlined(painter, square, 5, ink("card"), ink("control"), 1.5)


def draw_tag(painter: QPainter, box: QRectF, words: str) -> None:
    paint.outlined(painter, box, box.height() / 2, ink("neutral_tint"), ink("border"))
    face = fonts.font("caption-medium")
    paint.draw_text(painter, box.adjusted(7, 0, -7, 0), words, face, ink("text_2"), Qt.AlignmentFlag.AlignHCenter)


def _fitting(tags: Sequence[str], room: float) -> list[tuple[str, float]]:
    """The first tags that fit, each with its width, and how many more there are."""
    face = fonts.font("caption-medium")
    chips: list[tuple[str, float]] = []
    for place, tag in enumerate(tags):
        wide = min(paint.text_width(face, tag) + 16, px(120))
        left = len(tags) - place - 1
        more = paint.text_width(face, f"+{left}") + 22 if left else 0.0
        if sum(one + 6 for _, one in chips) + wide + more > room:
            rest = f"+{len(tags) - place}"
            return [*chips, (rest, paint.text_width(face, rest) + 16)] if room > px(30) else []
        chips.append((tag, wide))
    return chips


def _two_lines(painter: QPainter, box: QRectF, figure: str, below: str) -> None:
    """A figure and, small under it, what it is of."""
    right, middle = Qt.AlignmentFlag.AlignRight, box.center().y()
    upper, lower = QRectF(box.x(), middle - px(20), box.width(), px(20)), QRectF(box.x(), middle, box.width(), px(17))
    paint.draw_text(painter, upper, figure, fonts.font("body-medium", numbers=True), ink("text"), right)
    paint.draw_text(painter, lower, below, fonts.font("caption"), ink("text_3"), right)


class Header(QHeaderView):
    """Column heads in the caption font; the sorted one carries an arrow."""

    def __init__(self, table: Painted, parent: QTableView) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._table = table
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setHighlightSections(False)
        self.setSectionsClickable(False)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), px(36))

    def paintSection(self, painter: QPainter, rect: Any, section: int) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(rect)
        painter.fillRect(QRectF(box.x(), box.bottom() - 1, box.width(), 1), ink("border"))
        inner = box.adjusted(self._table.edge_of(section), 0, -GAP, 0)
        font = fonts.font("caption-medium")
        title = TITLES[section]
        if section == STAR:
            tone = "accent" if self._table.sorted_by == KEYS[STAR] else "text_3"
            icons.paint(painter, "star", box, tone, px(14))
        right = section in RIGHT
        sorted_here = self._table.sorted_by == KEYS[section] and bool(title)
        arrow = px(14) if sorted_here else 0
        if right:
            paint.draw_text(
                painter, inner.adjusted(0, 0, -arrow, 0), title, font, ink("text_3"), Qt.AlignmentFlag.AlignRight
            )
            x = inner.right() - arrow + 2
        else:
            x = inner.x() + paint.draw_text(painter, inner.adjusted(0, 0, -arrow, 0), title, font, ink("text_3")) + 2
        if sorted_here:
            icons.paint(
                painter,
                "chevron-down" if self._table.descending else "chevron-up",
                QRectF(x, box.y(), arrow, box.height()),
                "text_2",
                arrow,
            )
        painter.restore()
