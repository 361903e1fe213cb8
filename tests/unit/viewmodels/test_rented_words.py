"""What the window says of rented runs: waiting, cost, deletion, review, areas; pure functions."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW
from tests.fakes.making import make_plan
from tests.fakes.views import T, view_of
from tpu_studio.cli import words
from tpu_studio.cloud.prices import with_rows
from tpu_studio.domain import figures, renewed
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import say_reason
from tpu_studio.planner.report.cap import cap
from tpu_studio.viewmodels import (
    draft,
    planwhere,
    planwords,
    runfacts,
    runhappened,
    runnumbers,
    runrented,
    runstages,
    runwords,
)
from tpu_studio.viewmodels.money import month_of
from tpu_studio.viewmodels.receipt import AT_MOST, receipt_of
from tpu_studio.viewmodels.review import Review, longest_s, review_of
from tpu_studio.viewmodels.runrows import RunRow, row_of
from tpu_studio.wire.extras import all_in_usd_per_hour
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.planparts import PlanPrice
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.ports import Ref
from tpu_studio.workflow.cloudruns.state import State
from tpu_studio.workflow.ports import RunSummary

NAME = "ts-digits-k3f7-a1-t1"


def plan_at(place: str, **where: Any) -> Plan:
    values = {"data.kind": "digits", "model.name": "mlp", "where.place": place}
    job = draft.edited(draft.empty(), values | {f"where.{name}": value for name, value in where.items()})
    return make_plan(job, DIGITS, now=NOW, computer=LAPTOP)


ASKED = (
    (0.0, "phase", {"phase": "queued", "detail": "submitted", "attempt": 1}),
    (1.0, "opened", {"bucket": "b", "project": "p"}),
    (2.0, "intent", {"id": f"create/{NAME}", "action": "create", "name": NAME, "zone": "us-west4-a"}),
    (3.0, "waiting", {"zones": ["us-west4-a", "us-east5-b"], "since": T, "why": "no-capacity", "tries": 2}),
    (3.0, "phase", {"phase": "queued", "detail": "waiting-for-capacity", "attempt": 1}),
)
THERE = (
    *ASKED,
    (10.0, "cloud", {"name": NAME, "zone": "us-west4-a", "state": "ready", "raw": "ACTIVE", "created": T + 9}),
    (10.0, "phase", {"phase": "provisioning", "detail": "", "attempt": 1}),
    (20.0, "money", {"usd": 0.01, "usd_per_hour": 1.2}),
    (21.0, "phase", {"phase": "training", "detail": ""}),
)
END = (30.0, "end", {"attempt": 1, "status": "finished", "reason": "completed", "steps": 5, "final": {}, "facts": {}})


def test_a_wait_tells_how_long_who_was_asked_and_the_ways_out():
    plan, view = plan_at("cloud"), view_of(*ASKED)
    assert runrented.waiting_of(plan, view, T + 5) is None  # most TPUs come within seconds
    waiting = runrented.waiting_of(plan, view, T + 14 * 60)
    assert waiting is not None
    assert waiting.title == "14 min, asked us-west4-a and us-east5-b, nothing free"
    assert "supply" in waiting.text and "3 h 46" in waiting.text
    assert [way.title for way in waiting.ways] == [
        "Keep waiting",
        "Try spot",
        "Use a free TPU in Colab",
        "Train on this computer",
    ]
    assert dict(waiting.ways[1].changes)["where.tier"] == "spot"
    assert dict(waiting.ways[2].changes)["where.place"] == "colab"
    assert len(runrented.waiting_of(plan_at("cloud", tier="spot"), view, T + 60).ways) == 3  # type: ignore[union-attr]


def test_a_refusal_is_told_in_its_own_words_and_never_as_a_shortage():
    told = list(ASKED)
    told[3] = (3.0, "waiting", {"zones": ["us-west4-a"], "since": T, "why": "quota-exceeded", "tries": 1})
    waiting = runrented.waiting_of(plan_at("cloud"), view_of(*told), T + 60)
    assert waiting is not None and "supply" not in waiting.text and "nothing free" not in waiting.title


def test_nothing_is_waited_for_once_the_machine_is_there_or_the_run_is_over():
    assert runrented.waiting_of(plan_at("cloud"), view_of(*THERE), T + 900) is None
    assert runrented.waiting_of(plan_at("cloud"), view_of(*ASKED, END), T + 900) is None


def test_the_deletion_is_going_then_failing_then_proved():
    plan = plan_at("cloud")
    assert runrented.removal_of(plan, view_of(*THERE), T + 25) is None
    going = runrented.removal_of(plan, view_of(*THERE, END), T + 40)
    assert going is not None and going.kind == "neutral"
    failed = (50.0, "notice", {"id": "delete-failing", "level": "error", "facts": {"name": NAME}})
    failing = runrented.removal_of(plan, view_of(*THERE, END, failed), T + 60)
    assert failing is not None and failing.kind == "bad"
    assert NAME in failing.title and "may still be charged: $1.20 an hour" in failing.text
    gone = (
        (70.0, "deleted", {"name": NAME, "zone": "us-west4-a", "proof": "404", "made": True, "created": T + 9}),
        (70.1, "money", {"usd": 0.02, "usd_per_hour": 0.0, "proved": True}),
        (70.2, "notice", {"id": "delete-proved", "level": "info", "facts": {"name": NAME}}),
        (71.0, "phase", {"phase": "done", "detail": "", "attempt": 1}),
    )
    proved = runrented.removal_of(plan, view_of(*THERE, END, failed, *gone), T + 80)
    assert proved is not None and proved.kind == "ok"
    assert "removed and checked at" in proved.title and proved.text.startswith("It cost $0.02.")
    assert len(proved.lines) == 1 and NAME in proved.lines[0] and "not found" in proved.lines[0]
    assert proved.text.endswith("The results stay in your bucket for 30 days.")
    practised = runrented.removal_of(plan_at("practice"), view_of(*THERE, END, *gone), T + 80)
    assert practised is not None
    assert practised.text.endswith("charged. The results stay in the practice bucket for 30 days.")


def test_a_run_that_never_had_a_machine_says_that_nothing_was_rented():
    declared = (5.0, "end", {"attempt": 1, "status": "failed", "reason": "no-outside-stop", "steps": 0, "final": {}})
    done = (6.0, "phase", {"phase": "done", "detail": "", "attempt": 1})
    removal = runrented.removal_of(plan_at("cloud"), view_of(*ASKED[:2], declared, done), T + 9)
    assert removal is not None and removal.title == "Nothing was rented"


def test_where_google_ends_a_wait_early_the_review_says_what_a_computer_that_is_off_means():
    plan = plan_at("cloud", accelerator="v6e-1", tier="flex-start", backend="compute-engine", zones=["us-east5-a"])
    told = next(fact for fact in review_of(plan, date(2026, 11, 23)).facts if fact.label == "Waits for a TPU")
    assert told.value == "4 h at most"
    assert "Google ends such a request after 2 h" in told.more
    assert "with it off, the wait is 2 h at most" in told.more
    check = next(check for check in plan.checks if check.id == "compute-engine-untried")
    assert check.fix == {"where.backend": "tpu-api"}

    api = plan_at("cloud", accelerator="v6e-1", tier="flex-start", zones=["us-east5-a"])
    assert (
        next(fact for fact in review_of(api, date(2026, 11, 23)).facts if fact.label == "Waits for a TPU").more
        == "Waiting is free."
    )
    assert "compute-engine-untried" not in [check.id for check in api.checks]


@pytest.mark.parametrize(("place", "label"), [("cloud", "Cost so far"), ("practice", "Would have cost")])
def test_the_cost_runs_on_between_reports_and_stands_still_while_it_waits(place: str, label: str):
    facts = runfacts.facts_of(plan_at(place))
    waiting = runnumbers.numbers(facts, view_of(*ASKED), T + 600)[2]
    assert (waiting.label, waiting.value, waiting.context) == (label, "$0.00", "free while it waits")
    running = runnumbers.numbers(facts, view_of(*THERE), T + 20 + 3600)[2]
    assert running.value == "$1.21"


def test_a_machine_that_is_set_up_is_not_free_and_the_wait_for_the_next_one_is():
    facts = runfacts.facts_of(plan_at("cloud"))
    set_up = runnumbers.numbers(facts, view_of(*THERE[:-2]), T + 15)[2]
    assert set_up.context == f"{figures.money(facts.usd_per_hour)} an hour"
    gone = (
        (60.0, "deleted", {"name": NAME, "zone": "us-west4-a", "made": True, "created": T + 9}),
        (60.0, "money", {"usd": 0.05, "usd_per_hour": 0.0}),
        (61.0, "attempt-over", {"attempt": 1, "reason": "preempted"}),
        (62.0, "phase", {"phase": "queued", "detail": "submitted", "attempt": 2}),
    )
    assert runnumbers.numbers(facts, view_of(*THERE, *gone), T + 70)[2].context == "free while it waits"


@pytest.mark.parametrize(("status", "shown"), [("failed", "failed"), ("stopped", "stopped")])
def test_a_rented_run_that_ends_in_compiling_is_shown_to_have_ended_there_and_not_in_saving(status: str, shown: str):
    facts = runfacts.facts_of(plan_at("cloud"))
    reason = {"failed": "out-of-memory", "stopped": "discarded"}[status]
    told = [(25.0, "phase", {"phase": "compiling", "detail": "training step", "attempt": 1})]
    told += [(30.0, "phase", {"phase": "saving", "detail": "upload", "attempt": 1})]  # what there is, at any end
    told += [(31.0, "end", {"attempt": 1, "status": status, "reason": reason, "steps": 0, "final": {}})]
    stages = {one.title: one.state for one in runstages.stages(facts, view_of(*THERE[:-1], *told), T + 40)}
    assert (stages["Compiling"], stages["Training"], stages["Saving"]) == (shown, "ahead", "ahead")
    assert runstages.stages(facts, view_of(*THERE[:-1], *told), T + 40)[-2].caption == ""

    kept = [(25.0, "phase", {"phase": "saving", "detail": "checkpoint", "attempt": 1}), *told[1:]]
    stages = {one.title: one.state for one in runstages.stages(facts, view_of(*THERE, *kept), T + 40)}
    assert stages["Saving"] == ("failed" if status == "failed" else "done")


def test_the_timeline_of_a_rented_run_ends_only_with_the_proof():
    facts = runfacts.facts_of(plan_at("cloud"))
    over = runstages.stages(facts, view_of(*THERE, END), T + 40)
    assert [stage.title for stage in over][:2] == ["Queued", "Getting TPU"]
    assert (over[-1].title, over[-1].state) == ("Cleaning up", "current")
    assert runwords.pill(facts, view_of(*THERE, END)) == ("Cleaning up", "accent")
    gone = (70.0, "deleted", {"name": NAME, "zone": "us-west4-a", "made": True, "created": T + 9})
    done = (71.0, "phase", {"phase": "done", "detail": "", "attempt": 1})
    proved = runstages.stages(facts, view_of(*THERE, END, gone, done), T + 80)[-1]
    assert (proved.title, proved.state) == ("Cleaned up", "done") and proved.caption.startswith("verified at ")
    here = runstages.stages(runfacts.facts_of(plan_at("computer")), RunView(), T)
    assert here[-1].title == "Saving"


def test_what_happened_speaks_of_zones_and_of_the_proof():
    gone = (70.0, "deleted", {"name": NAME, "zone": "us-west4-a", "made": True, "created": T + 9})
    over = (40.0, "attempt-over", {"attempt": 1, "reason": "preempted"})
    told = runhappened.what_happened(runfacts.facts_of(plan_at("cloud")), view_of(*THERE, over, gone))
    lines = [line.text for line in told]
    assert "Asked for a TPU in us-west4-a" in lines
    assert "Google took the TPU back; the run goes on with the next one" in lines
    assert "The TPU is deleted, and that is verified" in lines


def test_the_review_is_of_the_plan_and_tells_all_that_a_launch_may_not_hide():
    plan = plan_at("cloud", zones=["us-west4-a", "us-west4-b"], tier="spot")
    assert plan.price is not None
    today = date.fromisoformat(plan.price.as_of) + timedelta(days=3)
    review = review_of(plan, today)
    facts = {fact.label: fact for fact in review.facts}
    assert facts["Zones to try"].value == "us-west4-a, then us-west4-b"
    assert "3 days old" in facts["Price"].more
    assert "the shut-off timers delete it: up to 20 min later" in facts["Stops at"].more
    assert "the timers run out later: up to 4 h 40 later" in facts["Stops at"].more
    assert [net.holds for net in review.nets] == [True] * 4
    assert any("waits at no cost" in line for line in review.end)
    assert review.verb == "Rent 1 chip & train"
    without = replace(plan, limits=replace(plan.limits, without_outside_stop=True))
    review = review_of(without, today)
    assert [net.title for net in review.nets if not net.holds] == ["Independent shut-offs"]
    assert {fact.label: fact for fact in review.facts}["Stops at"].more.endswith("nothing ends it.")


def test_the_worst_case_is_a_figure_of_its_own_beside_the_cap_with_what_lowers_it():
    plan = plan_at("cloud")
    assert plan.price is not None
    review = review_of(plan, date.fromisoformat(plan.price.as_of))
    rate, cap_usd = all_in_usd_per_hour(plan.price, plan.extras) or 0.0, review.worst.cap_usd  # type: ignore[union-attr]
    hang_h = plan.limits.margin_boot_s / 3600.0
    assert review.cap_figure == figures.money(plan.limits.money_usd)
    assert review.cap_words == f"or after {planwords.hours(plan.limits.hours)}, whichever comes first"
    assert float(review.worst_figure.removeprefix("$")) == pytest.approx(cap_usd + rate * hang_h, abs=0.01)
    assert "before training starts while this computer is off" in review.worst_words
    assert review.worst_words.startswith(f"{figures.money(cap_usd)} at its limits, and up to 4 h 40 of rent beyond, ")
    way = review.lower[0]
    assert way.changes == (("limits.wait_hours", 0.5),) and way.button.startswith("Wait ")
    job = draft.edited(plan.job, {"limits.wait_hours": 0.5})
    short = make_plan(draft.edited(job, {"limits.hours": plan.limits.hours}), DIGITS, now=NOW, computer=LAPTOP)
    then = review_of(short, date.fromisoformat(plan.price.as_of))
    assert f"{then.worst_figure} at worst" in way.words.replace(" at worst.", " at worst")
    assert [one.button for one in then.lower] == [""]  # waiting adds nothing any more


def test_the_limit_that_is_named_is_the_one_that_lowers_the_worst_case():
    """A lower cost limit changes nothing while the time limit ends the run first, and the other way round."""

    def worst(**limits: float) -> Review:
        changes = {f"limits.{name}": value for name, value in limits.items()}
        job = draft.edited(plan_at("cloud").job, changes)
        return review_of(make_plan(job, DIGITS, now=NOW, computer=LAPTOP), date(2026, 11, 23))

    def usd(review: Review) -> float:
        return float(review.worst_figure.removeprefix("$"))

    by_time, by_money = worst(hours=1.0, money_usd=9.0), worst(hours=9.0, money_usd=2.0)
    assert by_time.lower[-1].key == "limits.hours" and by_money.lower[-1].key == "limits.money_usd"
    an_hour = float(by_time.lower[-1].words.partition("$")[2].partition(" an hour")[0])
    assert usd(worst(hours=0.5, money_usd=9.0)) == pytest.approx(usd(by_time) - an_hour / 2, abs=0.011)
    assert usd(worst(hours=1.0, money_usd=8.0)) == usd(by_time)
    assert usd(worst(hours=9.0, money_usd=1.5)) == pytest.approx(usd(by_money) - 0.5, abs=0.011)


def test_a_worst_case_without_an_end_is_told_by_the_day():
    plan = plan_at("cloud")
    assert plan.price is not None
    without = replace(plan, limits=replace(plan.limits, without_outside_stop=True))
    review = review_of(without, date.fromisoformat(plan.price.as_of))
    each = plan.price.usd_per_hour + plan.extras.machine_usd_per_hour
    assert review.worst_figure == f"{figures.money(math.ceil(each * 2400.0) / 100.0)} a day"
    assert "until somebody deletes it" in review.worst_words and review.lower == ()


def test_the_review_names_the_project_that_pays_and_the_bucket_that_keeps():
    plan, today = plan_at("cloud"), date(2026, 11, 23)
    told = {one.label: one for one in review_of(plan, today, account=("my-lab-1", "my-lab-1-runs")).facts}
    assert told["Google Cloud project"].value == "my-lab-1"
    assert told["Google Cloud project"].more == (
        "Its billing account pays. Data, saved copies and the result go to its bucket my-lab-1-runs."
    )
    told = {one.label: one for one in review_of(plan_at("practice"), today, account=("p", "")).facts}
    assert told["Google Cloud project"].more == "It is of the practice cloud: nothing is charged."
    assert "Google Cloud project" not in {one.label for one in review_of(plan, today).facts}


def test_the_review_tells_of_a_sign_in_that_ends_and_of_practice_faults_where_they_matter():
    cloud, practice = plan_at("cloud"), plan_at("practice")
    today = date.fromisoformat(cloud.price.as_of)  # type: ignore[index]
    said = {"outlives": "It ends.", "armed": "One thing will go wrong."}
    assert review_of(cloud, today, **said).outlives == "It ends." and review_of(cloud, today, **said).armed == ""
    assert review_of(practice, today, **said).armed and not review_of(practice, today, **said).outlives
    assert longest_s(cloud) > 3600 * float(cloud.limits.wait_hours)


def test_where_google_ends_a_machine_itself_the_worst_case_is_that_limit_and_not_the_waiting():
    """`maxRunDuration` counts from when the machine is there: 20 min to begin, and 10 to be deleted."""
    for where in ({"backend": "compute-engine", "accelerator": "v6e-1"}, {"tier": "flex-start"}):
        plan = plan_at("cloud", **where)
        assert plan.price is not None and plan.limits.margin_boot_s == 1800.0
        usd = figures.money((all_in_usd_per_hour(plan.price, plan.extras) or 0.0) / 2.0)  # disk and address go on too
        told = f"Google's own limit ends it: up to 30 min later, {usd} more at most."
        review = review_of(plan, date.fromisoformat(plan.price.as_of))
        assert told in {fact.label: fact for fact in review.facts}["Stops at"].more
        assert f"; {usd} (30 min) if it hangs before training starts" in cap(plan) and "Google's own limit" in cap(plan)


def test_the_last_area_that_is_unticked_brings_the_recommended_ones_back():
    plan = plan_at("cloud", zones=["us-west4-a"])
    where = planwhere.where_of(plan.job, plan, date(2026, 11, 24))
    assert planwhere.zone_changes(where, "us-west4-a", False) == {"where.zones": None}
    assert planwhere.zone_changes(where, "us-west4-b", True) == {"where.zones": ["us-west4-a", "us-west4-b"]}


def test_another_generation_takes_back_a_kind_of_loan_that_it_does_not_have():
    job = draft.edited(draft.empty(), {"where.place": "cloud", "where.tier": "flex-start"})
    assert planwhere.generation_changes(job, "v4")["where.tier"] is None
    assert "where.tier" not in planwhere.generation_changes(job, "v5e")


def row(place: str, usd: float, created: float) -> RunRow:
    return row_of(RunSummary("r", "r", Path("/r"), created, place=place, usd=usd, over=True, status="finished"))


UNSEEN = (
    (60.0, "notice", {"id": "cost-unseen", "level": "warning", "facts": {"name": NAME, "usd_at_most": 1.11}}),
    (70.0, "deleted", {"name": NAME, "zone": "us-west4-a", "proof": "404", "made": True, "created": None}),
    (70.1, "money", {"usd": 0.0, "usd_per_hour": 0.0, "proved": True, "usd_at_least": 0.0, "usd_at_most": 1.11}),
    (
        70.5,
        "end",
        {
            "attempt": 1,
            "status": "failed",
            "reason": "no-capacity",
            "steps": 0,
            "final": {},
            "facts": {"accelerator": "v5litepod-1", "unseen_usd": 1.11, "zones": ["us-west4-a"]},
        },
    ),
    (71.0, "phase", {"phase": "done", "detail": "", "attempt": 1}),
)


@pytest.mark.parametrize(("place", "cost"), [("cloud", "It cost"), ("practice", "It would have cost")])
def test_a_cost_that_no_record_tells_is_shown_as_a_range_and_why(place: str, cost: str):
    plan, facts, view = plan_at(place), runfacts.facts_of(plan_at(place)), view_of(*ASKED, *UNSEEN)
    number = runnumbers.numbers(facts, view, T + 80)[2]
    assert (number.value, number.context) == ("$0.00–$1.11", "not known exactly")
    removal = runrented.removal_of(plan, view, T + 80)
    assert removal is not None and f"{cost} $0.00–$1.11: no record tells it exactly" in removal.text
    (line,) = [one for one in runhappened.what_happened(facts, view) if "Nobody saw what" in one.text]
    assert "$1.11 at most" in line.more and "leave this computer on" in line.more.lower()
    texts = [one.text for one in runhappened.what_happened(facts, view)]
    assert "The request is gone, and that is verified" in texts and "Nobody saw whether a v5litepod-1 came" in texts
    made = [{"name": NAME, "zone": "us-west4-a", "created": None, "deleted": T + 70, "billed_s": 0.0, "usd": 0.0}]
    amounts = {"usd": 0.0, "usd_at_least": 0.0, "usd_at_most": 1.11, "usd_per_hour": 1.2}
    shown, machine = receipt_of({"place": place, **amounts, "made": made})[:2]
    assert shown.value == "$0.00–$1.11" and "the bill is in between" in shown.more
    assert shown.more.startswith("Up to 56 min") and machine.value == "Not seen"


def test_a_receipt_of_machines_without_end_shows_the_first():
    """A stranger's: each is three labels of the page, which stood still for minutes."""
    made = [{"name": f"{NAME}-{number}", "zone": "us-west4-a", "billed_s": 1.0} for number in range(5000)]
    shown = receipt_of({"place": "cloud", "usd": 1.0, "usd_per_hour": 1.2, "made": made, "parts": [{"id": "x"}] * 5000})
    assert len(shown) < 3 * AT_MOST
    left = str(5000 - AT_MOST)
    assert [(one.label, one.value) for one in shown if one.label.startswith("More")] == [
        ("More parts", left),
        ("More machines", left),
    ]


