"""An extension on the machine: the bare-shell timer's deadline first, then the lease."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.guardian.vm.cloud import Cloud
from tpu_studio.domain.sentences import say_notice
from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.config import load
from tpu_studio.trainer.guardian.vm.lease import Lease
from tpu_studio.trainer.guardian.vm.rented import Rented
from tpu_studio.wire import controls

KEY = "ab" * 32


def asked(number: int, key: str = KEY, **limits: float) -> dict[str, object]:
    record: dict[str, object] = {"verb": "limits", **limits, "asked": number}
    return {**record, "seal": controls.seal(key, "r1", record), "number": 9, "t": 1.0}


@pytest.fixture
def rented(cloud: Cloud, tmp_path: Path) -> Rented:
    config = cloud.config(limits_key=KEY, run="r1")
    made = Rented(load(json.dumps(config)), CloudClock(), tmp_path / "run", 0)
    made.begin(Lease(1_000_000.0, 3600.0))
    return made


def test_a_longer_limit_moves_deadline_and_lease(rented: Rented, tmp_path: Path) -> None:
    deadline = tmp_path / "deadline"
    rented.hold(deadline)
    rented.changed(asked(1, hours=2.0))
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
        rented.changed(asked(1, hours=2.0))
    assert rented.lease.end == 1_003_600.0


@pytest.mark.parametrize(
    "raised",
    [
        {"verb": "limits", "hours": 600.0, "money_usd": 900_000.0},
        asked(1, key="cd" * 32, hours=600.0),
        {**asked(1, hours=1.0), "hours": 600.0},
        {**asked(1, hours=600.0), "seal": ["x"]},
    ],
    ids=["bare", "another key", "another figure", "odd"],
)
def test_nobody_but_the_computer_that_rented_it_raises_a_limit(
    rented: Rented, tmp_path: Path, raised: dict[str, object]
) -> None:
    """One file in the bucket kept a machine of twelve seconds for six hundred hours."""
    rented.begin(Lease(1_000_000.0, 3600.0, usd_per_hour=1.0, money_usd=5.0))
    rented.hold(tmp_path / "deadline")
    before = rented.lease
    for _ in range(3):
        rented.changed(raised)
    assert rented.lease == before and int((tmp_path / "deadline").read_text()) == 1_003_600 + 480
    assert [one["id"] for one in rented.notices()] == ["limits-not-raised"]
    assert say_notice("limits-not-raised", {}).action
    rented.changed(asked(1, hours=3.0))
    assert rented.lease.end == 1_010_800.0 and rented.notices() == []


def test_anybody_may_end_it_sooner_and_what_was_heard_is_not_heard_again(rented: Rented) -> None:
    rented.changed(asked(2, hours=3.0))
    rented.changed(asked(1, hours=0.1))  # laid behind it under another number: an older word
    assert rented.lease.end == 1_010_800.0
    rented.changed({"verb": "limits", "hours": 0.5})
    assert rented.lease.end == 1_001_800.0
    rented.changed(asked(2, hours=3.0))
    assert rented.lease.end == 1_001_800.0
