"""Ctrl+K: find a page, a run, an example or a command by a few letters, and go there or do it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from tpu_studio.domain.learning.glossary import glossary
from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import controller, ink, px, soft_px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.gui.shell.sheet import Veil
from tpu_studio.viewmodels.examples import shipped
from tpu_studio.viewmodels.shell import Command, found

if TYPE_CHECKING:
    from tpu_studio.gui.shell.window import MainWindow

_ROLE = Qt.ItemDataRole.UserRole
_COMMAND_ICONS = {
    "new": "plus",
    "open": "folder-open",
    "open-run": "folder-open",
    "stop": "square",
    "sweep": "circle-dollar-sign",
    "faults": "flask-conical",
    "bigger": "type",
    "smaller": "type",
    "usual-size": "type",
    "dark": "moon",
    "refresh": "refresh-cw",
    "glossary": "type",
    "what-is-this": "circle-question-mark",
    "paste-error": "file-text",
}


class _Rows(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(px(200), px(40))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        command: Command = index.data(_ROLE)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        box = QRectF(option.rect).adjusted(6, 1, -6, -1)
        if option.state & QStyle.StateFlag.State_Selected:
            paint.outlined(painter, box, Radius.control, ink("accent_tint"))
        side = px(18)
        icons.paint(painter, command.icon, QRectF(box.x() + 10, box.y(), side, box.height()), "text_2", side)
        right = box.right() - 10
        hint = command.keys or command.group
        small = fonts.font("caption-medium")
        width = paint.text_width(small, hint)
        paint.draw_text(
            painter, QRectF(right - width, box.y(), width + 1, box.height()), hint, small, ink("text_2"), elide=False
        )
        left = box.x() + 10 + side + 10
        paint.draw_text(
            painter,
            QRectF(left, box.y(), right - width - 12 - left, box.height()),
            command.title,
            fonts.font("body"),
            ink("text"),
        )


class Palette(Veil):
    """Over the window, with the card in its upper third. Esc, a click beside it or a choice closes it."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window.centralWidget())
        self._window, self._gone = window, False
        self._before: QWidget | None = window.focusWidget()
        self.card = Card(margins=(Space.m, Space.m, Space.m, Space.m), spacing=Space.s, strong=True, parent=self)
        self.field = LineEdit(placeholder="Find a page, a run or a command", name="Find anything", icon="search")
        self.list = QListView()
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.setStyleSheet("QListView { background: transparent; outline: none; }")
        self.list.setItemDelegate(_Rows(self.list))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName("Found")
        self._model = QStandardItemModel(self.list)
        self.list.setModel(self._model)
        self.list.clicked.connect(self._chosen)
        self.list.entered.connect(self.list.setCurrentIndex)
        self.card.body.addWidget(self.field)
        self.card.body.addWidget(self.list)
        self.nothing = Text("", "secondary", "text_2", align=Qt.AlignmentFlag.AlignCenter)
        self.card.body.addWidget(self.nothing)
        self._commands = list(commands(window))
        self.field.textChanged.connect(self._find)
        self.field.installEventFilter(self)
        window.installEventFilter(self)
        controller().changed.connect(self.close)
        self._find("")

    @staticmethod
    def open_over(window: MainWindow) -> Palette:
        for old in window.findChildren(Palette):
            old.field.setFocus(Qt.FocusReason.PopupFocusReason)
            return old
        palette = Palette(window)
        palette._place()
        palette.show()
        palette.raise_()
        palette.field.setFocus(Qt.FocusReason.PopupFocusReason)
        return palette

    def _find(self, typed: str) -> None:
        self._model.clear()
        for command in found(self._commands, typed, 10):
            item = QStandardItem(command.title)
            item.setData(command, _ROLE)
            item.setData(f"{command.title}, {command.keys or command.group}", Qt.ItemDataRole.AccessibleTextRole)
            item.setEditable(False)
            self._model.appendRow(item)
        any_found = self._model.rowCount() > 0
        if any_found:
            self.list.setCurrentIndex(self._model.index(0, 0))
        self.list.setVisible(any_found)
        self.nothing.setVisible(not any_found)
        self.nothing.setText(
            f"Nothing is called “{typed.strip()}”. Pages, runs, examples, commands and terms are searched."
        )
        self._place()

    def _place(self) -> None:
        parent = self.parentWidget()
        if parent is None:
            return
        self.setGeometry(parent.rect())
        width = min(soft_px(600), parent.width() - 2 * Space.page)
        self.nothing.setFixedHeight(px(56))
        rows, top = max(self._model.rowCount(), 1), max(parent.height() // 8, 40)
        self.list.setFixedHeight(rows * px(40) + 2)
        beyond = top + self.card.sizeHint().height() + Space.l - parent.height()
        if beyond > 0:  # in large letters not all rows fit: the list scrolls
            self.list.setFixedHeight(max(self.list.height() - beyond, px(40)))
            self.list.scrollTo(self.list.currentIndex())
        self.card.setGeometry((parent.width() - width) // 2, top, width, self.card.sizeHint().height())

    def _chosen(self, index: QModelIndex) -> None:
        command: Command | None = index.data(_ROLE)
        self.close()
        if command is not None:
            command.run()

    def close(self) -> bool:
        if self._gone:
            return True
        self._gone = True
        controller().changed.disconnect(self.close)
        if self._before is not None and shiboken6.isValid(self._before) and self._before.isVisible():
            self._before.setFocus(Qt.FocusReason.PopupFocusReason)
        self._window.removeEventFilter(self)
        self.hide()
        self.setParent(None)
        self.deleteLater()
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and event.type() == QEvent.Type.Resize:
            self._place()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event.key())
        return False

    def _key(self, key: int) -> bool:
        row, rows = self.list.currentIndex().row(), self._model.rowCount()
        if key == Qt.Key.Key_Escape:
            self.close()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up) and rows:
            step = 1 if key == Qt.Key.Key_Down else -1
            self.list.setCurrentIndex(self._model.index((row + step) % rows, 0))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if rows:
                self._chosen(self.list.currentIndex())
        else:
            return False
        return True

    def mousePressEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        if not self.card.geometry().contains(event.position().toPoint()):
            self.close()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint.open_painter(self).fillRect(self.rect(), ink("#000000", 0.28 if not controller().theme.dark else 0.5))


