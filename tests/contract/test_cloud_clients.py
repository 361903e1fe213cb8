"""Our clients of clock and machines against the practice cloud, faults of the line included."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.contract.sides import LABELS, QUICK, REF, WANTED, side_of, until, until_empty
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.connection import practice_side
from tpu_studio.domain.sentences import say
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut
from tpu_studio.workflow.cloudruns.ports import CloudSide

Start = Callable[..., Practice]


# ---------------------------------------------------------------------------------------------------------- clock


def test_the_clock_is_the_clouds(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    side = side_of(practice)
    assert side.speed == 60
    assert abs(side.clock.now() - practice.cloud.clock.now()) < 3600  # of practice: a minute for one slow answer


def test_what_follows_a_run_hears_of_a_practice_cloud_started_anew_at_another_speed(start_practice: Start) -> None:
    before = start_practice(speed=60)
    settings, tokens = before.cloud.settings, [before.token]
    side = practice_side(
        before.url, before.token, settings.project, settings.bucket, patience=QUICK, renewed=lambda: tokens[-1]
    )
    before.stop()
    after = start_practice(speed=4)
    tokens.append(after.token)
    assert after.url == before.url and side.speed == 60
    assert dict(side.stops.of(REF)) == {}
    began = side.clock.now()
    assert side.speed == 4 and abs(began - after.cloud.clock.now()) < 3600


# ------------------------------------------------------------------------------------------------------- machines


def test_the_clock_goes_where_refusals_come_without_a_date(practice: Practice) -> None:
    practice.cloud.doubts.arm("date-header=not-on-errors")
    assert abs(side_of(practice).clock.now() - practice.cloud.clock.now()) < 60.0


def test_the_clock_needs_nobody_to_be_signed_in(start_practice: Start) -> None:
    practice = start_practice("token-revoked")
    assert abs(side_of(practice).clock.now() - practice.cloud.clock.now()) < 60.0


@pytest.mark.parametrize("way", ["", "operation"])
def test_a_deletion_that_comes_too_soon_is_a_refusal_whichever_way_google_says_it(
    start_practice: Start, way: str
) -> None:
    practice = start_practice("provisioning-stalls:seconds=3600", speed=60)
    if way:
        practice.cloud.doubts.arm(f"provisioning-delete={way}")
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    until(lambda: machines.look(REF), "provisioning")
    with pytest.raises(CloudRefused) as refused:
        machines.delete(REF)
    assert (refused.value.id, refused.value.facts["state"]) == ("precondition", "PROVISIONING")
    assert "Google is making" in say(refused.value).title


@pytest.fixture
def fast(start_practice: Start) -> CloudSide:
    return side_of(start_practice(speed=60))


@pytest.mark.parametrize("tier", ["on-demand", "spot", "flex-start"])
def test_a_machine_is_asked_for_found_and_deleted(fast: CloudSide, tier: str) -> None:
    machines = fast.machines["tpu"]
    machines.create(replace(WANTED, tier=tier, run_s=3600.0 if tier == "flex-start" else None))
    ready = until(lambda: machines.look(REF), "ready")
    assert ready is not None and ready.labels == LABELS
    assert ready.created is not None and abs(ready.created - fast.clock.now()) < 36_000
    assert [one.ref for one in machines.find(LABELS)] == [REF]
    assert list(machines.find({**LABELS, "run-id": "another"})) == []
    machines.delete(REF)
    machines.delete(REF)
    until(lambda: machines.look(REF), "")
    machines.delete(REF)
    assert list(machines.find(LABELS)) == []


def test_a_flex_start_that_only_v2alpha1_shows_is_found_and_deleted(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    practice.cloud.doubts.arm("flex-list-v2")
    machines, flex = side_of(practice).machines["tpu"], replace(REF, alpha=True)
    machines.create(replace(WANTED, ref=flex, tier="flex-start", run_s=3600.0))
    until(lambda: machines.look(flex), "ready")
    assert machines.look(REF) is None, "the doubt is played"
    assert [(one.ref, one.ref.alpha) for one in machines.find(LABELS)] == [(flex, True)]
    machines.delete(flex)
    until(lambda: machines.look(flex), "")
    assert machines.ended(flex) is not None
    practice.cloud.faults.arm("permission-missing", permission="tpu.nodes.list")
    with pytest.raises(CloudRefused):
        machines.find(LABELS)


def test_a_stop_deletes_a_flex_start_that_only_v2alpha1_shows(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    practice.cloud.doubts.arm("flex-list-v2")
    side, flex = side_of(practice), replace(REF, alpha=True)
    side.machines["tpu"].create(replace(WANTED, ref=flex, tier="flex-start", run_s=3600.0))
    (name,) = side.stops.set(flex, "b", [side.clock.now() + 60.0])
    aim = side.stops.aim(name)
    assert aim is not None and aim[0].alpha
    until_empty(practice)


def test_created_and_deleted_are_told_as_they_are_billed(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    ready = until(lambda: machines.look(REF), "ready")
    assert ready is not None and machines.ended(REF) is None
    machines.delete(REF)
    until(lambda: machines.look(REF), "")
    (line,) = practice.cloud.meter.bill()
    assert ready.created == pytest.approx(line["begin"], abs=0.001)
    told = machines.ended(REF)
    assert told is not None and told.done == pytest.approx(line["end"], abs=0.001)
    assert ready.created < told.asked < told.done
    assert machines.ended(replace(REF, name="ts-another-a1-t1")) is None


def test_the_same_name_is_refused_the_same_call_is_not(fast: CloudSide) -> None:
    machines = fast.machines["tpu"]
    machines.create(WANTED)
    machines.create(WANTED)  # the same request id
    with pytest.raises(CloudRefused) as raised:
        machines.create(replace(WANTED, request_id="00000000-9a53-4f53-8f0b-0e6f2b1f8b11"))
    assert raised.value.id == "exists"


@pytest.mark.parametrize(
    ("fault", "id"),
    [
        ("quota-zero", "quota-exceeded"),
        ("quota-region-limit", "quota-exceeded"),
        ("stockout-at-submit", "no-capacity"),
        ("not-entitled", "not-entitled"),
        ("type-not-in-zone", "type-not-in-zone"),
        ("create-rate", "create-rate"),
    ],
)
def test_a_refused_create_made_nothing_and_says_why(start_practice: Start, fault: str, id: str) -> None:
    machines = side_of(start_practice(fault)).machines["tpu"]
    with pytest.raises(CloudRefused) as raised:
        machines.create(replace(WANTED, tier="spot"))
    assert raised.value.id == id
    assert raised.value.facts["zone"] == REF.zone and raised.value.facts["raw"]
    assert machines.look(REF) is None


@pytest.mark.parametrize("fault", ["apply-then-fail", "connection-cut:match=POST", "foreign-metadata-type"])
def test_a_create_whose_answer_is_lost_is_unclear_and_found_by_name(start_practice: Start, fault: str) -> None:
    machines = side_of(start_practice(fault, speed=60)).machines["tpu"]
    try:
        machines.create(WANTED)
    except CloudUnclear:
        pass  # foreign-metadata-type is readable: google.cloud.common is imported
    assert until(lambda: machines.look(REF), "ready") is not None
    assert len(machines.find(LABELS)) == 1


def test_a_stockout_in_the_operation_is_told_with_its_reason(start_practice: Start) -> None:
    machines = side_of(start_practice("stockout-in-operation", speed=60)).machines["tpu"]
    machines.create(WANTED)
    failed = until(lambda: machines.look(REF), "failed")
    assert failed is not None and failed.error is not None and failed.error[0] == "no-capacity"
    machines.delete(REF)
    until(lambda: machines.look(REF), "")


def test_a_state_nobody_has_heard_of_is_unknown_not_failed(start_practice: Start) -> None:
    machines = side_of(start_practice("unknown-enum", speed=60)).machines["tpu"]
    machines.create(WANTED)
    states = set()
    give_up = time.monotonic() + PATIENCE_S
    while "ready" not in states and time.monotonic() < give_up:
        machine = machines.look(REF)
        assert machine is not None
        states.add(machine.state)
    assert "ready" in states
    assert "failed" not in states and "preempted" not in states


def test_an_operation_that_never_ends_does_not_hide_the_machine(start_practice: Start) -> None:
    machines = side_of(start_practice("operation-never-ends", speed=60)).machines["tpu"]
    machines.create(WANTED)
    assert until(lambda: machines.look(REF), "ready") is not None


def test_a_machine_that_is_taken_back_is_told_from_one_that_is_deleted(start_practice: Start) -> None:
    machines = side_of(start_practice("preempted:seconds=5,notice=1", speed=60)).machines["tpu"]
    machines.create(replace(WANTED, tier="spot"))
    taken = until(lambda: machines.look(REF), "preempted")
    assert taken is not None and (taken.by_service or "PREEMPTED" in taken.raw)
    machines.delete(REF)
    until(lambda: machines.look(REF), "")


def test_a_zone_that_does_not_answer_leaves_find_unclear(start_practice: Start) -> None:
    practice = start_practice()
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    practice.cloud.faults.arm_text("partial-listing:times=0")
    with pytest.raises(CloudUnclear) as raised:
        machines.find(LABELS)
    assert raised.value.facts["unreachable"]


def test_the_line_may_fail_for_a_while(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    until(lambda: machines.look(REF), "ready")
    for fault in ("server-error", "unavailable", "gateway-timeout", "too-many-requests"):
        practice.cloud.faults.arm_text(f"{fault}:times=2")
        assert machines.look(REF) is not None
    practice.cloud.faults.arm_text("delete-fails:times=2")
    machines.delete(REF)
    until(lambda: machines.look(REF), "")


# ------------------------------------------------------------------------------------------------------- security


def test_a_wrong_token_is_signed_out_and_told_nowhere(practice: Practice) -> None:
    secret = "planted-secret-9f8e7d6c"
    side = side_of(practice, secret)
    for call in (
        lambda: side.mailbox.read("runs/a/x"),
        lambda: side.stops.of(REF),
        lambda: side.machines["tpu"].look(REF),
        lambda: side.machines["tpu"].look(REF),
    ):
        with pytest.raises(SignedOut) as raised:
            call()
        told = str(raised.value) + repr(raised.value) + json.dumps(raised.value.to_json()) + repr(side)
        assert secret not in told
        assert raised.value.__cause__ is None


def test_no_log_line_holds_the_token(practice: Practice, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    side = side_of(practice)
    side.mailbox.create("runs/a/x", b"one")
    side.machines["tpu"].create(WANTED)
    side.machines["tpu"].find(LABELS)
    side.stops.set(REF, "b", [side.clock.now() + 3600])
    practice.cloud.faults.arm_text("server-error:times=1,match=.")
    assert side.machines["tpu"].look(REF) is not None
    assert caplog.records, "urllib3 tells of its connections at this level"
    assert practice.token not in caplog.text


@pytest.mark.parametrize("doubt", ["", "address-limit-way"])
def test_a_slice_of_many_hosts_is_looked_at_before_it_is_asked_for(start_practice: Start, doubt: str) -> None:
    practice = start_practice("address-limit:limit=3,region=us-west4", speed=60)
    if doubt:
        practice.cloud.doubts.arm(doubt)
    machines, slice_ = side_of(practice).machines["tpu"], replace(WANTED, accelerator="v5litepod-16")
    with pytest.raises(CloudRefused) as raised:
        machines.check(slice_)
    facts = raised.value.facts
    assert raised.value.id == "region-limit" and (facts["limit"], facts["used"], facts["hosts"]) == (3.0, 0, 4)
    assert machines.look(REF) is None
    machines.check(WANTED)  # one machine is left to Google
    practice.cloud.faults.arm("permission-missing", permission="compute.regions.get")
    machines.check(slice_)  # who may not look is not held up
    try:
        machines.create(slice_)
        failed = until(lambda: machines.look(REF), "failed")
        assert failed is not None and failed.error is not None
        told = failed.error[0]
    except CloudRefused as error:
        told = error.id
    assert told == "region-limit"