def test_a_bill_that_closes_before_the_machine_was_made_or_a_blink_after_is_told_as_under_a_cent():
    """Asked to go at 99.99, made at 100.00, gone for Google at 100.03: nothing, or 0.03 s at $4.80 an hour."""
    ref = Ref(NAME, "us-west4-a", "tpu")
    machine = Machine(ref, 1, 1, asked=99.0, created=100.0, gone=101.0, billed_until=99.99, billed_most=100.03)
    least, most = State(machines=(machine,)).usd_between(4.8, 102.0)
    assert (least, most) == (0.0, pytest.approx(0.00004))
    amounts = {"usd": 0.0, "usd_at_least": round(least, 6), "usd_at_most": round(most, 6)}
    part = {"id": "chips", **amounts}
    made = {"name": NAME, "zone": "us-west4-a", "created": T, "deleted": T + 1, "billed_s": 0.0}
    told = receipt_of({"place": "cloud", "usd_per_hour": 4.8, **amounts, "made": [made], "parts": [part]})
    assert told[0].value == "under $0.01" and "is in between" in told[0].more
    assert next(one.value for one in told if one.label == "Chips") == "Less than a cent"


def test_a_wait_that_nobody_saw_is_not_called_a_shortage_and_one_after_a_preemption_not_free():
    asked = {"waited_s": 4800.0, "zones": ["us-west4-a"], "accelerator": "v5litepod-8"}
    unseen = say_reason(Reason.NO_CAPACITY, {**asked, "unseen_usd": 1.15}, place="practice", usd=0.0)
    assert unseen.title == "Nobody saw whether a v5litepod-8 came" and "would have cost $1.15" in unseen.meaning
    assert "shortage" not in str(unseen) and "nothing was charged" not in str(unseen)
    plain = say_reason(Reason.NO_CAPACITY, {**asked, "unseen_usd": 0.0}, place="cloud", usd=0.0)
    assert "shortage" in plain.meaning and "nothing was charged" in plain.meaning
    after = say_reason(Reason.NO_CAPACITY, asked, place="cloud", usd=0.4)
    assert "It cost $0.40." in after.meaning and "nothing was charged" not in after.meaning


