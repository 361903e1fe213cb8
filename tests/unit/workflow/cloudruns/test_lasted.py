"""Until when a machine was charged: by a record, or else between its last sign of life and the look that missed it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.skies import RATE, Sky
from tests.unit.workflow.cloudruns.test_mended import receipt
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.wire.events import Event, from_record
from tpu_studio.wire.limits import Limits
from tpu_studio.workflow.cloudruns.asking import money_left_s, stay_s, time_left_s
from tpu_studio.workflow.cloudruns.lasted import STOPS_TAKE_S, Signs, Until, counted, until
from tpu_studio.workflow.cloudruns.machine import Guard, Machine
from tpu_studio.workflow.cloudruns.ports import Deletion, Ref
from tpu_studio.workflow.cloudruns.state import State, fold

T = 1_800_000_000.0
END = from_record({"t": T + 600, "kind": "end", "status": "finished", "reason": "completed"})


def told(
    *, guard: Guard, deletion: Deletion | None = None, alive: float = 0.0, now: float = 9000.0, **machine: Any
) -> Until:
    one = Machine(Ref("ts-run-a1-t1", "us-west4-a"), 1, 1, created=T, asked=T - 60, **machine)
    return until(one, guard, Signs(T + now, deletion, alive, 0.0, lambda: T + 7200))


def spoke(seconds: float, **more: Any) -> Guard:
    return Guard(spoke=T + seconds, first=T + 5, **more)


def test_the_record_of_a_deletion_ends_the_bill_of_a_machine_that_was_there_until_then() -> None:
    deletion = Deletion(T + 610, T + 700)
    exact = Until(T + 610, T + 700, T + 700)  # at least until it was asked for: the doubt `billing-ends`
    assert told(guard=spoke(600, end=END), deletion=deletion) == exact
    assert told(guard=Guard(), deletion=deletion, alive=T + 605) == exact  # it never spoke, and was looked at
    assert told(guard=spoke(600, end=END), deletion=deletion, node_gone=T + 699) == exact  # a look while it goes


def test_a_machine_that_was_silent_for_long_may_have_been_gone_before_it_was_deleted() -> None:
    span = told(guard=spoke(600), deletion=Deletion(T + 7200, T + 7290))
    assert (span.least, span.likely) == (T + 599, T + 7290) and span.most >= T + 7290


def test_a_machine_that_vanished_was_charged_from_its_last_word_to_the_look_that_missed_it() -> None:
    """Its request is deleted later, which says nothing of the machine."""
    span = told(guard=spoke(600), node_gone=T + 900, deletion=Deletion(T + 905, T + 910))
    assert span == Until(T + 599, T + 615, T + 901)
    looked_at = told(guard=spoke(600), node_gone=T + 900, alive=T + 880)
    assert looked_at == Until(T + 879, T + 890, T + 901)


def test_a_machine_whose_stops_were_refused_was_charged_until_googles_own_end() -> None:
    """With the laptop off, hung, and the account of its stops without its rights: `make doubts`, flex-end."""
    one = Machine(Ref("ts-run-a1-t1", "us-east5-a", "compute"), 1, 1, created=T, asked=T - 60)
    signs = Signs(T + 99_000, None, 0.0, 0.0, lambda: T + 7200, own_end=T + 8400)
    ended = Until(T + 599, T + 8400, T + 8401)
    assert until(one, spoke(600), signs) == ended
    failed = replace(one, node_gone=T + 9000, delete_asked=T + 9010)  # found ended; then its request is deleted
    assert until(failed, spoke(600), replace(signs, deletion=Deletion(T + 9010, T + 9015))) == ended
    assert until(one, spoke(600), replace(signs, own_end=0.0)).most == T + 7231
    assert until(replace(failed, node_gone=T + 700), spoke(600), signs).likely == T + 615  # gone before


def test_what_was_taken_back_may_be_charged_until_it_is_deleted() -> None:
    """The doubts `off-not-charged` and `suspended-means-gone`: the range holds both bills."""
    warned = spoke(605, preempted=True, warned=T + 600)
    span = told(guard=warned, node_gone=T + 612, deletion=Deletion(T + 900, T + 910))
    assert span.likely == T + 612 and span.most >= T + 910


def test_billing_may_begin_with_ready_and_a_node_that_vanished_while_it_was_made_may_be_billed() -> None:
    """The doubts `billing-begins` and `vanished-not-billed`."""
    one = Machine(
        Ref("ts-run-a1-t1", "us-west4-a"),
        1,
        1,
        created=T,
        first=T - 300,
        ready=T + 90,
        spoke=T + 60,
        gone=T + 700,
        billed_until=T + 600,
        billed_least=T + 590,
        billed_most=T + 610,
    )
    assert one.billed_s(T + 9000) == 600
    assert one.billed_between_s(T + 9000) == (530, 910)


def test_what_was_provisioning_before_there_was_a_node_may_be_charged() -> None:
    """The doubt `provisioning-free`."""
    events = [
        Event(T, "intent", {"action": "create", "name": "ts-run-a1-t1", "zone": "us-west4-a", "attempt": 1}),
        Event(T + 100, "cloud", {"name": "ts-run-a1-t1", "state": "provisioning", "created": None}),
        Event(T + 900, "cloud", {"name": "ts-run-a1-t1", "state": "ready", "created": T + 800.0}),
        Event(T + 2000, "deleted", {"name": "ts-run-a1-t1", "billed_until": T + 1900.0, "created": T + 800.0}),
    ]
    one = fold(events).machines[0]
    assert one.billed_s(T + 9000) == 1100 and one.billed_between_s(T + 9000)[1] == 1800


def test_a_machine_that_may_not_read_when_it_was_made_may_be_charged_from_before_its_first_word() -> None:
    """The doubt `node-created`, with the laptop off."""
    events = [
        Event(T, "intent", {"action": "create", "name": "ts-run-a1-t1", "zone": "us-west4-a", "attempt": 1}),
        Event(
            T + 2000,
            "deleted",
            {
                "name": "ts-run-a1-t1",
                "billed_until": T + 600.0,
                "created": T + 90.0,
                "spoke": T + 91.0,
                "first": T + 2.0,
            },
        ),
    ]
    one = fold(events).machines[0]
    assert one.billed_s(T + 9000) == 510 and one.billed_between_s(T + 9000)[1] == 598


def test_a_flex_start_of_compute_engine_may_be_charged_while_it_waits() -> None:
    """The doubt `flex-pending-free`; one that waited in vain, too."""
    came = Machine(
        Ref("ts-run-a1-t1", "us-east5-a", "compute"),
        1,
        1,
        made=True,
        asked=T - 3600,
        created=T,
        ready=T,
        gone=T + 700,
        billed_until=T + 600,
    )
    assert came.billed_s(T + 9000) == 600 and came.billed_between_s(T + 9000) == (600, 4200)
    in_vain = replace(came, created=None, ready=None, billed_until=None)
    assert in_vain.billed_s(T + 9000) == 0 and in_vain.billed_between_s(T + 9000) == (0, 4300)
    refused = replace(in_vain, made=False)
    assert refused.billed_between_s(T + 9000) == (0, 0)


def test_a_machine_that_was_warned_lasts_for_the_notice_unless_it_was_missed_before() -> None:
    warned = spoke(605, preempted=True, warned=T + 600)
    assert told(guard=warned).likely == T + 630
    assert told(guard=warned, node_gone=T + 612).likely == T + 612
    assert told(guard=warned, deletion=Deletion(T + 900, T + 910)).likely == T + 630
    restarted = spoke(5000, preempted=True, warned=T + 600)
    assert told(guard=restarted).likely == T + 5030


def test_what_may_follow_a_machine_that_nobody_watched_goes_not_by_its_word() -> None:
    """By Google's, by its record, by a look, or until a shut-off timer; by an end where only our own code runs."""
    warned, now = spoke(605, preempted=True, warned=T + 600), T + 90_000.0
    one = Machine(Ref("ts-run-a1-t1", "us-west4-a"), 1, 1, created=T, asked=T - 60)

    def counts(
        guard: Guard = warned,
        deletion: Deletion | None = None,
        has_stops: bool = True,
        own: bool = False,
        **machine: Any,
    ) -> float:
        signs = Signs(now, deletion, 0.0, 0.0, lambda: T + 7200, has_stops=has_stops)
        known = replace(one, **machine)
        return counted(known, guard, signs, until(known, guard, signs), runs_own_code=own) - T

    assert counts() == 7200 + STOPS_TAKE_S
    assert counts(has_stops=False) >= 90_000
    assert counts(deletion=Deletion(T + 900, T + 910)) == pytest.approx(910, abs=2)
    assert counts(taken_back=True) == 630
    assert counts(taken_back=True, own=True, node_gone=T + 5000) == 5000  # when it was, a model file may have said
    assert counts(spoke(605, end=END)) < 640
    assert counts(spoke(605, end=END), own=True) == 7200 + STOPS_TAKE_S  # a model file may have said that, too


