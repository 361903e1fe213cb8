"""How well a run used its chips, for its receipt: over all machines and attempts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.skies import Sky
from tpu_studio.workflow.cloudruns import chipuse
from tpu_studio.workflow.cloudruns.chipuse import chips_used


def write(run: Path, name: str, *told: dict[str, Any]) -> None:
    (run / "events").mkdir(exist_ok=True)
    (run / "events" / name).write_text("".join(json.dumps({"t": 1.0, **one}) + "\n" for one in told))


def speed(seconds: float, mfu: float) -> dict[str, Any]:
    return {"kind": "speed", "step": 1, "steps": 1, "examples": 1, "seconds": seconds, "mfu": mfu}


def test_mfu_is_the_mean_over_the_time_of_all_attempts_and_memory_that_of_the_fullest_chip(tmp_path: Path) -> None:
    chip = {"kind": "device", "duty_cycle": 0.5, "hbm_used_bytes": 4e9, "hbm_total_bytes": 16e9}
    write(tmp_path, "a0001-w000.jsonl", speed(30.0, 0.4), {**chip, "worker": 0}, {"kind": "metric", "step": [1]})
    write(tmp_path, "a0001-w001.jsonl", {**chip, "worker": 1, "duty_cycle": 0.7, "hbm_used_bytes": 9e9})
    write(tmp_path, "a0002-w000.jsonl", speed(10.0, 0.2))
    write(tmp_path, "desk-0.jsonl", speed(99.0, 0.9))
    assert chips_used(tmp_path) == {
        "mfu": pytest.approx((30 * 0.4 + 10 * 0.2) / 40),
        "duty_cycle": pytest.approx(0.6),
        "hbm_used_bytes": 9e9,
        "hbm_total_bytes": 16e9,
    }


def test_code_on_a_machine_that_tells_without_end_holds_up_no_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty megabytes in one line took three gigabytes, and short lines a second a megabyte."""
    write(
        tmp_path, "a0001-w000.jsonl", {"kind": "speed", "x": [[]] * 100_000}, *[speed(10.0, 0.2)] * 30, speed(9.0, 0.9)
    )
    assert chips_used(tmp_path)["mfu"] > 0.2
    monkeypatch.setattr(chipuse, "_MOST_LINES", 31)
    assert chips_used(tmp_path) == {"mfu": pytest.approx(0.2)}
    monkeypatch.setattr(chipuse, "_MOST_BYTES", 100_000)
    assert chips_used(tmp_path) == {}


def test_where_nothing_was_told_the_receipt_says_nothing_of_chips(desk: CloudDesk, sky: Sky) -> None:
    desk.until()
    told = json.loads((desk.folder / "result" / "receipt.json").read_bytes())
    assert told["chips"] == {}


def test_what_the_machine_told_stands_in_the_receipt(
    desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    say = sky._say

    def with_speed(node: Any, told: dict[str, Any]) -> None:
        say(node, told)
        if told["kind"] == "metric":
            say(node, {"t": told["t"], **speed(2.0, 0.31)})

    monkeypatch.setattr(sky, "_say", with_speed)
    desk.until()
    told = json.loads((desk.folder / "result" / "receipt.json").read_bytes())
    assert told["chips"] == {"mfu": 0.31}
