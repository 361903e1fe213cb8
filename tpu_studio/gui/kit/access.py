"""Roles for screen readers where Qt's own say something else: headings, the pages of the sidebar as a list, sheets.

A widget says which by `spoken_role`; whoever reads the screen is answered by the interfaces below, and by Qt's own for
all other widgets. They are made only when somebody asks, so without a screen reader none is.
"""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QAccessibleInterface
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QLabel, QWidget

_PRESS = QAccessibleActionInterface.pressAction
_installed = False


class _Heading(QAccessibleWidget):
    """A label that heads what follows; its name is its text."""

    def text(self, which: QAccessible.Text) -> str:
        label = self.widget()
        if which == QAccessible.Text.Name and isinstance(label, QLabel):
            return label.accessibleName() or label.text()
        return super().text(which)


class _Item(QAccessibleWidget):
    """A button that is one of a list: selected instead of checked, and pressed as ever."""

    def state(self) -> QAccessible.State:
        state = super().state()
        button = self.widget()
        if isinstance(button, QAbstractButton):
            state.selectable = state.selected = False
            if self.role() == QAccessible.Role.ListItem:
                state.selectable, state.selected = True, button.isChecked()
        return state

    def actionNames(self) -> list[str]:
        return [_PRESS(), *super().actionNames()]

    def doAction(self, name: str) -> None:
        button = self.widget()
        if name == _PRESS() and isinstance(button, QAbstractButton):
            button.click()
        else:
            super().doAction(name)


def install() -> None:
    """Once for the life of the program: Qt has no way to take it back."""
    global _installed
    if not _installed:
        _installed = True
        QAccessible.installFactory(_interface)


def _interface(_kind: str, widget: QObject) -> QAccessibleInterface | None:
    role = getattr(widget, "spoken_role", None)
    if not isinstance(role, QAccessible.Role):
        return None
    if isinstance(widget, QAbstractButton):
        return _Item(widget, role)
    if isinstance(widget, QLabel):
        return _Heading(widget, role)
    return QAccessibleWidget(widget, role) if isinstance(widget, QWidget) else None
