"""Some cells of `make chaos`: the desktop killed, the laptop off, the machine hung, faults on the line.

Each is a practice cloud of its own in a process of its own; the cloud's records make the verdict (tools/chaos_judge).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import chaos
from tools.chaos_judge import cost_kind
from tools.chaos_matrix import matrix, real_cells

CELLS = (
    "killed four times around create",
    "create carried out and called failed, laptop off from there",
    "laptop off, vm-hung at boot",
)
MORE = (
    "connection-cut at saving",
    "extension killed after call stops.set l",
    "preempted, killed after call tpu.create#2",
    "killed after say intent/create",
    "killed before say intent-closed/create",
    "killed after say cloud/ready",
    "killed after say deleted",
    "create timed out",
    "create delivered twice",
    "apply-then-fail at training",
    "storage-unavailable at training",
    "signed out for two seconds at training",
    "stockout-at-submit, two zones",
    "preempted 2 times",
    "preempted without notice in time",
    "laptop off from queued",
    "laptop off, delete-fails three times",
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
@pytest.mark.parametrize("names", [CELLS, pytest.param(MORE, marks=pytest.mark.thorough)], ids=["few", "more"])
def test_nothing_is_left_nothing_is_twice_and_the_bill_is_right(tmp_path: Path, names: tuple[str, ...]) -> None:
    cells = {cell.name: cell for cell in matrix()}
    played = chaos.Chaos(tmp_path / "cells", tmp_path / "left", 1.0, False)
    records = played.play_all([cells[name] for name in names], jobs=4)
    wrong = [record for record in records if chaos.failed(record)]
    logs = [log.read_text()[-3000:] for log in (tmp_path / "left").glob("*/desktop.log")]
    assert wrong == [], "\n".join([json.dumps(wrong, indent=1), *logs])
    assert [record["name"] for record in records] == list(names)
    assert all({"twice", "leaked", "cap", "played"} <= set(record["judged"]) for record in records)


def test_the_matrix_is_as_large_as_promised() -> None:
    assert len(matrix()) >= 200
    assert len(real_cells()) >= 12
    assert {cell.name for cell in matrix()} >= {*CELLS, *MORE}


def test_what_fails_is_put_down_to_a_busy_computer_only_when_it_was_busy_and_nothing_was_lost(tmp_path: Path) -> None:
    """The rule by which a cell that failed once is forgiven."""
    cell = matrix()[0]

    def told(kind: str, busy: bool, alone: bool) -> bool:
        played = chaos.Chaos(tmp_path, tmp_path / "left", 1.0, False)
        first = {"name": cell.name, "passed": False, "failures": ["x"], "kinds": {kind: 1}, "load": {"busy": busy}}
        played._one = lambda numbered: {"passed": alone}
        played._again([cell], [first])
        return not chaos.failed(first)

    assert told("unsettled", busy=True, alone=True)
    assert not told("unsettled", busy=False, alone=True)
    assert not told("unsettled", busy=True, alone=False)
    assert not told("twice", busy=True, alone=True)
    assert not told("events", busy=True, alone=True)


def test_a_cost_is_exact_or_held_by_its_range_or_wrong() -> None:
    assert cost_kind(0.0995, 0.0995, 0.0995, 0.1) == "exact"
    assert cost_kind(0.0985, 0.0985, 0.0985, 0.1) == "wrong"  # shown as if it were certain
    assert cost_kind(0.0985, 0.0940, 0.1010, 0.1) == "range"
    assert cost_kind(0.0, 0.0, 1.2, 1.1) == "range"
    assert cost_kind(0.2, 0.11, 0.3, 0.1) == "wrong"


def test_the_table_counts_a_range_as_no_exact_cost() -> None:
    def billed(kind: str, most: float) -> dict[str, Any]:
        return {
            "name": kind,
            "passed": True,
            "seconds": 1.0,
            "billed": 0.1,
            "usd": 0.1,
            "cost": kind,
            "guessed": 0,
            "usd_at_least": 0.09,
            "usd_at_most": most,
            "error_s": 0.0,
            "judged": ["cost"],
        }

    told = chaos.table([billed("exact", 0.1), billed("range", 0.12), billed("range", 0.14), billed("wrong", 0.1)])
    figures = {line[:45].strip(): line[45:].strip() for line in told.splitlines()}
    assert figures["cost shown within 1 % of the bill"] == "1 of 4"
    assert figures["not so, but the range shown holds the bill"] == "2 of 4"
    assert figures["… widest of those ranges, of the bill"] == "50%"
    assert figures["neither"] == "1 of 4"
