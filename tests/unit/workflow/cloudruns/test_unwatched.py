"""What a machine did while the program was closed counts towards the limits as far as it may have been charged.

Whoever trains on it sees in the bucket that nobody looks, may say anything, take back what was said, and delete it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk, trains
from tests.fakes.skies import RATE, Node, Sky, cloud_plan
from tpu_studio.domain.sentences import say, say_reason
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import event
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.cloudruns import acts, offer
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.ports import Ref
from tpu_studio.workflow.cloudruns.state import State
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import SendControl, resume

LIMIT = 20.0
ALONE_S = 80 * 60.0
Meanwhile = Callable[[str, Node], None]


def closed(desk: CloudDesk, sky: Sky, seconds: float, meanwhile: Meanwhile) -> None:
    """The program is not there for so long; *meanwhile* is what each machine that is ready does, every five minutes."""
    desk.die()
    for _ in range(int(seconds / 300.0)):
        for name, node in list(sky.nodes.items()):
            if node.state == "ready" and not node.ended:
                meanwhile(name, node)
        sky.pass_time(300.0)
    desk.start()


def own_file(plan: Plan) -> Plan:
    """With a model file of the person's own: whoever wrote it, or a package that it imports, speaks as the machine."""
    return replace(plan, job=replace(plan.job, model=replace(plan.job.model, name=None, options={}, file="model.py")))


def asked_anew(desk: CloudDesk, sky: Sky) -> bool:
    """Turns until another machine is asked for; whether one was."""
    begun = len(sky.created_names)
    for _ in range(60):
        desk.turn()
        if desk.state.settled or len(sky.created_names) > begun:
            break
    return not desk.state.settled


def visited(desk: CloudDesk, sky: Sky, times: int, open_s: float, closed_s: float, meanwhile: Meanwhile) -> State:
    """The program is opened so often for *open_s*, and then closed; the state at the end of the run."""
    for _ in range(times):
        opened = sky.now
        while sky.now - opened < open_s and not desk.state.settled:
            desk.turn()
        if desk.state.settled:
            break
        closed(desk, sky, closed_s, meanwhile)
    return desk.until()


@pytest.mark.parametrize("records", [True, False], ids=["the cloud tells of deletions", "it does not"])
def test_a_machine_that_said_to_be_taken_back_while_nobody_looked_spends_the_limit(
    tmp_path: Path, records: bool
) -> None:
    """Its own word is ten seconds after its creation; it trains on for an hour and a half, and deletes itself."""
    sky = Sky(steps=10**7, tells_ends=records)
    desk = CloudDesk(tmp_path / "home", sky, own_file(cloud_plan()))
    lied: dict[str, float] = {}

    def lie(name: str, node: Node) -> None:
        if not node.spoke:
            return
        if name not in lied:
            lied[name], node.hung = sky.now, True
            sky._say(node, event("notice", t=node.created + 10, id="preempted", level="warning", facts={}))
        elif sky.now - lied[name] > ALONE_S:
            sky._remove(name)

    visited(desk, sky, 4, 900.0, 24 * 3600.0, lie)
    assert sky.usd_billed() < 1.3 * LIMIT
    desk.die()


def test_a_machine_that_took_back_what_it_had_said_spends_the_limit_too(tmp_path: Path) -> None:
    """Launched, closed while it waits: the machine comes, is used, and takes its words and its node away."""
    sky = Sky(steps=10**7, waiting_s=400.0)
    plan = cloud_plan()
    plan = replace(plan, job=plan.job.with_values({"limits.wait_hours": 12.0}))
    desk = CloudDesk(tmp_path / "home", sky, plan)
    ready: dict[str, float] = {}

    def take_away(name: str, node: Node) -> None:
        if node.spoke and sky.now - ready.setdefault(name, sky.now) > ALONE_S:
            config = json.loads(node.wanted.metadata["ts-config"])
            for found in [one for one in sky.objects if one.startswith(config["prefix"]) and "a0001" in one]:
                del sky.objects[found]
            node.hung = True
            sky._remove(name)

    state = visited(desk, sky, 5, 300.0, 6000.0, take_away)
    assert sky.usd_billed() < 1.3 * LIMIT
    assert state.end is not None and state.end.get("reason") == "money-limit"
    facts = state.end.get("facts")
    assert isinstance(facts, dict) and facts["unseen_usd"] >= 0.9 * sky.usd_billed()
    assert "at most; that counts towards the limits" in say_reason(Reason.MONEY_LIMIT, facts, place="cloud").meaning
    desk.die()