def _of_this_run(window: MainWindow) -> Iterator[Command]:
    """What the Run page offers, while it is shown."""
    offers = getattr(getattr(window.run_page, "page", None), "offers", None)
    if window.shell.state.value.page == "run" and callable(offers):
        for button, icon in offers():
            yield Command(button.text().replace("&&", "&"), "This run", icon, button.click)


def commands(window: MainWindow) -> Iterator[Command]:
    """Everything that can be found, what is used most first."""
    yield Command("New run", "Run", "plus", window.shell.new_run, "Ctrl+N", "train start plan")
    yield Command("Home", "Page", "house", lambda: window.act("home"), "Ctrl+1")
    yield Command("Runs", "Page", "activity", lambda: window.act("runs"), "Ctrl+2", "all list")
    also = "google sign in cloud quota project billing"
    yield Command("Account & quota", "Page", "shield-check", lambda: window.act("account"), "Ctrl+5", also)
    also = "best difference curves side by side"
    yield Command("Compare runs", "Page", "git-compare-arrows", lambda: window.act("compare"), "Ctrl+8", also)
    also = "gallery networks pretrained weights which model architecture"
    yield Command("Models", "Page", "brain", lambda: window.act("models"), "Ctrl+Shift+M", also)
    also = "course chapters tutorial glossary terms what is a tpu introduction"
    yield Command("Learn", "Page", "lightbulb", lambda: window.act("learn"), "Ctrl+9", also)
    also = "error log failed explain why learn support"
    yield Command("Help: why did it fail?", "Page", "circle-question-mark", lambda: window.act("help"), "Ctrl+7", also)
    yield Command(
        "Settings", "Page", "settings", lambda: window.act("settings"), "Ctrl+,", "options preferences engine theme"
    )
    yield from _of_this_run(window)
    for row in window.runs.state.value.rows or ():
        yield Command(
            row.name,
            f"Run, {row.status.lower()}, {row.when}",
            "activity",
            partial(window.open_run, row.run, row.name),
            "",
            f"{row.run} {row.subtitle}",
        )
    for example in shipped():
        yield Command(
            f"Example: {example.title}",
            "Example",
            example.icon,
            partial(window.shell.open_job, example.path),
            "",
            example.name,
        )
    for name, icon in _COMMAND_ICONS.items():
        if name == "new":
            continue
        action = window.actions_by_key[name]
        title = action.text().replace("&&", "&")
        yield Command(title, "Command", icon, partial(window.act, name), window.actions_by_key.keys(name))
    for term in glossary().values():
        also = f"{term.hint} {' '.join(term.also)}"
        yield Command(term.title, "Glossary", "file-text", partial(window.show_term, term.id), "", also)
