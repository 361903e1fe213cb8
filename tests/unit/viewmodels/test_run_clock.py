"""A run at Google on a computer whose clock is days off: money and times go by Google's clock, and it is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.skies import cloud_plan
from tests.fakes.tasks import InlineTasks
from tests.unit.viewmodels.test_run import Oracle, Verbs, Watched
from tpu_studio.domain.sentences.stops import PROJECTS, UNTENDED
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.wire.events import event

DAYS_3 = 3 * 86_400.0
T = 1_800_000_000.0
NAME = "ts-digits-k3f7-a1-t1"


def page_at(tmp_path: Path, ahead_s: float, error: Exception | None = None) -> RunViewModel:
    """A TPU at $12 an hour for half an hour; the last word of it came 100 s ago."""
    watched: Any = Watched()
    watched.tell(
        event("intent", t=T, id=f"create/{NAME}", action="create", name=NAME, zone="us-west4-a"),
        event("phase", t=T, phase="training", attempt=1),
        event("metric", t=T + 1700, step=[1], loss=[1.0]),
        event("money", t=T + 1700, usd=6.0, usd_per_hour=12.0, since=T),
    )
    plan = replace(cloud_plan(place="cloud").launched("digits-k3f7", T, "test"))
    watched.plan = plan
    page = RunViewModel(
        "digits-k3f7",
        tmp_path,
        plan,
        lambda: watched,
        Verbs(),
        InlineTasks(),
        Oracle,
        clock=lambda: T + 1800 + ahead_s,
    )
    page.cloud_now = lambda: T + 1800
    page.trouble = lambda: error
    page.open()
    page.refresh()
    return page


@pytest.mark.parametrize("ahead_s", [0.0, DAYS_3, -DAYS_3])
def test_cost_so_far_and_the_age_of_the_numbers_are_those_of_googles_clock(tmp_path: Path, ahead_s: float) -> None:
    state = page_at(tmp_path, ahead_s).state.value
    assert (state.numbers[2].label, state.numbers[2].value) == ("Cost so far", "$6.33")
    assert state.silent_s == 100.0 and state.stale


def test_that_the_clock_is_off_is_said_with_what_it_means_for_money(tmp_path: Path) -> None:
    said = page_at(tmp_path, DAYS_3).state.value.trouble
    assert said is not None and said.title == "This computer's clock is 3 days ahead"
    assert "the limit holds" in said.meaning
    said = page_at(tmp_path, -DAYS_3).state.value.trouble
    assert said is not None and said.title.endswith("behind")
    said = page_at(tmp_path, 600.0).state.value.trouble
    assert said is not None and said.title == "This computer's clock is 10 min ahead"
    assert page_at(tmp_path, 200.0).state.value.trouble is None


def test_what_keeps_the_run_from_being_seen_to_comes_first(tmp_path: Path) -> None:
    said = page_at(tmp_path, DAYS_3, CloudUnclear("timed-out")).state.value.trouble
    assert said is not None and said.title == "Google did not answer in time"


def test_an_account_that_may_not_look_is_not_told_that_nothing_is_charged(tmp_path: Path) -> None:
    """Somebody else signed in here while the machine of this run goes on."""
    said = page_at(tmp_path, 0.0, CloudRefused("permission-missing")).state.value.trouble
    assert said is not None and said.title == "Your account may not do that"
    assert said.meaning == UNTENDED


def test_a_project_that_is_shut_down_under_a_run_says_what_that_means_for_its_bill_and_how_to_come_back(
    tmp_path: Path,
) -> None:
    error = CloudRefused("project-deleted", raw="Project 1 has been deleted.")
    said = page_at(tmp_path, 0.0, error).state.value.trouble
    assert said is not None and said.title == "The project of this run was shut down"
    assert "stops its machines and all billing at once" in said.meaning and "stays on the bill" in said.meaning
    assert "is charged until it ends" not in said.meaning and "cannot be looked at" in said.meaning
    assert "within 30 days" in said.action and PROJECTS in said.action and "billing account" in said.action
    assert "up to 36 hours" in said.action  # for the services of a project that was restored


def test_billing_that_is_off_under_a_run_is_not_told_as_a_machine_that_goes_on(tmp_path: Path) -> None:
    """`gcloud billing projects unlink`: "Any billable resources and services in use in your project are stopped"."""
    said = page_at(tmp_path, 0.0, CloudRefused("billing-off", raw="BILLING_DISABLED")).state.value.trouble
    assert said is not None and said.title == "Nobody pays for the project of this run any more"
    assert "is charged until it ends" not in said.meaning and "Nothing was charged" not in said.meaning
    assert "stops what is billed" in said.meaning and "removed for good" in said.meaning
    assert "when a TPU stops, it does not say" in said.meaning and "stays on the bill" in said.meaning
    assert "billing account" in said.action and "taken up" in said.action
