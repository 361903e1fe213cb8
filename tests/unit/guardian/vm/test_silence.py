"""When a machine counts as unable to report: by what the bucket takes, not by what it gives. No machine, a clock of the
test's own; one that is really cut off is in test_crashes.py.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.unit.guardian.vm.cloud import Cloud
from tpu_studio.trainer.guardian.appending import EventsFile
from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.config import load
from tpu_studio.trainer.guardian.vm.mailbox import Mailbox
from tpu_studio.trainer.guardian.vm.rented import Rented
from tpu_studio.trainer.guardian.vm.web import Refused, Reply
from tpu_studio.wire.reasons import Reason

PATIENCE_S = 60.0


class Box:
    """A bucket in memory. *refusal*: what it answers to all that is written; None: it takes it."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.refusal: Reply | None = None
        self.asked = threading.Event()  # for a control
        self.written = threading.Event()  # or refused

    def read(self, name: str) -> bytes | None:
        if "/control/" in name:
            self.asked.set()
        return self.objects.get(name)

    def create(self, name: str, data: bytes) -> bool:
        try:
            if self.refusal is not None:
                raise Refused(self.refusal)
            self.objects[name] = data
            return True
        finally:
            self.written.set()


class Machine:
    """What a guardian has, without the machine."""

    def __init__(self, cloud: Cloud, run: Path) -> None:
        config, clock = load(json.dumps(cloud.config(silence_s=900, attempt=1))), CloudClock()
        self.now_s = 1000.0
        self.bucket = Box()
        bucket = cast(Any, self.bucket)
        self.box = Mailbox(
            bucket, config, run, 1, ledger=None, speed=lambda: 1.0, now=clock.now, monotonic=lambda: self.now_s
        )
        self.rented = Rented(config, clock, run, 1)
        self.rented.mailbox, self.rented.bucket = self.box, bucket
        self._events = EventsFile(run, config.attempt, 1)

    def say(self) -> None:
        """One more event; until the bucket was asked to take it."""
        self.bucket.written.clear()
        self._events.say("notice", id="x", level="info", facts={})
        self.box.hurry()
        assert self.bucket.written.wait(PATIENCE_S)

    def tell(self) -> tuple[Reason, dict[str, Any]] | None:
        """Its verdict when the mailbox has taken note of the last answer."""
        self.box.stop()
        return self.rented.unheard()


@pytest.fixture
def machine(cloud: Cloud, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(cloud, tmp_path / "run")
    made.box.start()
    yield made
    made.box.stop()


def test_a_bucket_that_reads_but_takes_nothing_counts_as_unable_to_report(machine: Machine) -> None:
    machine.bucket.refusal = Reply(403, {}, b"it takes nothing")
    machine.say()
    assert machine.bucket.asked.wait(PATIENCE_S)  # it gives

    machine.now_s += 899
    assert machine.rented.unheard() is None
    machine.now_s += 2
    assert machine.tell() == (Reason.REPORTING_LOST, {"raw": "403 it takes nothing", "silent_s": 901})


def test_a_bucket_that_takes_again_ends_the_silence(cloud: Cloud, machine: Machine) -> None:
    machine.bucket.refusal = Reply(503, {}, b"later")
    machine.say()
    machine.now_s += 901
    assert machine.rented.unheard() is not None

    machine.bucket.refusal = None
    machine.box.hurry()
    cloud.wait(lambda: machine.bucket.objects)
    assert machine.tell() is None


def test_a_bucket_that_is_gone_is_told_apart(machine: Machine) -> None:
    machine.bucket.refusal = Reply(404, {}, b"")
    machine.say()
    machine.now_s += 901
    found = machine.tell()
    assert found is not None
    assert found[0] is Reason.BUCKET_GONE


@pytest.mark.parametrize(("speed", "pause"), [(1.0, 20.0), (20.0, 1.5), (240.0, 1.0)])
def test_a_machine_that_nobody_watches_shows_that_it_lives_in_the_clouds_time(
    cloud: Cloud, tmp_path: Path, speed: float, pause: float
) -> None:
    """So near to its end its last word is, however fast a practice clock runs."""
    config, at = load(json.dumps(cloud.config(silence_s=900, attempt=1))), {"s": 0.0}
    box = Mailbox(
        cast(Any, Box()),
        config,
        tmp_path,
        0,
        ledger=None,
        speed=lambda: speed,
        now=lambda: 0.0,
        monotonic=lambda: at["s"],
    )
    at["s"] = 100_000.0  # long after anybody looked
    assert box._out_pause() == pause
