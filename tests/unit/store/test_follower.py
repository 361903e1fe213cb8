"""Following a run: every point once, whatever happens to the file, the index or the follower."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.plans import plan
from tpu_studio.store import follower
from tpu_studio.store import follower as follower_module
from tpu_studio.store.follower import Follower
from tpu_studio.store.index import Index
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.runfolder import write_atomically

Write = Callable[..., None]


def metric(t: float, steps: list[int], **values: list[Any]) -> dict[str, Any]:
    return {"t": t, "kind": "metric", "step": steps, **values}


def points(following: Follower, name: str = "loss") -> list[tuple[int, float]]:
    steps, _, values = following.curve(name).values()
    return list(zip(steps.tolist(), values.tolist(), strict=True))


def test_points_arrive_as_they_are_written_and_only_once(index: Index, folder: Path, write: Write) -> None:
    following = index.follow(folder)
    assert not following.poll()
    write(metric(1.0, [1, 2], loss=[3.0, 2.0]))
    assert following.poll().grown == {"loss"}
    write(metric(2.0, [3], loss=[1.0]), metric(2.1, [3], val_loss=[1.5]))
    changes = following.poll()
    assert changes.grown == {"loss", "val_loss"}
    assert points(following) == [(1, 3.0), (2, 2.0), (3, 1.0)]
    assert following.metrics == ("loss", "val_loss")
    assert (following.view.step, following.view.last["val_loss"]) == (3, 1.5)
    assert not following.poll()


def test_of_words_without_end_a_poll_keeps_the_latest(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Millions of lines that a stranger's run has written took more than a gigabyte."""
    monkeypatch.setattr(follower, "EVENTS_AT_MOST", 10)
    write(*({"t": float(step), "kind": "log", "text": str(step)} for step in range(100)))
    found = index.follow(folder).poll()
    assert [event.get("text") for event in found.events] == [str(step) for step in range(90, 100)]


def test_a_torn_last_line_waits_for_its_rest(index: Index, folder: Path, write: Write) -> None:
    following = index.follow(folder)
    write(metric(1.0, [1], loss=[3.0]), b'{"t":2.0,"kind":"metric","st')
    following.poll()
    assert points(following) == [(1, 3.0)]
    write(b'ep":[2],"loss":[2.0]}\n')
    following.poll()
    assert points(following) == [(1, 3.0), (2, 2.0)]


def test_a_damaged_line_costs_itself_and_nothing_else(index: Index, folder: Path, write: Write) -> None:
    write(metric(1.0, [1], loss=[3.0]), b"\x00\xff garbage\n", b"[1,2]\n", b"\n", metric(2.0, [2], loss=[2.0]))
    write(metric(3.0, [3, 4], loss=[1.0]), metric(4.0, [5], loss=["what", 1]), metric(5.0, [6], loss=[0.5]))
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 3.0), (2, 2.0), (6, 0.5)]


def test_numbers_that_are_not_finite_are_kept(index: Index, folder: Path, write: Write) -> None:
    write(metric(1.0, [1, 2, 3, 4], loss=[1.0, "nan", "inf", "-inf"]))
    following = index.follow(folder)
    following.poll()
    values = following.curve("loss").values()[2]
    assert values[0] == 1.0
    assert np.isnan(values[1])
    assert values[2:].tolist() == [np.inf, -np.inf]


def test_a_resume_replaces_what_came_after_its_step(index: Index, folder: Path, write: Write) -> None:
    write(metric(1.0, [1, 2, 3, 4], loss=[9.0, 8.0, 7.0, 6.0]), metric(1.1, [4], val_loss=[6.5]))
    following = index.follow(folder)
    following.poll()
    write({"t": 5.0, "kind": "resume", "step": 2, "attempt": 2}, metric(6.0, [3], loss=[1.0]), name="a0002-w000")
    assert following.poll().reset
    assert points(following) == [(1, 9.0), (2, 8.0), (3, 1.0)]
    assert points(following, "val_loss") == []


