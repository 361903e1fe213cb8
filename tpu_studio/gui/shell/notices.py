"""Notices: cards at the bottom right, 6 s each, longer while pointed at or focused; lasting ones until closed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleEvent, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.shell import Notice, ShellView, ShellViewModel

SHOWN_MS = 6000
WIDTH = 380
_ICONS = {
    "neutral": ("info", "text_2"),
    "accent": ("info", "accent"),
    "ok": ("circle-check", "ok"),
    "warn": ("triangle-alert", "warn"),
    "bad": ("circle-x", "bad"),
}


class NoticeCard(Card):
    """One notice. Its time stands still while the pointer or the focus is on it."""

    def __init__(self, notice: Notice, shell: ShellViewModel, parent: QWidget) -> None:
        super().__init__(margins=(Space.xl, Space.l, Space.l, Space.gap), spacing=Space.m, strong=True, parent=parent)
        self.notice = notice
        self._shell = shell
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(self.leave)
        icon, tone = _ICONS[notice.tone]
        self._close = IconButton("x", "Close this notice", side=26, icon_size=16)
        self._close.clicked.connect(self.leave)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(Text(notice.title, "label-strong"))
        if notice.text:
            words.addWidget(Text(notice.text, "secondary", "text_2"))
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(Icon(icon, tone, size=18), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(row)
        buttons = QHBoxLayout()
        buttons.setContentsMargins(30, 2, 0, 0)
        buttons.setSpacing(Space.m)
        self.action: Button | None = None
        if notice.action:
            self.action = Button(notice.action, size="small")
            self.action.clicked.connect(self._act)
            buttons.addWidget(self.action)
        if notice.details:
            copy = Button("Copy the details", "quiet", size="small")
            copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(notice.details))
            buttons.addWidget(copy)
        if buttons.count():
            buttons.addStretch(1)
            self.body.addLayout(buttons)
        self.setAccessibleName(f"{notice.title}. {notice.text}")
        self.installEventFilter(self)
        for child in self.findChildren(QWidget):
            child.installEventFilter(self)
        if not notice.lasting:
            self._timer.start()

    def leave(self) -> None:
        self._shell.close_notice(self.notice.number)

    def _act(self) -> None:
        self.leave()
        if self.notice.act is not None:
            self.notice.act()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.Enter, QEvent.Type.FocusIn):
            self._timer.stop()
        elif kind in (QEvent.Type.Leave, QEvent.Type.FocusOut) and not self.notice.lasting:
            held = self.underMouse() or any(child.hasFocus() for child in self.findChildren(QWidget))
            if not held:
                self._timer.start()
        return False


class Notices(QObject):
    """Keeps the cards of `ShellView.notices` over the bottom right corner of *ground*, newest lowest, and above what
    *clear* names, such as the button that starts a run."""

    def __init__(
        self, ground: QWidget, shell: ShellViewModel, clear: Callable[[], QWidget | None] = lambda: None
    ) -> None:
        super().__init__(ground)
        self._ground, self._shell, self._clear = ground, shell, clear
        self._cards: dict[int, NoticeCard] = {}
        self._end = shell.state.subscribe(self._draw)
        ground.destroyed.connect(lambda: self._end())

    @property
    def cards(self) -> list[NoticeCard]:
        return list(self._cards.values())

    def place(self) -> None:
        width = min(soft_px(WIDTH), self._ground.width() - 2 * Space.xl)
        bottom = self._ground.height() - Space.xxl
        clear = self._clear()
        if clear is not None and clear.isVisible():
            bottom = min(bottom, clear.mapTo(self._ground, QPoint(0, 0)).y() - Space.m)
        for card in reversed(self._cards.values()):
            layout = card.layout()
            height = (
                layout.heightForWidth(width)
                if layout is not None and layout.hasHeightForWidth()
                else card.sizeHint().height()
            )
            card.setGeometry(self._ground.width() - width - Space.xxl, bottom - height, width, height)
            card.raise_()
            bottom -= height + Space.m

    def _draw(self, view: ShellView) -> None:
        wanted = {notice.number: notice for notice in view.notices}
        changed = False
        for number in [number for number in self._cards if number not in wanted]:
            card = self._cards.pop(number)
            card.hide()
            card.deleteLater()
            changed = True
        for number, notice in wanted.items():
            if number not in self._cards:
                card = self._cards[number] = NoticeCard(notice, self._shell, self._ground)
                card.show()
                QAccessible.updateAccessibility(QAccessibleEvent(card, QAccessible.Event.Alert))
                changed = True
        if changed:
            self.place()
