"""A short list to pick one line from: projects, billing accounts. Each line has a name and, in grey, its id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Radius, Space

KEY = Qt.ItemDataRole.UserRole
MORE = Qt.ItemDataRole.UserRole + 1


class PickList(Themed, QFrame):
    """*activated* is called on Enter or a double click; *picked* whenever the choice changes."""

    def __init__(self, name: str, lines: int = 4, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines = lines
        self.picked: Callable[[str], None] = lambda key: None
        self.activated: Callable[[], None] = lambda: None
        self.list = QListWidget()
        self.list.setAccessibleName(name)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setStyleSheet("QListWidget { background: transparent; outline: none; }")
        self.list.setItemDelegate(_Lines(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemSelectionChanged.connect(lambda: self.picked(self.value))
        self.list.itemActivated.connect(lambda _: self.activated())
        box = QVBoxLayout(self)
        box.setContentsMargins(Space.xs, Space.xs, Space.xs, Space.xs)
        box.addWidget(self.list)
        self.follow_theme()

    @property
    def value(self) -> str:
        chosen = self.list.selectedItems()
        return str(chosen[0].data(KEY) or "") if chosen else ""

    def show_lines(self, lines: Sequence[tuple[str, str, str]], otherwise: str) -> None:
        """*lines*: key, name, and what stands in grey; key "" cannot be picked. *otherwise*: said where there is none.

        The choice stays; with one line only it is that one.
        """
        before = self.value
        self.list.clear()
        for key, title, more in lines:
            item = QListWidgetItem(title)
            item.setData(KEY, key)
            item.setData(MORE, more)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{title}, {more}" if more else title)
            if not key:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
            if key and (key == before or len(lines) == 1):
                self.list.setCurrentItem(item)
        if not lines:
            item = QListWidgetItem(otherwise)
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self.picked(self.value)

    def restyle(self) -> None:
        self.setMinimumHeight(px(38) * self._lines + 2 * Space.xs)

    def paintEvent(self, event: QPaintEvent) -> None:
        paint.outlined(paint.open_painter(self), QRectF(self.rect()), Radius.control, ink("card"), ink("control"))


class _Lines(QStyledItemDelegate):
    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect: QRectF = QRectF(option.rect)
        state: QStyle.StateFlag = option.state
        chosen, here = bool(state & QStyle.StateFlag.State_Selected), bool(state & QStyle.StateFlag.State_HasFocus)
        if chosen or state & QStyle.StateFlag.State_MouseOver:
            line = ink("accent") if chosen and here else None
            paint.outlined(painter, rect, Radius.control - 2, ink("accent_tint" if chosen else "hover"), line, 2.0)
        possible = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        inner = rect.adjusted(Space.m, 0, -Space.m, 0)
        title, more = str(index.data() or ""), str(index.data(MORE) or "")
        font = fonts.font("body-medium" if possible else "body")
        width = paint.draw_text(painter, inner, title, font, ink("text" if possible else "text_2"))
        if more:
            inner.setLeft(min(inner.left() + width + Space.m, inner.right()))
            paint.draw_text(painter, inner, more, fonts.font("secondary"), ink("text_2"))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(80, px(38))
