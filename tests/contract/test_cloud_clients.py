"""Our clients of Google against the practice cloud: the ports of `workflow.cloudruns`, faults of the line included."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.cloud.connection import practice_side
from tpu_studio.cloud.session import Patience
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut
from tpu_studio.workflow.cloudruns.ports import CloudSide, Ref, Wanted

Start = Callable[..., Practice]
QUICK = Patience(sleep=lambda seconds: None)
REF = Ref("ts-digits-k3f7-a1-t1", "us-west4-a")


def side_of(practice: Practice, token: str = "") -> CloudSide:
    settings = practice.cloud.settings
    return practice_side(practice.url, token or practice.token, settings.project, settings.bucket, patience=QUICK)


@pytest.fixture
def side(practice: Practice) -> CloudSide:
    return side_of(practice)


# -------------------------------------------------------------------------------------------------------- mailbox


def test_an_object_is_created_once(side: CloudSide) -> None:
    box = side.mailbox
    assert box.create("runs/a/claims/a0001.json", b"one")
    assert box.create("runs/a/claims/a0001.json", b"one")  # ours, told twice
    assert not box.create("runs/a/claims/a0001.json", b"two")
    assert box.read("runs/a/claims/a0001.json") == b"one"


def test_a_swap_is_lost_when_another_was_first(side: CloudSide) -> None:
    box = side.mailbox
    first = box.write("runs/a/owner.json", b"1")
    second = box.write("runs/a/owner.json", b"2", generation=first)
    assert second is not None and second != first
    assert box.write("runs/a/owner.json", b"3", generation=first) is None
    assert box.write("runs/a/owner.json", b"2", generation=first) == second  # a repeat whose first try got through
    assert box.read("runs/a/owner.json") == b"2"


def test_reading_goes_on_from_where_it_ended(side: CloudSide) -> None:
    box = side.mailbox
    box.create("runs/a/x", b"0123456789")
    assert box.read("runs/a/x", start=4) == b"456789"
    assert box.read("runs/a/x", start=10) == b""
    assert box.read("runs/a/nothing") is None
    assert box.stat("runs/a/nothing") is None
    stored = box.stat("runs/a/x")
    assert stored is not None and (stored.size, len(stored.md5)) == (10, 32)


def test_names_are_listed_in_order_from_a_start_on(side: CloudSide) -> None:
    box = side.mailbox
    for offset in (0, 25, 117):
        box.create(f"runs/a/events/a0001-w000/{offset:012d}.jsonl", b"{}\n")
    box.create("runs/b/other", b"")
    listed = box.list("runs/a/events/", start=f"runs/a/events/a0001-w000/{25:012d}.jsonl")
    assert [one.name[-18:-6] for one in listed] == [f"{25:012d}", f"{117:012d}"]
    box.delete([one.name for one in box.list("runs/a/")] + ["runs/a/never-was"])
    assert list(box.list("runs/a/")) == []
    assert len(box.list("runs/")) == 1


def test_a_large_file_goes_up_and_down_whole_and_is_not_sent_twice(side: CloudSide, tmp_path: Path) -> None:
    data = os.urandom(1000) * 20_000  # 20 MB: three chunks
    (tmp_path / "up").write_bytes(data)
    told: list[tuple[int, int]] = []
    side.mailbox.upload(tmp_path / "up", "data/x.tar", lambda done, total: told.append((done, total)))
    assert told[-1] == (len(data), len(data)) and len(told) > 3
    generation = side.mailbox.stat("data/x.tar")
    side.mailbox.upload(tmp_path / "up", "data/x.tar")
    assert side.mailbox.stat("data/x.tar") == generation
    side.mailbox.download("data/x.tar", tmp_path / "deep" / "down")
    assert (tmp_path / "deep" / "down").read_bytes() == data
    assert [one.name for one in (tmp_path / "deep").iterdir()] == ["down"]


def test_a_transfer_can_be_cancelled_and_leaves_nothing_behind(side: CloudSide, tmp_path: Path) -> None:
    (tmp_path / "up").write_bytes(bytes(20_000_000))

    def stop(done: int, total: int) -> None:
        if done > 0:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        side.mailbox.upload(tmp_path / "up", "data/x.tar", stop)
    assert side.mailbox.stat("data/x.tar") is None
    side.mailbox.upload(tmp_path / "up", "data/x.tar")
    with pytest.raises(InterruptedError):
        side.mailbox.download("data/x.tar", tmp_path / "down", stop)
    assert [one.name for one in tmp_path.iterdir() if one.name != "practice"] == ["up"]


def test_a_file_that_is_not_there_is_refused(side: CloudSide, tmp_path: Path) -> None:
    with pytest.raises(CloudRefused) as raised:
        side.mailbox.download("runs/a/nothing", tmp_path / "x")
    assert raised.value.id == "not-found"
    assert not (tmp_path / "x").exists()


# ---------------------------------------------------------------------------------------------------------- stops


def test_outside_stops_are_set_read_back_and_removed(side: CloudSide) -> None:
    at = [side.clock.now() + 3600 + 600 * n for n in range(3)]
    names = side.stops.set(REF, "b", at)
    assert len(names) == 3
    assert dict(side.stops.of(REF)) == {name: float(round(when)) for name, when in zip(names, at, strict=True)}
    assert [name.rpartition("/")[2] for name in names] == [
        f"{REF.name}-b-{n}-{round(when)}" for n, when in zip((1, 2, 3), at, strict=True)
    ]
    assert dict(side.stops.of(replace(REF, name="ts-digits-k3f7-a1-t11"))) == {}
    side.stops.remove([*names, names[0]])
    assert dict(side.stops.of(REF)) == {}


def test_a_name_is_never_used_twice(side: CloudSide) -> None:
    at = [side.clock.now() + 3600]
    first = side.stops.set(REF, "l", at)
    side.stops.remove(first)
    second = side.stops.set(REF, "l", at)
    assert not set(first) & set(second)


def test_no_stops_stand_where_there_is_no_queue(side: CloudSide) -> None:
    assert dict(side.stops.of(Ref("ts-x-a1-t1", "europe-west4-b"))) == {}


# ---------------------------------------------------------------------------------------------------------- clock


def test_the_clock_is_the_clouds(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    side = side_of(practice)
    assert side.speed == 60
    assert abs(side.clock.now() - practice.cloud.clock.now()) < 120  # two practice minutes: 2 s


# ------------------------------------------------------------------------------------------------------- security


def test_a_wrong_token_is_signed_out_and_told_nowhere(practice: Practice) -> None:
    secret = "planted-secret-9f8e7d6c"
    side = side_of(practice, secret)
    for call in (
        lambda: side.mailbox.read("runs/a/x"),
        lambda: side.stops.of(REF),
    ):
        with pytest.raises(SignedOut) as raised:
            call()
        told = str(raised.value) + repr(raised.value) + json.dumps(raised.value.to_json()) + repr(side)
        assert secret not in told
        assert raised.value.__cause__ is None


_ = (time, CloudUnclear, Wanted, Any)
