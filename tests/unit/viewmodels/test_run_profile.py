"""A profile as the Run page and the command line tell it: three sentences, and one press that would help."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import HANDS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tests.fakes.tasks import InlineTasks
from tests.fakes.views import T, view_of
from tests.unit.viewmodels.test_run import PLAN, Oracle, Verbs, Watched
from tpu_studio.domain.profiles import KINDS, Profile, profile_of
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences.profile import three
from tpu_studio.store import viewcodec
from tpu_studio.viewmodels import runprofile
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runhappened import what_happened
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan


def shares(**given: float) -> dict[str, float]:
    """Of all kinds; what is not given is multiplying."""
    rest = round(1.0 - sum(given.values()), 4)
    return {**dict.fromkeys(KINDS, 0.0), "matrix": rest, **given}


def done(on: str = "tpu", **given: float) -> tuple[float, str, dict[str, Any]]:
    told = {"state": "done", "step": 40, "steps": 24, "seconds": 1.2, "on": on, "shares": shares(**given)}
    return 30.0, "profile", {**told, "top": [["fusion.7", "matrix", 0.3]], "path": "profile/00000040", "bytes": 4096}


TRAINS = (
    (0.0, "phase", {"phase": "training", "detail": "", "attempt": 1}),
    (10.0, "metric", {"step": [40], "loss": [0.5]}),
)
ASKED = (20.0, "control", {"verb": "profile", "number": 1, "attempt": 1})
BEGUN = (21.0, "profile", {"state": "begun", "step": 40})


def planned(**more: Any) -> Plan:
    """GPT on eight chips of v5e, or what *more* says."""
    where = more.pop("where", {"place": "cloud", "accelerator": "v5litepod-8"})
    text = replace(PLAYS, train=50_000_000, validation=500_000)
    return make_plan(job("gpt-124m", "text", where=where, training=more), text, now=NOW, computer=LAPTOP)


def remedy(plan: Plan, on: str = "tpu", memory: float = 0.2, **given: float) -> runprofile.Remedy:
    device = (29.0, "device", {"worker": 0, "hbm_used_bytes": memory * 16e9, "hbm_total_bytes": 16e9})
    card = runprofile.card_of(plan, view_of(*TRAINS, device, done(on, **given)))
    assert card is not None and card.remedy is not None
    return card.remedy


def test_three_sentences_tell_what_it_does_what_else_and_when_it_has_nothing_to_do() -> None:
    profile = profile_of(done(memory=0.31, collectives=0.05, data=0.12, host=0.06)[2])
    assert profile is not None
    assert three(profile, "pictures") == (
        "The TPU multiplies matrices 46% of the time, which is what it is made for.",
        "31% goes into the rest of a step, where memory sets the pace, not arithmetic; in 5% the chips exchange "
        "numbers and wait for one another.",
        "18% of the time it has nothing to do and waits: 12% for the next pictures and 6% for the program that hands "
        "it the steps.",
    )


def test_on_a_processor_nothing_is_said_of_a_tpu_and_small_shares_are_not_none() -> None:
    profile = profile_of(done("cpu", memory=0.304, host=0.006)[2])
    assert profile is not None
    said = " ".join(three(profile, "rows"))
    assert "TPU" not in said and "chips" not in said
    assert "less than 1% of the time it has nothing to do" in said
    idle = profile_of(done("cpu", memory=0.3)[2])
    assert idle is not None and three(idle, "rows")[2] == "It is never without work."


def test_the_page_follows_a_profile_from_the_word_to_the_card() -> None:
    view = view_of(*TRAINS)
    assert runprofile.may_ask(view) and runprofile.card_of(PLAN, view) is None
    for told, words in (
        ((ASKED,), "0 of 20 steps so far."),
        ((ASKED, BEGUN, (22.0, "metric", {"step": [52], "loss": [0.4]})), "12 of 20 steps so far."),
        ((ASKED, BEGUN, (22.0, "metric", {"step": [70], "loss": [0.4]})), "The steps are recorded and being read."),
    ):
        view = view_of(*TRAINS, *told)
        card = runprofile.card_of(PLAN, view)
        assert card is not None and card.sentences == (f"{words} Training goes on meanwhile.",)
        assert not runprofile.may_ask(view)
        assert viewcodec.loads(viewcodec.dumps(view)) == view
    view = view_of(*TRAINS, ASKED, BEGUN, done(memory=0.3))
    card = runprofile.card_of(PLAN, view)
    assert card is not None and runprofile.may_ask(view)
    assert (card.title, card.trace, card.progress) == ("Where the time of 24 steps went", "profile/00000040", None)
    assert card.parts == (("matrix", "multiplying matrices", 0.7), ("memory", "the rest of a step", 0.3))
    assert viewcodec.loads(viewcodec.dumps(view)) == view


@pytest.mark.parametrize(
    "after",
    [
        (22.0, "end", {"status": "finished", "reason": "completed", "steps": 50, "final": {}}),
        (22.0, "phase", {"phase": "queued", "detail": "", "attempt": 2}),
        (22.0, "phase", {"phase": "setting-up", "detail": "", "attempt": 1}),  # its program died and was started again
    ],
)
def test_who_was_to_make_it_is_gone_so_none_is_awaited(after: tuple[float, str, dict[str, Any]]) -> None:
    view = view_of(*TRAINS, ASKED, BEGUN, after)
    assert not view.profiling and runprofile.card_of(PLAN, view) is None


@pytest.mark.parametrize("why", ["stopped", "stopping", "too-few", "not-started", "not-read", "disk", "newer"])
def test_one_that_was_not_made_says_why_and_that_the_run_is_not_touched(why: str) -> None:
    failed = (22.0, "profile", {"state": "failed", "step": 40, "why": why, "raw": "UNAVAILABLE"})
    view = view_of(*TRAINS, ASKED, failed)
    card = runprofile.card_of(PLAN, view)
    assert card is not None and card.title == "No profile was made"
    assert "not touched" in card.sentences[0] and not view.profiling
    assert what_happened(_facts(), view)[0].text == "No profile was made"
    assert runprofile.card_of(PLAN, view_of(*TRAINS, ASKED, failed, ASKED, BEGUN, done())).title != card.title  # type: ignore[union-attr]


def _facts() -> Any:
    from tpu_studio.viewmodels.runfacts import facts_of

    return facts_of(PLAN)


@pytest.mark.parametrize(
    "damage",
    [
        {"shares": {}},
        {"shares": shares(memory=1.5)},
        {"shares": {**shares(), "memory": 0.5}},
        {"steps": 0},
        {"seconds": float("inf")},
        {"top": [["one"]]},
        {"on": []},
    ],
)
def test_a_profile_that_cannot_be_is_none(damage: dict[str, Any]) -> None:
    found = profile_of({**done()[2], **damage})
    assert found is None if damage != {"on": []} else isinstance(found, Profile)


def test_waiting_for_pictures_asks_for_smaller_ones() -> None:
    pictures = make_plan(job("small-cnn", "images", data={"image_size": 64}), HANDS, now=NOW, computer=LAPTOP)
    found = remedy(pictures, "cpu", data=0.4)
    assert found.changes == {"data.image_size": 48} and found.press == "Plan it with 48 px"
    small = make_plan(job("small-cnn", "images", data={"image_size": 32}), HANDS, now=NOW, computer=LAPTOP)
    assert remedy(small, "cpu", data=0.4).changes == {}


def test_waiting_for_the_program_asks_for_more_steps_a_call() -> None:
    assert remedy(planned(steps_per_call=8), host=0.3).changes == {"training.steps_per_call": 32}
    assert remedy(planned(steps_per_call=512), host=0.3).changes.keys() == {"training.global_batch"}


def test_where_a_call_makes_one_step_in_any_case_a_larger_batch_helps() -> None:
    here = make_plan(job("small-cnn", "images"), HANDS, now=NOW, computer=LAPTOP)
    assert remedy(here, "cpu", host=0.4).changes.keys() == {"training.global_batch"}
    dense = make_plan(job("mlp", "images", training={"steps_per_call": 2}), HANDS, now=NOW, computer=LAPTOP)
    assert remedy(dense, "cpu", host=0.4).changes == {"training.steps_per_call": 8}


def test_moving_numbers_asks_for_half_as_long_ones_or_for_a_larger_batch_where_there_is_room() -> None:
    profile = done(memory=0.6)
    view = view_of(*TRAINS, profile)
    card = runprofile.card_of(planned(precision="float32"), view)
    assert card is not None and card.remedy is not None
    assert card.remedy.changes == {"training.precision": "bfloat16"}
    plan = planned(precision="bfloat16", global_batch=64)
    card = runprofile.card_of(plan, view)
    assert card is not None and card.remedy is not None and card.remedy.changes == {"training.global_batch": 128}
    full = (29.0, "device", {"worker": 0, "hbm_used_bytes": 9e9, "hbm_total_bytes": 16e9})
    card = runprofile.card_of(plan, view_of(*TRAINS, full, profile))
    assert card is not None and card.remedy is not None
    assert card.remedy.changes == {} and "no room" in card.remedy.text


def test_of_two_losses_the_larger_that_a_setting_changes_is_mended() -> None:
    text = planned(steps_per_call=8)  # text that waits for data: nothing to press
    assert remedy(text, data=0.4, host=0.2).changes == {"training.steps_per_call": 32}
    assert remedy(text, data=0.4).press == "" and "faster disk" in remedy(text, data=0.4).text


def test_where_nothing_stands_out_it_says_so() -> None:
    found = remedy(planned(), host=0.05, data=0.02)
    assert (found.press, found.text) == ("", "Nothing stands out that a setting would change.")


def test_the_press_opens_a_new_plan_with_the_remedy_and_the_verb_is_asked_for(tmp_path: Path) -> None:
    watched, verbs, opened = Watched(), Verbs(), list[Job]()
    plan = planned()
    page = RunViewModel("r-ab12", tmp_path, plan, lambda: watched, verbs, InlineTasks(), Oracle, clock=lambda: T)
    page.planned_again = opened.append
    watched.view = view_of(*TRAINS)
    page.open()
    assert page.state.value.may_profile
    page.profile()
    assert verbs.done == [("profile", "r-ab12")]
    page.plan_remedy()
    assert opened == []  # nothing to press yet
    watched.view = view_of(*TRAINS, done(host=0.5))
    page.refresh()
    page.plan_remedy()
    card = page.state.value.profile
    assert card is not None and card.remedy is not None
    assert {path: opened[0][path] for path in card.remedy.changes} == dict(card.remedy.changes) != {}


def test_a_refusal_stands_on_the_page(tmp_path: Path) -> None:
    watched, verbs = Watched(), Verbs()
    verbs.refuse = RunError("profile-under-way", run="r-ab12")
    page = RunViewModel("r-ab12", tmp_path, PLAN, lambda: watched, verbs, InlineTasks(), Oracle, clock=lambda: T)
    watched.view = view_of(*TRAINS)
    page.open()
    page.profile()
    problem = page.state.value.problem
    assert problem is not None and problem.title == "A profile of “r-ab12” is being made already"


def test_before_the_first_step_while_stopping_and_when_over_nothing_can_be_profiled() -> None:
    stop = (12.0, "control", {"verb": "stop", "keep": True, "number": 1})
    end = (12.0, "end", {"status": "finished", "reason": "completed", "steps": 40, "final": {}})
    assert not runprofile.may_ask(RunView())
    assert not runprofile.may_ask(view_of(TRAINS[0]))
    assert not runprofile.may_ask(view_of(*TRAINS, stop))
    assert not runprofile.may_ask(view_of(*TRAINS, end))
