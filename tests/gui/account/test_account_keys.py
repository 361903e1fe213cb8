"""The Account page by keyboard: each step leads to the next."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.gui.account.test_account_page import World, button_of, page, press, row, sheet, signed_in, world
from tpu_studio.gui.account import sheets
from tpu_studio.gui.account.page import AccountPage
from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.workflow.account.ports import Choices

__all__ = ["page", "world"]


def test_by_keyboard_each_step_leads_to_the_next_and_never_to_something_else(
    qtbot: QtBot, page: AccountPage, world: World
):
    """The button that was pressed goes away while it is worked at; Return pressed again must not ask for quota."""
    page.activateWindow()
    first = page.welcome.button
    first.setFocus()
    qtbot.waitUntil(first.hasFocus)
    qtbot.keyClick(first, Qt.Key.Key_Return)
    chosen = button_of(sheet(page), "Sign in in the browser")
    chosen.setFocus()
    qtbot.keyClick(chosen, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: (button := row(page, "No project is chosen yet").button) is not None and button.hasFocus())
    page.model.choose_project("flowers-lab")
    bucket = row(page, "No storage bucket yet").button
    assert bucket is not None
    qtbot.waitUntil(bucket.hasFocus)
    qtbot.keyClick(bucket, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.heading.text() == "Everything is ready")
    assert page.list.hasFocus() or page.list.isAncestorOf(page.window().focusWidget())


def test_tab_goes_down_the_list_before_it_goes_to_the_quota(qtbot: QtBot, page: AccountPage, world: World):
    world.kept = Choices("flowers-lab", "us-west4", "")
    signed_in(qtbot, page)
    page.activateWindow()
    qtbot.waitUntil(lambda: (button := row(page, "No storage bucket yet").button) is not None and button.isVisible())
    page.again.setFocus()
    qtbot.waitUntil(page.again.hasFocus)
    passed: list[str] = []
    for _ in range(12):
        now = page.window().focusWidget()
        assert now is not None
        passed.append("quota" if page.quota.isAncestorOf(now) else "list" if page.list.isAncestorOf(now) else "head")
        qtbot.keyClick(now, Qt.Key.Key_Tab)
    assert passed[:2] == ["head", "list"] and passed.index("quota") > passed.index("list")
    assert "list" not in passed[passed.index("quota") : passed.index("head", 1) if "head" in passed[1:] else None]


def test_enter_makes_the_alert_and_a_new_project_only_with_a_name(qtbot: QtBot, page: AccountPage, world: World):
    signed_in(qtbot, page)
    asked = sheets.ask_project(page, page.model)
    name = asked.findChildren(LineEdit)[1]
    made: list[str] = []
    page.model.create_project = made.append  # type: ignore[method-assign, assignment]
    qtbot.keyClick(name, Qt.Key.Key_Return)
    assert asked.isVisible() and not made
    qtbot.keyClicks(name, "Roses")
    qtbot.keyClick(name, Qt.Key.Key_Return)
    assert made == ["Roses"] and not asked.isVisible()

    alert = sheets.ask_alert(page, page.model)
    amount = alert.findChildren(LineEdit)[0]
    assert page.window().focusWidget() is amount and amount.selectedText() == amount.text()
    fixed: list[str] = []
    page.model.fix = lambda fix, **given: fixed.append(fix)  # type: ignore[method-assign, assignment]
    qtbot.keyClick(amount, Qt.Key.Key_Return)
    assert fixed == ["make-alert"]


def test_tab_goes_to_the_chosen_way_then_down_its_steps(qtbot: QtBot, page: AccountPage, world: World):
    world.own = None
    page.model.look()
    page.activateWindow()
    press(qtbot, page.welcome.button)
    shown = sheet(page)
    names = []
    for _ in range(6):
        shown.focusNextPrevChild(True)
        names.append(page.window().focusWidget().accessibleName() or page.window().focusWidget().text())
    at = names.index("How to sign in: With gcloud")
    assert names[at + 1 : at + 4] == ["Open its page: Install gcloud", "Command", "Copy the command"]
