"""What else a rented run promises, on the practice cloud: any file name, nothing brought twice, one curve over several
machines, slices of several hosts, the platform's own stop, nothing kept that nobody wants.

Machines, guardian, requests and bills are real; the trainer only counts (`tests/fakes/trainer`).
"""

from __future__ import annotations

import struct
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import bases
from tests.fakes.looks import DIGITS, LAPTOP, job
from tests.fakes.making import make_plan
from tests.fakes.presets import decoder
from tests.fakes.waiting import PATIENCE_S
from tests.journeys.test_cloud_run import Desk, desk, practice
from tpu_studio.cloud import presetparts
from tpu_studio.cloud.preparing import Preparation
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.practice.main import Practice
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

__all__ = ["desk", "practice"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
Start = Callable[..., Practice]
Sit = Callable[[Practice], Desk]
COUNTS = ("--steps", "30", "--step-s", "0.02")


def held_at(step: int, until: Path) -> tuple[str, ...]:
    """A trainer that waits at *step* until the file is there."""
    return (*COUNTS, "--save-every", "5", "--at", f"{step}:hold={until}")


def pictures(folder: Path) -> dict[str, bytes]:
    """Two classes of small pictures with the names that people give; name below *folder* → content."""
    made = {}
    for number, name in enumerate(("Äpfel & Birnen 🍎", "grüne Wiese")):
        (folder / name).mkdir(parents=True)
        for picture in range(6):
            path = folder / name / f"Bild für Oma №{picture} 😀 (Kopie).png"
            path.write_bytes(_png(50 + 150 * number + picture))
            made[f"{name}/{path.name}"] = path.read_bytes()
    return made


def _png(grey: int, size: int = 16) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    rows = (b"\0" + bytes([grey]) * size) * size
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def plan_of(**where: object) -> Plan:
    told = job("mlp", "digits", where={"place": "practice", **where}, training={"epochs": 2})
    return make_plan(told, DIGITS, now=time.time(), computer=LAPTOP)


def test_pictures_of_any_name_arrive_whole_and_are_brought_once(practice: Start, desk: Sit, tmp_path: Path) -> None:
    folder, go_on = tmp_path / "Bilder für Übung 🎉", tmp_path / "go-on"
    known = pictures(folder)
    told = parse(
        {
            "name": "Früchte 🍎",
            "model": {"name": "small-cnn"},
            "data": {"kind": "images", "path": str(folder)},
            "training": {"epochs": 1},
            "where": {"place": "practice"},
        }
    )
    plan = make_plan(told, look(told), now=time.time(), computer=LAPTOP)
    here = desk(practice(trainer=held_at(5, go_on)))
    box: Any = here.driver.side(plan).mailbox
    sent = [0]
    box._http.hooks["response"].append(
        lambda reply, **_: sent.__setitem__(0, sent[0] + len(reply.request.body or b"")) if _is_data(reply) else None
    )

    first = here.runs.launch(plan)
    here.until(first, lambda row: row.step >= 4)
    machines = here.practice.cloud.settings.machine_root
    there = {str(path.relative_to(path.parents[1])): path.read_bytes() for path in machines.rglob("data/data/*/*.png")}
    assert there == known
    go_on.touch()
    assert here.until(first).reason == "completed", here.tell(first)
    brought, held = sent[0], box.list("data/")
    assert brought > sum(map(len, known.values()))

    second = here.runs.launch(plan)
    assert here.until(second).reason == "completed", here.tell(second)
    assert (sent[0], box.list("data/")) == (brought, held)

    box.write(held[0].name, b"x" * held[0].size)  # of the same length, and damaged
    Preparation().upload(here.driver.side(plan), plan, second, lambda done, total: None)
    assert [one.md5 for one in box.list("data/")] == [one.md5 for one in held]


def test_the_folder_that_a_model_begins_from_arrives_whole_and_is_brought_once(
    practice: Start, desk: Sit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presetparts, "PART_BYTES", 20_000)
    folder, go_on, tale = decoder("llama", tmp_path), tmp_path / "go-on", tmp_path / "tale.txt"
    (folder / "notes.txt").write_text("mine")
    tale.write_text("".join(f"{number} quick brown foxes jump over the lazy dog.\n" for number in range(900)))
    told = parse(
        {
            "name": "tale",
            "model": {"name": "pretrained-lm", "preset": str(folder)},
            "data": {"kind": "text", "path": str(tale)},
            "where": {"place": "practice"},
        }
    )
    plan = plan_job(Draft(told, look(told)), Sources(SHIPPED), time.time()).plan
    assert not plan.blocking, plan.checks
    here = desk(practice(trainer=held_at(5, go_on)))
    box: Any = here.driver.side(plan).mailbox
    sent = [0]
    box._http.hooks["response"].append(
        lambda reply, **_: sent.__setitem__(0, sent[0] + len(reply.request.body or b"")) if _is_data(reply) else None
    )

    first = here.runs.launch(plan)
    here.until(first, lambda row: row.step >= 4)
    there = {path.name: path for path in here.practice.cloud.settings.machine_root.rglob("preset/*")}
    assert set(there) == set(reading.read(folder).files)
    (on_machine,) = {path.parent for path in there.values()}
    assert reading.read(on_machine).sha256 == plan.preset_sha256
    go_on.touch()
    assert here.until(first).reason == "completed", here.tell(first)
    files = [event for event in here.said(first, 1) if event.kind == "phase" and event.get("detail") == "weights"]
    assert files[-1].get("done_bytes") == sum((folder / name).stat().st_size for name in there)
    brought, held = sent[0], box.list("data/")
    assert brought > plan.preset_bytes > 20_000
    assert {f"gs://{box.bucket}/{one.name}" for one in held} == {
        one["object"] for one in here.receipt(first)["kept_for_other_runs"]
    }

    second = here.runs.launch(plan)
    assert here.until(second).reason == "completed", here.tell(second)
    assert (sent[0], box.list("data/")) == (brought, held)


def test_the_result_of_a_run_that_another_begins_from_arrives_and_nothing_else_of_that_run(
    practice: Start, desk: Sit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "mine"))
    result = bases.run(tmp_path / "mine", bases.card(data=bases.PICTURES | {"input_shape": [8, 8, 1]})) / "result"
    (result / "report.html").write_text("stays here")
    told = job("small-cnn", "digits", model={"preset": f"run:{bases.RUN}"}, where={"place": "practice"})
    plan = plan_job(Draft(told, DIGITS), Sources(SHIPPED), time.time()).plan
    assert not plan.blocking, plan.checks
    go_on = tmp_path / "go-on"
    here = desk(practice(trainer=held_at(5, go_on)))
    run = here.runs.launch(plan)
    here.until(run, lambda row: row.step >= 4)
    there = {path.name: path for path in here.practice.cloud.settings.machine_root.rglob("preset/*")}
    assert set(there) == {"model.json", "model.keras"}
    (on_machine,) = {path.parent for path in there.values()}
    assert reading.read(on_machine).sha256 == plan.preset_sha256
    go_on.touch()
    assert here.until(run).reason == "completed", here.tell(run)


