"""From an account that is ready to a plan there: the one that waited for it, else a new one."""

from __future__ import annotations

from typing import Any

from pytestqt.qtbot import QtBot

from tests.gui.studios import OpenStudio


def test_a_plan_that_waits_for_the_account_is_come_back_to_and_else_a_new_one_begins(
    studio: OpenStudio, qtbot: QtBot
) -> None:
    account: Any = studio.window.page("account")
    account.plan_run("cloud")
    assert studio.shell.state.value.page == "plan"
    holder = studio.page
    qtbot.waitUntil(lambda: holder.page is not None, timeout=60_000)
    model = holder.model
    qtbot.waitUntil(lambda: model.state.value.rented, timeout=60_000)
    model.choose_data("digits", None)
    model.leave_review_for_account()
    assert studio.shell.state.value.page == "account"
    assert [notice.title for notice in studio.shell.state.value.notices] == ["Your plan is kept"]
    account.plan_run("cloud")
    assert studio.page is holder and model.state.value.job["data.kind"] == "digits"
    assert studio.shell.state.value.notices == ()
    account.plan_run("cloud")  # nothing waits any more
    assert model.state.value.job.data.kind == "" and model.state.value.rented
