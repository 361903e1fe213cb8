"""Pages are fetched while nobody waits for them, and a page that is opened before that does not stop the window."""

import sys
from importlib.util import find_spec

from PySide6.QtCore import QObject

from tpu_studio.app import warming
from tpu_studio.app.warming import GOOGLE, LIBRARIES, OTHERS, PLAN, RUN, Warming


def test_everything_that_is_fetched_is_there():
    assert [name for name in (*LIBRARIES, *PLAN, *RUN, *OTHERS, GOOGLE) if find_spec(name) is None] == []


def test_who_asks_before_the_libraries_are_there_waits_for_them_and_is_called_later(studio, qtbot, monkeypatch):
    came, let_go = [], []
    monkeypatch.setattr(warming, "_libraries_there", warming.threading.Event())
    monkeypatch.setattr(warming, "LIBRARIES", ("tpu_studio.planner.make",))
    studio.studio.warming.fetch(RUN, lambda: came.append(sorted(set(RUN) - set(sys.modules))), studio.window)
    assert came == []
    gone = QObject()
    studio.studio.warming.fetch(PLAN, lambda: let_go.append(True), gone)
    del gone
    qtbot.waitUntil(lambda: came == [[]], timeout=20_000)
    assert let_go == []


def test_the_whole_is_fetched_soon_after_the_start(studio, qtbot):
    assert isinstance(studio.studio.warming, Warming)
    qtbot.waitUntil(lambda: all(name in sys.modules for name in (*PLAN, *RUN, *OTHERS, GOOGLE)), timeout=30_000)