def test_a_range_that_is_the_same_to_the_cent_is_one_amount():
    money = (70.1, "money", {"usd": 0.022, "usd_per_hour": 0.0, "usd_at_least": 0.0212, "usd_at_most": 0.0224})
    done = (71.0, "phase", {"phase": "done", "detail": "", "attempt": 1})
    view = view_of(*THERE, END, money, done)
    assert view.usd_between == (0.0212, 0.0224)
    assert runnumbers.numbers(runfacts.facts_of(plan_at("cloud")), view, T + 80)[2].value == "$0.02"


def test_the_receipt_names_how_long_each_machine_was_there_at_least_and_at_most():
    span = {"billed_s": 615.0, "billed_at_least_s": 599.0, "billed_at_most_s": 901.0}
    machine = {"name": NAME, "zone": "us-west4-a", "created": T, "deleted": T + 900, "usd": 0.2, **span}
    told = receipt_of({"place": "cloud", "usd": 0.2, "usd_at_most": 0.3, "usd_per_hour": 1.2, "made": [machine]})
    assert told[0].value == "$0.20–$0.30" and told[1].value.startswith("9 min 59 s to 15 min")


def test_the_month_counts_the_cloud_only_and_practice_is_never_money():
    rows = [row("cloud", 4.0, T), row("practice", 9.0, T), row("computer", 1.0, T), row("cloud", 7.0, T - 60 * 86_400)]
    money = month_of(rows, 25.0, T)
    assert (money.spent, money.cap) == ("$4.00", "Your monthly cap is $25.00")
    assert money.share == pytest.approx(0.16)
    assert month_of(rows, None, T).share is None