@pytest.mark.parametrize("claimed_by", ["", "ts-other"], ids=["in its own name", "in another's"])
def test_a_machine_that_says_it_was_only_just_made_spends_the_limit_too(tmp_path: Path, claimed_by: str) -> None:
    """Launched, closed while it waits: two seconds before its end it tells its creation, and that it is taken back."""
    sky = Sky(steps=10**7, tells_ends=True, waiting_s=600.0)
    desk = CloudDesk(tmp_path / "home", sky, own_file(cloud_plan()))
    ready: dict[str, float] = {}

    def lie(name: str, node: Node) -> None:
        if sky.now - ready.setdefault(name, sky.now) > ALONE_S:
            config = json.loads(node.wanted.metadata["ts-config"])
            sky._put(
                f"{config['prefix']}claims/a{config['attempt']:04d}.json",
                json.dumps({"name": claimed_by or name}).encode(),
            )
            sky._say(node, event("phase", t=sky.now - 2, phase="setting-up", detail="claimed"))
            sky._say(node, event("money", t=sky.now - 1.5, usd=0.0, usd_per_hour=RATE, since=sky.now - 2.5))
            sky._say(node, event("notice", t=sky.now - 1, id="preempted", level="warning", facts={}))
            sky._remove(name)

    for _ in range(4):
        if not asked_anew(desk, sky):
            break
        desk.die()
        for _ in range(24 * 12):
            for name, node in list(sky.nodes.items()):
                node.hung = True  # what its guardian said is taken out of the bucket
                if node.state == "ready":
                    lie(name, node)
            sky.pass_time(300.0)
        desk.start()
    desk.until()
    assert sky.usd_billed() < 1.3 * LIMIT
    unseen = sum(
        told.get("facts")["usd_at_most"]  # type: ignore[index]
        for told in desk.said("notice")
        if told.get("id") == "cost-unseen"
    )
    assert desk.state.usd_between(RATE, sky.now)[1] + unseen >= 0.9 * sky.usd_billed()
    desk.die()


def test_what_google_says_to_have_taken_back_is_not_counted_beyond_it(tmp_path: Path) -> None:
    sky = Sky(steps=40, tells_ends=True)
    desk = CloudDesk(tmp_path / "home", sky, cloud_plan(tier="spot"))
    while not any(node.spoke for node in sky.nodes.values()):
        desk.turn()
    desk.die()
    sky.preempt()
    sky.pass_time(6 * 3600.0)
    desk.start()
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    assert state.limited_s(sky.now) * RATE / 3600 < 0.5 * LIMIT
    desk.die()


@pytest.mark.parametrize("away_h", [12, 30])
def test_what_nobody_saw_counts_up_to_the_limit_and_a_higher_one_goes_on_from_there(
    tmp_path: Path, away_h: int
) -> None:
    """Spot, closed while it waits: it came, Google took it back, and a stop removed the request, hours ago."""
    sky = Sky(steps=4000, waiting_s=600.0)
    desk = CloudDesk(tmp_path / "home", sky, cloud_plan(tier="spot"))
    assert asked_anew(desk, sky)
    desk.die()
    for _ in range(60 * away_h):
        for node in list(sky.nodes.values()):
            if node.state == "ready" and node.spoke and node.created and sky.now - node.created > 1200.0:
                sky.preempt()
        sky.pass_time(60.0)
    desk.start()
    desk.until()
    assert "counts-unseen" in [told.get("id") for told in desk.said("notice")]
    seen = CloudVerbs(desk.home, desk.driver, desk.journal).seen(desk.folder, True, 0.0)
    assert seen.usd == pytest.approx(LIMIT, abs=0.02) and seen.unwatched
    assert resume(seen, money_usd=1.5 * LIMIT)
    with pytest.raises(RunError) as refused:
        resume(seen, money_usd=LIMIT)
    said = say(refused.value)
    assert "may have cost as much as that limit" in said.title and "while nobody looked" in said.meaning
    desk.die()


