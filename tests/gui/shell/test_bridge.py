"""The one crossing between the background loop and the window."""

import threading
import time

import pytest
import shiboken6
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.bridge import Drain, QtTasks
from tpu_studio.workflow.background import BackgroundLoop


@pytest.fixture
def tasks(qapp):
    tasks = QtTasks(BackgroundLoop)
    yield tasks
    assert tasks.stop()


def test_work_runs_elsewhere_and_its_result_comes_back_on_the_window_s_thread(qtbot, tasks):
    seen = {}
    tasks.submit(
        lambda: threading.get_ident(), done=lambda worker: seen.update(worker=worker, here=threading.get_ident())
    )
    qtbot.waitUntil(lambda: "here" in seen)
    assert seen["here"] == threading.get_ident() != seen["worker"]


def test_exactly_one_of_done_and_failed_is_called(qtbot, tasks):
    told = []
    tasks.submit(lambda: 1 / 0, done=lambda _: told.append("done"), failed=lambda error: told.append(type(error)))
    tasks.submit(lambda: 7, done=told.append, failed=lambda error: told.append("failed"))
    qtbot.waitUntil(lambda: len(told) == 2)
    assert set(told) == {ZeroDivisionError, 7}


def test_a_failure_that_nobody_asked_for_goes_to_the_windows_notice(qtbot, tasks):
    told = []
    tasks.unexpected = told.append
    tasks.submit(lambda: 1 / 0)
    qtbot.waitUntil(lambda: bool(told))
    assert isinstance(told[0], ZeroDivisionError)


def test_what_was_cancelled_tells_nobody(qtbot, tasks):
    told, go = [], threading.Event()
    handle = tasks.submit(lambda: go.wait(60), done=told.append, failed=told.append)
    handle.cancel()
    go.set()
    tasks.submit(lambda: "last", done=told.append)
    qtbot.waitUntil(lambda: "last" in told)
    assert told == ["last"]


def test_a_result_for_a_widget_that_has_gone_is_dropped(qtbot, tasks):
    told, go = [], threading.Event()
    owner = QObject()
    tasks.submit(lambda: go.wait(60), done=told.append, owner=owner)
    shiboken6.delete(owner)
    go.set()
    tasks.submit(lambda: "last", done=told.append)
    qtbot.waitUntil(lambda: "last" in told)
    assert told == ["last"]


def test_after_stop_nothing_comes_back_and_nothing_is_begun(qapp):
    tasks, told = QtTasks(BackgroundLoop), []
    tasks.submit(lambda: time.sleep(0.05), done=told.append)
    assert tasks.stop()
    tasks.submit(lambda: 1, done=told.append)
    qapp.processEvents()
    assert told == []


def test_two_hundred_widgets_that_come_and_go_leave_no_result_unaccounted_for(qtbot, tasks):
    """Half of the owners die before their work is done; the others' results all arrive."""
    told, kept = [], []
    for number in range(200):
        owner = QObject()
        tasks.submit(lambda n=number: n, done=told.append, owner=owner)
        if number % 2:
            shiboken6.delete(owner)
        else:
            kept.append(owner)
    qtbot.waitUntil(lambda: set(range(0, 200, 2)) <= set(told))
    assert sorted(told) == list(range(0, 200, 2))


def test_the_loop_is_made_with_the_first_work_and_not_before(qtbot):
    made = []

    def loop():
        made.append(BackgroundLoop())
        return made[-1]

    tasks = QtTasks(loop)
    assert made == []
    tasks.submit(lambda: 1, done=lambda _: None)
    tasks.submit(lambda: 1, done=lambda _: None)
    assert len(made) == 1
    assert tasks.stop()


def test_a_stream_is_drained_only_while_its_page_can_be_seen(qtbot):
    window, drained = QWidget(), []
    qtbot.addWidget(window)
    page = QWidget(window)
    drain = Drain(page, lambda: drained.append(1), 10)
    assert not drain.running
    window.show()
    qtbot.waitUntil(lambda: len(drained) >= 2)
    page.hide()
    assert not drain.running
    page.show()
    assert drain.running
    window.setWindowState(Qt.WindowState.WindowMinimized)
    qtbot.waitUntil(lambda: not drain.running)
    window.setWindowState(Qt.WindowState.WindowNoState)
    qtbot.waitUntil(lambda: drain.running)
