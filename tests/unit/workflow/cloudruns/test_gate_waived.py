"""A launch without shut-off timers: when it is offered, what it must be waived for, and what that holds for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk, ends
from tests.fakes.skies import Sky, cloud_plan
from tests.fakes.skysides import NOBODY
from tests.unit.workflow.cloudruns.test_gate import RUNNER, refused, told_end
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.stops import OFFSETS_S
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import NewAttempt


def test_going_without_does_not_help_a_runner_that_was_not_shown_to_be_able(desk: CloudDesk, sky: Sky) -> None:
    sky.says[RUNNER], sky.codes[NOBODY] = ("unknown", "no-grant"), 5
    without_stop(desk)
    refused(desk, "stops-unproved")
    assert RUNNER in told_end(desk) and "without-outside-stop" not in told_end(desk)


def without_stop(desk: CloudDesk) -> None:
    plan = replace(cloud_plan(), limits=replace(cloud_plan().limits, without_outside_stop=True))
    desk.sky.objects.clear()
    desk.__init__(desk.home / "waived", desk.sky, plan)  # type: ignore[misc]


def test_where_no_stop_can_be_had_the_launch_is_refused_unless_it_was_waived_for_it(desk: CloudDesk, sky: Sky) -> None:
    sky.queue_why = "org-policy"
    refused(desk, "no-outside-stop")
    without_stop(desk)
    ends(desk)
    assert sky.tasks_ever == set()


MENDED = ("service-disabled", "billing-off", "project-deleted", "permission-missing", "act-as-missing", "precondition")


@pytest.mark.parametrize("why", MENDED)
@pytest.mark.parametrize("waived", [False, True])
def test_a_stop_that_could_be_had_is_no_reason_to_go_without_one(
    desk: CloudDesk, sky: Sky, why: str, waived: bool
) -> None:
    sky.queue_why = why
    if waived:
        without_stop(desk)
    refused(desk, "launch-refused")
    assert "without-outside-stop" not in told_end(desk)
    if why == "billing-off":
        assert "Link one that is open on the Account page" in told_end(desk)


@pytest.mark.parametrize("why", ["org-policy", "zone-not-allowed"])
def test_only_where_none_can_be_had_going_without_is_offered(desk: CloudDesk, sky: Sky, why: str) -> None:
    sky.queue_why = why
    refused(desk, "no-outside-stop")
    assert "--without-outside-stop" in told_end(desk)


def switched_off(sky: Sky, call: str, error: CloudRefused, after: int = 1) -> None:
    """From the *after*th end of *call* on, every call that has to do with *error* is refused."""
    seen: list[str] = []
    whole = error.id == "project-deleted"

    def hook(name: str, done: bool) -> None:
        if len(seen) >= after and not done and name != "journal" and (whole or "stop" in name):
            raise error
        seen.extend([name] * (name == call and done))

    sky.hook = hook


def test_cloud_tasks_that_is_switched_off_after_the_gate_is_told_as_that(desk: CloudDesk, sky: Sky) -> None:
    for call, after in (("trial", 0), ("set-stop", 3), ("set-stop", len(OFFSETS_S))):
        one = CloudDesk(desk.home / f"{call}-{after}", sky)
        switched_off(sky, call, CloudRefused("service-disabled", service="cloudtasks.googleapis.com", raw="off"), after)
        one.until()
        end = one.state.end
        assert end is not None and end.get("reason") == "launch-refused" and sky.created_names == []
        assert "cloudtasks.googleapis.com is not enabled" in told_end(one)
        one.die()
        sky.objects.clear()
        sky.tasks.clear()
        sky.hook = lambda name, done: None


@pytest.mark.parametrize("after", [3, len(OFFSETS_S)])
def test_a_project_that_is_marked_for_deletion_after_its_stops_were_set_ends_the_run_at_once(
    desk: CloudDesk, sky: Sky, after: int
) -> None:
    """It was tried again for as long as the run might wait, with no word but that the account may not do that."""
    marked = CloudRefused("project-deleted", raw="Project 1 has been scheduled for deletion")
    switched_off(sky, "set-stop", marked, after)
    began = sky.now
    desk.until(turns=30)
    assert sky.now - began < 600.0 and sky.created_names == []
    assert [one.action for one in desk.journal.open_intents()] == ["stops-left"] and desk.driver.recover() == []
    assert desk.journal.open_intents() == []  # they go with the project
    assert "marked for deletion" in told_end(desk) and "pendingDeletion=true" in told_end(desk)


@pytest.mark.parametrize("call", ["trial", "set-stop", "create"])
def test_a_refusal_that_does_not_name_the_project_s_deletion_is_told_as_it_all_the_same(
    desk: CloudDesk, sky: Sky, call: str
) -> None:
    """The doubt ``deleted-project-words``: 403 without a word, from the first or the last call before a machine on."""

    def hook(name: str, done: bool) -> None:
        sky.marked = sky.marked or (name == call and (done or call != "set-stop"))
        if sky.marked and not done and name != "journal":
            raise CloudRefused("permission-missing", raw="The caller does not have permission")

    sky.hook = hook
    began = sky.now
    desk.until(turns=40)
    assert sky.now - began < 900.0 and sky.created_names == []
    assert "marked for deletion" in told_end(desk)


def test_a_create_call_that_the_project_s_deletion_refuses_ends_the_run_too(desk: CloudDesk, sky: Sky) -> None:
    gone = CloudRefused("project-deleted", raw="Project 1 has been scheduled for deletion")
    off: list[int] = []

    def hook(name: str, done: bool) -> None:
        if name == "create" or off:
            off.append(1)
            if name != "journal":
                raise gone

    sky.hook = hook
    began = sky.now
    desk.until(turns=30)
    assert sky.now - began < 600.0 and "marked for deletion" in told_end(desk)


@pytest.mark.parametrize("says", [("unknown", "unreadable"), ("no", "disabled")])
def test_the_runner_is_never_waived(desk: CloudDesk, sky: Sky, says: tuple[str, str]) -> None:
    sky.queue_why, sky.says[RUNNER] = "org-policy", says
    without_stop(desk)
    refused(desk, "stops-unproved")


@pytest.mark.parametrize("to_be_had", [True, False])
def test_going_without_a_stop_holds_for_one_launch_and_not_when_the_run_is_begun_again(
    tmp_path: Path, to_be_had: bool
) -> None:
    sky = Sky()
    sky.queue_why = "org-policy"
    desk = CloudDesk(
        tmp_path, sky, replace(cloud_plan(), limits=replace(cloud_plan().limits, without_outside_stop=True))
    )
    ends(desk)
    assert len(sky.created_names) == 1 and not sky.tasks_ever
    sky.pass_time(20 * 86_400.0)
    sky.queue_why = "" if to_be_had else "org-policy"
    CloudVerbs(desk.home, desk.driver, desk.journal).again(desk.folder, NewAttempt(2))
    sky.steps = 80
    state = desk.until()
    assert state.end is not None
    if to_be_had:
        assert (state.end.get("reason"), len(sky.created_names)) == ("completed", 2)
        assert sky.tasks_ever
    else:
        assert (state.end.get("reason"), len(sky.created_names)) == ("no-outside-stop", 1)
