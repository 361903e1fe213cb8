"""Desktop notifications: shown by a program of the system, which may hang, and switched off kind by kind."""

from __future__ import annotations

import os
from dataclasses import replace
from getopt import getopt
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.gui.studios import OpenStudio, open_studio
from tpu_studio.app import notifying
from tpu_studio.viewmodels.news import News
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.workflow.ports import RunSummary


def program(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    file = folder / "notify-send"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    state = Qt.ApplicationState.ApplicationInactive
    monkeypatch.setattr(QApplication, "applicationState", staticmethod(lambda: state))


def run_and_stop(qtbot: Any, studio: OpenStudio, name: str = "digits") -> None:
    """A run that is seen to go on, and then is over: one that had ended at the first sight of it is no news."""
    run = studio.launch(name, steps=1_000_000)
    qtbot.waitUntil(lambda: (row := studio.runs.state.value.row(run)) is not None and row.live)
    studio.runs.stop(run, keep=False)
    studio.wait_over(run)


def test_an_end_is_told_outside_and_a_kind_that_is_off_is_not(
    qtbot, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    told = tmp_path / "told"
    program(tmp_path / "bin", f'printf "%s|" "$@" >> "{told}"', monkeypatch)
    with open_studio(qtbot, home) as studio:
        qtbot.waitUntil(lambda: studio.studio._notifying is not None)
        run_and_stop(qtbot, studio, "<b>digits</b>")
        qtbot.waitUntil(told.exists)
        qtbot.waitUntil(lambda: "digits" in told.read_text())
        assert "--app-name=TPU Studio|--|<b>digits</b>: stopped" in told.read_text()
        studio.studio.settings.set(quiet=("ended",))
        told.unlink()
        run_and_stop(qtbot, studio)
        assert not told.exists() and not studio.studio._notifying._under_way
    assert 'off = ["ended"]' in (home / "settings.toml").read_text()


def test_a_service_that_hangs_holds_nothing(qtbot, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program(tmp_path / "bin", "exec sleep 600", monkeypatch)
    monkeypatch.setattr(notifying, "PATIENCE_MS", 200)
    with open_studio(qtbot, home) as studio:
        qtbot.waitUntil(lambda: studio.studio._notifying is not None)
        run_and_stop(qtbot, studio)
        qtbot.waitUntil(lambda: not studio.studio._notifying._under_way)  # it was ended
        studio.shell.go("settings")
        switch = studio.window.page("settings").kinds["failed"].switch
        assert switch.isChecked()
        switch.click()
        assert studio.studio.settings.state.value.settings.quiet == ("failed",)


def test_markup_in_a_name_is_no_markup_of_the_notification(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notifying.shutil, "which", lambda name: f"/bin/{name}" if name == "notify-send" else None)
    assert notifying.command("-x", "<a href=x>&")[1:] == ["--app-name=TPU Studio", "--", "-x", "&lt;a href=x&gt;&amp;"]
    assert notifying.command("a", r"\074img\n")[-1] == r"\\074img\\n"  # notify-send reads C's escapes (g_strcompress)
    monkeypatch.setattr(notifying.shutil, "which", lambda name: None)
    assert notifying.command("a", "b") == []


def test_a_name_that_begins_like_an_option_is_none_for_the_program(monkeypatch: pytest.MonkeyPatch):
    """A run may be called like a second script for `osascript`, which it worked out."""
    name = '-eproperty x : do shell script "touch /tmp/ran" --'
    monkeypatch.setattr(notifying.shutil, "which", lambda name: f"/bin/{name}" if name == "osascript" else None)
    monkeypatch.setattr(notifying.sys, "platform", "darwin")
    options, told = getopt(
        notifying.command(f"{name}: finished", "-l")[1:], "e:l:s:i"
    )  # as a BSD's: up to the first word
    assert options == [("-e", notifying._APPLE)] and told == [f"{name}: finished", "-l"]
    monkeypatch.setattr(notifying.shutil, "which", lambda name: f"/bin/{name}" if name == "notify-send" else None)
    argv = notifying.command(f"{name}: finished", "-l")
    assert argv[argv.index("--") + 1 :] == [f"{name}: finished", "-l"]


def test_ends_that_follow_one_another_are_one_notification(qtbot, home: Path, monkeypatch: pytest.MonkeyPatch):
    state = Qt.ApplicationState.ApplicationInactive
    monkeypatch.setattr(QApplication, "applicationState", staticmethod(lambda: state))
    over = row_of(RunSummary("r", "hands", home, 1.0, over=True, status="failed"))
    going = replace(over, over=False, live=True)
    with open_studio(qtbot, home) as studio:
        qtbot.waitUntil(lambda: studio.studio._notifying is not None)
        shown: list[str] = []
        monkeypatch.setattr(studio.studio._notifying, "show", lambda one: shown.append(one.kind))
        view = studio.runs.state.value
        for rows in ((going,), (over,)) * 4:
            studio.studio._notifying._changed(replace(view, rows=rows))
        assert shown == ["failed"]


class Tray:
    """Stands for QSystemTrayIcon: an offscreen screen has no tray."""

    there = True

    def __init__(self, *_: object) -> None:
        self.said: list[tuple[str, str]] = []
        self.shown = False
        self.activated = self.messageClicked = self

    def connect(self, _: object) -> None: ...
    def setToolTip(self, _: str) -> None: ...

    def show(self) -> None:
        self.shown = True

    def hide(self) -> None:
        self.shown = False

    def showMessage(self, title: str, text: str, *_: object) -> None:
        assert self.shown
        self.said.append((title, text))

    @classmethod
    def isSystemTrayAvailable(cls) -> bool:
        return cls.there

    @staticmethod
    def supportsMessages() -> bool:
        return True


def test_without_a_program_the_tray_shows_it_while_the_desktop_has_one(
    qtbot, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notifying.shutil, "which", lambda name: None)
    monkeypatch.setattr(notifying, "QSystemTrayIcon", Tray)
    one = News("ended", "r", "<b>hands</b> " + "x" * 300, "<i>Done</i> & kept.")
    with open_studio(qtbot, home) as studio:
        qtbot.waitUntil(lambda: studio.studio._notifying is not None)
        outside = studio.studio._notifying
        monkeypatch.setattr(Tray, "there", False)
        outside.show(one)
        assert outside._tray is None  # no icon, no error; the window's own notice stays
        monkeypatch.setattr(Tray, "there", True)
        outside.show(one)
        tray: Any = outside._tray
        assert tray.said == [(one.title[:200], "‹i>Done‹/i> & kept.")]
    assert not tray.shown


@pytest.mark.parametrize(("code", "said"), [(0, "notify-send"), (1, "did not show it")])
def test_settings_say_what_shows_them_here_and_show_one(
    qtbot, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str
):
    told = tmp_path / "told"
    program(tmp_path / "bin", f'printf "%s|" "$@" >> "{told}"\nexit {code}', monkeypatch)
    with open_studio(qtbot, home) as studio:
        studio.shell.go("settings")
        page = studio.window.page("settings")
        qtbot.waitUntil(page.show_one.isVisible)
        assert "notify-send" in page.shown_by.text() and "did not" not in page.shown_by.text()
        page.show_one.click()
        qtbot.waitUntil(lambda: told.exists() and "Notifications work" in told.read_text())
        qtbot.waitUntil(lambda: said in page.shown_by.text() and not studio.studio._notifying._under_way)


def test_a_desktop_that_has_none_is_told_so_and_offers_nothing(qtbot, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notifying, "command", lambda title, text: [])
    monkeypatch.setattr(notifying.QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: False))
    assert "nothing that shows them" in notifying.way() and "libnotify" in notifying.way()
    assert not notifying.can_show()
    with open_studio(qtbot, home) as studio:
        studio.shell.go("settings")
        page = studio.window.page("settings")
        qtbot.waitUntil(page.shown_by.isVisible)
        assert "nothing that shows them" in page.shown_by.text() and not page.show_one.isVisible()