def test_what_still_waits_when_it_is_looked_for_was_not_charged_meanwhile(tmp_path: Path) -> None:
    """Two zones without room, and the program closed for longer than the limit lasts: the second is asked for."""
    sky = Sky(steps=40, waiting_s=1e9)
    plan = cloud_plan(zones=("us-west4-a", "us-east5-b"))
    plan = replace(plan, job=plan.job.with_values({"limits.wait_hours": 12.0}))
    desk = CloudDesk(tmp_path / "home", sky, plan)
    while not sky.nodes:
        desk.turn()
    desk.die()
    sky.pass_time(5 * 3600.0)
    desk.start()
    for _ in range(60):
        desk.turn()
    assert [told for told in desk.said("notice") if told.get("id") == "cost-unseen"] == []
    assert desk.state.end is None and desk.state.limited_s(sky.now) == 0.0
    desk.die()


def test_a_model_file_does_not_say_when_google_took_back_a_machine_that_nobody_saw(tmp_path: Path) -> None:
    """Closed while it waits; used for 85 minutes, and at Google's notice it says that it was made two seconds ago."""
    sky = Sky(steps=10**7, tells_ends=True, waiting_s=600.0)
    desk = CloudDesk(tmp_path / "home", sky, own_file(cloud_plan(tier="spot")))
    told: set[str] = set()
    for _ in range(4):
        if not asked_anew(desk, sky):
            break
        desk.die()
        for _ in range(100):
            for name, node in list(sky.nodes.items()):
                node.hung = True
                if node.state == "ready" and node.created and sky.now - node.created > 85 * 60 and name not in told:
                    told.add(name)
                    config = json.loads(node.wanted.metadata["ts-config"])
                    claim = f"{config['prefix']}claims/a{config['attempt']:04d}.json"
                    sky._put(claim, json.dumps({"name": name}).encode())
                    sky._say(node, event("phase", t=sky.now - 2, phase="setting-up", detail="claimed"))
                    sky._say(node, event("money", t=sky.now - 1.5, usd=0.0, usd_per_hour=RATE, since=sky.now - 2.5))
                    sky._say(node, event("notice", t=sky.now - 1, id="preempted", level="warning", facts={}))
                    sky.preempt()
            sky.pass_time(60.0)
        desk.start()
    desk.until()
    assert sky.usd_billed() < 1.3 * LIMIT
    assert desk.state.usd_between(RATE, sky.now)[1] >= 0.9 * sky.usd_billed()
    desk.die()


@pytest.mark.parametrize("records", [True, False], ids=["the cloud tells of deletions", "it does not"])
def test_one_extension_asks_for_one_machine_and_an_end_by_a_model_file_spends_the_limit(
    tmp_path: Path, records: bool
) -> None:
    """It never says that it heard of it, and "completed" twenty seconds after its creation; it works on for long."""
    sky = Sky(steps=10**7, tells_ends=records, waiting_s=30.0)
    desk = CloudDesk(tmp_path / "home", sky, own_file(cloud_plan()))
    trains(desk)
    sky.pass_time(60.0)
    desk.turn()
    CloudVerbs(desk.home, desk.driver, desk.journal).extend(
        desk.folder, (SendControl({"verb": "extend", "epochs": 2}),)
    )
    extended, lied = sky.now, dict[str, float]()

    def lie(name: str, node: Node) -> None:
        if not node.spoke:
            return
        node.hung = True
        if name not in lied:
            lied[name] = sky.now
            attempt = json.loads(node.wanted.metadata["ts-config"])["attempt"]
            sky._say(node, event("metric", t=extended - 30, step=[1], loss=[1.0]))
            sky._say(node, event("notice", t=node.created + 10, id="preempted", level="warning", facts={}))
            end = {"status": "finished", "reason": "completed", "steps": 40, "final": {}, "facts": {}}
            sky._say(node, event("end", t=node.created + 20, attempt=attempt, **end))
        elif sky.now - lied[name] > ALONE_S:
            sky._remove(name)

    visited(desk, sky, 4, 900.0, 24 * 3600.0, lie)
    assert sky.usd_billed() < 1.3 * LIMIT
    assert len([told for told in desk.said("notice") if told.get("id") == "extended-at-the-end"]) <= 1
    desk.die()


