"""A practice TPU VM behind the API: it boots when the node is ready, and goes when the node goes."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.contract.conftest import Call, Start, caller
from tests.fakes.waiting import eventually
from tpu_studio.practice.main import Practice
from tpu_studio.practice.vms import MachineSpec

PLACE = "projects/practice-project/locations/us-west4-a"
V2, NODE = f"/v2/{PLACE}", f"{PLACE}/nodes/n1"
# What a trainer's run folder shows, one step every twentieth of a second.
TRAINS = """#!/bin/sh
echo booted
folder="$TPU_STUDIO_VM_ROOT/run/events"; mkdir -p "$folder"; step=0
while true; do
  step=$((step + 1)); echo '{"kind":"metric","step":['$step'],"loss":[1.0]}' >> "$folder/a0001-w000.jsonl"
  sleep 0.05
done
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="practice machines need a POSIX shell")


def create(call: Call, accelerator: str = "v5litepod-1") -> None:
    node: dict[str, Any] = {"acceleratorType": accelerator, "runtimeVersion": "v2-alpha-tpuv5-lite"}
    node["metadata"] = {"startup-script": TRAINS, "shutdown-script": "#!/bin/sh\necho warned\n"}
    spec = {"parent": PLACE, "nodeId": "n1", "node": node}
    answer = call("POST", f"{V2}/queuedResources?queuedResourceId=q1", {"spot": {}, "tpu": {"nodeSpec": [spec]}})
    assert answer.status == 200, answer.raw


def state(call: Call) -> str:
    answer = call("GET", f"{V2}/queuedResources/q1")
    return "gone" if answer.status == 404 else str(answer.body["state"]["state"])


def console(practice: Practice) -> str:
    vms: Any = practice.cloud.vms
    return vms.console(NODE).decode() if vms is not None else ""


def end(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        pass  # it went with the one before


def processes(home: Path) -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["environ", "cmdline"]) if str(home) in str(one.info)]


@pytest.fixture(autouse=True)
def nothing_is_left_running(home: Path, start_practice: Start) -> Any:
    yield
    for one in processes(home):
        if one.info["cmdline"] and "machines" in " ".join(one.info["cmdline"]):
            end(one)


def test_a_machine_boots_with_its_node_and_every_process_goes_with_the_delete(start_practice: Start, home: Path):
    practice = start_practice(speed=10.0, machines=True)
    call, vms = caller(practice), practice.cloud.vms
    create(call)
    eventually(lambda: "booted" in console(practice), "the startup script")
    assert call("GET", f"{V2}/nodes/n1").body["state"] == "READY" and vms is not None and vms.alive(NODE)
    assert call("DELETE", f"{V2}/queuedResources/q1?force=true").status == 200
    eventually(lambda: state(call) == "gone", "the end")
    assert not vms.alive(NODE) and processes(home) == []


def test_a_node_that_is_deleted_while_its_machine_starts_leaves_no_machine(
    start_practice: Start, home: Path, monkeypatch: pytest.MonkeyPatch
):
    practice = start_practice(speed=10.0, machines=True)
    vms, started = practice.cloud.vms, threading.Event()
    assert vms is not None
    begin = vms.start

    def slow(name: str, spec: MachineSpec) -> None:
        practice.cloud.db.delete("tpu-node", name)
        begin(name, spec)
        started.set()

    monkeypatch.setattr(vms, "start", slow)
    create(caller(practice))
    eventually(started.is_set, "its start")
    eventually(lambda: not vms.alive(NODE) and processes(home) == [], "the end of what had started")


def test_preempted_at_a_step_it_is_warned_first_and_dead_after_the_notice(start_practice: Start, home: Path):
    practice = start_practice("preempted-at-step:step=5,notice=20", speed=10.0, machines=True)
    call, vms = caller(practice), practice.cloud.vms
    assert vms is not None
    create(call)
    eventually(lambda: vms.noticed(NODE), "the notice")
    assert (vms.step(NODE) or 0) >= 5
    eventually(lambda: state(call) == "SUSPENDED", "SUSPENDED")
    assert "warned" in console(practice) and not vms.alive(NODE) and processes(home) == []
    assert call("GET", f"{V2}/queuedResources/q1").body["state"]["stateInitiator"] == "SERVICE"
    assert call("GET", "/practice/faults").body["armed"] == []


def test_a_machine_outlives_the_server_and_is_found_again(start_practice: Start, home: Path):
    first = start_practice(speed=10.0, machines=True)
    create(caller(first))
    eventually(lambda: "booted" in console(first), "the startup script")
    first.stop()
    second = start_practice(speed=10.0, machines=True)
    call = caller(second)
    eventually(lambda: state(call) == "ACTIVE", "ACTIVE")
    assert console(second).count("booted") == 1 and second.cloud.vms is not None and second.cloud.vms.alive(NODE)
    assert call("POST", "/practice/stop").status == 200
    assert state(call) == "gone" and processes(home) == []
    assert [line["open"] for line in call("GET", "/practice/bill").body["lines"]] == [False]


def test_a_machine_that_died_with_the_computer_boots_again(start_practice: Start, home: Path):
    first = start_practice(speed=10.0, machines=True)
    create(caller(first))
    eventually(lambda: "booted" in console(first), "the startup script")
    first.stop()
    for one in processes(home):
        end(one)
    eventually(lambda: processes(home) == [], "the end of all processes")
    second = start_practice(speed=10.0, machines=True)
    eventually(lambda: console(second).count("booted") == 2, "the second boot")
    caller(second)("POST", "/practice/stop")