def _is_data(reply: Any) -> bool:
    """Whether it answers an upload of a data object: its name stands in the body's first part."""
    body = reply.request.body
    return "/upload/" in reply.request.url and isinstance(body, bytes) and b'"name": "data/' in body[:2000]


def test_stopped_resumed_and_extended_it_is_one_curve_and_one_bill(practice: Start, desk: Sit, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    here = desk(practice(trainer=held_at(17, go_on)))
    run = here.launch()
    here.until(run, lambda row: row.step >= 16)
    here.runs.stop(run)
    here.until(run, lambda row: any(one.kind == "control" for one in here.said(run, 1)))
    go_on.touch()
    stopped = here.until(run)
    assert stopped.reason == "stopped-by-user", here.tell(run)
    at = here.steps(run, 1)[-1]
    assert 17 <= at < 30

    here.runs.resume(run)
    assert here.until(run).reason == "completed", here.tell(run)
    first = here.steps(run, 2)[0]
    assert at - 5 < first <= at + 1  # one checkpoint interval at most is trained again
    here.runs.extend(run, 1.0)
    row = here.until(run)
    assert (row.reason, row.attempt, row.step) == ("completed", 3, 40), here.tell(run)
    assert here.steps(run, 3) == list(range(31, 41))

    following = here.runs.follow(run)
    following.poll()
    curve = following.curve("loss")
    assert (len(curve), curve.bounds()) == (40, (1.0, 40.0))
    following.close()
    told = here.receipt(run)
    assert [one["attempt"] for one in told["made"]] == [1, 2, 3]
    chips = next(part["usd"] for part in told["parts"] if part["id"] == "chips")
    assert chips == pytest.approx(sum(one["usd"] for one in told["made"]), abs=1e-5)
    assert told["usd"] == pytest.approx(sum(part["usd"] for part in told["parts"]), abs=1e-5)
    here.nothing_is_left(run)


def test_a_slice_of_two_hosts_has_a_guardian_on_each_and_goes_as_one(
    practice: Start, desk: Sit, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"  # real workers wait for each other at every step; these only count
    here = desk(practice(trainer=held_at(5, go_on)))
    run = here.runs.launch(plan_of(accelerator="v5p-16"))
    folder = here.runs.folder(run)
    told = [folder / "events" / f"a0001-w00{worker}.jsonl" for worker in range(2)]
    here.until(run, lambda row: all(path.exists() for path in told))
    go_on.touch()
    row = here.until(run)
    assert row.reason == "completed", here.tell(run)
    assert [one["name"] for one in here.receipt(run)["made"]] == [f"ts-{run}-a1-t1"]
    here.nothing_is_left(run)


@pytest.mark.parametrize(
    "doubts",
    [
        ("shutdown-script", "preempted-metadata=absent"),
        pytest.param(("shutdown-script",), marks=pytest.mark.thorough),
        pytest.param(("preempted-metadata=absent",), marks=pytest.mark.thorough),
        pytest.param(("preempted-metadata=no-etag",), marks=pytest.mark.thorough),
    ],
)
def test_however_a_machine_hears_that_it_is_taken_back_one_interval_is_lost_at_most(
    practice: Start, desk: Sit, tmp_path: Path, doubts: tuple[str, ...]
) -> None:
    go_on = tmp_path / "go-on"  # a busy computer takes longer to bring a copy up than these steps last
    paced = ("--steps", "60", "--step-s", "0.05", "--save-every", "5", "--at", f"19:hold={go_on}")
    cloud = practice("preempted-at-step:step=20", trainer=paced)
    for one in doubts:
        cloud.cloud.doubts.arm(one)
    here = desk(cloud)
    run = here.launch(tier="spot")
    box = here.driver.side(here.runs.plan(run)).mailbox
    here.until(run, lambda row: any(one.name.endswith("15/COMMITTED") for one in box.list(f"runs/{run}/checkpoints/")))
    go_on.touch()
    row = here.until(run)
    assert (row.reason, row.attempt) == ("completed", 2), here.tell(run)
    last, first = here.steps(run, 1)[-1], here.steps(run, 2)[0]
    copies = [event.get("step") for event in here.said(run, 1) if event.kind == "checkpoint"]
    assert first > (copies[-2] if len(copies) > 1 else 0)  # the newest copy, or the one before while it went up
    assert first <= last + 1
    here.nothing_is_left(run)


def test_what_a_machine_has_compiled_the_next_attempt_and_the_next_run_of_the_plan_find(
    practice: Start, desk: Sit, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    paced = (*COUNTS, "--save-every", "5", "--compiles", "--at", f"9:hold={go_on}")
    here = desk(practice("preempted-at-step:step=12", trainer=paced))
    run = here.launch(tier="spot")
    here.until(run, lambda row: bool(notices(here, run, 1, "compiled-carried")))
    go_on.touch()
    row = here.until(run)
    assert (row.reason, row.attempt) == ("completed", 2), here.tell(run)
    assert notices(here, run, 1, "compiled-before") == []
    assert len(notices(here, run, 2, "compiled-before")) == 1, here.tell(run)

    again = here.launch(tier="spot")
    assert here.until(again).reason == "completed", here.tell(again)
    assert len(notices(here, again, 1, "compiled-before")) == 1, here.tell(again)
    assert notices(here, again, 1, "compiled-carried") == []

    other = here.runs.launch(plan_of(accelerator="v5litepod-4"))  # another slice: another program
    assert here.until(other).reason == "completed", here.tell(other)
    assert notices(here, other, 1, "compiled-before") == []

    [facts] = notices(here, run, 1, "compiled-carried")
    box = here.driver.side(here.runs.plan(run)).mailbox
    box.write(facts["object"], b"somebody else's")
    last = here.launch(tier="spot")
    assert here.until(last).reason == "completed", here.tell(last)
    assert notices(here, last, 1, "compiled-before") == []
    assert len(notices(here, last, 1, "compiled-unused")) == 1, here.tell(last)


def notices(here: Desk, run: str, attempt: int, id: str) -> list[dict[str, Any]]:
    """Facts of those with this id that the machine of that attempt has told."""
    try:
        said = here.said(run, attempt)
    except FileNotFoundError:
        return []
    return [event.get("facts") for event in said if event.kind == "notice" and event.get("id") == id]


def test_compute_engine_is_told_to_delete_the_machine_by_itself(practice: Start, desk: Sit, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    here = desk(practice(trainer=held_at(5, go_on)))
    plan = plan_of(accelerator="v6e-1", backend="compute-engine")
    assert "platform" in plan.limits.stops
    run = here.runs.launch(plan)
    here.until(run, lambda row: row.step >= 4)
    [(_, instance)] = here.practice.cloud.db.list("compute-instance")
    scheduling = instance["body"]["scheduling"]
    assert scheduling["instanceTerminationAction"] == "DELETE"
    assert float(scheduling["maxRunDuration"]["seconds"]) >= float(plan.limits.hours) * 3600.0
    go_on.touch()
    assert here.until(run).reason == "completed", here.tell(run)
    assert not [one for one in here.said(run, 1) if one.get("id") == "self-deletion-unproved"]
    assert [one["kind"] for one in here.receipt(run)["made"]] == ["instance"]
    assert here.practice.cloud.db.list("compute-instance") == []


def test_a_flex_start_that_google_lets_wait_no_longer_is_asked_for_anew(practice: Start, desk: Sit) -> None:
    here = desk(practice("stockout-for-ever", speed=600.0))
    plan = plan_of(accelerator="v6e-1", backend="compute-engine", tier="flex-start", zones=["us-east5-a"])
    assert (plan.limits.wait_hours, plan.limits.wait_hours_away) == (4.0, 2.0)
    run = here.runs.launch(plan)
    here.until(run, lambda row: any(one.number == 2 and one.outcome for one in here.driver.state(run).machines))
    first, second = here.driver.state(run).machines
    assert (first.leaving, second.ref.name) == ("waited-out", f"ts-{run}-a1-t2")
    assert first.gone is not None and first.gone <= second.asked  # proved absent before the next one was asked for
    assert first.gone - first.asked >= 7200 - 600  # a second or so of a busy computer's
    assert first.stops and first.stops_removed and second.stops and not second.stops_removed
    assert first.created is None

    here.runs.stop(run)
    row = here.until(run)
    assert row.reason == "stopped-by-user", here.tell(run)
    assert here.billed() == 0.0
    assert [one["usd"] for one in here.receipt(run)["made"]] in ([], [0.0], [0.0, 0.0])
    assert here.practice.cloud.db.list("compute-instance") == []


def test_laptop_off_and_the_machine_hangs_the_platform_deletes_it(practice: Start, desk: Sit) -> None:
    here = desk(practice("vm-hung", speed=300.0))
    plan = plan_of(accelerator="v6e-1", backend="compute-engine")
    limits = replace(plan.limits, hours=0.05, without_outside_stop=True)
    run = here.runs.launch(replace(plan, limits=limits))
    cloud = here.practice.cloud
    here.until(run, lambda row: bool(cloud.db.list("compute-instance")))
    here.die()
    give_up = time.monotonic() + PATIENCE_S
    while cloud.db.list("compute-instance") and time.monotonic() < give_up:
        time.sleep(0.1)
    assert cloud.db.list("compute-instance") == []
    [line] = [line for line in cloud.meter.bill() if f"ts-{run}" in str(line["name"])]
    most_s = 0.05 * 3600 + 1200 + 30 + 60  # limit, start, notice; and a second or so of a busy computer's
    assert line["seconds"] < most_s + 5 * 300
    here.start()
    assert here.until(run).settled
    assert here.journal.open_intents() == []


def test_discarded_it_leaves_no_copy_in_the_bucket(practice: Start, desk: Sit) -> None:
    here = desk(practice(trainer=("--steps", "5000", "--step-s", "0.1", "--save-every", "5")))
    run = here.launch()
    box = here.driver.side(here.runs.plan(run)).mailbox
    here.until(run, lambda row: bool(box.list(f"runs/{run}/checkpoints/")))
    here.runs.stop(run, keep=False)
    assert here.until(run).reason == "discarded", here.tell(run)
    assert box.list(f"runs/{run}/checkpoints/") == []
    told = here.receipt(run)
    assert 0 < told["kept_bytes"] < 10_000_000
    assert 0.0 < told["kept_usd_per_month"] < 0.01
    here.nothing_is_left(run)
