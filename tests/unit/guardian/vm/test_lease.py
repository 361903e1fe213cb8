"""An extension on the machine: the bare-shell timer's deadline first, then the lease."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.guardian.vm.cloud import Cloud
from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.config import load
from tpu_studio.trainer.guardian.vm.lease import Lease
from tpu_studio.trainer.guardian.vm.rented import Rented


@pytest.fixture
def rented(cloud: Cloud, tmp_path: Path) -> Rented:
    made = Rented(load(json.dumps(cloud.config())), CloudClock(), tmp_path / "run", 0)
    made.begin(Lease(1_000_000.0, 3600.0))
    return made


def test_a_longer_limit_moves_deadline_and_lease(rented: Rented, tmp_path: Path) -> None:
    deadline = tmp_path / "deadline"
    rented.hold(deadline)
    rented.changed({"verb": "limits", "hours": 2.0})
    assert rented.lease.end == 1_007_200.0
    assert int(deadline.read_text()) == 1_007_200 + 480  # before the first shut-off timer, at + 600


def test_a_deadline_that_cannot_be_written_leaves_the_lease_as_it_was(rented: Rented, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    rented.hold(folder / "deadline")
    (folder / "deadline").unlink()
    folder.rmdir()
    folder.write_bytes(b"")  # a file where the folder was
    with pytest.raises(OSError):
        rented.changed({"verb": "limits", "hours": 2.0})
    assert rented.lease.end == 1_003_600.0