def test_of_a_cost_that_is_not_known_exactly_list_and_month_count_the_most():
    unseen = replace(row("cloud", 0.0, T), usd_most=3.0)
    assert (unseen.cost, unseen.cost_kind) == ("at most $3.00", "at most")
    assert unseen.sort_key("cost") == (0, 3.0)
    assert replace(unseen, place_id="practice").cost == "practice, at most $3.00"
    money = month_of([row("cloud", 4.0, T), unseen], 10.0, T)
    assert money.spent == "$4.00–$7.00" and money.share == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("place", "usd", "cost"),
    [
        ("cloud", 9.0, "$9.00"),
        ("practice", 9.0, "practice $9.00"),
        ("computer", 0.5, "simulated $0.50"),
        ("computer", 0.0, "$0.00"),
    ],
)
def test_money_that_nobody_pays_is_marked_wherever_a_run_is_listed(place: str, usd: float, cost: str):
    told = row(place, usd, T)
    assert told.cost == cost and f"cost {cost}" in told.spoken and cost.startswith(told.cost_kind)


def test_a_price_says_its_source_and_why_it_is_no_newer():
    plan = replace(plan_at("cloud"), price=PlanPrice("2026-11-22", 1.2, "live"))
    today = date(2026, 11, 24)
    assert "From Google's price list, 22 Nov 2026, read today." in planwhere.price_age(plan, date(2026, 11, 22))
    told = planwhere.price_age(plan, today, "Google's price list could not be read today: Google cannot be reached.")
    assert "2 days old. Google's price list could not be read today" in told
    assert "could not" not in planwhere.price_age(plan_at("practice"), today, "x could not y.")
    price = next(fact for fact in review_of(plan, today, "It could not be read.").facts if fact.label == "Price")
    assert "It could not be read." in price.more


