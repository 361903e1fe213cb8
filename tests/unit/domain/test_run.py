"""The fold over a run's events."""

from __future__ import annotations

import pytest

from tpu_studio.domain.folding import (
    BESTS_AT_MOST,
    DETAIL_LETTERS,
    HAPPENED_ITEMS,
    HAPPENED_LETTERS,
    HAPPENED_WHOLE,
    KEPT_AT_MOST,
    apply,
)
from tpu_studio.domain.run import RunView
from tpu_studio.wire.events import Event, decode, encode, event
from tpu_studio.wire.phases import Phase


def fold(*records: dict[str, object]) -> RunView:
    view = RunView()
    for record in records:
        seen = decode(encode(record))
        assert seen is not None
        view = apply(view, seen)
    return view


def test_a_finished_run_shows_its_end_and_how_long_each_phase_lasted():
    view = fold(
        event("phase", t=10, phase="setting-up", attempt=1),
        event("target", t=11, steps=4),
        event("phase", t=13, phase="training"),
        event("metric", t=14, step=[1, 2], loss=[2.0, 1.0]),
        event("speed", t=14, step=2, steps=2, examples=64, seconds=0.5, waiting_for_data_s=0.1, device_s=0.3),
        event("end", t=20, status="finished", reason="completed", steps=4, final={"loss": 0.5}),
    )
    assert view.over and view.status == "finished"
    assert view.spans[Phase.SETTING_UP].seconds(99) == 3
    assert view.spans[Phase.TRAINING].seconds(99) == 7
    assert view.examples_per_s == 128
    assert view.waiting_share == 0.2
    assert view.end is not None and view.end.final == {"loss": 0.5}


def test_a_run_that_begins_without_end_keeps_the_first_times():
    """Two lines each, of a stranger's or of code on a machine: the memory of all was copied at each."""
    again = [event("phase", t=t, phase=("setting-up", "training")[t % 2]) for t in range(4 * KEPT_AT_MOST)]
    view = fold(*again)
    assert view.begun == tuple(range(1, 2 * KEPT_AT_MOST, 2))


def test_of_machines_attempts_and_metrics_without_end_so_many_are_kept():
    many = range(KEPT_AT_MOST + 100)
    view = fold(
        *(event("intent", t=t, action="create", name=f"ts-{t}") for t in many),
        *(event("intent", t=t, action="delete", name=f"ts-{t}") for t in many),
        *(event("attempt-over", t=t, attempt=t) for t in many),
        *(event("metric", t=t, step=[t], **{f"m{t}": [1.0]}) for t in many),
    )
    kept = (view.unproved, view.deleting, view.attempts, view.last)
    assert [len(one) for one in kept] == [KEPT_AT_MOST] * 4
    assert view.attempts[-1][0] == len(many)


def test_time_left_follows_the_present_pace():
    view = fold(event("target", t=1, steps=100), event("speed", t=2, step=20, steps=10, examples=1, seconds=2.0))
    assert view.time_left_s() == 80 / 5


def test_time_left_counts_the_checks_that_come_between_the_steps():
    view = fold(
        event("phase", t=10, phase="training"),
        event("target", t=10, steps=100),
        event("speed", t=15, step=20, steps=20, examples=1, seconds=5.0),
        event("metric", t=20, step=[20], val_loss=[1.0]),  # looking at unseen data took as long as the steps
    )
    assert view.time_left_s() == 80 / 4 * 2


def test_speed_of_an_ended_run_is_the_average_of_all_of_it_in_steps_as_in_examples():
    slow = [event("speed", t=n, step=n, steps=1, examples=32, seconds=2.0) for n in range(1, 31)]
    fast = [event("speed", t=30 + n, step=30 + n, steps=1, examples=32, seconds=0.5) for n in range(1, 31)]
    running = fold(*slow, *fast)
    assert running.steps_per_s is not None and running.steps_per_s > 1.9
    over = fold(*slow, *fast, event("end", t=99, status="finished", reason="completed"))
    assert over.examples_per_s == 60 * 32 / 75
    assert over.steps_per_s == 60 / 75


def test_an_end_declared_by_the_desktop_outlasts_older_events_of_the_attempt():
    view = fold(event("end", t=50, status="failed", reason="guardian-gone"), event("phase", t=40, phase="training"))
    assert view.end is not None and view.end.reason == "guardian-gone"


def test_a_reason_of_another_machine_is_one_line():
    """It stands in lines of `show` and `watch`, and forges none of them."""
    view = fold(event("end", t=50, status="failed", reason="x\nFinished.\u2028\u200bAll is well"))
    assert view.end is not None and view.end.reason == "x Finished. All is well"


def test_each_time_at_which_training_began_is_known():
    view = fold(
        event("phase", t=10, phase="training", attempt=1),
        event("phase", t=11, phase="training"),  # the same stage, told again
        event("end", t=20, status="finished", reason="completed"),
        event("phase", t=900, phase="setting-up", attempt=2),
        event("phase", t=905, phase="training"),
    )
    assert view.begun == (10, 905)


