"""The focus ring: 2 px accent outside the control, for keyboard focus only.

One ring per window or scrolled page, laid over its siblings, so that a control needs no room for it and looks the same
focused or not. Controls mix in `RingFocus`; whether the last move came from the keyboard is remembered here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QCheckBox,
    QLayout,
    QRadioButton,
    QScrollArea,
    QWidget,
)

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.theme import ink
from tpu_studio.gui.kit.tokens import Radius

_OUT = 4  # how far the ring's outer edge stands from the control
_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_by_keyboard = False
_KEY_COUNTS_S = 0.3  # Qt also moves the focus as if by Tab when the control that had it is hidden or taken away


class _Keys(QObject):
    """When a key was last pressed where the focus is: one light filter, on the widget that has the focus."""

    pressed_at = -1e9
    nobody = True  # had the focus before: then the first Tab goes to the window

    def _moved(self, old: QWidget | None, new: QWidget | None) -> None:
        if old is not None:
            old.removeEventFilter(self)
        if new is not None:
            new.installEventFilter(self)
        _Keys.nobody = new is None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride):
            _Keys.pressed_at = time.monotonic()
        return False


def watch_keys(app: QApplication) -> None:
    """Called by `theme.install`; a second call does nothing. Looking for a child would wrap every child of *app*."""
    if not app.property("watches_keys"):
        app.setProperty("watches_keys", True)
        app.focusChanged.connect(_Keys(app)._moved)


class RingFocus:
    """Mix-in before the Qt class: ``class Button(RingFocus, QPushButton)``. `ring_radius` is the control's own."""

    ring_radius: float = Radius.control

    def focusInEvent(self, event: QFocusEvent) -> None:
        global _by_keyboard
        super().focusInEvent(event)  # type: ignore[misc]
        reason = event.reason()
        if reason in _KEYBOARD:
            if _Keys.nobody or time.monotonic() - _Keys.pressed_at < _KEY_COUNTS_S:
                _by_keyboard = True
        elif reason == Qt.FocusReason.MouseFocusReason:
            _by_keyboard = False
        assert isinstance(self, QWidget)
        if _by_keyboard:
            _bring_into_view(self)
            ring_for(self).follow(self, self.ring_radius)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The mouse has taken over: a control that has the focus already loses its ring."""
        global _by_keyboard
        _by_keyboard = False
        self._take_ring()
        super().mousePressEvent(event)  # type: ignore[misc]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses a button as Space does; Qt alone knows that only in dialogs, and there for the default one."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        it: object = self
        if enter and plain and isinstance(it, QAbstractButton) and not isinstance(it, (QCheckBox, QRadioButton)):
            if not event.isAutoRepeat():
                it.click()
            return
        super().keyPressEvent(event)  # type: ignore[misc]

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)  # type: ignore[misc]
        self._take_ring()

    def _take_ring(self) -> None:
        assert isinstance(self, QWidget)
        ring = _host_of(self).findChild(FocusRing, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if ring is not None:
            ring.leave(self)
        self.update()


class FocusRing(QWidget):
    """The overlay itself. Mouse events pass through it; it follows the control when that moves or grows."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._target: QWidget | None = None
        self._watched: list[QWidget] = []
        self._radius: float = Radius.control
        self.hide()

    @property
    def target(self) -> QWidget | None:
        return self._target if not self.isHidden() else None

    def follow(self, target: QWidget, radius: float) -> None:
        self.leave(self._target)
        self._target, self._radius = target, radius
        widget: QWidget | None = target
        while widget is not None and widget is not self.parentWidget():
            widget.installEventFilter(self)
            self._watched.append(widget)
            widget = widget.parentWidget()
        self._place()

    def leave(self, target: QWidget | None) -> None:
        if target is None or target is not self._target:
            return
        for widget in self._watched:
            widget.removeEventFilter(self)
        self._watched.clear()
        self._target = None
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        elif event.type() == QEvent.Type.Hide:
            self.hide()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        paint.outlined(painter, QRectF(self.rect()), self._radius + _OUT, None, ink("accent"), 2)

    def _place(self) -> None:
        if self._target is None:
            return
        host = self.parentWidget()
        assert host is not None
        corner = self._target.mapTo(host, QPoint(0, 0))
        self.setGeometry(
            corner.x() - _OUT, corner.y() - _OUT, self._target.width() + 2 * _OUT, self._target.height() + 2 * _OUT
        )
        self.raise_()
        self.show()


def ring_for(widget: QWidget) -> FocusRing:
    host = _host_of(widget)
    ring = host.findChild(FocusRing, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return ring if ring is not None else FocusRing(host)


def _host_of(widget: QWidget) -> QWidget:
    """The scrolled page the widget lies on, else its window: the ring moves with the page and is cut at its edge."""
    inner = widget
    parent = widget.parentWidget()
    while parent is not None and not inner.isWindow():
        scroller = parent.parentWidget()
        if isinstance(scroller, QAbstractScrollArea) and scroller.viewport() is parent and inner is not widget:
            return inner
        inner, parent = parent, parent.parentWidget()
    return inner


def _bring_into_view(widget: QWidget) -> None:
    """Qt scrolls by itself only when Tab moves within a scrolled page, not when it comes in from outside."""
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget, _OUT, 2 * _OUT)
        around = around.parentWidget()


def stops(layout: QLayout) -> Iterator[QWidget]:
    """Everything in *layout* that can have the focus, in the order in which it is laid out."""
    for number in range(layout.count()):
        item = layout.itemAt(number)
        if item is None:
            continue
        if (widget := item.widget()) is not None:
            if widget.focusPolicy() != Qt.FocusPolicy.NoFocus:
                yield widget
            scrolled = widget.widget() if isinstance(widget, QScrollArea) else widget
            inside = scrolled.layout() if scrolled is not None else None
        else:
            inside = item.layout()
        if inside is not None:
            yield from stops(inside)


class TabOrder:
    """Tab leads down *layout*, also through what is made in it late: `follow` after each change."""

    def __init__(self, layout: QLayout) -> None:
        self._layout = layout
        self._stops: list[QWidget] = []

    def follow(self) -> None:
        found = list(stops(self._layout))
        if found and found != self._stops:
            self._stops = found
            tab_through(found[0], found[1:])


def tab_through(before: QWidget, parts: Iterable[QWidget]) -> None:
    """Let Tab lead from *before* through *parts*: what is made late stands at the end of Qt's own order."""
    for part in parts:
        QWidget.setTabOrder(before, part)
        before = part