def test_a_step_that_comes_twice_without_a_resume_keeps_its_first_point(
    index: Index, folder: Path, write: Write
) -> None:
    write(metric(1.0, [1, 2], loss=[1.0, 2.0]), metric(2.0, [2, 1, 3], loss=[20.0, 10.0, 3.0]))
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_metrics_that_are_reported_in_changing_company_stay_in_order(index: Index, folder: Path, write: Write) -> None:
    write(metric(1.0, [1], loss=[1.0]), metric(2.0, [2], loss=[2.0], grad_norm=[5.0]), metric(3.0, [3], loss=[3.0]))
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_speed_reports_become_curves(index: Index, folder: Path, write: Write) -> None:
    write(
        {
            "t": 1.0,
            "kind": "speed",
            "step": 100,
            "steps": 32,
            "examples": 8192,
            "seconds": 2.0,
            "waiting_for_data_s": 0.5,
            "device_s": 1.0,
        }
    )
    following = index.follow(folder)
    following.poll()
    assert points(following, "examples_per_s") == [(100, 4096.0)]
    assert points(following, "waiting_share") == [(100, 0.25)]
    assert points(following, "device_share") == [(100, 0.5)]


def speed(t: float, step: int) -> dict[str, Any]:
    return {"t": t, "kind": "speed", "step": step, "steps": 32, "examples": 8192, "seconds": 2.0}


def test_money_becomes_a_curve_over_the_steps_that_speed_reports_tell(index: Index, folder: Path, write: Write) -> None:
    write(
        speed(5.0, 50),  # before any money is spoken of: no point
        {"t": 10.0, "kind": "money", "usd": 1.0, "usd_per_hour": 3600.0, "since": 9.0},
        speed(12.0, 100),
        {"t": 13.0, "kind": "money", "usd": 4.5, "usd_per_hour": 3600.0, "since": 9.0},
    )
    following = index.follow(folder)
    following.poll()
    assert points(following, "usd") == [(100, 3.0)]
    write(speed(13.5, 150), {"t": 14.0, "kind": "end", "status": "finished", "reason": "completed", "attempt": 1})
    following.poll()
    assert points(following, "usd") == [(100, 3.0), (150, 5.0)]

    write(speed(100.0, 200), name="a0002-w000")  # the end stopped the meter until an attempt starts it again
    write({"t": 101.0, "kind": "money", "usd": 6.0, "usd_per_hour": 3600.0, "since": 99.0}, name="a0002-w000")
    write(speed(102.0, 250), name="a0002-w000")
    following.poll()
    assert points(following, "usd") == [(100, 3.0), (150, 5.0), (250, 7.0)]


def test_cost_goes_on_for_who_takes_the_run_up_later(index: Index, folder: Path, write: Write) -> None:
    write({"t": 10.0, "kind": "money", "usd": 1.0, "usd_per_hour": 3600.0, "since": 9.0})
    first = index.follow(folder)
    first.poll()
    first.close()
    write(speed(12.0, 100))
    later = index.follow(folder)
    later.poll()
    assert points(later, "usd") == [(100, 3.0)]


def test_a_run_without_a_price_has_no_cost_curve(index: Index, folder: Path, write: Write) -> None:
    write({"t": 1.0, "kind": "money", "usd": None, "usd_per_hour": "much"}, speed(2.0, 100))
    following = index.follow(folder)
    following.poll()
    assert "usd" not in following.metrics and "examples_per_s" in following.metrics


def test_a_curve_asked_for_before_its_first_point_fills_later(index: Index, folder: Path, write: Write) -> None:
    following = index.follow(folder)
    curve = following.curve("loss")
    assert curve.window(0, 10, 100)[0].tolist() == []
    assert curve.last() is None
    write(metric(1.0, [1], loss=[1.0]))
    following.poll()
    assert curve.last() == (1, 1.0, 1.0)


