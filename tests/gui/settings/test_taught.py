"""What own runs taught stands on the Settings page, and is forgotten only after a question."""

from __future__ import annotations

from PySide6.QtCore import Qt

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tests.unit.planner.own.test_user import Person
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.shell.sheet import Sheet


def test_what_runs_taught_is_counted_and_forgotten_after_a_yes(studio, home, qtbot):
    studio.shell.go("settings")
    card = studio.page.taught
    qtbot.waitUntil(lambda: studio.studio.runs.state.value.rows is not None)
    assert "No run counts yet" in card.count.text() and card.forget.isHidden()
    person = Person(home)
    person.runs("digits-aaaa", make_plan(job("mlp", "digits"), DIGITS, now=NOW, computer=LAPTOP), 0.5)
    person.index.close()
    studio.studio.runs.look()
    qtbot.waitUntil(lambda: "1 run counts" in card.count.text())
    qtbot.mouseClick(card.forget, Qt.MouseButton.LeftButton)
    sheet = studio.window.findChild(Sheet)
    answers = {button.text(): button for button in sheet.findChildren(Button)}
    assert sheet.title.text() == "Forget what your runs taught?"
    qtbot.mouseClick(answers["Keep it"], Qt.MouseButton.LeftButton)
    assert "1 run counts" in card.count.text()
    card.ask()
    forget = next(button for button in studio.window.findChildren(Button) if button.text() == "Forget")
    qtbot.mouseClick(forget, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "No run counts yet" in card.count.text())
    assert (home / "runs" / "digits-aaaa").is_dir()
