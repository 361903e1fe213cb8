"""Notices: cards at the bottom right, 6 s each, staying while pointed at or focused, with at most one action (Undo).

They never take the focus. The event list keeps what they said.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QEnterEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space

STAYS_MS = 6000
_ICONS = {"accent": "info", "ok": "circle-check", "warn": "triangle-alert", "bad": "circle-x"}


class Notice(Card):
    acted = Signal()
    gone = Signal()

    def __init__(
        self,
        title: str,
        text: str = "",
        kind: str = "accent",
        *,
        action: str = "",
        stays_ms: int = STAYS_MS,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(margins=(14, 12, 10, 12), strong=True, parent=parent)
        self.button: Button | None = None
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(Text(title, "label-strong"))
        if text:
            words.addWidget(Text(text, "secondary", "text_2"))
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(Icon(_ICONS[kind], kind, size=18), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        if action:
            self.button = Button(action, size="small")
            self.button.clicked.connect(self.acted)
            self.button.clicked.connect(self.close_now)
            row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        close = IconButton("x", "Close this notice", icon_size=16)
        close.clicked.connect(self.close_now)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(row)
        self.setAccessibleName(f"{title} {text}".strip())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(stays_ms)
        self._timer.timeout.connect(self._time_is_up)
        self._timer.start()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._timer.stop()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._timer.start()
        super().leaveEvent(event)

    def _time_is_up(self) -> None:
        holder = QApplication.focusWidget()
        if self.underMouse() or (holder is not None and self.isAncestorOf(holder)):
            self._timer.start()
        else:
            self.close_now()

    def close_now(self) -> None:
        self._timer.stop()
        self.hide()
        self.gone.emit()
        self.deleteLater()


class Notices(QObject):
    """Stacks notices over a window's bottom right corner, newest at the bottom, at most three."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._shown: list[Notice] = []
        window.installEventFilter(self)

    def show(
        self, title: str, text: str = "", kind: str = "accent", *, action: str = "", stays_ms: int = STAYS_MS
    ) -> Notice:
        """Connect `acted` of what is returned to the action."""
        notice = Notice(title, text, kind, action=action, stays_ms=stays_ms, parent=self._window)
        notice.gone.connect(lambda: self._drop(notice))
        self._shown.append(notice)
        while len(self._shown) > 3:
            self._shown[0].close_now()
        notice.show()
        self._arrange()
        announce(notice, f"{title} {text}".strip())
        return notice

    def _drop(self, notice: Notice) -> None:
        if notice in self._shown:
            self._shown.remove(notice)
        self._arrange()

    def _arrange(self) -> None:
        bottom = self._window.height() - Space.card
        width = min(soft_px(380), self._window.width() - 2 * Space.card)
        for notice in reversed(self._shown):
            notice.setFixedWidth(width)
            tall = notice.heightForWidth(width) if notice.hasHeightForWidth() else notice.sizeHint().height()
            notice.resize(width, tall)
            notice.move(QPoint(self._window.width() - Space.card - width, bottom - tall))
            notice.raise_()
            bottom -= tall + Space.m

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._arrange()
        return False


def announce(widget: QWidget, words: str) -> None:
    """Tell a screen reader: stage changes, finished, failed, needs you. Never ticking numbers."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))
