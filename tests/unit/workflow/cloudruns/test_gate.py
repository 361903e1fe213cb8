"""No create call unless the stops were shown to work: reads, proofs, what makes one void, what may be waived."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk, Killed, ends, killed_at
from tests.fakes.skies import Sky, cloud_plan
from tests.fakes.skysides import NOBODY
from tpu_studio.domain.sentences import say_notice, say_reason
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.stops import OFFSETS_S
from tpu_studio.workflow.cloudruns import gate, gating
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.gate import Account, Evidence, Go, Prove, Refuse, Shown

RUNNER, STOPPER = "runner@sky", "stopper@sky"
YES = Account(RUNNER, "yes"), Account(STOPPER, "yes")
UNKNOWN = Account(RUNNER, "unknown", "unreadable"), Account(STOPPER, "unknown", "no-grant")
NO = Account(RUNNER, "no", "absent"), Account(STOPPER, "no", "disabled")


# ------------------------------------------------------------------------------------------------------- decisions


def test_two_yes_and_a_queue_let_it_go():
    assert gate.judge(Evidence("q", *YES), waived=False) == Go({RUNNER: "reads", STOPPER: "reads"})


@pytest.mark.parametrize(("runner", "stopper", "which"), [(NO[0], YES[1], "runner"), (YES[0], NO[1], "stopper")])
def test_a_no_of_either_account_refuses_it(runner: Account, stopper: Account, which: str):
    verdict = gate.judge(Evidence("q", runner, stopper), waived=False)
    assert isinstance(verdict, Refuse) and verdict.reason is Reason.STOPS_UNPROVED
    assert verdict.facts["which"] == which


def test_who_is_unknown_is_proved_each_by_itself():
    assert gate.judge(Evidence("q", *UNKNOWN), waived=False) == Prove((RUNNER, STOPPER))
    assert gate.judge(Evidence("q", YES[0], UNKNOWN[1]), waived=False) == Prove((STOPPER,))
    assert gate.judge(Evidence("q", *UNKNOWN), waived=False, proved=[STOPPER]) == Prove((RUNNER,))
    told = gate.judge(Evidence("q", *UNKNOWN), waived=False, proved=[STOPPER, RUNNER])
    assert told == Go({RUNNER: "proof", STOPPER: "proof"})


def test_without_a_queue_it_is_refused_and_may_be_waived_but_for_the_runner():
    def told(runner: Account, *, waived: bool) -> Go | Refuse | Prove:
        return gate.judge(Evidence("", runner, UNKNOWN[1], "org-policy"), waived=waived)

    refused = told(YES[0], waived=False)
    assert isinstance(refused, Refuse) and refused.reason is Reason.NO_OUTSIDE_STOP
    assert told(YES[0], waived=True) == Go({RUNNER: "reads"})
    for runner in (UNKNOWN[0], NO[0]):
        unproved = told(runner, waived=True)
        assert isinstance(unproved, Refuse) and unproved.reason is Reason.STOPS_UNPROVED


def test_with_a_queue_a_waived_launch_still_has_its_runner_proved():
    assert gate.judge(Evidence("q", *UNKNOWN), waived=True) == Prove((RUNNER,))


@pytest.mark.parametrize(
    ("control", "account", "after_s", "outcome"),
    [
        (7, 5, 0.0, "go"),
        (None, 5, 0.0, "wait"),
        (7, None, 0.0, "wait"),
        (7, 7, 599.0, "wait"),  # Google is slow to know of a new right
        (7, 14, 599.0, "wait"),
        (7, 7, 600.0, "stops-unproved"),
        (5, 5, 0.0, "no-outside-stop"),  # 404 is told to everybody: it proves nothing
        (7, gate.GONE, 0.0, "no-outside-stop"),
        (gate.GONE, 5, 0.0, "no-outside-stop"),
        (None, 5, 600.0, "no-outside-stop"),
        (7, None, 600.0, "no-outside-stop"),
        (14, 5, 600.0, "no-outside-stop"),
        (5, 7, 600.0, "no-outside-stop"),
    ],
)
def test_only_a_404_beside_a_403_of_the_account_without_rights_is_a_proof(
    control: int | None, account: int | None, after_s: float, outcome: str
):
    shown = Shown("proving", 1000.0, "q", {"q/tasks/0": NOBODY, "q/tasks/1": RUNNER}, NOBODY)
    told = gate.read(shown, {"q/tasks/0": control, "q/tasks/1": account}, 1000.0 + after_s)
    found = "wait" if told is None else "go" if isinstance(told, Go) else told.reason.value
    assert found == outcome


# ---------------------------------------------------------------------------------------------------- in the driver


def refused(desk: CloudDesk, reason: str) -> None:
    ends(desk, reason)
    assert desk.sky.created_names == [] and desk.sky.proving == {}


def test_what_was_shown_stands_in_the_records_before_anything_is_asked_for(desk: CloudDesk, sky: Sky) -> None:
    ends(desk)
    told = desk.said("gate")
    assert [one.get("answer") for one in told] == ["proving", "proved"]
    assert told[-1].get("accounts") == {STOPPER: "trial"} and sky.proving == {}
    created = next(event for event in desk.said("intent") if event.get("action") == "create")
    assert told[-1].t < created.t and sky.proofs == 0


@pytest.mark.parametrize(("code", "reason"), [(16, "no-outside-stop"), (7, "stops-unproved")])
def test_where_reads_say_yes_and_googles_stop_does_not_reach_the_machine_nothing_is_rented(
    desk: CloudDesk, sky: Sky, code: int, reason: str
) -> None:
    """Whether a task's call is taken as the account of the stops is a doubt (`task-oauth-delete`,
    `stopper-permissions`): a hung machine with the computer off was charged without end there."""
    sky.codes = {STOPPER: code}
    refused(desk, reason)
    end = desk.state.end
    assert end is not None
    said = say_reason(Reason(reason), end.get("facts"), place="cloud")
    assert "Nothing was charged" in said.meaning and said.action


def test_a_trial_holds_for_a_month_and_is_no_proof(desk: CloudDesk, sky: Sky) -> None:
    shown = Shown("proving", 100.0, "q", {"t": STOPPER})
    assert gate.read(shown, {"t": 5}, 101.0) == Go({STOPPER: "trial"})
    assert gate.read(shown, {"t": None}, 101.0) is None and gate.read(shown, {"t": 16}, 699.0) is None
    silent = gate.read(shown, {"t": None}, 700.0)
    assert isinstance(silent, Refuse) and silent.facts["error"] == "proof-silent"
    ends(desk)
    assert sky.trials == 1
    proofs = gating._Proofs(desk.home / gating.FILE)
    key = next(key for key in proofs._read() if key.endswith("|answered"))
    at = proofs._read()[key][STOPPER]
    assert proofs.of(key, at + 29 * 86400, gate.TRIED_S) == [STOPPER]
    assert proofs.of(key, at + 31 * 86400, gate.TRIED_S) == proofs.of(key.removesuffix("|answered"), at) == []


def test_a_trial_whose_task_is_simply_gone_has_shown_nothing_and_is_not_kept(desk: CloudDesk, sky: Sky) -> None:
    """It counted as a yes, for a month."""
    sky.codes[STOPPER] = None
    desk.turn()
    assert sky.proving
    sky.proving.clear()
    refused(desk, "no-outside-stop")
    assert "showed nothing" in told_end(desk)
    sky.codes.clear()
    sky.objects.clear()
    other = CloudDesk(desk.home, sky, run="digits-k3f8")
    ends(other)
    assert sky.trials == 2
    other.die()


@pytest.mark.parametrize("late", [1, 9])
def test_a_task_that_had_left_when_it_was_looked_at_is_set_anew_a_few_times(
    desk: CloudDesk, sky: Sky, late: int
) -> None:
    """Between attempts it stands for some minutes; then it leaves by itself, and that says nothing."""
    for _ in range(late):
        desk.turn()
        sky.pass_time(gate.STANDS_S + 60.0)
        sky.proving.clear()
    if late == 1:
        ends(desk)
        assert sky.trials == 2
    else:
        refused(desk, "no-outside-stop")
        assert sky.trials == 1 + gating.MOST_LATE


def test_whose_rights_are_tried_and_why_is_said_while_it_is_waited_for(desk: CloudDesk, sky: Sky) -> None:
    """A role that somebody emptied by hand is noticed after ten minutes: until then nobody knew what went on."""
    sky.says[STOPPER], sky.codes[STOPPER] = ("unknown", "no-grant"), 7
    desk.turn()
    [notice] = desk.said("notice")
    said = say_notice(str(notice.get("id")), notice.get("facts"))
    assert STOPPER in said.meaning and "ten minutes" in said.meaning and "Nothing is rented" in said.meaning
    assert "no right" in said.meaning and "Account page" in said.action
    refused(desk, "stops-unproved")
    assert [one.get("id") for one in desk.said("notice")] == ["stops-tried"]


@pytest.mark.parametrize("who", [RUNNER, STOPPER])
@pytest.mark.parametrize("why", ["absent", "disabled", "conditional"])
def test_an_account_that_may_not_ends_the_launch_before_it_costs_anything(
    desk: CloudDesk, sky: Sky, who: str, why: str
) -> None:
    sky.says[who] = ("no", why)
    refused(desk, "stops-unproved")
    end = desk.state.end
    assert end is not None
    said = say_reason(Reason.STOPS_UNPROVED, end.get("facts"), place="cloud")
    assert who in said.meaning and "Account page" in said.action and "Nothing was charged" in said.meaning


def test_accounts_that_cannot_be_read_are_proved_beside_the_upload(desk: CloudDesk, sky: Sky) -> None:
    sky.says = {RUNNER: ("unknown", "unreadable"), STOPPER: ("unknown", "unreadable")}
    calls: list[str] = []
    sky.hook = lambda name, done: calls.append(name)
    ends(desk)
    assert calls.index("prove") < calls.index("upload") < calls.index("proof") < calls.index("create")
    assert [event.get("answer") for event in desk.said("gate")] == ["proving", "proved"]
    assert desk.said("gate")[-1].get("codes") == {NOBODY: 7, RUNNER: 5, STOPPER: 5}
    assert sky.proving == {}


def test_a_right_that_google_is_slow_to_know_of_is_waited_for(desk: CloudDesk, sky: Sky) -> None:
    sky.says[STOPPER], sky.codes[STOPPER] = ("unknown", "no-grant"), 7
    desk.turn()
    desk.turn()
    assert sky.proving and sky.created_names == [] and desk.state.phase == ("queued", "proving")
    sky.codes[STOPPER] = 5
    ends(desk)


def test_an_account_that_stays_refused_for_ten_minutes_ends_the_launch(desk: CloudDesk, sky: Sky) -> None:
    sky.says[RUNNER], sky.codes[RUNNER] = ("unknown", "no-grant"), 7
    began = sky.now
    refused(desk, "stops-unproved")
    assert 600.0 <= sky.now - began < 1200.0


@pytest.mark.parametrize("code", [5, 7])
def test_a_proof_is_no_waiting_for_capacity(desk: CloudDesk, sky: Sky, code: int) -> None:
    plan = cloud_plan()
    short = replace(plan, job=plan.job.with_values({"limits.wait_hours": 0.1}))
    desk.__init__(desk.home / "short", sky, short)  # type: ignore[misc]
    sky.says[RUNNER], sky.codes[RUNNER] = ("unknown", "no-grant"), 7
    began = sky.now
    while sky.now < began + 500.0:  # longer than it may wait for a TPU
        desk.turn()
    sky.codes[RUNNER] = code
    ends(desk, "completed" if code == 5 else "stops-unproved")


@pytest.mark.parametrize(("who", "which"), [(RUNNER, "runner"), (STOPPER, "stopper")])
def test_a_proof_that_is_refused_says_whose(desk: CloudDesk, sky: Sky, who: str, which: str) -> None:
    sky.says[who], sky.codes[who] = ("unknown", "no-grant"), 7
    refused(desk, "stops-unproved")
    end = desk.state.end
    assert end is not None and end.get("facts")["which"] == which


@pytest.mark.parametrize("comes", [True, False])
def test_a_service_that_is_off_is_no_missing_right(desk: CloudDesk, sky: Sky, comes: bool) -> None:
    """Its 403 is everybody's; one that was just switched on answers so for some minutes."""
    off = True

    def hook(name: str, done: bool) -> None:
        if name == "look" and not done and off:
            raise CloudRefused("service-disabled", service="tpu.googleapis.com", raw="is off")

    sky.hook = hook
    sky.codes[STOPPER] = 7
    for _ in range(4):
        desk.turn()
    assert desk.state.end is None and sky.proving == {}
    if comes:
        off = False
        sky.codes.clear()
    ends(desk, "completed" if comes else "launch-refused")


