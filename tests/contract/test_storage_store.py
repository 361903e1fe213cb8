"""Contents and records on disk: never half an object, nothing left over, the same after a restart."""

from __future__ import annotations

import base64
import hashlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import google_crc32c
import pytest

from tpu_studio.practice.storage import apply_lifecycle
from tpu_studio.practice.storage.store import BucketMissing, ObjectStore, UploadEnded

ROOT = Path(__file__).resolve().parents[2]
DAY_S = 86_400.0


class Hand:
    """A clock that stands until it is moved."""

    now = 1_795_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def store(tmp_path: Path, clock: Hand) -> Iterator[ObjectStore]:
    made = ObjectStore(tmp_path, clock)
    made.put_bucket("b", {"name": "b"})
    yield made
    made.close()


def put(store: ObjectStore, name: str, data: bytes) -> None:
    content, digest = store.write(iter([data]))
    store.put("b", name, content, digest.size, {"md5Hash": digest.md5})


def read(store: ObjectStore, name: str) -> bytes:
    found = store.find("b", name)
    assert found is not None
    return b"".join(store.blocks(found))


def breaking() -> Iterator[bytes]:
    yield b"some"
    raise ConnectionError


def contents(folder: Path) -> int:
    return sum(1 for _ in folder.glob("content/*/*"))


def test_checksums_are_those_of_google(store: ObjectStore) -> None:
    _, digest = store.write([b"123", b"456789"])
    assert digest.size == 9
    assert digest.md5 == base64.b64encode(hashlib.md5(b"123456789").digest()).decode()
    assert digest.crc32c == base64.b64encode(0xE3069283.to_bytes(4, "big")).decode()  # the check value of CRC-32C
    assert google_crc32c.value(b"123456789") == 0xE3069283


def test_overwriting_gives_a_higher_generation_and_frees_the_old_content(store: ObjectStore, tmp_path: Path) -> None:
    put(store, "o", b"old")
    before = store.find("b", "o")
    put(store, "o", b"new")
    after = store.find("b", "o")
    assert before is not None and after is not None
    assert after.generation > before.generation
    assert read(store, "o") == b"new"
    assert contents(tmp_path) == 1


def test_an_open_reader_still_sees_the_object_that_it_opened(store: ObjectStore) -> None:
    put(store, "o", b"old")
    found = store.find("b", "o")
    assert found is not None
    file = store.open(found)
    assert file is not None
    put(store, "o", b"new")
    with file:
        assert file.read() == b"old"
    assert store.open(found) is None  # gone: look again


def test_copies_share_one_content_until_the_last_is_deleted(store: ObjectStore, tmp_path: Path) -> None:
    put(store, "o", b"data")
    first = store.find("b", "o")
    assert first is not None
    second = store.put("b", "copy", first.content, first.size, dict(first.facts))
    assert contents(tmp_path) == 1
    store.delete(first)
    assert read(store, "copy") == b"data"
    store.delete(second)
    assert contents(tmp_path) == 0


def test_an_upload_that_breaks_off_leaves_nothing(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        store.write(breaking())
    assert contents(tmp_path) == 0


def test_an_object_for_a_bucket_that_has_gone_is_refused(store: ObjectStore) -> None:
    content, digest = store.write([b"x"])
    store.delete_bucket("b")
    with pytest.raises(BucketMissing):
        store.put("b", "o", content, digest.size, {})


def test_a_transaction_that_fails_changes_nothing(store: ObjectStore) -> None:
    put(store, "o", b"old")
    with pytest.raises(ZeroDivisionError), store.transaction():
        put(store, "o", b"new")
        raise ZeroDivisionError
    assert read(store, "o") == b"old"


def test_generations_never_fall_though_the_clock_does(store: ObjectStore, clock: Hand) -> None:
    put(store, "o", b"1")
    before = store.find("b", "o")
    clock.now -= 3600
    put(store, "o", b"2")
    after = store.find("b", "o")
    assert before is not None and after is not None
    assert after.generation > before.generation


def test_a_resumable_upload_goes_on_after_a_restart_with_the_right_checksums(tmp_path: Path, clock: Hand) -> None:
    store = ObjectStore(tmp_path, clock)
    id = store.begin_upload({"name": "o"})
    with store.growing(id) as growing:
        growing.append([b"123"])
    store.close()

    again = ObjectStore(tmp_path, clock)
    with again.growing(id) as growing:
        assert growing.size == 3
        growing.append([b"456789"])
        assert growing.digest.crc32c == base64.b64encode(0xE3069283.to_bytes(4, "big")).decode()
    again.close()


def test_what_came_of_a_broken_chunk_stays(store: ObjectStore) -> None:
    id = store.begin_upload({})
    with pytest.raises(ConnectionError), store.growing(id) as growing:
        growing.append(breaking())
    with store.growing(id) as growing:
        assert growing.size == 4


def test_uploads_older_than_the_limit_are_forgotten(store: ObjectStore, clock: Hand, tmp_path: Path) -> None:
    id = store.begin_upload({})
    with store.growing(id) as growing:
        growing.append([b"x"])
    clock.now += 7 * DAY_S + 1
    assert store.drop_uploads_before(clock.now - 7 * DAY_S) == 1
    assert store.upload(id) is None
    assert contents(tmp_path) == 0
    with pytest.raises(UploadEnded), store.growing(id):
        pass


def test_lifecycle_deletes_by_age_and_prefix_in_practice_time(store: ObjectStore, clock: Hand) -> None:
    rule = {"action": {"type": "Delete"}, "condition": {"age": 30, "matchesPrefix": ["runs/"]}}
    abort = {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}
    store.put_bucket("b", {"name": "b", "lifecycle": {"rule": [rule, abort]}})
    put(store, "runs/old", b"")
    put(store, "data/old", b"")
    clock.now += 29 * DAY_S
    put(store, "runs/new", b"")
    assert apply_lifecycle(store, clock.now) == 0
    clock.now += DAY_S
    assert apply_lifecycle(store, clock.now) == 1
    assert [one.name for one in store.scan("b")] == ["data/old", "runs/new"]


WRITER = """
import sys, time
from pathlib import Path
from tpu_studio.practice.storage.store import ObjectStore
store = ObjectStore(Path(sys.argv[1]), time.time)
store.put_bucket("b", {"name": "b"})
for number in range(10**9):
    data = bytes([number % 251]) * (100_000 + number)
    content, digest = store.write(iter([data[:50_000], data[50_000:]]))
    store.put("b", f"o{number % 7}", content, digest.size, {"md5Hash": digest.md5})
    print(number, flush=True)
"""


def test_a_server_killed_while_writing_has_whole_objects_and_nothing_besides(tmp_path: Path) -> None:
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for line in writer.stdout:
                if int(line) >= 20:
                    break
            writer.send_signal(signal.SIGKILL)

        store = ObjectStore(tmp_path, lambda: 0.0)
        objects = store.scan("b")
        assert len(objects) == 7
        for one in objects:
            data = b"".join(store.blocks(one))
            assert len(data) == one.size
            assert base64.b64encode(hashlib.md5(data).digest()).decode() == one.facts["md5Hash"]
        assert contents(tmp_path) == 7  # what the kill left over was swept at the start
        store.close()
