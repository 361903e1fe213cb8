"""A home that somebody else may write into: the window says so, and opens nothing in it."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.studios import open_studio


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_the_window_says_so_in_a_notice_that_stays_and_goes_on_once_it_is_mended(home: Path, qtbot: QtBot) -> None:
    home.chmod(0o777)
    with open_studio(qtbot, home, composed=False) as opened:
        qtbot.waitUntil(lambda: bool(opened.shell.state.value.notices))
        notice = opened.shell.state.value.notices[0]
        assert "may be written into by others" in notice.title and opened.studio.services is None
        home.chmod(stat.S_IRWXU)
        assert notice.act is not None
        notice.act()
        qtbot.waitUntil(lambda: opened.studio.services is not None)