def test_a_404_that_everybody_is_told_proves_nothing(desk: CloudDesk, sky: Sky) -> None:
    sky.says[RUNNER], sky.codes[NOBODY] = ("unknown", "no-grant"), 5
    refused(desk, "no-outside-stop")


def test_a_task_that_is_simply_gone_proves_nothing(desk: CloudDesk, sky: Sky) -> None:
    sky.says[RUNNER], sky.codes[RUNNER] = ("unknown", "no-grant"), None
    desk.turn()
    assert sky.proving
    sky.proving.clear()
    refused(desk, "no-outside-stop")


def test_a_proof_holds_for_an_hour_and_is_asked_for_again_after_it(desk: CloudDesk, sky: Sky) -> None:
    sky.says[STOPPER] = ("unknown", "no-grant")
    sky.refuse["us-west4-a"] = ["no-capacity"] * 12
    ends(desk)
    shown = [event.t for event in desk.said("gate") if event.get("answer") in ("shown", "proved")]
    asked = [event.t for event in desk.said("intent") if event.get("action") == "create"]
    assert all(any(0.0 <= at - one < gate.HOLDS_S for one in shown) for at in asked)
    assert sky.proofs == 1 + sum(later - sooner >= gate.HOLDS_S for sooner, later in pairwise(shown))