def test_events_of_the_desktop_and_the_attempts_are_told_in_the_order_of_their_times(
    index: Index, folder: Path, write: Write
) -> None:
    write(
        {"t": 10.0, "kind": "phase", "phase": "queued", "attempt": 1},
        {"t": 40.0, "kind": "end", "status": "failed", "reason": "guardian-gone", "steps": 3},
        {"t": 50.0, "kind": "phase", "phase": "queued", "attempt": 2},
        name="desk-abcd",
    )
    write({"t": 11.0, "kind": "phase", "phase": "training"}, metric(12.0, [1, 2, 3], loss=[3.0, 2.0, 1.0]))
    write(
        {"t": 51.0, "kind": "phase", "phase": "training"},
        {"t": 52.0, "kind": "resume", "step": 2, "attempt": 2},
        name="a0002-w000",
    )
    following = index.follow(folder)
    events = following.poll().events
    assert [event.t for event in events] == [10.0, 11.0, 40.0, 50.0, 51.0, 52.0]
    assert following.view.phase is Phase.TRAINING
    assert not following.view.over


def test_a_second_follower_at_the_same_time_sees_the_same_and_doubles_nothing(
    home: Path, index: Index, folder: Path, write: Write
) -> None:
    other_process = Index(home)
    one, two = index.follow(folder), other_process.follow(folder)
    seen: dict[int, list[float]] = {1: [], 2: []}
    for step in range(1, 30):
        write(metric(float(step), [step], loss=[1.0 / step]), {"t": float(step), "kind": "log", "text": "."})
        for number, following in ((1, one), (2, two)) if step % 3 else ((2, two),):
            seen[number] += [event.t for event in following.poll().events]
    seen[1] += [event.t for event in one.poll().events]
    assert points(one) == points(two) == [(step, 1.0 / step) for step in range(1, 30)]
    assert seen[1] == seen[2] == [float(step) for step in range(1, 30)]
    assert one.view == two.view
    other_process.close()


def test_after_the_index_is_deleted_everything_is_rebuilt(home: Path, folder: Path, write: Write) -> None:
    write(
        metric(1.0, [1, 2], loss=[2.0, 1.0]),
        {"t": 2.0, "kind": "end", "status": "finished", "reason": "completed", "steps": 2},
    )
    first = Index(home)
    following = first.follow(folder)
    following.poll()
    following.close()
    view = following.view
    first.close()
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (home / name).unlink(missing_ok=True)
    shutil.rmtree(home / "columns")
    second = Index(home)
    again = second.follow(folder)
    again.poll()
    assert points(again) == [(1, 2.0), (2, 1.0)]
    assert again.view == view
    second.close()


def test_an_index_that_is_no_database_is_thrown_away(home: Path, folder: Path, write: Write) -> None:
    write(metric(1.0, [1], loss=[2.0]))
    (home / "index.db").write_bytes(b"this is no database" * 1000)
    index = Index(home)
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 2.0)]
    index.close()


