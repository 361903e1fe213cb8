"""A few cells of `make chaos`: the desktop killed, the laptop off, the machine hung, faults on the line.

Each is a practice cloud of its own in a process of its own; the cloud's records make the verdict (tools/chaos_cell).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.chaos_cells import matrix, real_cells

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
ROOT = Path(__file__).resolve().parents[2]
CELLS = (
    "killed after say intent/create",
    "killed before say intent-closed/create",
    "killed after say cloud/ready",
    "killed after say deleted",
    "create timed out",
    "create delivered twice",
    "apply-then-fail at training",
    "stockout-at-submit, two zones",
    "preempted 2 times",
    "laptop off from queued",
    "laptop off, vm-hung at boot",
    "extension killed after call stops.set l",
)
LIMIT_S = 560.0


@pytest.mark.parametrize("name", CELLS)
def test_nothing_is_left_nothing_is_twice_and_the_bill_is_right(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "chaos_cell.py"), str(tmp_path / "cell"), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.stdout, done.stderr[-2000:]
    verdict = json.loads(done.stdout.splitlines()[-1])
    log = tmp_path / "cell" / "desktop.log"
    assert verdict["failures"] == [], f"{done.stdout}\n{log.read_text()[-3000:] if log.exists() else done.stderr}"


def test_the_matrix_is_as_large_as_promised() -> None:
    assert len(matrix()) >= 200
    assert len(real_cells()) >= 12
    assert {cell.name for cell in matrix()} >= set(CELLS)