def test_a_taking_back_is_held_to_the_stops_where_there_are_any() -> None:
    one = Machine(Ref("ts-run-a1-t1", "us-west4-a"), 1, 1, created=T, asked=T - 60)
    guard, signs = spoke(605, preempted=True, warned=T + 600), Signs(T + 90_000.0, None, 0.0, 0.0, lambda: T + 7200)
    assert until(one, guard, signs).most == pytest.approx(T + 7200 + STOPS_TAKE_S, abs=2)
    assert until(one, guard, replace(signs, has_stops=False)).most == pytest.approx(T + 90_000, abs=2)
    late = replace(signs, deletion=Deletion(T + 80_000, T + 80_010))  # Google's record: no stop has ended it
    ended = until(one, guard, late)
    assert ended.most == pytest.approx(T + 80_010, abs=2)
    assert counted(one, guard, late, ended, runs_own_code=True) == pytest.approx(T + 80_010, abs=2)


def test_an_end_is_held_to_the_stops_where_there_are_any() -> None:
    """Without a record, days later: no shut-off timer lets one stay that said its end and did not go."""
    one, guard = Machine(Ref("ts-run-a1-t1", "us-west4-a"), 1, 1, created=T, asked=T - 60), spoke(605, end=END)
    signs = Signs(T + 90_000.0, None, 0.0, 0.0, lambda: T + 7200)
    assert until(one, guard, signs).most == pytest.approx(T + 7200 + STOPS_TAKE_S, abs=2)
    assert until(one, guard, replace(signs, has_stops=False)).most == pytest.approx(T + 90_000, abs=2)