@pytest.mark.parametrize(("free", "id"), [(40_000, "disk-full"), (1 << 40, "folder-unwritable")])
def test_an_error_of_the_disk_with_no_room_left_is_a_full_disk(
    home: Path, monkeypatch: pytest.MonkeyPatch, free: int, id: str
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(sqlite3, "connect", broken)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    with pytest.raises(RunError) as caught:
        Index(home)
    assert caught.value.id == id


def test_where_the_index_has_no_room_a_run_is_watched_to_its_end_all_the_same(
    index: Index, folder: Path, write: Write
) -> None:
    following = index.follow(folder)
    write(metric(1.0, [1], loss=[3.0]))
    following.poll()
    watched = following.curve("loss")  # as a plot holds it
    database = index._db._db
    database.execute(f"PRAGMA max_page_count = {database.execute('PRAGMA page_count').fetchone()[0]}")  # as if full
    ended = {"t": 3.0, "kind": "end", "status": "finished", "reason": "completed", "steps": 2}
    many = {f"a metric with a long name, number {number}": [1.0] for number in range(200)}
    write(metric(2.0, [2], loss=[2.0]), metric(2.0, [2], **many), ended)
    assert following.poll().reset
    assert points(following) == [(1, 3.0), (2, 2.0)]
    assert len(watched) == 2
    assert following.view.over
    following.close()
    again = index.follow(folder)
    again.poll()
    assert points(again) == [(1, 3.0), (2, 2.0)]
    assert (index.summary(folder).problem, index.summary(folder).over) == ("", True)


def test_an_opened_again_run_needs_not_to_be_read_again(
    home: Path, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        metric(1.0, [1, 2], loss=[2.0, 1.0]),
        {"t": 2.0, "kind": "end", "status": "finished", "reason": "completed", "steps": 2},
    )
    index = Index(home)
    first = index.follow(folder)
    first.poll()
    first.close()
    monkeypatch.setattr(follower_module, "records", lambda lines: pytest.fail("events were read again"))
    second = index.follow(folder)
    assert not second.poll()
    assert second.view == first.view
    assert second.view.over
    assert points(second) == [(1, 2.0), (2, 1.0)]
    index.close()


def test_another_run_of_the_same_name_begins_anew(home: Path, index: Index, folder: Path, write: Write) -> None:
    write(metric(1.0, [1, 2], loss=[2.0, 1.0]))
    index.follow(folder).poll()
    shutil.rmtree(folder)
    write_atomically(folder / "plan.json", dumps(plan(steps=99).launched("digits-k3f7", 200.0, "0.1.0")))
    (folder / "events").mkdir()
    write(metric(1.0, [1], loss=[7.0]))
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 7.0)]


def test_points_that_a_crash_left_beyond_the_index_are_overwritten(home: Path, folder: Path, write: Write) -> None:
    write(metric(1.0, [1, 2, 3], loss=[3.0, 2.0, 1.0]))
    index = Index(home)
    index.follow(folder).poll()
    index.close()
    with sqlite3.connect(home / "index.db") as db:  # as if killed between writing the column and the commit
        db.execute("UPDATE columns SET length = 0")
        db.execute("UPDATE runs SET cursor = '{}'")
    db.close()
    index = Index(home)
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 3.0), (2, 2.0), (3, 1.0)]
    index.close()


def test_columns_from_before_a_power_cut_are_rebuilt(home: Path, folder: Path, write: Write) -> None:
    write(metric(1.0, [1, 2, 3], loss=[3.0, 2.0, 1.0]))
    index = Index(home)
    index.follow(folder).poll()
    index.close()
    with sqlite3.connect(home / "index.db") as db:
        db.execute("UPDATE runs SET boot = 'the start before this one'")
    db.close()
    (home / "columns" / "digits-k3f7" / "c000.rows").write_bytes(b"\0" * 72)  # what a power cut makes of unsynced pages
    index = Index(home)
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 3.0), (2, 2.0), (3, 1.0)]
    index.close()


@pytest.mark.parametrize("lost", ["cut short", "gone"])
def test_columns_that_were_damaged_or_deleted_are_rebuilt(home: Path, folder: Path, write: Write, lost: str) -> None:
    write(metric(1.0, [1, 2, 3], loss=[3.0, 2.0, 1.0]))
    first = Index(home)
    following = first.follow(folder)
    following.poll()
    following.close()
    first.close()
    for path in [*(home / "columns").rglob("c*")]:
        path.write_bytes(b"x") if lost == "cut short" else path.unlink()
    second = Index(home)
    following = second.follow(folder)
    following.poll()
    assert points(following) == [(1, 3.0), (2, 2.0), (3, 1.0)]
    following.close()
    second.close()


