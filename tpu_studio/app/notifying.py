"""Notifications outside the window, where the desktop has them and nobody is looking at the window. Never the only
channel: the window's own notices and the list of runs say the same.

A program of the system shows them, started and not waited for; one that hangs is ended after some seconds. Where there
is none that we know, as on Windows, Qt shows them at an icon of ours in the tray, while the desktop has one. Nobody has
seen that on Windows yet.
"""

from __future__ import annotations

import html
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QProcess, Qt, QTimer
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from tpu_studio.viewmodels.news import Lately, News, news, read_last

if TYPE_CHECKING:
    from tpu_studio.app.studio import Studio
    from tpu_studio.viewmodels.runrows import RunRow
    from tpu_studio.viewmodels.runs import RunsView

TRIED = News("tried", "", "Notifications work", "So TPU Studio tells you of a run while you look at something else.")
PATIENCE_MS = 5_000
LONGEST = 200  # letters of a text
_APPLE = "on run told\ndisplay notification (item -1 of told) with title (item -2 of told)\nend run"
"""From the end: its man page does not say whether "--", which ends the options, is one of the arguments."""


def command(title: str, text: str) -> list[str]:
    """The program that shows it, with its arguments; [] where the desktop has none that we know."""
    title, text = title[:LONGEST], text[:LONGEST]
    if program := shutil.which("notify-send"):  # its text is markup, in which it reads C's escapes before
        plain = html.escape(text, quote=False).replace("\\", "\\\\")
        return [program, "--app-name=TPU Studio", "--", title, plain]
    if sys.platform == "darwin" and (program := shutil.which("osascript")):
        return [program, "-e", _APPLE, "--", title, text]
    return []


def way() -> str:
    """What shows them here, in a sentence."""
    if argv := command("", ""):
        return f"Here the system's own program shows them ({Path(argv[0]).name})."
    if _has_tray():
        return "Here they come from an icon in the tray."
    return "This desktop has nothing that shows them. On Linux the program notify-send does (package libnotify)."


def can_show() -> bool:
    return bool(command("", "")) or _has_tray()


def _has_tray() -> bool:
    return QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()


class Notifying:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._before: dict[str, RunRow] = {}
        self._lately = Lately()
        self._under_way: list[QProcess] = []
        self._tray: QSystemTrayIcon | None = None
        self._end = studio.runs.state.subscribe(self._changed)

    def close(self) -> None:
        self._end()
        if self._tray is not None:
            self._tray.hide()
        for process in self._under_way:
            process.kill()
            process.waitForFinished(1000)

    def _changed(self, view: RunsView) -> None:
        if view.rows is None:
            return
        before, self._before = self._before, read_last(self._before, view.rows)
        off = self._studio.settings.state.value.settings.quiet
        if QApplication.applicationState() == Qt.ApplicationState.ApplicationActive:
            return
        wanted = [one for one in news(before, view.rows) if one.kind not in off]
        for one in self._lately.new(wanted, time.monotonic()):
            self.show(one)

    def show(self, one: News, told: Callable[[bool], None] = lambda shown: None) -> None:
        """*told* hears whether it was shown, as far as what shows it says."""
        argv = command(one.title, one.text)
        if not argv:
            told(self._show_at_tray(one))
            return
        process = QProcess(self._studio.window)
        self._under_way.append(process)
        patience = QTimer(process)
        patience.setSingleShot(True)
        patience.timeout.connect(process.kill)
        process.finished.connect(lambda code, ended: told(code == 0 and ended is QProcess.ExitStatus.NormalExit))
        process.finished.connect(lambda *_: self._over(process))
        process.errorOccurred.connect(lambda _: self._over(process))
        process.start(argv[0], argv[1:])
        patience.start(PATIENCE_MS)

    def _show_at_tray(self, one: News) -> bool:
        """At an icon that stays from the first one on: Qt shows nothing at one that is hidden. Whether there is one."""
        if not _has_tray():
            return False
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._studio.window.windowIcon(), self._studio.window)
            self._tray.setToolTip("TPU Studio")
            self._tray.activated.connect(lambda _: self._studio.window.bring_to_front())
            self._tray.messageClicked.connect(self._studio.window.bring_to_front)
        text = one.text[:LONGEST].replace("<", "‹")  # where Qt hands it to a service of Linux, that may read markup
        self._tray.show()
        self._tray.showMessage(one.title[:LONGEST], text, self._studio.window.windowIcon(), PATIENCE_MS)
        return True

    def _over(self, process: QProcess) -> None:
        if process in self._under_way and process.state() == QProcess.ProcessState.NotRunning:
            self._under_way.remove(process)
            process.deleteLater()
