"""Data that a later run uses again outlives the bucket's own rules for as long as that run may wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.conftest import caller
from tests.contract.sides import side_of
from tpu_studio.cloud.doctor.repairs import bucket_body
from tpu_studio.practice.main import Practice
from tpu_studio.practice.storage import apply_lifecycle
from tpu_studio.practice.storage.store import ObjectStore
from tpu_studio.wire.errors import CloudRefused

DAY_S = 86_400.0


def pass_days(practice: Practice, days: float) -> None:
    """And the bucket's rules are seen to, as they are each practice hour."""
    practice.cloud.clock._practice += days * DAY_S
    apply_lifecycle(ObjectStore(practice.cloud.settings.objects, practice.cloud.clock.now), practice.cloud.clock.now())


@pytest.fixture
def piece(tmp_path: Path) -> Path:
    path = tmp_path / "piece"
    path.write_bytes(b"the same bytes")
    return path


def test_data_that_is_used_again_is_kept_as_if_it_were_new(practice: Practice, piece: Path) -> None:
    for name in ("data/again", "data/left"):
        side_of(practice).mailbox.upload(piece, name)
    pass_days(practice, 8.0)
    side_of(practice).mailbox.upload(piece, "data/again")
    pass_days(practice, 27.0)
    box = side_of(practice).mailbox
    assert box.stat("data/left") is None
    kept = box.stat("data/again")
    assert kept is not None and box.read("data/again") == b"the same bytes"
    pass_days(practice, 4.0)
    assert box.stat("data/again") is None


def test_the_ready_accounts_bucket_is_made_as_ours_are(practice: Practice) -> None:
    name = practice.cloud.settings.bucket
    made = caller(practice)("GET", f"/storage/v1/b/{name}").body
    ours = bucket_body(name, practice.cloud.settings.region)
    assert {key: made[key] for key in ("lifecycle", "location", "labels")} == {
        key: ours[key] for key in ("lifecycle", "location", "labels")
    }


def test_what_was_brought_today_is_left_as_it_is(practice: Practice, piece: Path) -> None:
    box = side_of(practice).mailbox
    box.upload(piece, "data/new")
    before = box.stat("data/new")
    box.upload(piece, "data/new")
    assert box.renew("data/new") and box.stat("data/new") == before


def test_renewing_says_that_an_object_is_gone(practice: Practice, piece: Path) -> None:
    box = side_of(practice).mailbox
    assert not box.renew("data/absent")
    box.upload(piece, "data/old")
    pass_days(practice, 2.0)
    box = side_of(practice).mailbox
    before = box.stat("data/old")
    assert box.renew("data/old")
    after = box.stat("data/old")
    assert before is not None and after is not None and after.generation != before.generation
    practice.cloud.faults.arm("object-write-refused")
    pass_days(practice, 2.0)
    with pytest.raises(CloudRefused):
        side_of(practice).mailbox.renew("data/old")


def test_of_more_objects_than_are_wanted_the_first_are_listed(practice: Practice) -> None:
    box = side_of(practice).mailbox
    for number in range(5):
        box.write(f"many/{number}", b"x")
    assert [one.name for one in box.list("many/", most=3)] == ["many/0", "many/1", "many/2"]
    assert [one.name for one in box.list("many/", start="many/3", most=9)] == ["many/3", "many/4"]
