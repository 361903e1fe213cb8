"""What a machine hears of the bucket's controls, whatever else somebody has laid under their numbers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tpu_studio.trainer.guardian.vm import mailbox as mailboxes
from tpu_studio.trainer.guardian.vm.mailbox import Mailbox
from tpu_studio.trainer.guardian.vm.web import Refused, Reply, TooLong, Unreachable
from tpu_studio.wire.controls import AT_MOST, Controls

STOP = json.dumps({"verb": "stop", "attempt": 1, "keep": True}).encode()


def refused(status: int, words: str) -> Refused:
    return Refused(Reply(status, {}, json.dumps({"error": {"message": words}}).encode()))


class Bucket:
    """The first control is what somebody laid there; the second a person's stop."""

    def __init__(self, first: Exception | bytes) -> None:
        self.first = first

    def read(self, name: str) -> bytes | None:
        number = name.rpartition("/")[2]
        if number != "000001.json":
            return STOP if number == "000002.json" else None
        if isinstance(self.first, Exception):
            raise self.first
        return self.first


def mailbox(run: Path, bucket: Any) -> Mailbox:
    (run / "control").mkdir()
    config = SimpleNamespace(prefix="runs/x/", attempt=1, silence_s=600.0)
    here: dict[str, Any] = {"ledger": None, "speed": lambda: 1.0, "now": lambda: 0.0}
    return Mailbox(cast(Any, bucket), cast(Any, config), run, 0, **here)


@pytest.mark.parametrize(
    "first",
    [
        b"{}",
        TooLong("the answer has more than 33554432 bytes"),
        refused(400, "The target object is encrypted by a customer-supplied encryption key."),
        refused(403, "Permission denied on Cloud KMS key."),
    ],
)
def test_what_nobody_can_read_keeps_no_stop_from_a_machine(tmp_path: Path, first: Exception | bytes) -> None:
    mailbox(tmp_path, Bucket(first)).fetch_controls()
    assert [one.get("verb") for one in Controls(tmp_path, 1).read()][-1:] == ["stop"]


@pytest.mark.parametrize("first", [refused(403, "does not have storage.objects.get access"), Unreachable("no route")])
def test_what_may_be_read_later_is_waited_for(tmp_path: Path, first: Exception) -> None:
    box = mailbox(tmp_path, bucket := Bucket(first))
    with pytest.raises(type(first)):
        box.fetch_controls()
    bucket.first = b"{}"
    box.fetch_controls()
    assert [one.get("verb") for one in Controls(tmp_path, 1).read()][-1:] == ["stop"]


class Endless:
    """A bucket that has a control at every number."""

    def __init__(self) -> None:
        self.asked = 0

    def read(self, name: str) -> bytes:
        self.asked += 1
        return b"{}"


def test_controls_without_end_are_heard_up_to_a_number_and_for_a_time(tmp_path: Path) -> None:
    """A machine read them for hours before its deadline was set."""
    box = mailbox(tmp_path, bucket := Endless())
    box._monotonic = iter(range(10**6)).__next__  # a second passes with each look at the clock
    box.fetch_controls(patience_s=30.0)
    assert bucket.asked < 40
    box.fetch_controls()
    assert bucket.asked == AT_MOST + 1


def test_a_disk_that_is_full_for_a_moment_ends_no_hearing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def full(path: Path, data: bytes) -> bool:
        tried.append(1)
        if len(tried) < 3:
            raise OSError(28, "No space left on device")
        box._over.set()
        return True

    monkeypatch.setattr(mailboxes, "create_once", full)
    monkeypatch.setattr(mailboxes, "Backoff", lambda **_: SimpleNamespace(pause=lambda: 0.0, reset=lambda: None))
    box = mailbox(tmp_path, Bucket(b"{}"))
    box._in()
    assert len(tried) >= 3
