"""The startup script as a machine runs it: with sh and curl, and with the guardian packed as it travels."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.fakes.waiting import PATIENCE_S
from tests.unit.guardian.vm.cloud import ROOT, Cloud, Vm
from tpu_studio.workflow.cloudruns.pyz import guardian_pyz, startup_script

Machine = Callable[..., Vm]
SCRIPT = str(ROOT / "resources" / "vm" / "startup.sh")
SHUTDOWN = str(ROOT / "resources" / "vm" / "shutdown.sh")

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="practice machines need curl too")


def given(cloud: Cloud, pyz: bytes | None = None, deadline: float | None = None) -> None:
    pyz = guardian_pyz() if pyz is None else pyz
    cloud.config(guardian_sha256=hashlib.sha256(pyz).hexdigest())
    cloud.metadata["ts-guardian"] = base64.b64encode(pyz).decode()
    cloud.metadata["ts-deadline"] = str(round(deadline or time.time() + 9000))
    for value in (*cloud.metadata.values(), startup_script()):
        assert len(value.encode()) <= 256 * 1024


def test_it_runs_the_guardian_to_the_end(cloud: Cloud, machine: Machine) -> None:
    given(cloud)
    vm = machine()
    vm.boot("sh", SCRIPT).to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"


def test_the_timer_deletes_the_machine_with_nothing_but_a_shell(cloud: Cloud, machine: Machine) -> None:
    hangs = b"import time\nwhile True:\n    time.sleep(1)\n"
    given(cloud, hangs, deadline=time.time() - 5)
    machine().boot("sh", SCRIPT).to_its_deletion()
    assert cloud.deletes[0] == "/v2/projects/p/locations/us-west4-a/queuedResources/ts-digits-k3f7-a1-t1?force=true"
    assert not cloud.objects.get("runs/digits-k3f7/claims/a0001.json")


def test_the_timer_goes_by_the_clouds_clock_and_never_sets_a_moved_deadline_back(
    cloud: Cloud, machine: Machine
) -> None:
    hangs = b"import time\nwhile True:\n    time.sleep(1)\n"
    cloud.speed = 100.0
    given(cloud, hangs, deadline=time.time() - 5)
    vm = machine()
    folder = vm.root / "ts-digits-k3f7-a1-t1"
    folder.mkdir()
    (folder / "deadline").write_text(str(round(time.time() + 300)))
    vm.boot("sh", SCRIPT).to_its_deletion()
    asked = [path for _, path in cloud.calls if path.endswith("/instance/id")]
    assert len(asked) >= 2  # it was not deleted at once


def test_a_guardian_that_is_not_what_was_sent_is_not_run(cloud: Cloud, machine: Machine) -> None:
    given(cloud)
    cloud.metadata["ts-guardian"] = base64.b64encode(b"print('something else')").decode()
    vm = machine().boot("sh", SCRIPT)
    cloud.wait(lambda: "not what was sent" in vm.log)
    assert not cloud.objects.get("runs/digits-k3f7/claims/a0001.json")
    assert "something else" not in vm.log


def shut_down(vm: Vm) -> None:
    """As Google's agent does it: the shutdown script runs, then everything is killed without another signal."""
    subprocess.run(["sh", SHUTDOWN], env=vm.environment, check=True, timeout=PATIENCE_S)
    vm.kill()


def test_a_machine_that_goes_down_has_the_trainer_save_and_a_boot_goes_on(cloud: Cloud, machine: Machine) -> None:
    given(cloud)
    vm = machine("--steps 300 --step-s 0.01 --save-every 100").boot("sh", SCRIPT)
    cloud.wait(lambda: cloud.said("metric"))
    shut_down(vm)
    assert any(name.endswith("COMMITTED") for name in cloud.objects)
    assert [event["facts"]["by"] for event in cloud.said("notice") if event["id"] == "preempted"] == ["signal"]
    assert vm.log.count("guardian ended with") == 1  # not begun again while the machine goes down
    assert not vm.forced()
    vm.boot("sh", SCRIPT).to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"


def test_a_shutdown_script_with_nobody_to_tell_ends_at_once(cloud: Cloud, machine: Machine) -> None:
    vm = machine()
    folder = vm.root / "ts-digits-k3f7-a1-t1"
    folder.mkdir()
    for content in ("", "no number", "1;reboot", "-1", "999999999"):
        (folder / "guardian.pid").write_text(content)
        shut_down(vm)


def test_a_reader_of_the_serial_port_that_gave_up_keeps_nothing_from_going_on(cloud: Cloud, machine: Machine) -> None:
    given(cloud)
    vm = machine()
    read, write = os.pipe()
    vm.process = subprocess.Popen(
        ["sh", SCRIPT], env=vm.environment, cwd=vm.root, stdout=write, stderr=write, start_new_session=True
    )
    os.close(write)
    os.close(read)
    cloud.wait(vm.forced)
    vm.kill()
    assert cloud.said("end")[0]["reason"] == "completed"


def test_what_the_shell_reads_out_of_the_config_is_what_json_says(cloud: Cloud) -> None:
    config = cloud.config()
    assert json.loads(cloud.metadata["ts-config"]) == config
    assert "\n" not in cloud.metadata["ts-config"]
    assert '\\"' not in cloud.metadata["ts-config"]