def test_regions_are_offered_at_the_prices_that_count(monkeypatch: pytest.MonkeyPatch):
    plan = plan_at("cloud")
    row = {
        "generation": "v5e",
        "region": "us-west4",
        "tier": "on-demand",
        "min_chips": 1,
        "max_chips": 256,
        "note": "",
        "usd_per_chip_hour": 9.87,
        "as_of": "2026-11-22",
        "source": "live",
        "confidence": "high",
    }
    monkeypatch.setitem(renewed._renewed, "cloud", with_rows([row], date(2026, 11, 22)))
    where = planwhere.where_of(plan.job, plan, date(2026, 11, 22))
    assert "us-west4 · $9.87 an hour" in [one.words for one in where.regions]


def test_the_receipt_tells_how_well_the_chips_were_used_where_they_told():
    used = {"mfu": 0.414, "duty_cycle": 0.7, "hbm_used_bytes": 9.6e9, "hbm_total_bytes": 1.6e10}
    bill = {"place": "cloud", "usd": 0.2, "usd_per_hour": 1.2}
    (fact,) = [one for one in receipt_of({**bill, "chips": used}) if "MFU" in one.label]
    assert (fact.label, fact.value) == ("MFU (model FLOP utilisation)", "41%")
    assert fact.more == "Busy 70% of the time, memory up to 9.6 of 16.0 GB"
    (busy,) = [one for one in receipt_of({**bill, "chips": {"duty_cycle": 0.7}}) if "TPU" in one.label]
    assert busy.value == "busy 70% of the time"
    assert receipt_of({**bill, "chips": {}}) == receipt_of(bill)
    rehearsed = {**bill, "place": "practice"}
    assert receipt_of({**rehearsed, "chips": used}) == receipt_of(rehearsed)


