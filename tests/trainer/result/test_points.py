"""Reading a run's metric points: one row a step, interruptions and words for numbers included."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.trainer.result import happenings, points, table, tensorboard
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


def test_of_notices_without_end_the_latest_are_kept_and_none_of_any_size(tmp_path: Path) -> None:
    """40 MB of a stranger's took a gigabyte."""
    one = {"kind": "notice", "id": "input-bound", "level": "warning"}
    odd = {"t": 1, **one, "facts": {f"f{n}": {} for n in range(2000)}}
    write(tmp_path, "a0001-w000.jsonl", *({"t": t, **one, "facts": {"at": t}} for t in range(1, 1001)), odd)
    kept = happenings.read(tmp_path).notices
    assert [facts for _, _, _, facts in kept] == [{"at": t} for t in range(501, 1001)]


def test_of_metrics_without_end_some_are_read(tmp_path: Path) -> None:
    write(tmp_path, "a0001-w000.jsonl", {"t": 1, "kind": "metric", "step": [1], **{f"m{n}": [1.0] for n in range(999)}})
    assert len(points.read(tmp_path).columns) == 64
    write(tmp_path, "a0002-w000.jsonl", metric(2, [2], loss=[0.5]))
    assert points.read(tmp_path).last["loss"] == 0.5  # what is known has its place all the same


def test_records_with_very_many_names_are_written_some_at_a_time_and_not_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 MB of a stranger's events took 4.8 GB of memory, and as much of the disk."""
    names = {f"m{n}": [0.5] * 3000 for n in range(50)}
    write(tmp_path, "a0001-w000.jsonl", metric(1, list(range(3000)), loss=[1.0] * 3000, **names))
    found = points.read(tmp_path)
    rows = []
    events = tensorboard.events
    monkeypatch.setattr(tensorboard, "events", lambda *told: (rows.append(told[2]), events(*told))[1])
    monkeypatch.setattr(tensorboard, "BYTES_AT_ONCE", 100_000)
    file = tensorboard.write_events(tmp_path / "tensorboard", found)
    assert sum(map(len, rows)) == 3000 and max(map(len, rows)) * 1000 < 200_000
    whole = file.stat().st_size
    rows.clear()
    monkeypatch.setattr(tensorboard, "MOST_BYTES", whole // 10)
    assert tensorboard.write_events(tmp_path / "less", found).stat().st_size < whole // 8
    assert rows[-1][-1] == 2999
    monkeypatch.setattr(table, "CELLS_AT_ONCE", 1000)
    table.write_csv(tmp_path / "metrics.csv", found)
    lines = (tmp_path / "metrics.csv").read_text().splitlines()
    assert len(lines) == 3001 and lines[-1].startswith("2999,") and lines[-1].count(",") == 51


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


def read_slowly(records: list[dict[str, Any]]) -> dict[str, dict[int, tuple[float, float]]]:
    """Metric → step → value and time of its report, as the sentence of `points` has it: what comes after a step that
    the run went back to did not happen."""
    kept: dict[str, list[tuple[int, float, float]]] = {}
    for one in records:
        if one["kind"] == "resume":
            kept = {name: [row for row in rows if row[0] <= one["step"]] for name, rows in kept.items()}
            continue
        for name, values in one.items():
            if name not in ("t", "kind", "step"):
                first = one["step"][0]
                before = [row for row in kept.get(name, []) if row[0] < first]
                kept[name] = before + [(step, value, one["t"]) for step, value in zip(one["step"], values, strict=True)]
    return {name: {step: (value, t) for step, value, t in rows} for name, rows in kept.items() if rows}


RECORDS = st.lists(
    st.one_of(
        st.builds(lambda step: {"t": 0.0, "kind": "resume", "step": step}, st.integers(0, 12)),
        st.builds(
            lambda step, count, names: {
                "kind": "metric",
                "step": list(range(step, step + count)),
                **{name: [1.0] * count for name in names},
            },
            st.integers(0, 12),
            st.integers(1, 3),
            st.sets(st.sampled_from(["loss", "val_loss", "accuracy"]), min_size=1),
        ),
    ),
    max_size=30,
)


@given(RECORDS)
def test_however_often_a_run_goes_back_its_points_are_those_that_happened(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[dict[str, Any]]
) -> None:
    records = []
    for number, one in enumerate(drawn, 1):
        value = {
            name: [float(number)] * len(told) for name, told in one.items() if name in ("loss", "val_loss", "accuracy")
        }
        records.append({**one, "t": float(number), **value})
    folder = tmp_path_factory.mktemp("run")
    write(folder, "a0001-w000.jsonl", *records)
    found = points.read(folder)
    wanted = read_slowly(records)
    shown = {name: dict(zip(*(part.tolist() for part in found.metric(name)), strict=True)) for name in found.columns}
    assert shown == {name: {step: value for step, (value, _) in rows.items()} for name, rows in wanted.items()}


def test_a_run_that_goes_back_without_end_is_read_as_quickly_as_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line looked at every time so far, and every metric: 7 MB held a result up for minutes."""
    names = {f"m{n}": [1.0] for n in range(60)}
    lines: list[dict[str, Any]] = [metric(1, [1], **names)]
    for number in range(2, 3000):
        lines += [{"t": 1, "kind": "resume", "step": number}] * 2 + [metric(2, [number], loss=[1.0])]
    write(tmp_path, "a0001-w000.jsonl", *lines)
    dropped = []
    drop = points._Collected._drop
    monkeypatch.setattr(points._Collected, "_drop", lambda *arguments: (dropped.append(1), drop(*arguments))[1])
    found = points.read(tmp_path)
    assert found.steps[-1] == 2999 and len(found.columns) == 61
    assert len(dropped) < 2 * 3000 + 61  # of 360,000


def test_metrics_that_hardly_ever_come_do_not_fill_a_table_of_millions_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "_CELLS", 1000)
    seldom = {f"m{n}": [1.0] for n in range(60)}
    write(tmp_path, "a0001-w000.jsonl", metric(1, [1], **seldom), metric(2, list(range(2, 2002)), loss=[1.0] * 2000))
    found = points.read(tmp_path)
    assert "loss" in found.columns and len(found.columns) * len(found.steps) <= 1000 + 8 * 2060


def test_sets_of_metrics_without_end_are_a_record_each_metric_in_tensorboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"m{n}" for n in range(60)]
    lines = [metric(step, [step], **{names[step % 59]: [1.0], names[step * 7 % 60]: [2.0]}) for step in range(1, 600)]
    write(tmp_path, "a0001-w000.jsonl", *lines)
    asked = []
    events = tensorboard.events
    monkeypatch.setattr(tensorboard, "events", lambda *arguments: (asked.append(1), events(*arguments))[1])
    file = tensorboard.write_events(tmp_path / "tensorboard", points.read(tmp_path))
    assert len(asked) <= 60 and file.stat().st_size > 599 * 2 * 30
