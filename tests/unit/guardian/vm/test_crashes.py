"""Killed at any instant, cut off at any call: nothing is lost, nothing is there twice, and it still deletes itself."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.unit.guardian.vm.cloud import BUCKET, NAME, PREFIX, TOKEN, Cloud, Vm
from tpu_studio.wire.runfolder import events_file

Machine = Callable[..., Vm]


def curve(cloud: Cloud, *attempts: int) -> list[int]:
    """Steps as a reader draws them: a resume takes back what comes after its step."""
    drawn: list[int] = []
    for attempt in attempts or (1,):
        for event in cloud.events(attempt):
            if event["kind"] == "resume":
                drawn = [step for step in drawn if step <= event["step"]]
            elif event["kind"] == "metric":
                drawn += event["step"]
    return drawn


@pytest.mark.parametrize("seed", range(4))
def test_the_guardian_killed_at_random_instants(cloud: Cloud, machine: Machine, seed: int) -> None:
    chance = random.Random(seed)
    cloud.config()
    vm = machine("--steps 50 --step-s 0.01")
    for _ in range(4):
        vm.boot()
        calls = len(cloud.calls) + chance.randrange(3, 45)
        cloud.wait(lambda calls=calls: len(cloud.calls) >= calls or vm.forced())
        vm.kill()
    vm.boot().to_its_deletion()
    assert curve(cloud) == list(range(1, 51))
    assert [event["reason"] for event in cloud.said("end")] == ["completed"]
    assert cloud.events()[-1]["kind"] == "end"
    assert f"{PREFIX}result/model.keras" in cloud.objects
    assert len([name for name in cloud.tasks if "-l-" in name]) == 27


def test_a_claim_cut_off_amid_its_sending_is_no_claim(cloud: Cloud, machine: Machine) -> None:
    """Nothing is stored of half a request: a machine that is started again makes its claim, and waits for nobody's."""
    cloud.config()
    claim = f"{PREFIX}claims/a0001.json"
    with socket.create_connection(("127.0.0.1", urlsplit(cloud.url).port or 0)) as killed:
        head = f"POST /upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={quote(claim, safe='')}&ifGenerationMatch=0"
        killed.sendall(f"{head} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n".encode())
        killed.sendall(b"Content-Length: 90\r\n\r\n")
    machine("--steps 3").boot().to_its_deletion()
    assert json.loads(cloud.objects[claim])["name"] == NAME


@pytest.mark.parametrize("claim", [b"", b"{", b"[]"])
def test_a_claim_that_says_no_name_is_somebody_elses(cloud: Cloud, machine: Machine, claim: bytes) -> None:
    cloud.config()
    cloud.objects[f"{PREFIX}claims/a0001.json"] = claim
    vm = machine()
    vm.boot().to_its_deletion()
    assert "attempt 1 belongs to unreadable" in vm.log
    assert cloud.events() == []


def test_a_worker_of_a_slice_that_is_started_again_ends_the_run_and_trains_no_more(
    cloud: Cloud, machine: Machine
) -> None:
    cloud.config(workers=2)
    cloud.metadata["worker-network-endpoints"] = "a:1:127.0.0.1,b:2:127.0.0.1"
    vm = machine("--steps 100000 --step-s 0.01").boot()
    cloud.wait(lambda: cloud.said("metric"))
    vm.kill()
    vm.boot().to_its_deletion()
    last = cloud.events()[-1]
    assert (last["kind"], last["status"], last["reason"]) == ("end", "failed", "worker-lost")


@pytest.mark.parametrize("what", ["cut", "apply-then-cut", 503, 429])
def test_calls_that_are_cut_off_or_refused_for_a_while(cloud: Cloud, machine: Machine, what: object) -> None:
    chance = random.Random(7)
    cloud.speed = 10.0  # a refusal is asked about again after 15 seconds
    cloud.config()
    asked = []

    def rule(method: str, path: str) -> object:
        if "/computeMetadata/" in path or "queuedResources" in path:
            return None
        asked.append(path)
        return what if chance.random() < 0.3 else None

    cloud.rules.append(rule)  # type: ignore[arg-type]
    machine("--steps 40 --step-s 0.02").boot().to_its_deletion()  # how long it pauses is drawn anew each time
    assert len(asked) > 10
    assert curve(cloud) == list(range(1, 41))
    assert len(cloud.said("end")) == 1


def test_a_machine_that_may_not_write_waits_for_the_grant_and_no_longer(cloud: Cloud, machine: Machine) -> None:
    """A grant takes minutes to be heard of everywhere: ten at most, of a clock 120 times as fast."""
    cloud.speed = 120.0
    cloud.config(silence_s=86_000)
    cloud.rules.append(lambda method, path: 403 if "/upload/" in path else None)
    vm = machine().boot()
    vm.to_its_deletion()
    assert "the bucket cannot be used" in vm.log
    assert cloud.events() == []


def test_events_that_the_disk_lost_in_a_crash_come_back_from_the_bucket(
    cloud: Cloud, machine: Machine, tmp_path: Path
) -> None:
    cloud.config()
    go_on = tmp_path / "go-on"
    vm = machine(f"--steps 60 --at 25:hold={go_on}").boot()
    path = events_file(vm.root / "ts-digits-k3f7-a1-t1" / "run", 1)
    # All that it said is in the bucket: what is not there can't come back, and a copy is safe only after its curve.
    cloud.wait(lambda: any(25 in event["step"] for event in cloud.said("metric")))
    vm.kill()
    path.write_bytes(path.read_bytes()[:-37])
    go_on.touch()
    vm.boot().to_its_deletion()
    assert curve(cloud) == list(range(1, 61))


def test_a_killed_trainer_is_started_again_from_its_copy(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    machine("--steps 30 --at 7:kill").boot().to_its_deletion()
    assert "trainer-restarted" in [event["id"] for event in cloud.said("notice")]
    assert cloud.said("end")[0]["reason"] == "trainer-killed"


def test_killed_after_the_end_was_written_only_the_deletion_is_left(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.rules.append(lambda method, path: "cut" if "force=true" in path else None)
    vm = machine().boot()
    cloud.wait(lambda: cloud.said("end"))
    vm.kill()
    cloud.rules.clear()
    started = len(cloud.said("phase"))
    vm.boot().to_its_deletion()
    assert len(cloud.said("phase")) == started
    assert len(cloud.said("end")) == 1


def test_without_the_bucket_for_too_long_it_ends_with_lease_left(cloud: Cloud, machine: Machine) -> None:
    cloud.config(silence_s=5)
    vm = machine("--steps 100000 --step-s 0.01").boot()
    cloud.wait(lambda: cloud.said("metric"))
    cloud.rules.append(lambda method, path: "cut" if "/storage/v1/" in path else None)
    vm.to_its_deletion()
    local = events_file(vm.root / "ts-digits-k3f7-a1-t1" / "run", 1).read_text().splitlines()
    assert '"reason":"reporting-lost"' in local[-1]


def test_the_deletion_is_asked_for_until_it_happens(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.forced = 500
    vm = machine().boot()
    cloud.wait(lambda: len(vm.forced()) >= 3)
    assert vm.process is not None
    assert vm.process.poll() is None


def test_a_short_cut_of_the_network_changes_nothing(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine("--steps 150 --step-s 0.01").boot()
    cloud.wait(lambda: cloud.said("metric"))
    until = time.monotonic() + 1.0
    cloud.rules.append(lambda method, path: "cut" if time.monotonic() < until else None)
    vm.to_its_deletion()
    assert curve(cloud) == list(range(1, 151))
