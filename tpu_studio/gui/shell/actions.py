"""Every command that has a key: one QAction each, used by the menu, the keyboard and the palette's list of keys."""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

# name, text, keys, menu
_COMMANDS = (
    ("new", "New run", "Ctrl+N", "Run"),
    ("open", "Open a job, run or data…", "Ctrl+O", "Run"),
    ("open-run", "Open a run folder…", "", "Run"),
    ("stop", "Stop this run…", "Ctrl+.", "Run"),
    ("sweep", "Find billable resources…", "", "Run"),
    ("faults", "What could go wrong? (practice)…", "", "Run"),
    ("home", "Home", "Ctrl+1", "Go"),
    ("runs", "Runs", "Ctrl+2", "Go"),
    ("plan", "Plan", "Ctrl+3", "Go"),
    ("run", "Run last watched", "Ctrl+4", "Go"),
    ("account", "Account & quota", "Ctrl+5", "Go"),
    ("settings-page", "Settings", "Ctrl+6", "Go"),
    ("compare", "Compare runs", "Ctrl+8", "Go"),
    ("models", "Models", "Ctrl+Shift+M", "Go"),
    ("learn", "Learn", "Ctrl+9", "Go"),
    ("help", "Help: why did it fail?", "Ctrl+7", "Go"),
    ("back", "Back", "Alt+Left", "Go"),
    ("find", "Find anything…", "Ctrl+K", "Go"),
    ("refresh", "Check again", "F5", "Go"),
    ("bigger", "Larger text", "Ctrl++", "View"),
    ("smaller", "Smaller text", "Ctrl+-", "View"),
    ("usual-size", "Usual text size", "Ctrl+0", "View"),
    ("dark", "Switch light and dark", "Ctrl+Shift+D", "View"),
    ("glossary", "Glossary", "", "Help"),
    ("what-is-this", "Help on this control", "F1", "Help"),
    ("paste-error", "Explain a copied error text", "Ctrl+V", "Help"),
    ("settings", "Settings…", "Ctrl+,", ""),
    ("menu", "Open this menu", "F10", "Help"),
    ("quit", "Close the window", "Ctrl+Q", ""),
)


class Actions:
    """*act* is called with the name of the command."""

    def __init__(self, window: QWidget, act: Callable[[str], None]) -> None:
        self._by_name: dict[str, QAction] = {}
        self._menus: dict[str, list[str]] = {}
        for name, text, keys, menu in _COMMANDS:
            action = QAction(text.replace("&", "&&"), window)  # an ampersand, not the key of the letter after it
            if keys:
                wanted = [QKeySequence(keys)]
                if name == "bigger":
                    wanted.append(QKeySequence("Ctrl+="))
                action.setShortcuts(wanted)
            action.triggered.connect(lambda _=False, name=name: act(name))
            window.addAction(action)
            self._by_name[name] = action
            self._menus.setdefault(menu, []).append(name)
        if sys.platform == "darwin":
            self._by_name["settings"].setMenuRole(QAction.MenuRole.PreferencesRole)
            self._by_name["quit"].setMenuRole(QAction.MenuRole.QuitRole)

    def __getitem__(self, name: str) -> QAction:
        return self._by_name[name]

    def keys(self, name: str) -> str:
        return self._by_name[name].shortcut().toString(QKeySequence.SequenceFormat.NativeText)

    def menu(self, parent: QWidget) -> QMenu:
        """The whole menu, for the button beside Settings and for F10."""
        whole = QMenu(parent)
        for title, names in self._menus.items():
            if title:
                inner = whole.addMenu(title)
                inner.addActions([self._by_name[name] for name in names])
        whole.addSeparator()
        whole.addActions([self._by_name[name] for name in self._menus[""]])
        return whole
