"""The one way from a job to its plan: what a plan is told depends on its place, never on who asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.looks import DIGITS, HANDS, NOW, counted, job
from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner.timing import Timing
from tpu_studio.viewmodels import planwhere, planwords
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.ownfile import OwnFile
from tpu_studio.workflow.planning import Bucket, Draft, Sources, plan_job, wants_timing

STEP = Timing(0.02, compile_s=3.0, setup_s=5.0, examples_per_s=1600.0)
WELL_TIMED = Sources(SHIPPED, timing=lambda plan: STEP, picture_s=lambda plan: 0.01)


def at(place: str, **more: object) -> Draft:
    return Draft(job("small-cnn", "images", where={"place": place, **more}), HANDS)


@pytest.mark.parametrize(
    ("place", "timed"), [("computer", True), ("practice", True), ("cloud", False), ("colab", False)]
)
def test_steps_of_this_computer_are_taken_for_a_plan_only_where_it_trains(place: str, timed: bool) -> None:
    known = plan_job(at(place), WELL_TIMED, NOW).known
    assert (known.timing is STEP) == timed


@pytest.mark.parametrize(
    ("place", "compared"), [("computer", False), ("practice", True), ("cloud", True), ("colab", True)]
)
def test_any_other_place_is_compared_with_this_computer_as_it_was_timed(place: str, compared: bool) -> None:
    asked: list[str] = []

    def timing(plan: Plan) -> Timing:
        asked.append(plan.place)
        return STEP

    planning = plan_job(at(place), Sources(SHIPPED, timing=timing), NOW)
    assert (planning.known.here is STEP) == compared
    assert asked[-1] == "computer"


def test_only_a_place_that_rents_is_asked_for_its_bucket_and_each_for_its_own() -> None:
    asked: list[str] = []

    def bucket(place: str) -> Bucket:
        asked.append(place)
        return Bucket("us-central1", 7)

    for place in ("computer", "colab", "practice", "cloud"):
        plan_job(at(place), Sources(SHIPPED, bucket=bucket), NOW)
    assert asked == ["practice", "cloud"]


def test_cards_of_other_slices_rest_on_what_the_plan_rests_on() -> None:
    """They once knew nothing of a model of one's own: another time beside the same machine."""
    own = OwnFile(Path("/jobs/model.py"), "a" * 64, agreed=frozenset({"cloud"}))
    large = counted(300_000_000, 6e10)
    draft = Draft(job(None, "images", model={"file": "/jobs/model.py"}, where={"place": "cloud"}), HANDS, own)
    planning = plan_job(draft, Sources(SHIPPED, model=lambda plan: large), NOW)
    first = planwhere.choices(draft.job, planning, HANDS, NOW)[0]
    assert planning.plan.time_s is not None
    assert first.accelerator == planning.plan.accelerator
    assert planwords.about_time(planning.plan.time_s) in first.detail


def test_what_the_compiler_answered_is_laid_over_the_plan() -> None:
    answer = {"compiled": {"fits": False, "device_bytes": 40 << 30, "limit_bytes": 16 << 30}, "traced": {}}
    draft = at("cloud", accelerator="v5litepod-1")
    assert plan_job(draft, Sources(SHIPPED), NOW).plan.fits
    assert not plan_job(draft, Sources(SHIPPED, checked=lambda plan: answer), NOW).plan.fits


def test_steps_are_timed_where_they_tell_something(tmp_path: Path) -> None:
    here = at("computer")
    assert wants_timing(here, plan_job(here, Sources(SHIPPED), NOW))
    assert wants_timing(at("practice"), plan_job(at("practice"), Sources(SHIPPED), NOW))
    assert not wants_timing(here, plan_job(here, WELL_TIMED, NOW))  # they were
    for place in ("cloud", "colab"):
        assert not wants_timing(at(place), plan_job(at(place), Sources(SHIPPED), NOW))
    broken = Draft(job("gpt-nano", "digits"), DIGITS)
    assert not wants_timing(broken, plan_job(broken, Sources(SHIPPED), NOW))
    file = OwnFile(tmp_path / "model.py", "a" * 64)
    own = Draft(job(None, "digits", model={"file": str(file.path)}), DIGITS, file)
    assert not wants_timing(own, plan_job(own, Sources(SHIPPED), NOW))
    agreed = replace(own, own=replace(file, agreed=frozenset({"computer"})))
    assert wants_timing(agreed, plan_job(agreed, Sources(SHIPPED), NOW))


@pytest.mark.parametrize(
    ("place", "times"), [("computer", 14), ("practice", 14), ("cloud", 5), ("colab", 5)]
)  # the weights: four checkpoints of three each and the model twice here, one and twice where only the result comes
def test_a_disk_without_the_room_that_the_run_needs_is_warned_of_with_both_figures(place: str, times: int) -> None:
    plan = plan_job(at(place), Sources(SHIPPED), NOW).plan
    log = (1 << 20) + (200 * plan.steps if times == 14 else 0)
    need = times * 4 * plan.memory.params + log
    assert not [check for check in plan.checks if check.id == "disk-nearly-full"]
    enough = plan_job(at(place), Sources(SHIPPED, free_bytes=lambda: need), NOW).plan
    assert enough.checks == plan.checks
    short = plan_job(at(place), Sources(SHIPPED, free_bytes=lambda: need - 1), NOW).plan
    (check,) = [check for check in short.checks if check.id == "disk-nearly-full"]
    assert (check.level, check.facts["need_bytes"], check.facts["free_bytes"]) == ("warning", need, need - 1)
    said = say_finding(check.id, check.facts)
    assert figures.size(need) in said.meaning and figures.size(need - 1) in said.meaning
    assert ("nothing is lost" in said.meaning.lower()) == (times == 5)