def test_a_machine_that_says_to_be_over_is_not_finished_and_can_be_stopped_until_it_is_proved_gone() -> None:
    said = RunSummary("r", "r", Path("/r"), 0.0, place="cloud", usd=1.0, over=True, settled=False, status="finished")
    row = row_of(said)
    assert (row.status, row.tone, row.may_stop) == ("Cleaning up", "accent", True)
    proved = row_of(replace(said, settled=True))
    assert (proved.status, proved.tone, proved.may_stop) == ("Finished", "ok", False)
    for reason, shown in (("out-of-memory", "Failed"), ("stopped-by-user", "Stopped by you")):
        status = Reason(reason).status.value
        row = row_of(replace(said, status=status, reason=reason))
        assert (row.status, row.may_stop) == ("Cleaning up", True)
        assert row_of(replace(said, status=status, reason=reason, settled=True)).status == shown


def test_a_folder_that_a_machine_fetches_says_how_far_it_is():
    facts = runfacts.facts_of(plan_at("cloud"))
    fetching = {"phase": "setting-up", "detail": "weights", "attempt": 1}
    fetching |= {"done_bytes": 1_200_000_000, "total_bytes": 3_400_000_000}
    view = view_of(*ASKED, (20.0, "phase", fetching))
    setting_up = next(one for one in runstages.stages(facts, view, T + 21) if one.state == "current")
    assert setting_up.caption == "fetching the model that it begins from, 1.2 GB of 3.4 GB"
    assert words.doing(view, "cloud", T + 21)[0].startswith(f"Setting up: {setting_up.caption} …")
    after = view_of(*ASKED, (20.0, "phase", fetching), (21.0, "phase", {**fetching, "detail": "environment"}))
    assert runrented.fetch_words(after) == ""
