"""A person's hands at the real window: one has a keyboard only, the other a mouse only.

Both send events to the window of the system, which finds out by itself whom they concern; no widget's method is called.
A control that such a hand cannot reach fails the test, named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QWindow
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QScrollArea, QWidget

FURTHEST = 400  # presses of Tab to any control of a page
NOTCH = 120


class Hand(Protocol):
    presses: int

    def press(self, wanted: QWidget) -> None: ...


class Keyboard:
    """Tab to it, within a choice the arrow, then Space. `presses` counts what activates, `moves` each Tab and arrow."""

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self.presses = self.moves = 0

    def press(self, wanted: QWidget) -> None:
        self.reach(wanted)
        self.key(Qt.Key.Key_Space)

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.presses += 1
        self._send(key, modifiers)

    def reach(self, wanted: QWidget) -> None:
        assert wanted.isVisible() and wanted.isEnabled(), f"{named(wanted)} cannot be pressed"
        for _ in range(FURTHEST):
            if QApplication.focusWidget() is wanted:
                return
            self.moves += 1
            self._send(Qt.Key.Key_Down if _are_one_choice(QApplication.focusWidget(), wanted) else Qt.Key.Key_Tab)
        raise AssertionError(f"Tab never comes to {named(wanted)}; it stands on {named(QApplication.focusWidget())}")

    def walk(self) -> list[QWidget]:
        """Every stop of Tab, from where the focus is until it comes to one for the second time."""
        stops: list[QWidget] = []
        for _ in range(FURTHEST):
            self._send(Qt.Key.Key_Tab)
            at = QApplication.focusWidget()
            assert at is not None, f"the focus is lost after {named(stops[-1] if stops else None)}"
            if at in stops[:-1] or (stops and at is stops[-1] and not _has_stops_within(at)):
                return stops
            if not stops or at is not stops[-1]:
                stops.append(at)
        raise AssertionError(f"Tab does not come round within {FURTHEST} presses")

    def _send(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        if QApplication.activeWindow() is None:  # a hover text was there and has gone; a desktop gives the keys back
            self._window.activateWindow()
            QApplication.processEvents()
        QTest.keyClick(_screen(self._window), key, modifiers)
        QApplication.processEvents()


class Mouse:
    """Turn the wheel until it is in sight, point at its middle, and press."""

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self.presses = 0

    def press(self, wanted: QWidget) -> None:
        assert wanted.isVisible() and wanted.isEnabled(), f"{named(wanted)} cannot be pressed"
        self._bring(wanted)
        at = self._middle(wanted)
        under = self._window.childAt(at)
        assert under is not None and (under is wanted or wanted.isAncestorOf(under)), (
            f"{named(wanted)} is covered by {named(under)}"
        )
        self.presses += 1
        QTest.mouseClick(_screen(self._window), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
        QApplication.processEvents()

    def _middle(self, wanted: QWidget) -> QPoint:
        return wanted.mapTo(self._window, wanted.rect().center())

    def _bring(self, wanted: QWidget) -> None:
        for _ in range(FURTHEST):
            seen = wanted.visibleRegion().boundingRect()
            if seen.contains(wanted.rect().center()):
                return
            over = self._scrolled(wanted)
            up = self._middle(wanted).y() < over.y()
            QTest.wheelEvent(_screen(self._window), over.toPointF(), QPoint(0, NOTCH if up else -NOTCH))
            QApplication.processEvents()
        raise AssertionError(f"the wheel never brings {named(wanted)} into sight")

    def _scrolled(self, wanted: QWidget) -> QPoint:
        """The middle of what scrolls *wanted*."""
        around: Any = wanted.parentWidget()
        while around is not None and not isinstance(around, QScrollArea):
            around = around.parentWidget()
        assert around is not None, f"{named(wanted)} is out of sight, and nothing there scrolls"
        view = around.viewport()
        middle: QPoint = view.mapTo(self._window, view.rect().center())
        return middle


HANDS: dict[str, Callable[[QWidget], Hand]] = {"keyboard": Keyboard, "mouse": Mouse}


def named(widget: QWidget | None) -> str:
    if widget is None:
        return "nothing"
    return f"{type(widget).__name__} {widget.accessibleName() or getattr(widget, 'text', str)()!r}"


def _screen(window: QWidget) -> QWindow:
    handle = window.windowHandle()
    assert handle is not None, "the window is not shown"
    return handle


def _are_one_choice(at: QWidget | None, wanted: QWidget) -> bool:
    """Tab comes to one of them only, as among a browser's radio buttons."""
    if not isinstance(at, QAbstractButton) or not isinstance(wanted, QAbstractButton):
        return False
    group = at.group()
    return bool(group) and group is wanted.group() and group.exclusive()


def _has_stops_within(widget: QWidget) -> bool:
    """A text with several terms keeps the focus from one to the next."""
    return isinstance(widget, QLabel)
