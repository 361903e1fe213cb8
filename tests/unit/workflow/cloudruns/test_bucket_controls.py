"""Control files that somebody else lays into a run's bucket: they fill no disk and hold up no turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk
from tests.fakes.skies import Sky
from tpu_studio.wire.controls import AT_MOST, Controls, send
from tpu_studio.workflow.cloudruns import believed, bucketcontrols
from tpu_studio.workflow.cloudruns.mirror import Mirror
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs

PREFIX = f"runs/{RUN}/control/"


@pytest.fixture
def mirror(tmp_path: Path, sky: Sky) -> Mirror:
    (tmp_path / RUN).mkdir()
    return Mirror(tmp_path / RUN, "aaaaaaaa", sky.side().mailbox)


def names_here(mirror: Mirror) -> list[str]:
    return sorted(path.name for path in (mirror.folder / "control").glob("*"))


def put(sky: Sky, number: int, data: bytes = b'{"verb":"profile"}') -> None:
    sky._put(f"{PREFIX}{number:06d}.json", data)


def test_a_control_of_megabytes_asks_for_nothing_and_is_not_kept_and_that_is_told(mirror: Mirror, sky: Sky) -> None:
    put(sky, 1, b'{"verb":"limits","hours":1,"x":"' + b"a" * 5_000_000 + b'"}')
    put(sky, 2, b'{"verb":"stop","attempt":1}')
    assert [one["verb"] for one in mirror.controls.offered(here=True)] == ["unreadable", "stop"]
    mirror.controls.pull()
    mirror.controls.push()
    again = Mirror(mirror.folder, "aaaaaaaa", sky.side().mailbox)
    again.controls.push()
    sizes = [path.stat().st_size for path in sorted((mirror.folder / "control").glob("*"))]
    assert sizes == [0, 27] and mirror.left_out == {"control"}
    assert [one["verb"] for one in Controls(mirror.folder, 1).read()] == ["unreadable", "stop"]


def test_of_controls_without_end_so_many_come_as_a_person_could_ask_for(
    mirror: Mirror, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucketcontrols, "AT_MOST", 5)
    for number in range(1, 5):
        put(sky, number)
    mirror.controls.pull()
    assert len(names_here(mirror)) == 4 and mirror.left_out == set()
    for number in range(5, 40):
        put(sky, number)
    mirror.controls.pull()
    assert len(names_here(mirror)) == 5 and mirror.left_out == {"control"}
    assert len(mirror.controls.offered(here=False)) == 5


def test_what_is_asked_for_here_stays_here_where_others_have_taken_every_number(
    mirror: Mirror, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucketcontrols, "AT_MOST", 5)
    send(mirror.folder, {"verb": "stop", "attempt": 1, "keep": True})
    for number in range(1, 40):
        put(sky, number)
    for _ in range(3):
        mirror.controls.push()
        mirror.controls.pull()
    assert [one["verb"] for one in Controls(mirror.folder, 1).read()] == [*["profile"] * 5, "stop"]
    assert mirror.left_out == {"control"}
    assert not mirror.controls.send({"verb": "stop", "attempt": 1})


def test_a_number_far_away_leads_no_order_of_a_person_to_where_nobody_reads(mirror: Mirror, sky: Sky) -> None:
    put(sky, 900)
    mirror.controls.pull()
    assert send(mirror.folder, {"verb": "stop", "attempt": 1}) == 1
    mirror.controls.push()
    assert mirror.controls.send({"verb": "profile", "attempt": 1})
    assert json.loads(sky.objects[f"{PREFIX}000001.json"][0])["verb"] == "stop"
    assert json.loads(sky.objects[f"{PREFIX}000002.json"][0])["verb"] == "profile"


def stops_there(sky: Sky) -> list[int]:
    names = sorted(name for name in sky.objects if name.startswith(PREFIX) and b'"stop"' in sky.objects[name][0])
    return [int(name.removeprefix(PREFIX).removesuffix(".json")) for name in names]


def test_a_stop_goes_out_at_once_where_others_have_taken_a_thousand_numbers(
    mirror: Mirror, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for number in (*range(1, 301), *range(302, 1_101)):
        put(sky, number)
    send(mirror.folder, {"verb": "extend", "epochs": 3})
    send(mirror.folder, {"verb": "stop", "attempt": 1, "keep": True})
    monkeypatch.setattr(sky, "hook", lambda name, done: calls.append(name))
    mirror.controls.push()
    assert stops_there(sky) == [301]
    assert len(calls) <= 5 * bucketcontrols.A_PUSH and len(names_here(mirror)) <= 2 + bucketcontrols.A_PUSH
    for _ in range(1_000 // bucketcontrols.A_PUSH):
        mirror.controls.push()
    here = Controls(mirror.folder, 1).read()
    assert {one["verb"] for one in here} == {"profile", "stop", "extend"}
    assert [one["epochs"] for one in here if one["verb"] == "extend"] == [3]
    assert here[300]["verb"] == "stop" and stops_there(sky) == [301]


def test_objects_without_end_in_a_bucket_hold_up_no_stop(
    mirror: Mirror, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million of them are a thousand pages, each turn, before anything is decided."""
    for number in range(1, 22):
        put(sky, number)
    for number in range(3_000):
        sky._put(f"{PREFIX}000000x{number}", b"{}")
        sky._put(f"{PREFIX}000005x{number}", b"{}")
    listed: list[int] = []
    box = type(sky.side().mailbox)
    real = box.list

    def seen(self: object, prefix: str, **more: Any) -> Any:
        found = real(self, prefix, **more)
        listed.append(len(found))
        return found

    monkeypatch.setattr(box, "list", seen)
    send(mirror.folder, {"verb": "stop", "attempt": 1, "keep": True})
    mirror.controls.push()
    assert len(stops_there(sky)) == 1 and max(listed) <= AT_MOST + 1


