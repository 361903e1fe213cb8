"""Compute Engine's machines, the sweep and the shown commands, against the practice cloud; prices against its list."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.contract.sides import LABELS, QUICK, REF, WANTED, side_of, until
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cli.main import main
from tpu_studio.cloud.commands import script
from tpu_studio.cloud.connection import bearer, runner_account, stopper_account
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.prices import live_catalogue
from tpu_studio.cloud.session import Api, session
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.cloud.sweep import Sweep
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.places import reaching
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.workflow.cloudruns.ports import Ref

Start = Callable[..., Practice]
INSTANCE = replace(
    WANTED,
    ref=Ref("ts-digits-k3f7-a1-t1", "us-east5-a", "compute"),
    accelerator="v6e-1",
    runtime="",
    run_s=3600.0,
)


@pytest.mark.parametrize("tier", ["on-demand", "spot", "flex-start"])
def test_an_instance_is_asked_for_found_and_deleted(start_practice: Start, tier: str) -> None:
    practice = start_practice(speed=60)
    side = side_of(practice)
    machines, ref = side.machines["compute"], INSTANCE.ref
    machines.create(replace(INSTANCE, tier=tier))
    ready = until(lambda: machines.look(ref), "ready")
    assert ready is not None and ready.labels == LABELS
    assert ready.created is not None and abs(ready.created - side.clock.now()) < 36_000
    assert [one.ref for one in machines.find(LABELS)] == [ref]
    assert list(machines.find({**LABELS, "install": "another"})) == []
    assert machines.ended(ref) is None
    machines.delete(ref)
    until(lambda: machines.look(ref), "")
    told = machines.ended(ref)
    assert told is not None and told.asked <= told.done
    assert told.done == pytest.approx(practice.cloud.meter.bill()[0]["end"], abs=1.0)
    machines.delete(ref)
    assert list(machines.find(LABELS)) == []


def test_the_platforms_own_operation_tells_when_a_spot_instance_was_taken_back(start_practice: Start) -> None:
    practice = start_practice("preempted:seconds=5", speed=60)
    machines, ref = side_of(practice).machines["compute"], INSTANCE.ref
    machines.create(replace(INSTANCE, tier="spot"))
    until(lambda: machines.look(ref), "ready")
    until(lambda: machines.look(ref), "")
    told = machines.ended(ref)
    assert told is not None and told.asked < told.done
    assert told.done == pytest.approx(practice.cloud.meter.bill()[0]["end"], abs=1.0)


def test_an_insert_with_the_same_request_id_makes_one(start_practice: Start) -> None:
    machines = side_of(start_practice(speed=60)).machines["compute"]
    machines.create(INSTANCE)
    machines.create(INSTANCE)
    assert len(machines.find(LABELS)) == 1
    with pytest.raises(CloudRefused) as raised:
        machines.create(replace(INSTANCE, request_id="00000000-9a53-4f53-8f0b-0e6f2b1f8b11"))
    assert raised.value.id == "exists"


def test_v5e_is_refused_before_anything_is_asked(start_practice: Start) -> None:
    machines = side_of(start_practice()).machines["compute"]
    with pytest.raises(CloudRefused) as raised:
        machines.create(replace(INSTANCE, accelerator="v5litepod-1"))
    assert raised.value.id == "type-not-in-zone"


def test_a_stockout_of_compute_comes_late_and_with_its_reason(start_practice: Start) -> None:
    machines = side_of(start_practice("stockout-in-operation", speed=60)).machines["compute"]
    machines.create(INSTANCE)
    failed = until(lambda: machines.look(INSTANCE.ref), "failed")
    assert failed is not None and failed.error is not None and failed.error[0] == "no-capacity"


def test_a_zone_of_compute_that_does_not_answer_leaves_find_unclear(start_practice: Start) -> None:
    machines = side_of(start_practice("partial-listing:times=0")).machines["compute"]
    with pytest.raises(CloudUnclear):
        machines.find(LABELS)


# ---------------------------------------------------------------------------------------------------------- sweep


def sweep_on(practice: Practice, later_s: float = 0.0) -> Sweep:
    ends, project = Endpoints.at(practice.url), practice.cloud.settings.project
    http = session(bearer(practice.token))
    stops = TaskStops(
        http, ends.tasks, ends.orgpolicy, project, runner_account(project), {"tpu": ends.tpu, "compute": ends.compute}
    )
    side = side_of(practice)
    now = lambda: side.clock.now() + later_s  # noqa: E731
    return Sweep(http, ends, project, side.machines, stops, now, patience=QUICK, sleep=lambda seconds: None)


def test_a_sweep_finds_all_prices_it_and_deletes_only_ours(start_practice: Start) -> None:
    practice = start_practice(speed=60)
    side = side_of(practice)
    tpus, compute = side.machines["tpu"], side.machines["compute"]
    foreign = replace(
        WANTED, ref=Ref("somebody-elses", REF.zone), labels={"team": "x"}, request_id="2" * 8 + WANTED.request_id[8:]
    )
    tpus.create(WANTED)
    tpus.create(foreign)
    compute.create(INSTANCE)
    side.stops.set(REF, "b", [side.clock.now() + 36_000])
    for ref in (REF, foreign.ref):
        until(lambda ref=ref: tpus.look(ref), "ready")  # type: ignore[misc]
    sweeping = sweep_on(practice)

    swept = sweeping.look()

    assert not swept.unclear
    kinds = {(item.kind, item.ours) for item in swept.items}
    assert {
        ("node", True),
        ("node", False),
        ("queued-resource", True),
        ("instance", True),
        ("task", True),
        ("bucket", True),
    } <= kinds
    node = next(item for item in swept.items if item.kind == "node" and item.ours)
    price = catalogue().price("v5e", 1, REF.zone)
    assert price is not None and node.usd_per_hour == pytest.approx(price.usd_per_chip_hour)
    assert node.usd_per_month == pytest.approx(730 * price.usd_per_chip_hour)
    assert (node.name, node.zone, node.run) == (REF.name, REF.zone, "digits-k3f7")
    stop = next(item for item in swept.items if item.kind == "task")
    assert stop.run == "digits-k3f7" and stop.at == float(stop.name.rpartition("-")[2])

    outcome = sweeping.delete(swept.items)

    assert outcome and all(error is None for _, error in outcome)
    left = sweeping.look()
    assert {(item.kind, item.ours) for item in left.items} == {
        ("node", False),
        ("queued-resource", False),
        ("bucket", True),
    }


def test_a_machine_that_cannot_be_deleted_keeps_its_outside_stops(start_practice: Start) -> None:
    practice = start_practice("delete-fails:times=0", speed=60)
    side = side_of(practice)
    side.machines["tpu"].create(WANTED)
    side.stops.set(REF, "b", [side.clock.now() + 36_000])
    until(lambda: side.machines["tpu"].look(REF), "ready")
    sweeping = sweep_on(practice)
    outcome = {item.kind: error for item, error in sweeping.delete(sweeping.look().items)}
    assert outcome["queued-resource"] is not None
    assert outcome["task"] is not None
    assert len(side.stops.of(REF)) == 1


def test_a_zone_that_no_list_shows_is_said_and_its_machine_keeps_its_outside_stops(start_practice: Start) -> None:
    practice = start_practice("partial-listing:times=0", speed=60)  # the lists lack the zone of REF
    side = side_of(practice)
    other = replace(WANTED, ref=Ref("ts-seen-a1-t1", "us-central1-a"), request_id="3" * 8 + WANTED.request_id[8:])
    for wanted in (WANTED, other):
        side.machines["tpu"].create(wanted)
    for ref in (REF, other.ref):
        side.stops.set(ref, "b", [side.clock.now() + 36_000])
    until(lambda: side.machines["tpu"].look(other.ref), "ready")
    sweeping = sweep_on(practice)

    swept = sweeping.look()
    assert {"queued-resource", "node"} <= {kind for kind, _ in swept.unclear}
    assert {item.name for item in swept.items if item.kind == "node"} == {other.ref.name}

    outcome = sweeping.delete(swept.items)

    assert [error.id for _, error in outcome if error is not None] == ["precondition"]
    assert len(side.stops.of(REF)) == 1
    assert not side.stops.of(other.ref)
    assert side.machines["tpu"].look(other.ref) is None


def test_stops_that_were_set_just_now_wait_for_their_machine(start_practice: Start) -> None:
    practice = start_practice()
    stops = side_of(practice).stops
    stops.set(REF, "b", [side_of(practice).clock.now() + 36_000])
    sweeping = sweep_on(practice)
    assert [error.id for _, error in sweeping.delete(sweeping.look().items) if error is not None] == ["precondition"]
    assert len(stops.of(REF)) == 1
    later = sweep_on(practice, 1000.0)
    assert [error for _, error in later.delete(later.look().items)] == [None]
    assert not stops.of(REF)


def test_a_task_in_our_queue_that_calls_something_else_stays(start_practice: Start) -> None:
    practice = start_practice()
    project, ends = practice.cloud.settings.project, Endpoints.at(practice.url)
    target = {"tpu": f"{practice.url}/v2/projects/another#"}
    elsewhere = TaskStops(
        session(bearer(practice.token)), ends.tasks, ends.orgpolicy, project, runner_account(project), target
    )
    elsewhere.set(REF, "b", [side_of(practice).clock.now() + 36_000])
    sweeping = sweep_on(practice)
    outcome = {item.kind: error for item, error in sweeping.delete(sweeping.look().items)}
    assert outcome["task"] is not None and outcome["task"].id == "precondition"


def test_the_verb_tells_and_deletes(
    start_practice: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    practice = start_practice(speed=60)
    settings = practice.cloud.settings
    who = reaching.Reached(
        place="practice",
        credentials=bearer(practice.token),
        project=settings.project,
        region=settings.region,
        bucket=settings.bucket,
        runner=runner_account(settings.project),
        stopper=stopper_account(settings.project),
        endpoints=Endpoints.at(practice.url),
    )
    monkeypatch.setattr(reaching, "reach", lambda place, home: who)
    machines = side_of(practice).machines["tpu"]
    machines.create(WANTED)
    until(lambda: machines.look(REF), "ready")
    assert main(["sweep", "--on", "practice", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {item["kind"] for item in told["items"]} >= {"queued-resource", "bucket"}
    assert set(told["items"][0]) >= {"kind", "name", "zone", "ours", "usd_per_hour", "usd_per_month"}
    hourly = sum(item["usd_per_hour"] for item in told["items"])
    assert told["total"] == told["ours"] == {"usd_per_hour": hourly, "usd_per_month": 730 * hourly, "unknown": 0}
    assert main(["sweep", "--on", "practice"]) == 0
    assert f"All: ${hourly:.4g} an hour" in capsys.readouterr().out
    assert main(["sweep", "--on", "practice", "--json", "--delete"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {(item["kind"], item["outcome"]) for item in told["items"]} == {
        *((item["kind"], "deleted") for item in told["items"] if item["kind"] != "bucket"),
        ("bucket", "kept"),
    }
    assert main(["sweep", "--on", "practice", "--json"]) == 0
    assert [item["kind"] for item in json.loads(capsys.readouterr().out)["items"]] == ["bucket"]


# --------------------------------------------------------------------------------------------------------- prices


def test_live_prices_are_the_price_lists(practice: Practice) -> None:
    known = live_catalogue(Api(practice.url, session(bearer(practice.token)), patience=QUICK), date(2026, 11, 22))
    told = known.price("v5e", 8, "us-west4-a", "spot")
    dated = catalogue().price("v5e", 8, "us-west4-a", "spot")
    assert told is not None and dated is not None
    assert told.usd_per_chip_hour == pytest.approx(dated.usd_per_chip_hour)
    assert (told.source, told.as_of) == ("live", "2026-11-22")
    assert known.price("v5p", 4, "us-south1", "spot") is None  # not in the list: unknown


# ------------------------------------------------------------------------------------------------------- commands


@pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed")
@pytest.mark.slow
def test_the_shown_commands_do_what_a_launch_does(start_practice: Start, tmp_path: Path) -> None:
    practice = start_practice(speed=60)
    side, settings = side_of(practice), practice.cloud.settings
    for key, value in WANTED.metadata.items():
        (tmp_path / f"{REF.name}.{key}").write_text(value)
    (tmp_path / "the bundle.tar.gz").write_bytes(b"bundle")
    uploads = {"the bundle.tar.gz": "runs/digits-k3f7/job/bundle.tar.gz"}
    at = side.clock.now() + 36_000
    text = script(WANTED, settings.project, settings.bucket, uploads, [at], practice.url)
    environment = {
        **tool().environment(tmp_path, practice.url, practice.token, settings.project),
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDTASKS": f"{practice.url}/cloudtasks/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"{practice.url}/",
    }

    done = subprocess.run(
        ["sh", "-c", text],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 0, done.stderr
    ready = until(lambda: side.machines["tpu"].look(REF), "ready")
    assert ready is not None and ready.labels == LABELS
    assert side.mailbox.read("runs/digits-k3f7/job/bundle.tar.gz") == b"bundle"
    assert list(side.stops.of(REF).values()) == [float(round(at))]


def tool() -> Any:
    path = Path(__file__).resolve().parents[2] / "tools" / "gcloud_storage_check.py"
    spec = importlib.util.spec_from_file_location("gcloud_storage_check", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.modules["gcloud_storage_check"] = made
    sys.path.insert(0, os.fspath(path.parent))
    spec.loader.exec_module(made)
    sys.path[:] = before
    return made


def test_a_price_list_in_which_no_tpu_is_made_out_leaves_the_dated_prices(start_practice: Start) -> None:
    """The doubt `price-descriptions`: a catalogue without any price let plans be made that knew none."""
    practice = start_practice()
    practice.cloud.doubts.arm("price-descriptions")
    with pytest.raises(CloudUnclear) as told:
        live_catalogue(Api(practice.url, session(bearer(practice.token)), patience=QUICK), date(2026, 11, 22))
    assert told.value.id == "unreadable-reply"
