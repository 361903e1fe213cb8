"""What the window says of money by itself: what is not verified to be gone, and what a sweep at the start finds."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.app import money
from tpu_studio.cloud.sweep import Item
from tpu_studio.viewmodels.home import CloudKnown
from tpu_studio.viewmodels.runrows import RunRow, row_of
from tpu_studio.viewmodels.sweep import row_of as sweep_row
from tpu_studio.workflow.ports import RunSummary


def over(settled: bool, ended: float) -> RunRow:
    return row_of(
        RunSummary(
            "digits-k3f7",
            "digits",
            Path("/r"),
            ended - 600,
            place="cloud",
            status="finished",
            over=True,
            usd=1.0,
            ended=ended,
            settled=settled,
            usd_per_hour=1.2,
        )
    )


def notices(studio: Any) -> list[str]:
    return [notice.title for notice in studio.shell.state.value.notices]


def test_a_machine_that_is_not_proved_gone_has_a_lasting_notice_until_it_is(studio):
    view = studio.runs.state.value
    watch = studio.studio._money
    watch._runs_changed(replace(view, rows=(over(False, time.time()),)))
    assert notices(studio) == []  # it is being deleted: that takes a minute
    late = time.time() - 600
    watch._runs_changed(replace(view, rows=(over(False, late),)))
    assert notices(studio) == ["digits: the TPU is not verified to be gone"]
    notice = studio.shell.state.value.notices[0]
    assert notice.lasting and notice.tone == "bad" and "may still be charged: $1.20 an hour" in notice.text
    watch._runs_changed(replace(view, rows=(over(False, late),)))
    assert len(notices(studio)) == 1
    watch._runs_changed(replace(view, rows=(over(True, late),)))
    assert notices(studio) == []


def test_a_copy_that_somebody_sent_is_neither_charged_nor_looked_after_here(studio):
    view, watch = studio.runs.state.value, studio.studio._money
    sent = replace(over(False, time.time() - 600), copy=True, unproved=False)
    watch._runs_changed(replace(view, rows=(sent,)))
    assert notices(studio) == [] and studio.window.sidebar.money.isHidden()
    watch._runs_changed(replace(view, rows=(over(True, time.time() - 600),)))
    assert not studio.window.sidebar.money.isHidden()


def test_the_plan_is_kept_while_its_account_is_put_right(studio, qtbot):
    studio.shell.new_run_at("cloud")
    plan = studio.window.page("plan")
    qtbot.waitUntil(lambda: plan.model.state.value.job["where.place"] == "cloud", timeout=10_000)
    plan.model.choose_data("digits", None)
    qtbot.waitUntil(lambda: plan.model.state.value.blocked == "Sign in to Google first", timeout=10_000)
    plan.model.open_account()
    assert studio.shell.state.value.page == "account"
    notice = studio.shell.state.value.notices[-1]
    assert notice.act is not None
    notice.act()
    assert studio.shell.state.value.page == "plan" and plan.model.state.value.complete


def test_what_a_practice_plan_lacks_is_put_right_at_the_practice_account(studio, qtbot):
    studio.shell.new_run_at("practice")
    plan = studio.window.page("plan")
    qtbot.waitUntil(lambda: plan.model.state.value.job["where.place"] == "practice", timeout=10_000)
    shown: list[str] = []
    studio.studio.account.show = shown.append
    plan.model.open_account()
    assert studio.shell.state.value.page == "account" and shown[:1] == ["practice"]


def test_a_sweep_at_the_start_tells_what_no_run_needs(studio, qtbot, monkeypatch: pytest.MonkeyPatch):
    left = sweep_row(Item("node", "ts-old-aaaa-a1-t1", "us-west4-a", True, 1.2, "READY"), ())
    monkeypatch.setattr(money, "_left", lambda home, going_on: [left])
    studio.studio._money._sweep(CloudKnown(signed_in=True))  # no project is chosen: there is nothing to ask
    studio.studio._money._sweep(CloudKnown(signed_in=True, project="flowers-lab"))
    qtbot.waitUntil(lambda: notices(studio) == ["Something of TPU Studio may still cost money"], timeout=10_000)
    assert "$1.20 an hour" in studio.shell.state.value.notices[0].text
    studio.studio._money._sweep(CloudKnown(signed_in=True, project="flowers-lab"))  # once a start
    assert len(notices(studio)) == 1