@pytest.mark.parametrize("written", [False, True])
def test_an_order_that_makes_way_for_anothers_is_not_lost_by_a_kill_nor_asked_for_twice(
    mirror: Mirror, sky: Sky, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    put(sky, 1)
    send(mirror.folder, {"verb": "extend", "epochs": 3})
    whole = bucketcontrols.write_inside

    def killed(root: Path, path: Path, data: bytes) -> None:
        if written:
            whole(root, path, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(bucketcontrols, "write_inside", killed)
    with pytest.raises(KeyboardInterrupt):
        mirror.controls.push()
    monkeypatch.setattr(bucketcontrols, "write_inside", whole)
    Mirror(mirror.folder, "aaaaaaaa", sky.side().mailbox).controls.push()
    assert [one["verb"] for one in Controls(mirror.folder).read()] == ["profile", "extend"]
    assert b"extend" in sky.objects[f"{PREFIX}000002.json"][0]


def theirs_to_discard(desk: CloudDesk, sky: Sky) -> None:
    desk.turn()
    there = [name for name in sky.objects if name.startswith(PREFIX)]
    put(sky, len(there) + 1, b'{"verb":"stop","keep":false,"attempt":1}')
    desk.turn()


@pytest.mark.parametrize(
    ("asked", "ends"),
    [
        (["keep", "theirs"], "stopped-keep"),
        (["theirs", "keep"], "stopped-keep"),
        (["keep", "theirs", "theirs"], "stopped-keep"),
        (["keep", "discard"], "stopped-discard"),
        (["theirs"], "stopped-discard"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else value,
)
def test_a_stop_of_others_does_not_discard_the_model_where_i_asked_to_keep_it(
    desk: CloudDesk, sky: Sky, asked: list[str], ends: str
) -> None:
    while not sky.nodes or desk.state.machine is None or desk.state.machine.ready is None:
        desk.turn()
    sky.hang()
    for one in asked:
        theirs_to_discard(desk, sky) if one == "theirs" else desk.stop(keep=one == "keep")
    desk.turn()
    desk.die()
    desk.start()
    desk.until()
    assert sky.nodes == {} and [told.get("why") for told in desk.said("leaving")] == [ends]


def test_the_verb_stop_is_one_that_was_asked_for_here(desk: CloudDesk) -> None:
    CloudVerbs(desk.home, desk.driver, desk.journal).stop(desk.folder, keep=True)
    send(desk.folder, {"verb": "stop", "keep": False, "attempt": desk.state.attempt})
    assert [one["keep"] for one in believed.stops(desk.folder, 1)] == [True]


@pytest.mark.parametrize("mine", [True, False])
def test_nor_are_its_copies_deleted_where_the_machine_obeyed_that(desk: CloudDesk, sky: Sky, mine: bool) -> None:
    copies = f"runs/{RUN}/checkpoints/"
    while not any(name.startswith(copies) for name in sky.objects):
        desk.turn()
    if mine:
        desk.stop(keep=True)
    put(sky, 1, b'{"verb":"stop","keep":false,"attempt":1}')
    desk.until()
    told = [held[0] for name, held in sky.objects.items() if name.startswith(f"runs/{RUN}/events/a0001-w000/")]
    assert any(b'"discarded"' in one for one in told)
    assert any(name.startswith(copies) for name in sky.objects) == mine
