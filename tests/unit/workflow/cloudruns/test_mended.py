"""Found by `make chaos`: what the desktop did not see, it pays for; what it may not look at, it does not wait for."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.clouddesk import CloudDesk, Killed
from tests.fakes.skies import RATE, Node, Sky
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.workflow.cloudruns.ports import Ref


def receipt(desk: CloudDesk) -> Any:
    return json.loads((desk.folder / "result" / "receipt.json").read_bytes())


def dies_when_created(desk: CloudDesk, sky: Sky) -> None:
    """After the create call was carried out, before that is written down."""

    def hook(call: str, done: bool) -> None:
        if (call, done) == ("create", True):
            raise Killed

    sky.hook = hook
    with pytest.raises(Killed):
        desk.until()
    sky.hook = lambda call, done: None
    desk.die()
    desk.start()


def test_a_life_that_no_desktop_ever_wrote_down_is_paid_for(desk: CloudDesk, sky: Sky) -> None:
    dies_when_created(desk, sky)
    sky.pass_time(9000.0)
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "completed"
    assert sky.usd_billed() > RATE / 3600 * 100
    assert receipt(desk)["usd"] == pytest.approx(sky.usd_billed(), abs=RATE / 3600 * 40)


def test_the_bill_ends_when_the_cloud_says_that_it_was_deleted_however_late_that_is_seen(
    desk: CloudDesk, sky: Sky
) -> None:
    sky.tells_ends = True
    while not any(node.spoke for node in sky.nodes.values()):
        desk.turn()
    sky.hang()  # and the computer goes to sleep: the shut-off timers end it
    sky.pass_time(40_000.0)
    assert sky.nodes == {}
    desk.until()
    assert receipt(desk)["usd"] == pytest.approx(sky.usd_billed(), rel=0.001)


def test_taken_back_while_nobody_looked_it_was_there_for_half_a_minute_after_the_warning(
    desk: CloudDesk, sky: Sky
) -> None:
    while not any(node.spoke for node in sky.nodes.values()):
        desk.turn()
    sky.pass_time(60.0)
    sky.preempt()
    sky.pass_time(5000.0)
    desk.until()
    first, (_, began, ended) = receipt(desk)["made"][0], sky.bill[0]
    assert first["billed_s"] == pytest.approx((ended or 0.0) - began + 30.0, abs=6.0)  # it is warned some seconds late


def test_a_machine_that_hung_at_boot_unseen_is_told_with_what_it_cost_at_most(desk: CloudDesk, sky: Sky) -> None:
    sky.never_boots = True
    while not sky.nodes:
        desk.turn()
    desk.die()
    sky.pass_time(40_000.0)
    assert sky.nodes == {}
    desk.start()
    desk.until()
    told = receipt(desk)
    at_most = [event.get("facts") for event in desk.said("notice") if event.get("id") == "cost-unseen"]
    assert len(at_most) == 1
    assert isinstance(at_most[0], dict)
    assert told["usd"] <= sky.usd_billed() + RATE / 3600 * 40 <= at_most[0]["usd_at_most"] + RATE / 3600 * 200
    assert told["usd_at_most"] >= sky.usd_billed()


def test_a_machine_that_came_and_went_unseen_before_any_stop_is_told_with_what_it_cost_at_most(
    desk: CloudDesk, sky: Sky
) -> None:
    sky.never_boots = True
    while not sky.nodes:
        desk.turn()
    desk.die()
    sky.pass_time(200.0)
    sky.vanish()
    sky.pass_time(100.0)
    sky.never_boots = False
    desk.start()
    desk.until()
    assert sky.bill[0][2] is not None
    lost = (sky.bill[0][2] - sky.bill[0][1]) * RATE / 3600
    at_most = [event.get("facts") for event in desk.said("notice") if event.get("id") == "cost-unseen"]
    assert len(at_most) == 1
    assert isinstance(at_most[0], dict)
    assert lost <= at_most[0]["usd_at_most"] <= lost * 2
    assert receipt(desk)["usd_at_most"] >= sky.usd_billed()


def test_a_second_attempt_runs_with_the_version_that_the_app_has_now(desk: CloudDesk, sky: Sky) -> None:
    while not any(node.spoke for node in sky.nodes.values()):
        desk.turn()
    sky.guardian = "the next version's"
    assert sky.preempt()
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "completed"
    assert state.attempt == 2
    assert len(desk.said("prepared")) == 2


def test_a_zone_that_may_neither_be_asked_nor_looked_into_ends_the_run(desk: CloudDesk, sky: Sky) -> None:
    sky.hook = lambda name, done: sky.forbidden.add("us-west4-a") if name == "create" else None  # after the gate
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "launch-refused"
    assert [event.get("proof") for event in desk.said("deleted")] == ["refused"]
    assert sky.tasks == {}
    assert desk.journal.open_intents() == []


def test_a_service_that_was_switched_on_a_moment_ago_is_asked_again(desk: CloudDesk, sky: Sky) -> None:
    sky.refuse = {"us-west4-a": ["service-disabled"] * 2}
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "completed"


def test_a_service_that_stays_off_ends_the_run_and_leaves_nothing(desk: CloudDesk, sky: Sky) -> None:
    sky.refuse = {"us-west4-a": ["service-disabled"] * 100}
    began = sky.now
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "launch-refused"
    assert state.end.get("facts", {})["error"] == "service-disabled"
    assert sky.now - began < 900.0
    assert not sky.nodes
    assert not sky.tasks
    assert receipt(desk)["usd"] == 0.0


def test_the_receipt_names_the_account_of_the_stops_and_one_that_is_shared_is_told_once(
    desk: CloudDesk, sky: Sky
) -> None:
    sky.refuse = {"us-west4-a": ["create-rate"]}  # stops are set twice
    sky.stopper = ""
    desk.until()
    assert receipt(desk)["stop_account"] == "runner@sky"
    assert [event.get("id") for event in desk.said("notice")] == ["outside-stops-shared"]


def test_stops_with_an_account_of_their_own_need_no_word(desk: CloudDesk, sky: Sky) -> None:
    desk.until()
    assert receipt(desk)["stop_account"] == "stopper@sky"
    assert desk.said("notice") == []


def refuses(call: str, error: Exception) -> Any:
    def hook(name: str, done: bool) -> None:
        if name == call and not done:
            raise error

    return hook


def test_an_upload_that_never_gets_through_ends_the_run(desk: CloudDesk, sky: Sky) -> None:
    sky.hook = refuses("upload", CloudUnclear("timed-out", raw="cut"))
    state = desk.until(turns=60)
    assert state.end is not None
    assert state.end.get("reason") == "upload-failed"


def test_stops_that_can_be_neither_set_nor_listed_leave_no_run_open(desk: CloudDesk, sky: Sky) -> None:
    sky.hook = refuses("list-stops", CloudRefused("service-disabled", raw="Cloud Tasks is off"))
    state = desk.until(turns=200)
    assert state.end is not None
    assert state.end.get("reason") == "launch-refused"
    assert receipt(desk)["stops_left"] == ["unknown"]


def left_over(desk: CloudDesk, sky: Sky) -> None:
    """A run that is settled while its stops could not be removed."""
    sky.hook = refuses("remove-stop", CloudUnclear("timed-out", raw="cut"))
    desk.until(turns=400)
    assert sky.tasks and sky.nodes == {} and receipt(desk)["stops_left"]
    assert [one.action for one in desk.journal.open_intents()] == ["stops-left"]


@pytest.mark.parametrize("folder", ["there", "deleted"])
def test_stops_that_could_not_be_removed_are_removed_later(desk: CloudDesk, sky: Sky, folder: str) -> None:
    """After four tries they were left for good, with no word of where."""
    left_over(desk, sky)
    desk.die()
    desk.start()
    assert desk.driver.recover() == [f"ts-{desk.run}-a1-t1"] and sky.tasks  # Google still does not answer
    sky.hook = lambda name, done: None
    if folder == "deleted":
        shutil.rmtree(desk.folder)
    assert desk.driver.recover() == []
    assert sky.tasks == {} and desk.journal.open_intents() == []
    if folder == "there":
        assert receipt(desk)["stops_left"] == []


def test_stops_of_a_machine_that_is_there_after_all_stay(desk: CloudDesk, sky: Sky) -> None:
    left_over(desk, sky)
    sky.hook = lambda name, done: None
    name, before = f"ts-{desk.run}-a1-t1", dict(sky.tasks)
    sky.nodes[name] = Node(SimpleNamespace(ref=Ref(name, "us-west4-a")), since=sky.now)  # type: ignore[arg-type]
    assert desk.driver.recover() == [name] and sky.tasks == before


def test_stops_of_a_project_that_google_deletes_go_with_it(desk: CloudDesk, sky: Sky) -> None:
    left_over(desk, sky)
    sky.hook = refuses("look", CloudRefused("project-deleted", raw="Project 1 has been deleted."))
    assert desk.driver.recover() == [] and desk.journal.open_intents() == []


def test_a_request_that_google_gave_up_is_nothing_free_and_no_refusal(desk: CloudDesk, sky: Sky) -> None:
    """Its queueing policy is as long as the wait, by Google's clock: over a moment before ours says so."""
    sky.waiting_s = 1e9
    while not sky.nodes:
        desk.turn()
    for node in sky.nodes.values():
        node.state, node.error = "failed", ("timed-out", {"code": "DEADLINE_EXCEEDED"})
    for _ in range(500):
        if len(sky.created_names) == 2:
            break
        desk.turn()
    assert len(sky.created_names) == 2  # it is asked once more, as long as the wait lasts
    assert desk.said("waiting")[0].get("why") == "no-capacity"
