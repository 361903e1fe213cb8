"""Our client of buckets against the practice cloud, faults of the line included."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google.auth.credentials
import pytest

from tests.contract.sides import QUICK, side_of
from tpu_studio.cloud.mailbox import BucketMailbox
from tpu_studio.cloud.session import session
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.sizes import TooLarge
from tpu_studio.workflow.cloudruns.ports import CloudSide

Start = Callable[..., Practice]


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


def test_a_file_larger_than_it_may_be_is_not_downloaded(side: CloudSide, tmp_path: Path) -> None:
    (tmp_path / "up").write_bytes(bytes(1000))
    side.mailbox.upload(tmp_path / "up", "data/x.tar")
    with pytest.raises(TooLarge):
        side.mailbox.download("data/x.tar", tmp_path / "deep" / "down", at_most=999)
    assert not (tmp_path / "deep").exists()
    side.mailbox.download("data/x.tar", tmp_path / "down", at_most=1000)
    assert (tmp_path / "down").stat().st_size == 1000


def test_an_object_that_is_another_one_by_the_time_it_is_fetched_is_never_kept_in_part(
    side: CloudSide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced between the question what it is and the bytes: its generation is gone, and the first file stays."""
    box: Any = side.mailbox
    (tmp_path / "down").write_bytes(b"of before")
    for after in (b"twice as long as the first", b"x"):
        box.write("runs/a/result/model", b"the first one")
        fetch = type(box)._fetch

        def replaced(self: Any, name: str, *rest: Any, after: bytes = after, fetch: Any = fetch) -> None:
            box.write(name, after)
            fetch(self, name, *rest)

        with monkeypatch.context() as patch, pytest.raises(CloudRefused) as refused:
            patch.setattr(type(box), "_fetch", replaced)
            box.download("runs/a/result/model", tmp_path / "down")
        assert refused.value.id == "not-found"
        assert (tmp_path / "down").read_bytes() == b"of before"
        assert sorted(one.name for one in tmp_path.iterdir() if one.name != "practice") == ["down"]
        box.download("runs/a/result/model", tmp_path / "down")
        assert (tmp_path / "down").read_bytes() == after
        (tmp_path / "down").write_bytes(b"of before")


def test_a_file_that_is_not_there_is_refused(side: CloudSide, tmp_path: Path) -> None:
    with pytest.raises(CloudRefused) as raised:
        side.mailbox.download("runs/a/nothing", tmp_path / "x")
    assert raised.value.id == "not-found"
    assert not (tmp_path / "x").exists()


def test_a_write_whose_answer_is_lost_counts_once(start_practice: Start, tmp_path: Path) -> None:
    practice = start_practice()
    box, lost = side_of(practice).mailbox, r"apply-then-fail:match=^POST .*/upload/"
    practice.cloud.faults.arm_text(lost)
    assert box.create("runs/a/x", b"one")
    first = box.stat("runs/a/x")
    assert first is not None
    practice.cloud.faults.arm_text(lost)
    second = box.write("runs/a/x", b"two", generation=first.generation)
    assert second is not None and box.read("runs/a/x") == b"two"
    practice.cloud.faults.arm_text(lost)
    (tmp_path / "up").write_bytes(b"file")
    box.upload(tmp_path / "up", "data/f")
    assert box.read("data/f") == b"file"


def test_a_bucket_that_is_busy_is_asked_again_and_one_that_refuses_is_told(start_practice: Start) -> None:
    practice = start_practice("storage-unavailable:times=2")
    box = side_of(practice).mailbox
    assert box.create("runs/a/x", b"one") and box.read("runs/a/x") == b"one"
    practice.cloud.faults.arm_text("object-write-refused")
    with pytest.raises(CloudRefused) as raised:
        box.create("runs/a/y", b"two")
    assert raised.value.id == "permission-missing"
    assert box.read("runs/a/x") == b"one"
    practice.cloud.faults.arm_text("bucket-gone")
    for call in (lambda: box.list("runs/"), lambda: box.create("runs/a/z", b"")):
        with pytest.raises(CloudRefused) as raised:
            call()
        assert raised.value.id == "not-found"


def test_what_arrives_damaged_is_asked_for_again(side: CloudSide) -> None:
    box: Any = side.mailbox
    box.create("runs/a/x", b"one")
    replies: list[int] = []

    def damage(reply: Any, **_: Any) -> None:
        replies.append(reply.status_code)
        if len(replies) == 1:
            reply.headers["X-Goog-Hash"] = "crc32c=AAAAAA==,md5=x"

    box._http.hooks["response"].append(damage)
    assert box.read("runs/a/x") == b"one"
    assert replies == [200, 200]


def test_a_token_that_has_run_out_is_made_anew_while_reading(practice: Practice) -> None:
    class RunOut(google.auth.credentials.Credentials):
        def refresh(self, request: Any) -> None:
            self.token = practice.token

    credentials = RunOut()
    credentials.token = "old"
    settings = practice.cloud.settings
    box = BucketMailbox(session(credentials), practice.url, settings.project, settings.bucket, patience=QUICK)
    assert box.read("runs/a/x") is None
    side_of(practice).mailbox.create("runs/a/x", b"one")
    credentials.token = "old"
    assert box.read("runs/a/x", start=1) == b"ne"
