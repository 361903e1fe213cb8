"""Rows of the list of runs: what they count."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.fakes.skies import cloud_plan
from tests.unit.store.conftest import Write, metric
from tpu_studio.store import follower as followers
from tpu_studio.store import index as indexes
from tpu_studio.store.index import Index
from tpu_studio.wire.claims import create_claim
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.cloudruns import believed


def test_the_time_of_a_run_that_was_carried_on_is_without_the_pause(index: Index, folder: Path, write: Write) -> None:
    now = time.time()
    began = now - 7200.0
    write_atomically(folder / "plan.json", dumps(cloud_plan().launched(folder.name, began, "0.1.0")))
    write(
        {"t": began, "kind": "phase", "phase": "queued", "attempt": 1},
        {"t": now - 10.0, "kind": "again", "attempt": 2},
        {"t": now - 10.0, "kind": "phase", "phase": "queued", "attempt": 2},
        name="desk-abcdefgh",
    )
    write(
        {"t": began + 10.0, "kind": "phase", "phase": "training", "attempt": 1},
        {"t": began + 60.0, "kind": "end", "attempt": 1, "status": "stopped", "reason": "stopped-by-user", "steps": 5},
    )
    row = index.summary(folder)
    assert row.alive and not row.over
    assert row.duration_s == pytest.approx(70.0, abs=8.0)
    assert index.summary(folder).duration_s == pytest.approx(70.0, abs=8.0)  # as it is remembered


def test_the_wait_for_ones_turn_on_this_computer_is_no_time_of_a_run(index: Index, folder: Path, write: Write) -> None:
    write(
        {"t": 100.0, "kind": "phase", "phase": "queued", "attempt": 1},
        {"t": 3700.0, "kind": "phase", "phase": "training", "attempt": 1},
        {"t": 3760.0, "kind": "end", "attempt": 1, "status": "finished", "reason": "completed", "steps": 5},
    )
    assert index.summary(folder).duration_s == 60.0


def test_nor_does_a_run_grow_older_while_it_waits_for_its_turn(index: Index, folder: Path, write: Write) -> None:
    write({"t": time.time() - 600.0, "kind": "phase", "phase": "queued", "attempt": 1})
    guardian = create_claim(folder / "claims" / "a0001.json", {})
    assert guardian is not None
    try:
        row = index.summary(folder)
    finally:
        os.close(guardian)
    assert row.alive and row.status == "queued" and row.duration_s == 0.0


def test_a_glance_at_a_run_of_much_news_takes_some_and_the_next_goes_on(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_GLANCE_S", 0.0)
    monkeypatch.setattr(followers, "_PIECE", 1000)
    write(*(metric(float(step), [step], loss=[1.0 / step]) for step in range(1, 101)))
    write({"t": 50.5, "kind": "log", "text": "x" * 5000})  # longer than a piece
    write(*(metric(float(step), [step], loss=[1.0 / step]) for step in range(101, 201)))
    write({"t": 900.0, "kind": "end", "status": "finished", "reason": "completed", "steps": 200})
    rows = [index.glance(folder)]
    while rows[-1].unread:
        assert not rows[-1].over and rows[-1].learned is None
        rows.append(index.glance(folder))
        assert rows[-1].unread < rows[-2].unread
    assert len(rows) > 10 and rows[0].step < 30
    assert rows[-1] == index.summary(folder) and (rows[-1].reason, rows[-1].step) == ("completed", 200)


@pytest.mark.parametrize("line", [b"\n", b"x\n", b'{"t": \n'], ids=["empty", "no record", "torn"])
def test_lines_that_are_no_records_are_got_past(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(indexes, "_GLANCE_S", 0.0)
    monkeypatch.setattr(followers, "_PIECE", 1000)
    write(line * 5000)
    write({"t": 900.0, "kind": "end", "status": "finished", "reason": "completed", "steps": 200})
    rows = [index.glance(folder)]
    while rows[-1].unread:
        rows.append(index.glance(folder))
        assert rows[-1].unread < rows[-2].unread
    assert rows[-1].reason == "completed"


def test_who_asks_for_one_run_is_told_all_of_it(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_GLANCE_S", 0.0)
    monkeypatch.setattr(followers, "_PIECE", 1000)
    write(*(metric(float(step), [step], loss=[1.0 / step]) for step in range(1, 101)))
    assert index.glance(folder).unread
    row = index.summary(folder)
    assert (row.unread, row.step) == (0, 100)
    write(b'{"t": 200.0, "kind": "met')  # a line that is being written is not left over
    assert index.glance(folder).unread == 0


def test_the_cost_limit_of_a_run_is_the_one_that_holds_now(index: Index, folder: Path, write: Write) -> None:
    plan = cloud_plan().launched(folder.name, time.time(), "0.1.0")
    write_atomically(folder / "plan.json", dumps(plan))
    write({"t": time.time(), "kind": "phase", "phase": "training", "attempt": 1})
    assert plan.limits.money_usd and index.summary(folder).usd_limit == plan.limits.money_usd
    believed.ask(folder, {"verb": "limits", "money_usd": 2 * plan.limits.money_usd})
    write({"t": time.time(), "kind": "control", "verb": "limits"})
    assert index.summary(folder).usd_limit == 2 * plan.limits.money_usd
    write({"t": time.time(), "kind": "end", "attempt": 1, "status": "stopped", "reason": "money-limit", "steps": 5})
    assert index.summary(folder).usd_limit is None


def test_a_curve_of_the_largest_numbers_is_drawn(index: Index, folder: Path, write: Write) -> None:
    """Their sum is no number. `make fuzz`, seed 14."""
    write(*({"t": 100.0 + n, "kind": "metric", "step": [n], "loss": [1.7e308]} for n in range(1, 200)))
    assert set(index.summary(folder).losses) == {1.7e308}


@pytest.mark.parametrize(
    ("field", "odd"),
    [
        ("losses", '["x"]'),
        ("losses", "[[0.5]]"),
        ("key_metric", '["accuracy"]'),
        ("key_metric", '[1, "x"]'),
        ("ended", '"soon"'),
        ("usd_limit", "[]"),
        ("usd", "1" + "0" * 400),
        ("seen", "null"),
        ("unread", "0.5"),
        ("learned", '"much"'),
        ("run", '"another"'),
        ("place", "7"),
        ("step", "true"),
    ],
)
def test_a_row_that_somebody_changed_is_made_anew(
    index: Index, folder: Path, write: Write, field: str, odd: str
) -> None:
    write(metric(1, 0.5), {"t": time.time(), "kind": "end", "reason": "completed", "attempt": 1})
    row = index.summary(folder)
    [(stamp, text)] = [index._db.summary(index._key(folder))]
    told = json.loads(text)
    index._db.save_summary(index._key(folder), stamp, json.dumps({**told, field: "HERE"}).replace('"HERE"', odd))
    assert index.summary(folder) == row