@pytest.mark.parametrize("word", [float("inf"), T + 1e9])
def test_no_word_is_later_than_the_absence(word: float) -> None:
    span = told(guard=Guard(spoke=word, first=T + 5), node_gone=T + 900)
    assert span.least <= span.likely <= T + 900


def test_a_machine_that_vanished_while_nobody_looked_is_shown_with_a_range_that_holds_the_bill(
    desk: CloudDesk, sky: Sky
) -> None:
    sky.tells_ends = True
    while not any(node.spoke for node in sky.nodes.values()):
        desk.turn()
    sky.pass_time(60.0)
    desk.die()
    sky.lose()
    sky.pass_time(5000.0)
    desk.start()
    desk.until()
    (lost, *_), paper = sky.bill, receipt(desk)
    seconds = (lost[2] or 0.0) - lost[1]
    first = paper["made"][0]
    assert first["billed_at_least_s"] <= seconds <= first["billed_at_most_s"]
    assert first["billed_s"] == pytest.approx(seconds, abs=60.0)  # it had spoken a minute before at the latest
    assert paper["usd_at_least"] <= sky.usd_billed() <= paper["usd_at_most"]
    shown = [event for event in desk.said("money") if event.get("proved")][-1]
    assert (shown.get("usd_at_least"), shown.get("usd_at_most")) == (paper["usd_at_least"], paper["usd_at_most"])


def test_the_range_of_a_run_that_ended_as_it_should_leaves_out_only_what_may_be_free(desk: CloudDesk, sky: Sky) -> None:
    """Before it is READY, and while it is deleted: whether Google charges those minutes is a doubt."""
    sky.tells_ends = True
    desk.until()
    paper = receipt(desk)
    assert paper["usd"] == pytest.approx(sky.usd_billed(), rel=0.01)
    made = paper["made"][0]  # PROVISIONING before there is a node may be charged, too
    assert 0.0 <= made["billed_at_most_s"] - made["billed_s"] <= 30.0
    (made,) = paper["made"]
    assert paper["usd_at_least"] == pytest.approx(made["billed_at_least_s"] / 3600.0 * RATE, abs=1e-5)
    assert 0 < made["billed_s"] - made["billed_at_least_s"] < 600