def test_another_launch_within_the_hour_uses_the_proof(tmp_path, sky: Sky) -> None:  # type: ignore[no-untyped-def]
    sky.says[STOPPER] = ("unknown", "no-grant")
    ends(CloudDesk(tmp_path / "one", sky))
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "stop-proofs.json").write_bytes((tmp_path / "one" / "stop-proofs.json").read_bytes())
    sky.objects.clear()
    sky.created_names.clear()
    sky.bill.clear()
    ends(CloudDesk(tmp_path / "two", sky))
    assert sky.proofs == 1
    sky.pass_time(3600.0)
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "stop-proofs.json").write_bytes((tmp_path / "one" / "stop-proofs.json").read_bytes())
    sky.objects.clear()
    sky.created_names.clear()
    ends(CloudDesk(tmp_path / "three", sky))
    assert sky.proofs == 2


@pytest.mark.parametrize("call", range(1, 40, 3))
def test_killed_at_any_call_of_a_proof_the_next_goes_on_and_nothing_is_asked_for_unproved(
    desk: CloudDesk, sky: Sky, call: int
) -> None:
    sky.says = {RUNNER: ("unknown", "unreadable"), STOPPER: ("unknown", "unreadable")}
    with killed_at(sky, call):
        for _ in range(12):
            desk.turn()
    desk.die()
    desk.start()
    ends(desk)
    created = next(event for event in desk.said("intent") if event.get("action") == "create")
    assert any(event.get("answer") == "proved" and event.t < created.t for event in desk.said("gate"))