def test_the_night_after_the_computer_went_off_is_no_time_of_the_run():
    view = fold(
        event("phase", t=100, phase="training", attempt=1),
        event("metric", t=160, step=[9], loss=[0.5]),
        event("end", t=40_000, status="failed", reason="guardian-gone"),  # told when the app was started again
    )
    assert view.seconds(99_999) == 60
    assert view.end is not None and view.end.t == 40_000


def test_a_new_attempt_takes_the_run_up_again_and_goes_back_to_the_best_value_at_its_checkpoint():
    view = fold(
        event("phase", t=1, phase="training", attempt=1),
        event("metric", t=2, step=[100], val_loss=[0.9]),
        event("metric", t=3, step=[200], val_loss=[0.5]),
        event("end", t=4, status="failed", reason="trainer-killed"),
        event("phase", t=9, phase="setting-up", attempt=2),
        event("resume", t=10, step=150, attempt=2),
    )
    assert not view.over and view.attempt == 2 and view.step == 150
    assert view.best == {"val_loss": (0.9, 100)}


def test_the_best_value_before_the_step_at_which_it_was_resumed_is_not_forgotten_and_later_ones_are():
    before = [
        event("metric", t=2, step=[10], val_accuracy=[0.90]),
        event("metric", t=3, step=[30], val_accuracy=[0.91], val_r2=[0.5]),
    ]
    resumed = [*before, event("resume", t=4, step=20, attempt=2)]
    again = [
        event("metric", t=5, step=[30], val_accuracy=[0.70]),
        event("metric", t=6, step=[40], val_accuracy=[0.80]),
    ]
    assert fold(*resumed).best == {"val_accuracy": (0.90, 10)}
    assert fold(*resumed, *again).best == {"val_accuracy": (0.90, 10)}
    assert fold(*resumed, *again, event("metric", t=7, step=[50], val_accuracy=[0.95])).best["val_accuracy"][1] == 50
    assert fold(*resumed, event("resume", t=8, step=5, attempt=3)).best == {}


def test_of_a_value_that_gets_better_without_end_so_many_are_remembered():
    better = [event("metric", t=n, step=[n], val_loss=[1.0 / n]) for n in range(1, BESTS_AT_MOST + 50)]
    view = fold(*better)
    assert len(view.bests["val_loss"]) == BESTS_AT_MOST
    assert fold(*better, event("resume", t=999, step=100, attempt=2)).best["val_loss"] == (0.01, 100)


def test_values_that_are_no_numbers_survive_the_line_and_never_become_the_best():
    view = fold(event("metric", t=1, step=[1], loss=[float("nan")], val_loss=[float("inf")]))
    assert view.last["loss"] != view.last["loss"]
    assert view.best == {}


def test_the_cost_only_rises_until_it_is_settled_then_what_was_only_reserved_comes_back():
    view = RunView()
    for t, usd, more in ((1.0, 0.05, {}), (2.0, 0.31, {}), (3.0, 0.30, {}), (4.0, 0.27, {"settled": True})):
        view = apply(view, Event(t, "money", {"usd": usd, "usd_per_hour": 1.2, **more}))
        assert view.usd == {1.0: 0.05, 2.0: 0.31, 3.0: 0.31, 4.0: 0.27}[t]
    assert apply(view, Event(5.0, "money", {"usd": 0.4})).usd == 0.4  # extended: it is spent anew


def test_what_a_run_tells_of_itself_is_no_longer_than_a_page_has_room_for():
    long = "ab cd " * 500_000
    view = fold(
        event("phase", t=10, phase="training", detail=long),
        event("notice", t=11, id=long, level="warning", facts={"raw": long}),
        event("end", t=12, status="failed", reason=long, facts={"raw": long}),
        event("phase", t=13, phase="cleaning-up", detail=long),
    )
    assert len(view.detail) == DETAIL_LETTERS and view.detail.endswith("…")
    assert view.end is not None and len(view.end.reason) <= DETAIL_LETTERS
    assert all(len(str(one.facts)) < 3 * HAPPENED_LETTERS for one in view.happened) and len(view.happened) == 4


@pytest.mark.parametrize("odd", [10.0**30, -(10**20), float("nan"), float("inf"), True, "7"])
def test_a_count_that_no_run_reaches_counts_as_none(odd: object):
    view = fold(event("checkpoint", t=1, step=odd), event("target", t=2, steps=odd))
    assert view.checkpoint_step == 0 and view.steps_planned == 0


def test_of_what_happened_so_much_is_kept_as_a_line_can_say():
    """Lists of two million numbers stood in the fold, and each look at the list of runs wrote all of it anew."""
    many = [1e9] * 15_000
    facts: tuple[dict[str, object], ...] = (
        {"steps": many},
        {"many": {str(n): [n] * 99 for n in range(100)}, "last": 1},
        {f"f{n}": "x" * HAPPENED_LETTERS for n in range(90)},
        {"waited": 0.5},
    )
    view = fold(*(event("notice", t=t, id="extended", facts=one) for t, one in enumerate(facts, 1)))
    assert all(len(repr(one.facts)) < 1.1 * HAPPENED_WHOLE for one in view.happened)
    assert view.happened[0].facts["steps"] == many[:HAPPENED_ITEMS]
    known = {"id": "extended", "level": "info"}
    assert view.happened[1].facts == known | {"last": 1} and view.happened[3].facts == known | {"waited": 0.5}
