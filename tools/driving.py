"""Drives the real window from a script: waits for what should come, clicks what a person would click.

Used by `demo.py` and `pictures.py`. Nothing is faked: the window, the runs and the engine are the app's own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


_kept: list[object] = []  # the application must outlive every widget, or Qt crashes on the way out


class GaveUp(Exception):
    """What was waited for and did not come, in a sentence."""


def has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or sys.platform in ("darwin", "win32")


def choose_platform() -> bool:
    """Offscreen without a display; True when the window can be seen. Call before Qt is imported."""
    seen = has_display() and os.environ.get("QT_QPA_PLATFORM") != "offscreen"
    if not seen:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return seen


class Driver:
    """One window of the app in this process."""

    def __init__(self) -> None:
        from PySide6.QtWidgets import QApplication

        from tpu_studio.app.signals import SignalWatch
        from tpu_studio.app.studio import Studio
        from tpu_studio.wire.homes import home_folder

        application = QApplication.instance() or QApplication(sys.argv[:1])
        assert isinstance(application, QApplication)
        _kept.append(application)
        self.app = application
        self.interrupted = False
        self._watch = SignalWatch(self._interrupt, application)
        self.studio = Studio(application, home_folder())
        self.window = self.studio.window

    def open(self) -> None:
        """Show the window and wait for what works behind it."""
        self.studio.show()
        if os.environ.get("QT_QPA_PLATFORM") == "offscreen":
            self.window.resize(1440, 900)  # the offscreen screen is small, and remembered places follow it
        self.wait(lambda: self.studio.services is not None or self.complaint(), 30, "The window did not get ready.")
        if self.studio.services is None:
            raise GaveUp(self.complaint())

    def complaint(self) -> str:
        """What the window's notices complain of, or ""."""
        bad = [notice for notice in self.studio.shell.state.value.notices if notice.tone == "bad"]
        return f"{bad[-1].title}. {bad[-1].text}" if bad else ""

    def wait(
        self, until: Callable[[], object], seconds: float, sentence: str, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Let the window live until *until* is true; GaveUp with *sentence* after *seconds*."""
        give_up = time.monotonic() + seconds
        while not until():
            if self.interrupted:
                raise KeyboardInterrupt
            if time.monotonic() > give_up:
                raise GaveUp(sentence)
            self.app.processEvents()
            meanwhile()
            time.sleep(0.01)

    def linger(self, seconds: float) -> None:
        """Let the window live for a while."""
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() > end, seconds + 1, "")

    def click(self, widget: object) -> None:
        """A real mouse click in the middle of *widget*."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest
        from PySide6.QtWidgets import QWidget

        assert isinstance(widget, QWidget)
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def sheet(self) -> Any:
        """The dialog that is open over the window, the topmost of several, or None."""
        from tpu_studio.gui.shell.sheet import Sheet

        return next((one for one in reversed(self.window.findChildren(Sheet)) if one.isVisible()), None)

    def answer(self, wanted: str) -> None:
        """Press the button of the open dialog that says *wanted*; ``primary``: its filled one."""
        from tpu_studio.gui.kit.button import Button

        sheet = self.sheet()
        buttons = sheet.findChildren(Button) if sheet is not None else []
        for button in buttons:
            if button.isVisible() and wanted in (button.text(), button.kind):
                self.click(button)
                return
        raise GaveUp(f"There is no button “{wanted}” to press.")

    def agree(self, plan: Any) -> None:
        """Press the filled button of the review of *plan*; were its figures replaced meanwhile, also of the newer."""
        newer = True
        while newer:
            self.wait(lambda: self.sheet() is not None, 30, "The review did not open.")
            self.linger(1.0)
            newer = plan.state.value.newer is not None
            self.answer("primary")

    def picture(self, file: Path) -> None:
        self.app.processEvents()
        file.parent.mkdir(parents=True, exist_ok=True)
        if not self.window.grab().save(str(file)):
            raise GaveUp(f"The picture {file} could not be written.")

    def end(self) -> None:
        self.studio.end()

    def _interrupt(self) -> None:
        self.interrupted = True
        self.app.quit()
