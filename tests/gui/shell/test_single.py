"""One window for each home folder."""

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
