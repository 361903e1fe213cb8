"""What a run may take, and how control files change it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.plans import plan
from tpu_studio.wire.controls import Controls, send
from tpu_studio.wire.limits import Limits, limits_of, used_before
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import control_file, events_file, ledger_file, write_atomically


def test_each_limit_has_its_reason() -> None:
    limits = Limits(hours=1.0, money_usd=5.0, usd_per_hour=10.0, idle_minutes=15)
    assert limits.reached(1799.0, 0.0) is None
    assert limits.reached(1800.0, 0.0) is Reason.MONEY_LIMIT  # half an hour at $10
    assert Limits(hours=1.0).reached(3600.0, 0.0) is Reason.TIME_LIMIT
    assert limits.reached(0.0, 900.0) is Reason.TRAINER_STUCK
    assert Limits(money_usd=5.0).reached(1e9, 0.0) is None  # without a price nothing is spent


def test_the_latest_change_of_each_limit_counts() -> None:
    made = plan(limits={"hours": 1.0, "money_usd": 2.0}, usd_per_hour=1.0)
    changed = limits_of(
        made,
        [
            {"verb": "limits", "hours": 2.0},
            {"verb": "extend", "epochs": 1},
            {"verb": "limits", "hours": 3.0, "money_usd": 4.0},
        ],
    )
    assert (limits_of(made).hours, changed.hours, changed.money_usd, changed.usd_per_hour) == (1.0, 3.0, 4.0, 1.0)
    assert changed.idle_minutes == 15  # the job's own


def test_time_of_earlier_attempts_comes_from_the_ledger_or_without_one_from_the_events(tmp_path: Path) -> None:
    write_atomically(ledger_file(tmp_path, 1), json.dumps({"elapsed_s": 100.0}).encode())
    write_atomically(ledger_file(tmp_path, 2), b"torn {")
    lines = [
        {"t": 10.0, "kind": "phase", "phase": "queued"},
        {"t": 50.0, "kind": "phase", "phase": "training"},
        {"t": 80.0, "kind": "log", "text": "."},
    ]
    write_atomically(
        events_file(tmp_path, 2), b"".join(json.dumps(line).encode() + b"\n" for line in lines) + b'{"t":9'
    )
    assert used_before(tmp_path, 2) == 100.0
    assert used_before(tmp_path, 3) == 100.0 + 30.0  # from the end of waiting to the last event
    assert used_before(tmp_path, 4) == 130.0


def test_control_files_are_numbered_and_handed_out_once(tmp_path: Path) -> None:
    assert [
        send(tmp_path, {"verb": "extend", "epochs": 1}),
        send(tmp_path, {"verb": "stop", "keep": True, "attempt": 1}),
    ] == [1, 2]
    write_atomically(control_file(tmp_path, 3), b"not json")
    first, second = Controls(tmp_path, attempt=1), Controls(tmp_path, attempt=2)
    assert [(one["verb"], one["number"]) for one in first.read()] == [("extend", 1), ("stop", 2), ("unreadable", 3)]
    assert [one["verb"] for one in second.read()] == ["extend", "unreadable"]  # that stop was for the first attempt
    assert first.read() == []
    send(tmp_path, {"verb": "stop", "keep": False, "attempt": 2})
    assert [one["number"] for one in second.read()] == [4]