def test_a_spot_machine_that_is_still_listed_when_it_was_taken_back_is_not_charged_any_more(
    desk: CloudDesk, sky: Sky
) -> None:
    """The node stays there as PREEMPTED until somebody deletes it: its deletion is not the end of its bill."""
    sky.tells_ends = True
    while not any(node.spoke for node in sky.nodes.values()):
        desk.turn()
    sky.pass_time(60.0)
    desk.die()
    (node,) = sky.nodes.values()
    began, ended = node.created, sky.now
    assert began is not None
    node.state, node.by_service = "preempted", True
    sky.pass_time(3000.0)
    desk.start()
    desk.until()
    first = receipt(desk)["made"][0]
    assert first["billed_s"] == pytest.approx(ended - began, abs=60.0)
    assert first["usd"] < RATE / 3600 * 600


def test_an_end_without_capacity_says_so_when_nobody_saw_whether_a_machine_came(desk: CloudDesk, sky: Sky) -> None:
    sky.never_boots = sky.tells_ends = True
    while not sky.nodes:
        desk.turn()
    desk.die()
    sky.pass_time(40_000.0)
    desk.start()
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "no-capacity"
    paper, facts = receipt(desk), state.end.get("facts")
    assert isinstance(facts, dict) and facts["unseen_usd"] == pytest.approx(paper["usd_at_most"])
    assert paper["usd_at_least"] == 0.0 < sky.usd_billed() <= paper["usd_at_most"] <= 1.01 * sky.usd_billed() + 1.0


def test_a_request_that_was_looked_for_all_the_time_and_never_came_is_no_cost_unseen(desk: CloudDesk, sky: Sky) -> None:
    began = sky.now

    def lost(call: str, done: bool) -> None:
        if (call, done) == ("create", False) and sky.now < began + 900.0:
            raise CloudUnclear("timed-out")

    sky.hook = lost
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    assert sky.now > began + 900.0
    assert [event for event in desk.said("notice") if event.get("id") == "cost-unseen"] == []
    paper = receipt(desk)
    assert paper["usd_at_most"] <= paper["usd"] + RATE / 3600 * 40


def test_a_node_that_vanished_while_provisioning_is_not_billed_but_the_one_in_its_place() -> None:
    """It was never ready; of one that was, all is billed from its creation on."""
    name = "ts-run-a1-t1"

    def after(*looks: tuple[str, float]) -> float | None:
        told = [{"kind": "intent", "action": "create", "name": name, "zone": "us-west4-a", "attempt": 1, "try": 1}]
        told += [{"kind": "cloud", "name": name, "state": seen, "created": created} for seen, created in looks]
        state = fold(from_record({"t": T + number, **one}) for number, one in enumerate(told))
        return state.machines[0].created

    assert after(("provisioning", T + 10), ("provisioning", T + 18), ("ready", T + 26)) == T + 26
    assert after(("ready", T + 10), ("ready", T + 26)) == T + 10


def test_a_machine_that_was_there_after_it_said_to_be_taken_back_is_counted_until_then() -> None:
    """What trains on it may say when it was warned; a look found it an hour later."""
    warned = spoke(12, preempted=True, warned=T + 10)
    span = told(guard=warned, node_gone=T + 3700, alive=T + 3600)
    assert span.likely == T + 3600 and span.least < T + 60 and span.most >= T + 3700
    assert told(guard=warned, alive=T + 3600, deletion=Deletion(T + 3690, T + 3695)).most >= T + 3695


def test_what_nobody_saw_counts_for_time_and_money_each_by_its_own_limit() -> None:
    seen = Machine(Ref("ts-run-a1-t1", "us-west4-a"), 1, 1, created=T, asked=T - 60, gone=T + 100, billed_until=T + 100)
    state = State(machines=(replace(seen, counted_s=7201.0, counted_money_s=30_000.0),))
    assert (state.used_s(T + 200), state.limited_s(T + 200), state.limited_money_s(T + 200)) == (100, 7201, 30_000)
    assert state.limited_usd(12.0, T + 200) == 100.0
    both = Limits(hours=4.0, usd_per_hour=12.0, money_usd=150.0)
    assert (time_left_s(both, state, T + 200), money_left_s(both, state, T + 200)) == (7199.0, 15_000.0)
    assert stay_s(both, state, T + 200) == 7199.0 and stay_s(both, state.without(seen), T + 200) == 4 * 3600.0
    assert money_left_s(replace(both, money_usd=None), state, T + 200) == math.inf
    assert stay_s(replace(both, money_usd=1.0), state, T + 200) == 60.0
