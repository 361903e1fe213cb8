"""One window for each home folder."""

import os
import subprocess
import sys

import pytest

from tpu_studio.app import single
from tpu_studio.app.single import Answer, become_first, hand_over


@pytest.fixture
def first(qapp, tmp_path):
    window = become_first(tmp_path)
    yield window
    window.close()


def second_start(qtbot, home, path):
    """A second program's answer, as the app of this process goes on."""
    program = (
        "import sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication\n"
        "from tpu_studio.app.single import hand_over\n"
        "app = QCoreApplication([]); print(hand_over(Path(sys.argv[1]), sys.argv[2]).value)"
    )
    started = subprocess.Popen([sys.executable, "-c", program, str(home), path], stdout=subprocess.PIPE, text=True)
    qtbot.waitUntil(lambda: started.poll() is not None, timeout=15_000)
    return started.communicate()[0].strip()


def test_without_a_window_nobody_takes_the_file(qapp, tmp_path):
    assert hand_over(tmp_path, "a.tpujob") is Answer.NOBODY


def test_a_second_start_hands_its_file_to_the_first(qtbot, first, tmp_path):
    opened = []
    first.listen_with(opened.append)
    assert second_start(qtbot, tmp_path, "/x/ä b.tpujob") == "taken"
    assert opened == ["/x/ä b.tpujob"]


def test_a_start_that_comes_before_the_window_is_ready_is_not_lost(qtbot, first, tmp_path):
    assert second_start(qtbot, tmp_path, "early") == "taken"
    opened = []
    first.listen_with(opened.append)
    assert opened == ["early"]


def test_a_window_that_does_not_answer_keeps_its_place(qapp, first, tmp_path, monkeypatch):
    monkeypatch.setattr(single, "ANSWER_MS", 50)
    assert hand_over(tmp_path, "x") is Answer.SILENT


def test_another_home_is_another_window(qapp, first, tmp_path):
    assert hand_over(tmp_path / "other", "") is Answer.NOBODY


def test_the_socket_lies_where_nobody_else_can_make_a_name(tmp_path, monkeypatch):
    own, open_to_others = tmp_path / "own", tmp_path / "open"
    own.mkdir(mode=0o700)
    open_to_others.mkdir()
    open_to_others.chmod(0o777)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(single, "LONGEST", 1000)  # of this test's folders
    taken = tmp_path / f"tpu-studio-{os.getuid()}"  # somebody else's, by the rights that it gives
    taken.mkdir()
    taken.chmod(0o777)
    monkeypatch.setattr(single.tempfile, "gettempdir", lambda: str(tmp_path))
    assert single.socket_name(own).startswith(str(own))
    assert single.socket_name(open_to_others) is None
    assert become_first(open_to_others) is None
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
    assert single.socket_name(open_to_others).startswith(str(own))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be two people")
def test_another_person_of_this_computer_cannot_take_the_name_first(qtbot, tmp_path, monkeypatch):
    """Tried: whoever had it was told what is opened, and no window came."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    home = tmp_path / "home" / ("a long name " * 9)
    home.mkdir(mode=0o700, parents=True)
    program = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", program]
    taken = subprocess.run([*command, single.socket_name(home)], capture_output=True, text=True)
    assert taken.returncode != 0 and "ermission" in taken.stderr
    window = become_first(home)
    assert window is not None
    window.close()
