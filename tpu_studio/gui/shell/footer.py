"""The foot of the sidebar: Settings, and the button that opens the whole menu."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QBoxLayout, QMenu, QWidget

from tpu_studio.gui.kit.button import IconButton
from tpu_studio.gui.kit.nav import NavItem, NavRow
from tpu_studio.gui.shell.actions import Actions


class Footer(QWidget):
    def __init__(self, actions: Actions, open_settings: Callable[[], None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.settings = NavRow(NavItem("settings", "Settings", "settings", "Ctrl+,"))
        self.settings.setAutoExclusive(False)
        self.settings.spoken_role = QAccessible.Role.Button  # it stands apart from the list of pages
        self.settings.clicked.connect(lambda: self.settings.setChecked(True))
        self.settings.clicked.connect(lambda: open_settings())
        self.more = IconButton("ellipsis", "Menu (F10)", side=28)
        self.more.clicked.connect(self.open_menu)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(4)
        self._row.addWidget(self.settings, 1)
        self._row.addWidget(self.more, 0, Qt.AlignmentFlag.AlignHCenter)

    def set_folded(self, folded: bool) -> None:
        self.settings.set_folded(folded)
        direction = QBoxLayout.Direction.BottomToTop if folded else QBoxLayout.Direction.LeftToRight
        if self._row.direction() is not direction:
            self._row.setDirection(direction)

    def show_settings(self, shown: bool) -> None:
        self.settings.setChecked(shown)

    def open_menu(self) -> QMenu:
        menu = self._actions.menu(self)
        menu.aboutToHide.connect(menu.deleteLater)
        corner = self.more.mapToGlobal(QPoint(0, 0))
        menu.popup(QPoint(corner.x(), corner.y() - menu.sizeHint().height() - 4))
        return menu