def told_end(desk: CloudDesk) -> str:
    end = desk.state.end
    assert end is not None
    said = say_reason(Reason(str(end.get("reason"))), end.get("facts"), place="cloud")
    assert "Nothing was charged" in said.meaning and said.action
    return " ".join((said.title, said.meaning, said.action))


def test_a_stop_of_the_person_ends_a_proof_and_leaves_no_task(desk: CloudDesk, sky: Sky) -> None:
    sky.says[RUNNER], sky.codes[RUNNER] = ("unknown", "no-grant"), 7
    desk.turn()
    assert sky.proving
    desk.stop()
    refused(desk, "stopped-by-user")


def test_what_the_practice_cloud_showed_counts_nothing_at_google(desk: CloudDesk, sky: Sky) -> None:
    """A project of the practice cloud may be called as the person's own."""
    sky.says[STOPPER] = ("unknown", "no-grant")
    ends(desk)
    sky.objects.clear()
    sky.created_names.clear()
    there = CloudDesk(desk.home, sky, cloud_plan(place="cloud"), run="digits-k3f8")
    there.driver = Driver(desk.home, places={"cloud": sky.place()}, journal=there.journal)
    there.until()
    assert sky.proofs == 2
    there.die()


@pytest.mark.parametrize("hours", [0.5, 8.0, 30.0, 60.0])
def test_killed_after_its_stops_stand_a_launch_that_goes_on_later_sets_them_anew(
    desk: CloudDesk, sky: Sky, hours: float
) -> None:
    """They had fired, or were about to: a machine that hung then, with the computer off, was charged without end."""
    written: list[int] = []

    def dies(name: str, done: bool) -> None:
        written.extend([1] * (name == "journal" and len(sky.tasks) == len(OFFSETS_S)))
        if len(written) == 3:  # the stops' intent is closed, none to create is open
            raise Killed

    sky.hook = dies
    with pytest.raises(Killed):
        desk.until()
    assert [one.get("action") for one in desk.said("intent")] == ["stops"]
    desk.die()
    sky.hook = lambda name, done: None
    sky.pass_time(hours * 3600.0)
    desk.start()
    sky.never_boots, sky.provisioning, sky.boot_s, sky.waiting_s = True, "operation", 7200.0, 5.0

    def created(name: str, done: bool) -> None:
        if name == "create" and done:
            raise Killed

    sky.hook = created
    with pytest.raises(Killed):
        desk.until()
    sky.hook = lambda name, done: None
    sky.pass_time(60 * 3600.0)  # with this computer off
    assert sky.bill and sky.nodes == {}
    desk.die()
    desk.start()
    desk.until()
    assert sky.nodes == {} and sky.tasks == {} and desk.journal.open_intents() == []