def test_an_extension_that_nobody_asked_for_here_asks_for_no_machine(desk: CloudDesk, sky: Sky) -> None:
    """The machine can write into ``control/`` of the bucket, too: a new number each time."""
    trains(desk)
    sky.pass_time(60.0)
    desk.turn()
    config = json.loads(next(iter(sky.nodes.values())).wanted.metadata["ts-config"])
    for number in range(1, 4):
        sky._put(f"{config['prefix']}control/{number:06d}.json", b'{"verb":"extend","epochs":2}\n')
    desk.die()
    desk.start()
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    assert len(sky.created_names) == 1
    assert "extension-unheard" in [told.get("id") for told in desk.said("notice")]
    desk.die()


def test_a_run_that_was_watched_to_its_end_has_no_time_that_nobody_watched(tmp_path: Path) -> None:
    """Also where Google tells of no deletion, which is proved a moment after it."""
    sky = Sky(steps=40)
    desk = CloudDesk(tmp_path / "home", sky, own_file(cloud_plan()))
    desk.until()
    assert not CloudVerbs(desk.home, desk.driver, desk.journal).seen(desk.folder, True, 0.0).unwatched
    assert "counts-unseen" not in [told.get("id") for told in desk.said("notice")]
    desk.die()


def test_what_counts_unseen_is_told_to_the_next_machine_as_no_cost(tmp_path: Path) -> None:
    """Spot, a model file of one's own, closed for an hour and more in which Google takes it back."""
    sky = Sky(steps=10**7, tells_ends=True)
    desk = CloudDesk(tmp_path / "home", sky, own_file(cloud_plan(tier="spot")))
    trains(desk)
    desk.die()
    sky.pass_time(900.0)
    sky.preempt()
    sky.pass_time(2400.0)
    desk.start()
    assert asked_anew(desk, sky)
    told = json.loads(next(iter(sky.nodes.values())).wanted.metadata["ts-config"])
    assert told["spent_usd"] == pytest.approx(desk.state.usd(RATE, sky.now), abs=0.01) and told["spent_usd"] < 5.0
    assert told["unseen_usd"] == pytest.approx(desk.state.limited_usd(RATE, sky.now) - told["spent_usd"], abs=0.01)
    assert told["unseen_usd"] > 5.0
    assert told["earlier_s"] + told["lease_s"] == pytest.approx(2 * 3600.0)  # a change of the hours counts the same
    assert "counts-unseen" in [one.get("id") for one in desk.said("notice")]
    desk.die()


def test_what_was_seen_waiting_before_the_program_was_quit_was_not_charged(tmp_path: Path) -> None:
    """Five hours it is looked at, then quit for ten minutes, in which the request fails: ten minutes nobody saw."""
    sky = Sky(steps=40, waiting_s=1e9)
    plan = cloud_plan()
    plan = replace(plan, job=plan.job.with_values({"limits.wait_hours": 24.0}))
    desk = CloudDesk(tmp_path / "home", sky, plan)
    began = sky.now
    while sky.now - began < 5 * 3600.0:
        desk.turn()
        sky.pass_time(60.0)
    assert len(sky.created_names) == 1
    desk.die()
    sky.pass_time(300.0)
    for node in sky.nodes.values():
        node.state, node.error = "failed", ("no-capacity", {})
    sky.pass_time(300.0)
    sky.waiting_s = 20.0
    desk.start()
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    unseen = [told.get("facts") for told in desk.said("notice") if told.get("id") == "cost-unseen"]
    assert all(isinstance(facts, dict) and facts["seconds_at_most"] <= 1000 for facts in unseen)
    desk.die()


