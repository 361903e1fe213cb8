"""The engine on screen: creating it is watched, stopped, put away; problems have sentences; removing is asked first."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from tests.fakes.tasks import LaterTasks
from tests.unit.viewmodels.test_engine import FakeEngine
from tpu_studio.gui.engine.dialog import EngineDialog
from tpu_studio.gui.engine.panel import EnginePanel
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Scroll
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.engine import EngineViewModel
from tpu_studio.wire.errors import NotReady


@pytest.fixture
def window(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1100, 700)
    window.show()
    return window


def made(engine, tasks):
    model = EngineViewModel(tasks)
    model.connect(engine)
    tasks.finish_all()
    return model


def test_creating_it_from_the_dialog_ends_with_the_run_that_waited(qtbot, window):
    tasks, then = LaterTasks(), []
    dialog = EngineDialog.open_over(window, made(FakeEngine(), tasks), lambda: then.append("started"))
    assert dialog.go.text() == "Create the engine"
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    assert "on its way" in dialog.title.text() and dialog.stop.isVisible() and not dialog.go.isVisible()
    tasks.finish_all()
    assert then == ["started"]
    assert window.findChild(Sheet) is None


def test_put_away_it_goes_on_and_the_run_still_starts(qtbot, window):
    tasks, then = LaterTasks(), []
    dialog = EngineDialog.open_over(window, made(FakeEngine(), tasks), lambda: then.append("started"))
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(dialog.away, Qt.MouseButton.LeftButton)
    assert window.findChild(Sheet) is None
    tasks.finish_all()
    assert then == ["started"]


def test_a_failure_says_what_happened_and_offers_another_try(qtbot, window):
    tasks = LaterTasks()
    engine = FakeEngine(error=NotReady("engine-no-disk", free_bytes=1e9, needed_bytes=3e9))
    dialog = EngineDialog.open_over(window, made(engine, tasks))
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    tasks.finish_all()
    assert dialog.problem.isVisible() and "disk" in dialog.problem.accessibleName().lower()
    assert dialog.go.text() == "Try again"
    engine.error = None
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    tasks.finish_all()
    assert window.findChild(Sheet) is None


def test_escape_is_not_now_and_creates_nothing(qtbot, window):
    engine = FakeEngine()
    dialog = EngineDialog.open_over(window, made(engine, LaterTasks()))
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert window.findChild(Sheet) is None and engine.calls == []


def test_enter_creates_it_and_only_removing_has_the_safe_focus(qtbot, window):
    tasks = LaterTasks()
    dialog = EngineDialog.open_over(window, made(FakeEngine(), tasks))
    assert window.focusWidget() is dialog.go
    qtbot.keyClick(dialog.go, Qt.Key.Key_Return)
    assert "on its way" in dialog.title.text()
    tasks.finish_all()


def test_page_keys_scroll_a_sheet_while_its_buttons_have_the_focus(qtbot, window):
    sheet = Sheet(window, "All that is known", "")
    inside = QWidget()
    inside.setMinimumHeight(3000)
    area = Scroll(inside)
    sheet.body.addWidget(Tall(area, lambda _: 3000), 1)
    close = sheet.answer("Close", safe=True)
    sheet.open()
    bar = area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    qtbot.keyClick(close, Qt.Key.Key_PageDown)
    assert bar.value() == bar.pageStep()
    qtbot.keyClick(close, Qt.Key.Key_End)
    assert bar.value() == bar.maximum()
    qtbot.keyClick(close, Qt.Key.Key_Home)
    assert bar.value() == 0 and sheet.isVisible()


def test_tab_stays_inside_the_dialog(qtbot, window):
    outside = Button("Behind", parent=window)
    outside.show()
    dialog = EngineDialog.open_over(window, made(FakeEngine(), LaterTasks()))
    seen = set()
    for _ in range(6):
        dialog.focusNextPrevChild(True)
        seen.add(window.focusWidget())
    assert outside not in seen and {dialog.go, dialog.away} <= seen


def test_removing_asks_first_and_the_safe_answer_has_the_focus(qtbot, window):
    engine = FakeEngine("ready")
    tasks = LaterTasks()
    model = made(engine, tasks)
    panel = EnginePanel(model, window)
    panel.resize(700, 200)
    panel.show()
    assert "TensorFlow 2.21.0" in panel.sentence.text() and "2.1 GB on disk" in panel.sentence.text()
    qtbot.mouseClick(panel.remove, Qt.MouseButton.LeftButton)
    sheet = window.findChild(Sheet)
    keep, remove = (
        next(b for b in sheet.findChildren(Button) if b.text() == text) for text in ("Keep the engine", "Remove it")
    )
    assert window.focusWidget() is keep
    qtbot.mouseClick(remove, Qt.MouseButton.LeftButton)
    tasks.finish_all()
    assert engine.calls == ["remove"] and panel.pill.text() == "Not there yet"


def test_progress_is_shown_in_counts(qtbot, window):
    model = made(FakeEngine(), LaterTasks())
    panel = EnginePanel(model, window)
    panel.show()
    model.install()
    model._take(
        SimpleNamespace(
            step="installing",
            packages=30,
            packages_total=60,
            bytes=0,
            bytes_total=0,
            name="keras",
            retrying=False,
            share=0.5,
        )
    )
    model.tick()
    assert panel.progress.title.text() == "Unpacking" and panel.progress.detail.text() == "30 of 60 packages · keras"
    assert panel.progress.bar.share == 0.5
    qtbot.mouseClick(panel.cancel, Qt.MouseButton.LeftButton)
    assert model.state.value.cancelling and not panel.cancel.isEnabled()
