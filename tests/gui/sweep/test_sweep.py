"""“Billable resources” and “What could go wrong?” as a person uses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.tasks import InlineTasks, LaterTasks
from tpu_studio.cloud.sweep import Item, Swept
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.run.faults import FaultsPanel, open_faults
from tpu_studio.gui.shell.armed import ArmedStrip, open_armed
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.gui.sweep.sheet import SweepPanel, open_sweep
from tpu_studio.practice.faults import FAULTS
from tpu_studio.viewmodels.faults import ArmedViewModel, FaultsViewModel
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.viewmodels.sweep import SweepViewModel
from tpu_studio.wire.errors import CloudUnclear, SignedOut, StudioError

LEFT = Item("node", "ts-old-aaaa-a1-t1", "us-west4-a", True, 1.2, "READY", "old-aaaa")
NEEDED = Item("node", "ts-digits-k3f7-a1-t1", "us-west4-a", True, 1.2, "READY", "digits-k3f7")
BUCKET = Item("bucket", "tpu-studio-0123", "us-west4", True, 0.0001)
FOREIGN = Item("instance", "web", "us-east1-b", False, None, "RUNNING")


class Cloud:
    """Implements SweepPort."""

    def __init__(self, *items: Item) -> None:
        self.items = list(items)
        self.unclear: list[tuple[str, StudioError]] = []
        self.deleted: list[Item] = []
        self.asked: list[str] = []
        self.trouble: StudioError | None = None
        self.refuses: StudioError | None = None

    def look(self, place: str) -> Swept:
        self.asked.append(place)
        if self.trouble is not None:
            raise self.trouble
        return Swept(list(self.items), self.unclear)

    def delete(self, place: str, items: Sequence[Any]) -> list[tuple[Any, StudioError | None]]:
        self.deleted += items
        if self.refuses is None:
            self.items = [item for item in self.items if item not in items]
        return [(item, self.refuses) for item in items]


def opened(
    window: QWidget, cloud: Cloud, place: str = "cloud", to_account: Callable[[], object] = lambda: None
) -> tuple[Sheet, SweepPanel]:
    sheet = open_sweep(window, SweepViewModel(InlineTasks(), cloud, place, ["digits-k3f7"]), to_account)
    return sheet, sheet.findChildren(SweepPanel)[0]


def button(sheet: QWidget, words: str) -> Button:
    return next(one for one in sheet.findChildren(Button) if one.text() == words)


def press(qtbot: QtBot, sheet: QWidget, words: str) -> None:
    qtbot.mouseClick(button(sheet, words), Qt.MouseButton.LeftButton)


def test_only_what_is_ours_and_needed_by_no_run_is_deleted_and_only_after_a_question(qtbot: QtBot, window: QWidget):
    cloud = Cloud(LEFT, NEEDED, BUCKET, FOREIGN)
    sheet, panel = opened(window, cloud)
    assert panel.table.model().rowCount() == 4
    assert "TPU Studio's resources: $2.40/h" in panel.sentence.text()
    press(qtbot, sheet, "Delete 1 resource")
    assert cloud.deleted == []
    question = next(one for one in window.findChildren(Sheet) if one is not sheet and one.isVisible())
    assert "ts-old-aaaa-a1-t1" in " ".join(one.text() for one in question.findChildren(Text))
    press(qtbot, question, "Delete permanently")
    assert cloud.deleted == [LEFT]
    assert panel.outcome.isVisible() and "verified to be gone" in panel.outcome.title.text()
    assert panel.table.model().rowCount() == 3
    sheet.close()


def test_the_stops_of_a_run_are_one_row_with_their_number_and_time_and_go_together(qtbot: QtBot, window: QWidget):
    base = "projects/p/locations/us-west4/queues/tpu-studio/tasks/"
    stops = [
        Item("task", f"{base}ts-old-aaaa-a1-t1-b-{n}-{n}", "us-west4", True, 0.0, "set", "old-aaaa", at=3600.0 * n)
        for n in range(480_000, 480_027)
    ]
    cloud = Cloud(LEFT, *stops)
    sheet, panel = opened(window, cloud)
    assert panel.table.model().rowCount() == 2
    cells = [panel.table.model().index(1, at).data(Qt.ItemDataRole.AccessibleTextRole) for at in (0, 3)]
    first, last = (time.strftime("%H:%M", time.localtime(3600.0 * n)) for n in (480_000, 480_026))
    assert cells[0].endswith("Shut-off timers, 27 of old-aaaa")
    assert cells[1].startswith("State: due ") and f"{first}, to " in cells[1] and cells[1].endswith(last)
    press(qtbot, sheet, "Delete 28 resources")
    question = next(one for one in window.findChildren(Sheet) if one is not sheet and one.isVisible())
    press(qtbot, question, "Delete permanently")
    assert cloud.deleted == [LEFT, *stops]
    sheet.close()


def test_leaving_it_deletes_nothing(qtbot: QtBot, window: QWidget):
    cloud = Cloud(LEFT)
    sheet, _ = opened(window, cloud)
    press(qtbot, sheet, "Delete 1 resource")
    question = next(one for one in window.findChildren(Sheet) if one is not sheet and one.isVisible())
    press(qtbot, question, "Cancel")
    assert cloud.deleted == []
    sheet.close()


def test_what_could_not_be_deleted_stays_told(qtbot: QtBot, window: QWidget):
    cloud = Cloud(LEFT)
    cloud.refuses = CloudUnclear("timed-out", raw="late")
    sheet, panel = opened(window, cloud)
    press(qtbot, sheet, "Delete 1 resource")
    question = next(one for one in window.findChildren(Sheet) if one is not sheet and one.isVisible())
    press(qtbot, question, "Delete permanently")
    assert "1 of 1 could not be deleted" in panel.outcome.title.text()
    assert "may still be charged" in panel.outcome.title.text()
    sheet.close()


def test_nothing_there_is_said_only_when_everything_answered(window: QWidget):
    cloud = Cloud()
    sheet, panel = opened(window, cloud)
    assert panel.sentence.text() == "TPU Studio has nothing there."
    sheet.close()
    cloud.unclear = [("node", CloudUnclear("timed-out"))]
    sheet, panel = opened(window, cloud)
    assert panel.sentence.text() == "Nothing of TPU Studio's was found."
    assert panel.unclear.isVisible() and "TPUs" in panel.unclear.text.text()
    sheet.close()


def test_who_is_signed_out_hears_it_and_can_look_at_practice(qtbot: QtBot, window: QWidget):
    cloud = Cloud(FOREIGN)
    cloud.trouble = SignedOut("signed-out")
    sheet, panel = opened(window, cloud)
    assert panel.problem.isVisible() and "signed in" in panel.problem.title.text()
    cloud.trouble = None
    panel.place.segment("practice").click()
    assert cloud.asked[-1] == "practice" and panel.practice.isVisible() and not panel.problem.isVisible()
    sheet.close()


@dataclass
class Practice:
    """Implements FaultsPort with the real list of faults."""

    armed: list[dict[str, Any]]

    def _told(self) -> Mapping[str, Any]:
        faults = [{"name": one.name, "group": one.group, "sentence": one.sentence} for one in FAULTS.values()]
        return {"faults": faults, "armed": self.armed}

    def listed(self) -> Mapping[str, Any]:
        return self._told()

    def peek(self) -> Mapping[str, Any]:
        return self._told()

    def arm(self, name: str) -> Mapping[str, Any]:
        self.armed.append({"name": name, "times": FAULTS[name].times, "taken": 0})
        return self._told()

    def disarm(self, name: str) -> Mapping[str, Any]:
        self.armed = [one for one in self.armed if name and one["name"] != name]
        return self._told()


def test_a_bad_day_is_chosen_by_its_sentence_and_taken_back(qtbot: QtBot, window: QWidget):
    practice = Practice([])
    sheet = open_faults(window, FaultsViewModel(InlineTasks(), practice))
    panel = sheet.findChildren(FaultsPanel)[0]
    assert set(panel.rows) == set(FAULTS)
    line = panel.rows["preempted-at-step"]
    qtbot.mouseClick(line.button, Qt.MouseButton.LeftButton)
    assert [one["name"] for one in practice.armed] == ["preempted-at-step"]
    assert line.button.text() == "Undo" and not line.pill.isHidden() and line.pill.text() == "Once"
    qtbot.mouseClick(line.button, Qt.MouseButton.LeftButton)
    assert practice.armed == [] and line.button.text() == "Inject"
    qtbot.mouseClick(panel.rows["vm-hung"].button, Qt.MouseButton.LeftButton)
    press(qtbot, sheet, "Clear all")
    assert practice.armed == []
    sheet.close()


def test_a_pressed_fault_keeps_the_focus_and_the_list_its_place(qtbot: QtBot, window: QWidget):
    tasks, practice = LaterTasks(), Practice([])
    sheet = open_faults(window, FaultsViewModel(tasks, practice))
    tasks.finish_all()
    panel = sheet.findChildren(FaultsPanel)[0]
    area = next(one for one in sheet.findChildren(QScrollArea) if one.isAncestorOf(panel))
    QApplication.processEvents()
    button = panel.rows["bucket-gone"].button
    area.ensureWidgetVisible(button)
    before = area.verticalScrollBar().value()
    window.activateWindow()
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    qtbot.keyClick(button, Qt.Key.Key_Space)
    QApplication.processEvents()
    assert button.hasFocus() and area.verticalScrollBar().value() == before  # while the practice cloud is asked
    qtbot.keyClick(button, Qt.Key.Key_Space)  # pressed twice: nothing more is asked for
    tasks.finish_all()
    QApplication.processEvents()
    assert [one["name"] for one in practice.armed] == ["bucket-gone"]
    assert button.hasFocus() and area.verticalScrollBar().value() == before
    sheet.close()


def armed(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "times": FAULTS[name].times, "taken": 0} for name in names]


def test_armed_faults_stand_over_home_plan_and_run_until_they_are_taken_back(qtbot: QtBot, window: QWidget):
    practice, shell = Practice(armed("stockout-for-ever", "vm-hung")), ShellViewModel()
    model = ArmedViewModel(InlineTasks(), practice)
    strip = ArmedStrip(model, shell, lambda: None)
    qtbot.addWidget(strip)
    assert strip.isHidden()  # nothing is known yet
    model.look()
    assert not strip.isHidden() and strip.words.text() == "On the practice cloud 2 things will go wrong."
    shell.go("settings")
    assert strip.isHidden()
    for page in ("plan", "run", "home"):
        shell.state.set(replace(shell.state.value, page=page))
        assert not strip.isHidden()
    sheet = open_armed(window, model, lambda: None)
    first = next(
        one for one in sheet.findChildren(Button) if one.accessibleName().endswith("no capacity ever appears.")
    )
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert [one["name"] for one in practice.armed] == ["vm-hung"]
    assert strip.words.text().startswith("On the practice cloud 1 thing will go wrong: The TPU VM lives on")
    model.disarm_all()
    assert practice.armed == [] and strip.isHidden()
    assert any(text.text() == "Nothing: no fault is left." for text in sheet.findChildren(Text))
    sheet.close()


def test_who_is_signed_out_signs_in_by_a_button_and_not_in_a_terminal(qtbot: QtBot, window: QWidget):
    cloud, pages = Cloud(LEFT), list[str]()
    cloud.trouble = SignedOut("signed-out")
    sheet, panel = opened(window, cloud, to_account=lambda: pages.append("account"))
    assert panel.problem.isVisible()
    press(qtbot, sheet, "Sign in")
    assert pages == ["account"] and not sheet.isVisible()


def test_nobody_else_is_asked_to(qtbot: QtBot, window: QWidget):
    sheet, _ = opened(window, Cloud(LEFT))
    assert not [
        one for one in sheet.findChildren(Button) if one.text() in ("Sign in", "Open account") and one.isVisible()
    ]
    sheet.close()