def test_chunks_do_not_show(home: Path, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in range(1, 200):
        write(metric(float(step), [step], loss=[1.0 / step]))
    write(
        {"t": 50.5, "kind": "control", "verb": "extend"},
        {"t": 500.0, "kind": "end", "status": "stopped", "reason": "stopped-by-user", "steps": 199},
        name="desk-abcd",
    )
    monkeypatch.setattr(follower_module, "_CHUNK", 256)
    index = Index(home)
    following = index.follow(folder)
    events = following.poll().events
    assert points(following) == [(step, 1.0 / step) for step in range(1, 200)]
    assert [event.kind for event in events] == ["control", "end"]
    assert following.view.over
    index.close()


def test_a_folder_without_a_plan_is_no_run(index: Index, tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        index.follow(tmp_path)
    assert caught.value.id == "run-unknown"


def test_the_latest_log_lines_are_found_at_the_ends_of_the_files(index: Index, folder: Path, write: Write) -> None:
    for number in range(300):
        write({"t": float(number), "kind": "log", "stream": "stderr", "text": f"line {number}"})
    following = index.follow(folder)
    assert [event.get("text") for event in following.recent_logs(3)] == ["line 297", "line 298", "line 299"]


def test_of_a_file_that_became_none_no_lines_are_shown(index: Index, folder: Path, write: Write) -> None:
    write({"t": 1.0, "kind": "log", "stream": "stderr", "text": "mine"})
    following = index.follow(folder)
    following.poll()
    (path,) = (folder / "events").glob("a*.jsonl")
    path.unlink()
    os.mkfifo(path)  # nobody writes into it
    assert following.recent_logs() == ()


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 2000), max_size=8), restart=st.lists(st.booleans(), min_size=9, max_size=9))
def test_however_the_bytes_arrive_and_whoever_reads_them_the_curve_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], restart: list[bool]
) -> None:
    home = tmp_path_factory.mktemp("home")
    folder = home / "runs" / "digits-k3f7"
    write_atomically(folder / "plan.json", dumps(plan()))
    (folder / "events").mkdir()
    lines = [metric(float(step), [step], loss=[1.0 / step]) for step in range(1, 20)]
    lines.append({"t": 30.0, "kind": "resume", "step": 10, "attempt": 1})
    lines += [metric(30.0 + step, [step], loss=[-1.0 * step]) for step in range(11, 15)]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    index = Index(home)
    following = index.follow(folder)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for number, (start, end) in enumerate(pairwise(edges)):
        with open(folder / "events" / "a0001-w000.jsonl", "ab") as file:
            file.write(data[start:end])
        following.poll()
        if restart[number]:
            following = index.follow(folder)
            following.poll()
    expected = [(step, 1.0 / step) for step in range(1, 11)] + [(step, -1.0 * step) for step in range(11, 15)]
    assert points(following) == expected
    index.close()


def test_worker_0_alone_tells_the_curve_the_phases_and_the_end(index: Index, folder: Path, write: Write) -> None:
    other = folder / "events" / "a0001-w001.jsonl"
    other.parent.mkdir(parents=True, exist_ok=True)
    write({"t": 1.0, "kind": "phase", "phase": "training"}, metric(2.0, [1], loss=[3.0]))
    said = [
        {"t": 3.0, "kind": "phase", "phase": "setting-up"},
        metric(3.0, [1, 2], loss=[9.0, 9.0]),
        {"t": 3.0, "kind": "device", "worker": 1, "memory_used_bytes": 5},
        {"t": 4.0, "kind": "end", "status": "failed", "reason": "trainer-killed"},
    ]
    other.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in said))
    following = index.follow(folder)
    following.poll()
    assert points(following) == [(1, 3.0)]
    assert following.view.phase is Phase.TRAINING
    assert following.view.end is None
    assert following.view.devices[1]["memory_used_bytes"] == 5


def test_mfu_is_a_curve_only_of_a_run_that_tells_it(index: Index, folder: Path, write: Write) -> None:
    following = index.follow(folder)
    speed = {"kind": "speed", "steps": 5, "examples": 10, "seconds": 2.0, "waiting_for_data_s": 0, "device_s": 1}
    write({"t": 1.0, "step": 5, **speed})
    following.poll()
    assert "mfu" not in following.metrics
    write({"t": 2.0, "step": 10, **speed, "mfu": 0.41})
    following.poll()
    assert points(following, "mfu") == [(10, 0.41)]
