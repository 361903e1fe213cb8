"""Reading a run's metric points: one row a step, interruptions and words for numbers included."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.trainer.result import happenings, points, table
from tpu_studio.trainer.result.curves import Line, picture


def write(run: Path, name: str, *records: dict[str, Any] | bytes) -> None:
    (run / "events").mkdir(parents=True, exist_ok=True)
    lines = [
        line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() + b"\n"
        for line in records
    ]
    (run / "events" / name).write_bytes(b"".join(lines))


def metric(t: float, steps: list[int], **values: list[Any]) -> dict[str, Any]:
    return {"t": t, "kind": "metric", "step": steps, **values}


def test_values_of_one_step_from_several_events_stand_in_one_row(tmp_path: Path) -> None:
    write(tmp_path, "a0001-w000.jsonl", metric(10, [1, 2], loss=[3.0, 2.0]), metric(11, [2], val_loss=[2.5]))
    found = points.read(tmp_path)
    assert found.steps.tolist() == [1, 2]
    assert list(found.columns) == ["loss", "val_loss"]
    assert found.present["val_loss"].tolist() == [False, True]
    assert found.last == {"loss": 2.0, "val_loss": 2.5}


ODD_LINES = [
    {"t": 1, "kind": "metric", "step": ["a"], "loss": [0.5]},
    {"t": 1, "kind": "metric", "step": [None], "loss": [0.5]},
    {"t": 1, "kind": "metric", "step": [1e9], "loss": [0.5]},
    {"t": 1, "kind": "metric", "step": [2**70], "loss": [0.5]},
    {"t": 1, "kind": "metric", "step": [[1]], "loss": [0.5]},
    {"t": 1, "kind": "metric", "step": [200, 100], "loss": [0.5, 0.6]},
    {"t": 1, "kind": "metric", "step": [3], "\ud800": [0.5], "x" * 5_000: [1.0]},
    {"t": "x", "kind": "metric", "step": [3], "loss": [10**400]},
    {"t": [], "kind": "metric", "step": [4, 5], "loss": [1.7e308, -1.7e308]},
    {"t": 1, "kind": "resume", "step": "x"},
    {"t": 1, "kind": "resume", "step": [1]},
    {"t": 1, "kind": "speed", "seconds": "x", "examples": [1], "mfu": "y"},
    {"t": 1, "kind": "speed", "seconds": 10**400},
    {"t": 1, "kind": "device", "duty_cycle": "x", "hbm_used_bytes": [], "hbm_total_bytes": 1e308},
    {"t": 1, "kind": "profile", "shares": {"matrix": "x"}},
    {"t": 1, "kind": "phase", "phase": ["x"]},
    {"t": 1, "kind": "notice", "id": ["x"], "facts": {"a": 1}},
    b'{"t":1,"kind":"resume","step":1e400}\n',
    b'{"t":1,"kind":"device","hbm_used_bytes":1e400,"hbm_total_bytes":1e400}\n',
]


@pytest.mark.parametrize("number", range(len(ODD_LINES)))
def test_lines_of_somebody_elses_run_that_are_no_points_end_nothing(tmp_path: Path, number: int) -> None:
    """A run that goes on from theirs trained to its end, and then had no result."""
    write(
        tmp_path, "a0001-w000.jsonl", metric(10, [1, 2], loss=[3.0, 2.0]), ODD_LINES[number], metric(12, [9], loss=[1])
    )
    found, besides = points.read(tmp_path), happenings.read(tmp_path)
    assert (found.steps[-1], found.last["loss"]) == (9, 1.0) and len(found.columns) == 1
    assert all(map(math.isfinite, (besides.training_s, besides.examples, *besides.memory)))
    table.write_csv(tmp_path / "metrics.csv", found)
    steps, values = found.metric("loss")
    assert "<svg" in picture("Loss", [Line("loss", steps.astype(float), values, "c")], str)


def test_of_metrics_without_end_some_are_read(tmp_path: Path) -> None:
    write(tmp_path, "a0001-w000.jsonl", {"t": 1, "kind": "metric", "step": [1], **{f"m{n}": [1.0] for n in range(999)}})
    assert len(points.read(tmp_path).columns) == 200


def test_points_after_a_resumed_step_are_replaced(tmp_path: Path) -> None:
    write(tmp_path, "a0001-w000.jsonl", metric(10, [1, 2, 3, 4], loss=[4.0, 3.0, 99.0, 98.0]))
    write(
        tmp_path, "a0002-w000.jsonl", {"t": 20, "kind": "resume", "step": 2, "attempt": 2}, metric(21, [3], loss=[2.0])
    )
    found = points.read(tmp_path)
    assert found.steps.tolist() == [1, 2, 3]
    assert found.columns["loss"].tolist() == [4.0, 3.0, 2.0]


def test_a_rollback_within_an_attempt_leaves_no_step_twice(tmp_path: Path) -> None:
    write(
        tmp_path, "a0001-w000.jsonl", metric(1, [1, 2, 3], loss=[1.0, 2.0, "nan"]), metric(2, [3, 4], loss=[3.0, 4.0])
    )
    found = points.read(tmp_path)
    assert found.columns["loss"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_infinite_and_undefined_values_are_kept_as_numbers(tmp_path: Path) -> None:
    write(tmp_path, "a0001-w000.jsonl", metric(1, [1, 2, 3], loss=["nan", "inf", 1.5]))
    values = points.read(tmp_path).columns["loss"].tolist()
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, 1.5]


def test_a_torn_last_line_and_foreign_kinds_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a0001-w000.jsonl",
        metric(1, [1], loss=[1.0]),
        {"t": 2, "kind": "log", "text": '"metric"'},
        b'{"t":3,"kind":"metric","st',
    )
    assert points.read(tmp_path).steps.tolist() == [1]


def test_times_between_two_reports_are_spread_evenly(tmp_path: Path) -> None:
    write(tmp_path, "a0001-w000.jsonl", metric(10, [1], loss=[1.0]), metric(14, [2, 3, 4, 5], loss=[1.0] * 4))
    assert points.read(tmp_path).times.tolist() == [10.0, 11.0, 12.0, 13.0, 14.0]


def test_a_run_without_points_has_none(tmp_path: Path) -> None:
    assert points.read(tmp_path).last == {}
