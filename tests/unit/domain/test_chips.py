"""What the workers tell of their chips, folded: over workers, over the run, and what cannot be left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tpu_studio.domain.chips import Memory, as_json, chips_of, worker_of
from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.store import viewcodec
from tpu_studio.wire.events import Event, from_record

GB = 1e9


def device(t: float, worker: int = 0, duty: Any = None, used: Any = None, total: Any = 16 * GB) -> Event:
    told = {"duty_cycle": duty} if duty is not None else {}
    told |= {"hbm_used_bytes": used, "hbm_total_bytes": total} if used is not None else {}
    return event(t, "device", worker=worker, memory_used_bytes=4e8, **told)


def event(t: float, kind: str, **fields: Any) -> Event:
    found = from_record({"t": t, "kind": kind, **fields})
    assert found is not None
    return found


def fold(*events: Event) -> RunView:
    view = RunView()
    for one in events:
        view = apply(view, one)
    return view


def test_over_workers_the_least_and_the_most_busy_and_the_fullest_chip() -> None:
    chips = fold(device(1, 0, 0.70, 9.1 * GB), device(1, 1, 0.50, 9.6 * GB), device(1, 3, 0.90, 2 * GB)).chips
    assert chips.least is not None and chips.most is not None
    assert (chips.least.worker, chips.least.duty_cycle) == (1, 0.5)
    assert (chips.most.worker, chips.most.duty_cycle) == (3, 0.9)
    assert chips.fullest == Memory(9.6 * GB, 16 * GB)
    assert chips.duty_cycle == pytest.approx(0.7)  # (0.7 + 0.5 + 0.9) / 3


def test_the_latest_word_of_a_worker_counts_also_when_it_tells_nothing_more() -> None:
    assert fold(device(1, duty=0.5), device(2, duty=0.8)).chips.duty_cycle == 0.8
    assert fold(device(1, duty=0.5), device(2)).chips.workers == ()


def test_over_the_run_the_mean_of_all_readings_and_the_fullest_ever() -> None:
    view = fold(device(1, 0, 0.6, 9 * GB), device(1, 1, 0.8, 3 * GB), device(3, 0, 1.0, 8 * GB))
    assert view.duty_cycle == pytest.approx(0.8)  # (0.6 + 0.8 + 1.0) / 3
    assert view.fullest == Memory(9 * GB, 16 * GB)


def test_a_run_that_tells_of_no_chip_has_none() -> None:
    view = fold(device(1))
    assert (view.chips.workers, view.duty_cycle, view.fullest, as_json(view.chips)) == ((), None, None, [])
    assert (view.chips.least, view.chips.most, view.chips.fullest, view.chips.duty_cycle) == (None,) * 4


def test_the_machine_of_before_tells_nothing_of_the_next_one() -> None:
    """Also when its last words are read after the next attempt began; what was summed up stays."""
    over = fold(device(1, 0, 0.6), event(5, "attempt-over", attempt=1, reason="preempted"))
    assert over.chips.workers == () and over.duty_cycle == 0.6
    assert apply(over, device(4, 1, 0.9)).chips.workers == ()
    assert apply(over, device(6, 0, 0.7)).chips.duty_cycle == 0.7


@pytest.mark.parametrize(
    "fields",
    [
        {"duty_cycle": 1.5},
        {"duty_cycle": "0.5"},
        {"duty_cycle": True},
        {"duty_cycle": float("nan")},
        {"hbm_used_bytes": 2.0, "hbm_total_bytes": 1.0},
        {"hbm_used_bytes": 2.0, "hbm_total_bytes": 0},
        {"hbm_used_bytes": -1.0, "hbm_total_bytes": 1.0},
        {"hbm_used_bytes": 1.0},
    ],
)
def test_what_cannot_be_is_not_known(fields: dict[str, Any]) -> None:
    assert worker_of(0, fields) is None


def test_more_workers_than_any_slice_has_are_not_kept() -> None:
    view = replace(RunView(), devices={number: {} for number in range(4096)})
    assert len(apply(view, device(1, 5000, 0.5)).devices) == 4096
    assert apply(view, device(1, 7, 0.5)).chips.duty_cycle == 0.5


def test_scripts_get_one_object_a_worker_in_the_events_own_words() -> None:
    chips = chips_of({1: {"duty_cycle": 0.5}, 0: {"hbm_used_bytes": 1.0, "hbm_total_bytes": 2.0}})
    assert as_json(chips) == [
        {"worker": 0, "hbm_used_bytes": 1.0, "hbm_total_bytes": 2.0},
        {"worker": 1, "duty_cycle": 0.5},
    ]


def test_the_stored_fold_remembers_it() -> None:
    view = fold(device(1, 2, 0.6, 9 * GB))
    assert viewcodec.loads(viewcodec.dumps(view)) == view


def speed(t: float, seconds: float, mfu: Any = None) -> Event:
    told = {} if mfu is None else {"mfu": mfu}
    return event(t, "speed", step=int(t), steps=10, examples=320, seconds=seconds, **told)


def test_mfu_is_that_of_the_latest_reports_by_their_time_and_afterwards_of_the_whole_run() -> None:
    told = [speed(1, 2.0, 0.10), *(speed(t, 1.0, 0.40) for t in range(2, 10))]
    assert fold(*told).mfu == pytest.approx(0.40)  # the eight latest
    over = fold(*told, event(20, "end", status="finished", reason="completed", steps=90, final={}))
    assert over.mfu == pytest.approx((2.0 * 0.10 + 8 * 0.40) / 10.0)
    assert viewcodec.loads(viewcodec.dumps(over)) == over


@pytest.mark.parametrize("damage", [None, "nan", -0.1, 1.5, "0.4", True])
def test_an_mfu_that_cannot_be_is_none(damage: Any) -> None:
    assert fold(speed(1, 2.0, damage)).mfu is None