@pytest.mark.parametrize("says", ["yes", "unknown"])
def test_a_zone_that_is_closed_to_the_project_says_nothing_of_the_accounts(
    desk: CloudDesk, sky: Sky, says: str
) -> None:
    """It answers everybody with 403: the proof is asked for in the run's next zone, and so is the machine."""
    sky.says[STOPPER] = (says, "" if says == "yes" else "no-grant")
    sky.forbidden.add("us-west4-a")
    two = cloud_plan(zones=("us-west4-a", "us-central1-a"))
    desk.__init__(desk.home / "two", sky, two)  # type: ignore[misc]
    ends(desk)
    assert set(sky.aimed.values()) == {"us-central1-a"}


def test_where_every_zone_is_closed_it_is_that_what_is_said_and_at_once(desk: CloudDesk, sky: Sky) -> None:
    sky.forbidden.add("us-west4-a")
    began = sky.now
    refused(desk, "launch-refused")
    assert (desk.state.end or {}).get("facts")["error"] == "zone-not-allowed" and sky.now - began < 60.0


def test_a_deletion_that_was_refused_when_tried_is_told_as_that_with_a_way_round_it() -> None:
    """Google may refuse it only for a name that never was (doubt ``compute-condition``)."""
    facts = {"account": "stopper@p.iam.gserviceaccount.com", "which": "stopper", "why": "denied"}
    told = str(say_reason(Reason.STOPS_UNPROVED, facts, place="cloud"))
    assert "The service account of the shut-off timers was refused a deletion, so nothing was rented" in told
    assert "rent by the TPU API" in told
    absent = say_reason(Reason.STOPS_UNPROVED, {**facts, "why": "absent"}, place="cloud")
    assert "may not delete" in absent.title and "rent by the TPU API" not in absent.action


@pytest.mark.parametrize(
    "odd", ['["a"]', '"abc"', "5", f'{{"a": 1{"0" * 400}}}', '{"a": NaN}', '{"a": true}', "[" * 1000, "{"]
)
def test_what_is_no_proof_proves_nothing_and_holds_up_no_other(tmp_path: Path, odd: str) -> None:
    proofs = gating._Proofs(tmp_path / gating.FILE)
    (tmp_path / gating.FILE).write_text(f'{{"key": {odd}}}')
    assert proofs.of("key", 1e9) == []
    proofs.keep("key", [STOPPER], 1e9)
    assert proofs.of("key", 1e9 + 1.0) == [STOPPER]
