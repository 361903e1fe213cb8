"""The story of a preemption: from the events of a run to its six beats."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.views import T, view_of
from tests.unit.viewmodels.test_rented_words import NAME, THERE
from tpu_studio.domain import figures
from tpu_studio.domain.run import RunView
from tpu_studio.store import viewcodec
from tpu_studio.viewmodels.runstory import Story, story_of

Told = tuple[float, str, dict[str, Any]]

SPEED = {"examples": 1280, "waiting_for_data_s": 0.0, "device_s": 5.0}
TRAINS: tuple[Told, ...] = (
    *THERE,
    (30.0, "checkpoint", {"step": 600}),
    (31.0, "speed", {"step": 640, "steps": 640, "seconds": 10.0, **SPEED}),
)
WARNED = (32.0, "notice", {"id": "preempted", "level": "warning", "facts": {"by": "signal"}})
GONE: tuple[Told, ...] = (
    (60.0, "deleted", {"name": NAME, "zone": "us-west4-a", "made": True, "created": T + 9}),
    (60.0, "money", {"usd": 0.05, "usd_per_hour": 0.0}),
    (61.0, "attempt-over", {"attempt": 1, "reason": "preempted"}),
)
NEXT = NAME.replace("a1", "a2")
ASKED_AGAIN = (62.0, "intent", {"action": "create", "name": NEXT, "zone": "us-east5-b"})
GOES_ON: tuple[Told, ...] = (
    (80.0, "phase", {"phase": "setting-up", "detail": "claimed", "attempt": 2}),
    (85.0, "money", {"usd": 0.08, "usd_per_hour": 1.2}),
    (90.0, "resume", {"step": 600, "attempt": 2}),
    (91.0, "phase", {"phase": "training", "detail": ""}),
)


def story(*told: Told, place: str = "cloud") -> Story:
    found = story_of(place, view_of(*told))
    assert found is not None
    return found


def beats(found: Story) -> dict[str, tuple[str, str]]:
    return {one.label: (one.value, one.more) for one in found.beats}


def at(seconds: float) -> str:
    return figures.clock(T + seconds, seconds=True)


def test_a_preemption_is_told_from_the_taking_to_what_it_cost() -> None:
    found = story(*TRAINS, WARNED, *GONE, ASKED_AGAIN, *GOES_ON)
    assert found.title == "Google took the TPU back, and the run went on from step 600"
    told = beats(found)
    assert told["Taken back at"] == (at(32), "it was warned")
    assert told["Last checkpoint"][0] == "step 600"
    assert told["Steps lost"][0] == "40"
    assert told["Asked again at"] == (at(62), "in us-east5-b")
    assert told["Going on since"] == (at(91), "after 59 s")
    before = view_of(*TRAINS).usd_now(T + 32)
    usd = 0.08 + 1.2 * 6 / 3600 - before
    assert told["That cost"] == (figures.money_between(usd, usd), "and 59 s without training")
    assert found.tone == "ok" and "Steps lost: 40" in found.spoken


def test_what_has_not_come_yet_is_not_told_as_if_it_had() -> None:
    warned = story(*TRAINS, WARNED)
    assert warned.title == "Google takes the TPU back"
    assert beats(warned)["Last checkpoint"][0] == "step 600"
    assert [one.label for one in warned.beats if one.ahead] == [
        "Steps lost",
        "Asked again at",
        "Going on since",
        "That cost",
    ]
    gone = story(*TRAINS, WARNED, *GONE)
    assert gone.title == "Google took the TPU back; the run goes on with the next one"
    assert [one.label for one in gone.beats if one.ahead] == ["Asked again at", "Going on since", "That cost"]
    asked = story(*TRAINS, WARNED, *GONE, ASKED_AGAIN)
    assert [one.label for one in asked.beats if one.ahead] == ["Going on since", "That cost"]
    assert {one.tone for one in (warned, gone, asked)} == {"accent"}


def test_a_checkpoint_on_the_warning_loses_nothing() -> None:
    saved = (33.0, "checkpoint", {"step": 640})
    resumed = (90.0, "resume", {"step": 640, "attempt": 2})
    told = beats(story(*TRAINS, WARNED, saved, *GONE, ASKED_AGAIN, *GOES_ON[:2], resumed, GOES_ON[3]))
    assert told["Last checkpoint"] == ("step 640", "saved on the warning") and told["Steps lost"] == ("none", "")


def test_what_was_really_loaded_counts_more_than_what_was_said_to_be_saved() -> None:
    """Its last checkpoint had not reached the bucket."""
    saved = (33.0, "checkpoint", {"step": 640})
    told = beats(story(*TRAINS, WARNED, saved, *GONE, ASKED_AGAIN, *GOES_ON))
    assert told["Last checkpoint"] == ("step 600", "") and told["Steps lost"][0] == "40"


def test_without_a_checkpoint_all_is_lost_and_said() -> None:
    bare = tuple(one for one in TRAINS if one[1] != "checkpoint")
    begun = (90.0, "resume", {"step": 0, "attempt": 2})
    found = story(*bare, *GONE, ASKED_AGAIN, *GOES_ON[:2], begun, GOES_ON[3])
    assert found.title == "Google took the TPU back, and the run began again"
    told = beats(found)
    assert told["Last checkpoint"][0] == "none" and told["Steps lost"][0] == "640"
    assert told["Taken back at"] == (at(61), "without a warning")
    assert beats(story(*bare, *GONE))["Steps lost"][0] == "all of them"


def test_a_machine_that_was_only_lost_was_not_taken_back() -> None:
    lost = (61.0, "attempt-over", {"attempt": 1, "reason": "worker-lost"})
    found = story(*TRAINS, *GONE[:2], lost)
    assert found.title == "The TPU was lost; the run goes on with the next one" and "Lost at" in beats(found)


def test_taken_again_before_it_trained_it_is_one_wait_and_one_bill() -> None:
    again = (
        (82.0, "notice", {"id": "preempted", "level": "warning"}),
        (100.0, "money", {"usd": 0.09, "usd_per_hour": 0.0}),
        (101.0, "attempt-over", {"attempt": 2, "reason": "preempted"}),
        (102.0, "intent", {"action": "create", "name": NAME.replace("a1", "a3"), "zone": "us-west4-a"}),
        (120.0, "resume", {"step": 600, "attempt": 3}),
        (121.0, "phase", {"phase": "training", "detail": ""}),
    )
    found = story(*TRAINS, WARNED, *GONE, ASKED_AGAIN, GOES_ON[0], *again)
    assert found.text.startswith("The 2nd time in this run.")
    told = beats(found)
    assert told["Taken back at"][0] == at(82) and told["Going on since"][1] == "after 39 s"
    assert told["That cost"][1] == "and 1 min 29 s without training, both times together"


def test_a_machine_that_goes_on_after_the_warning_was_not_taken() -> None:
    goes = ((40.0, "phase", {"phase": "saving", "detail": ""}), (41.0, "phase", {"phase": "training", "detail": ""}))
    assert story_of("cloud", view_of(*TRAINS, WARNED, *goes)) is None


def test_a_run_that_ends_meanwhile_did_not_go_on() -> None:
    end = (70.0, "end", {"status": "stopped", "reason": "stopped-by-user", "steps": 640})
    found = story(*TRAINS, WARNED, *GONE, end)
    assert found.title == "Google took the TPU back, and the run did not go on" and found.tone == "neutral"


def test_practice_never_looks_like_money() -> None:
    told = story(*TRAINS, WARNED, *GONE, ASKED_AGAIN, *GOES_ON, place="practice")
    assert told.title.startswith("The practice cloud took") and "That would have cost" in beats(told)


@pytest.mark.parametrize("view", [RunView(), view_of(*TRAINS)])
def test_without_an_interruption_there_is_no_story(view: RunView) -> None:
    assert story_of("cloud", view) is None


def test_a_copy_of_a_run_tells_it_without_green() -> None:
    found = story_of("cloud", view_of(*TRAINS, WARNED, *GONE, ASKED_AGAIN, *GOES_ON), copy=True)
    assert found is not None and found.tone == "neutral"


def test_the_story_outlasts_the_index() -> None:
    view = view_of(*TRAINS, WARNED, *GONE, ASKED_AGAIN, *GOES_ON)
    assert viewcodec.loads(viewcodec.dumps(view)) == view