@pytest.mark.parametrize("records", [True, False], ids=["the cloud tells of deletions", "it does not"])
def test_what_google_gave_up_while_the_program_was_closed_was_no_machine(tmp_path: Path, records: bool) -> None:
    """Two zones without room; it stands there still, failed for want of capacity, and without a node."""
    sky = Sky(steps=40, tells_ends=records, waiting_s=1e9)
    plan = cloud_plan(zones=("us-west4-a", "us-east5-b"))
    plan = replace(plan, job=plan.job.with_values({"limits.wait_hours": 24.0}))
    desk = CloudDesk(tmp_path / "home", sky, plan)
    assert asked_anew(desk, sky)
    for _ in range(6):
        desk.turn()
    desk.die()
    sky.pass_time(1800.0)
    for node in sky.nodes.values():
        node.state, node.error = "failed", ("no-capacity", {})
    sky.pass_time(8 * 3600.0)
    sky.waiting_s = 20.0
    desk.start()
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    assert "cost-unseen" not in [told.get("id") for told in desk.said("notice")]
    desk.die()


@pytest.mark.parametrize("own", [False, True], ids=["ours", "a model file"])
def test_what_waited_when_its_deletion_was_taken_ends_no_run(tmp_path: Path, own: bool) -> None:
    """The program is quit in the half minute that Google takes for it, and Google tells of no deletion."""
    sky = Sky(steps=40, waiting_s=1e9)
    plan = cloud_plan(zones=("us-west4-a", "us-east5-b"))
    plan = replace(plan, job=plan.job.with_values({"limits.wait_hours": 12.0}))
    desk = CloudDesk(tmp_path / "home", sky, own_file(plan) if own else plan)
    remove = sky._remove

    def takes_its_time(name: str) -> None:
        if name in sky.nodes and sky.nodes[name].state == "waiting":
            sky.nodes[name].state, sky.nodes[name].since = "leaving", sky.now + 25.0
        else:
            remove(name)

    sky._remove = takes_its_time  # type: ignore[method-assign]
    while not any(node.state == "leaving" for node in sky.nodes.values()):
        desk.turn()
    desk.die()
    sky.pass_time(9 * 3600.0)
    sky.waiting_s = 20.0
    desk.start()
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    desk.die()


def test_a_deletion_that_was_said_to_be_taken_and_was_not_counts() -> None:
    """A look found it being made after all; the program is quit, and the machine hangs before its first word."""
    made = Machine(Ref("ts-run-a1-t1", "us-west4-a"), 1, 1, asked=1.0, delete_asked=601.0, waited=600.0)
    taken = replace(made, delete_taken=True)
    assert taken.waited_to_its_end and replace(taken, state="leaving").waited_to_its_end
    assert not made.waited_to_its_end  # it was asked for, and nobody heard whether it was taken
    assert not replace(taken, state="provisioning", coming=640.0).waited_to_its_end
    assert not replace(taken, waited=100.0).waited_to_its_end


def test_where_no_price_is_known_time_that_nobody_watched_counts_towards_the_limit_of_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (acts, offer):
        monkeypatch.setattr(module, "listed", lambda plan: None)
    sky = Sky(steps=10**7, waiting_s=400.0)
    plan = replace(cloud_plan(), price=None)
    plan = replace(plan, job=plan.job.with_values({"limits.wait_hours": 12.0}))
    desk = CloudDesk(tmp_path / "home", sky, plan)
    ready: dict[str, float] = {}

    def take_away(name: str, node: Node) -> None:
        if node.spoke and sky.now - ready.setdefault(name, sky.now) > 105 * 60.0:
            config = json.loads(node.wanted.metadata["ts-config"])
            attempt = f"a{config['attempt']:04d}"
            for found in [one for one in sky.objects if one.startswith(config["prefix"]) and attempt in one]:
                del sky.objects[found]
            node.hung = True
            sky._remove(name)

    state = visited(desk, sky, 4, 300.0, 9000.0, take_away)
    assert len(sky.created_names) == 1
    assert state.end is not None and state.end.get("reason") == "time-limit"
    facts = state.end.get("facts")
    assert isinstance(facts, dict) and facts["unseen_s"] > 105 * 60
    said = say_reason(Reason.TIME_LIMIT, facts, place="cloud").meaning
    assert "may have cost the rent of" in said and "that counts towards the limits" in said
    desk.die()
