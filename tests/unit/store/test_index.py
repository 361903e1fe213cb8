"""Rows of the list of runs: what they count."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.fakes.skies import cloud_plan
from tests.unit.store.conftest import Write
from tpu_studio.store.index import Index
from tpu_studio.wire.claims import create_claim
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.runfolder import write_atomically


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
