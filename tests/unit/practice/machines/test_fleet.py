"""A practice machine really runs its startup script, outlives everybody, and when it ends nothing of it is left."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.fakes.vm_image import COUNTS_BOOTS, DAEMONS, DEAF, IDLE, SAVES, machine_spec
from tests.fakes.waiting import PATIENCE_S, eventually
from tests.unit.practice.machines.conftest import Begin, World, runs
from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.machines import processes

LOOKS_AROUND = """#!/bin/sh
echo "home $HOME in $(pwd)"
echo "secret [${PLANTED_SECRET:-none}] home of the app [${TPU_STUDIO_HOME:-none}]"
echo "nice $(nice) metadata $GCE_METADATA_HOST"
python3 -c 'import importlib.util as u; print("modules of the app", u.find_spec("psutil") is not None)'
cat "$TPU_STUDIO_VM_ROOT/ready.json"; echo
echo up
"""


def test_the_startup_script_runs_in_a_world_of_its_own(world: World, monkeypatch) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "hunter2")
    spec = machine_spec("n1", LOOKS_AROUND)

    world.fleet.start(spec.resource, spec)
    world.up(spec.resource, text="ended with exit status 0")

    said = world.console(spec.resource)
    assert f"home {world.home(spec.resource)} in {world.home(spec.resource)}" in said
    assert "secret [none] home of the app [none]" in said
    assert f"nice {min(19, os.nice(0) + 10)} " in said
    assert "modules of the app False" in said
    assert '"XLA_FLAGS": "--xla_force_host_platform_device_count=8"' in said
    assert world.fleet.alive(spec.resource), "a startup script that ends does not switch the machine off"


ASKS_LIBTPU = """#!/bin/sh
PYTHONPATH=$(sed -n 's/.*"PYTHONPATH": "\\([^"]*\\)".*/\\1/p' "$TPU_STUDIO_VM_ROOT/ready.json")
PYTHONPATH=$PYTHONPATH TPU_STUDIO_PRACTICE_CHIPS=8 PYTHON -c '
from libtpu.sdk import tpumonitoring as told
for name in told.list_supported_metrics():
    metric = told.get_metric(name)
    print(name, len(metric.data()), metric.description())
'
cat "$TPU_STUDIO_VM_ROOT/ready.json"
echo up
"""


@pytest.mark.parametrize("backend", ["tpu", "compute"])
def test_machines_of_compute_engine_have_a_python_without_pip(world: World, backend: str) -> None:
    asks = '#!/bin/sh\npython3 -c \'import sys, subprocess as s; print(s.call([sys.executable, "-m", "pip", "-V"]))\''
    asks += "\necho up\nsleep 1000\n"
    spec = machine_spec("n1", asks)
    name = f"projects/{spec.project}/zones/{spec.zone}/instances/n1"
    spec = replace(spec, backend=backend, resource=name if backend == "compute" else spec.resource)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)
    absent = "No module named pip" in world.console(spec.resource)
    assert absent == (backend == "compute")


def test_on_a_practice_machine_libtpu_is_there_and_says_that_its_numbers_are_practice(world: World) -> None:
    spec = machine_spec("n1", ASKS_LIBTPU.replace("PYTHON -c", f"{sys.executable} -c"))
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource, text="ended with exit status 0")
    said = world.console(spec.resource)
    assert "duty_cycle_pct 0 practice: " in said  # nothing has passed since the start
    assert "hbm_capacity_usage 8 practice: " in said
    assert "hbm_capacity_total 8 practice: " in said
    assert '"TPU_STUDIO_PRACTICE_CHIPS": "8"' in said
    assert f'"TPU_STUDIO_PRACTICE_HBM_BYTES": "{16 * 2**30}"' in said


def test_no_process_of_a_machine_has_what_the_app_was_started_with(world: World, monkeypatch) -> None:
    for name in ("PLANTED_SECRET", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "TPU_STUDIO_HOME"):
        monkeypatch.setenv(name, f"hunter2-{name}")
    spec = machine_spec("n1", IDLE)

    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    state = world.fleet.state(spec.resource)
    assert state is not None
    every = [psutil.Process(state.pid), *world.members(spec.resource)]
    assert len(every) >= 2
    assert "hunter2" not in repr([process.environ() for process in every])


def test_kill_ends_daemons_in_sessions_of_their_own_without_any_environment(world: World) -> None:
    spec = machine_spec("n1", DAEMONS)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)
    before = eventually(
        lambda: found if len(found := world.members(spec.resource)) >= 8 else None,
        "its processes",
    )
    bare = [process for process in before if processes.TAG not in process.environ()]
    sessions = {os.getsid(process.pid) for process in before}
    assert bare and len(sessions) >= 4, "else this test shows nothing"

    world.fleet.kill(spec.resource)

    assert not [process for process in before if runs(process)]
    assert not world.fleet.alive(spec.resource)
    assert not world.home(spec.resource).exists(), "the disk goes with the machine"
    assert "\nup\n" in world.console(spec.resource), "the console stays, for whoever asks what happened"


def test_a_stop_warns_first_and_the_disk_is_there_at_the_next_start(world: World) -> None:
    spec = machine_spec("n1", COUNTS_BOOTS, shutdown=SAVES)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    world.fleet.stop(spec.resource, notice_s=30.0)
    eventually(lambda: not world.fleet.alive(spec.resource), "the machine to be off, long before the notice is over")

    assert (world.home(spec.resource) / "saved").read_text() == "TRUE"
    world.fleet.start(spec.resource, spec)
    eventually(lambda: (world.home(spec.resource) / "boots").read_text() == "boot\nboot\n", "the script to run again")


def test_somebodys_stop_is_no_preemption(world: World) -> None:
    spec = machine_spec("n1", COUNTS_BOOTS, shutdown=SAVES)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    world.fleet.shut_down(spec.resource, notice_s=30.0)
    eventually(lambda: not world.fleet.alive(spec.resource), "the machine to be off")

    assert (world.home(spec.resource) / "saved").read_text() == "FALSE"


def test_what_ignores_the_warning_is_killed_when_the_notice_is_over_in_practice_time(begin: Begin) -> None:
    world = begin(speed=200.0)
    spec = machine_spec("n1", DEAF, shutdown="#!/bin/sh\nsleep 1000\n")
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)
    members = world.members(spec.resource)

    began = world.cloud.clock.now()
    world.fleet.stop(spec.resource, notice_s=60.0)
    eventually(lambda: not world.fleet.alive(spec.resource), "the machine to be off")

    assert world.cloud.clock.now() - began >= 60.0
    assert not any(runs(process) for process in members)


def test_the_startup_script_gets_no_signal_and_is_off_at_once_where_no_shutdown_script_holds_it_up(
    world: World,
) -> None:
    spec = machine_spec("n1", COUNTS_BOOTS)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    world.fleet.stop(spec.resource, notice_s=1000.0)

    eventually(lambda: not world.fleet.alive(spec.resource), "the machine to be off, long before the notice is over")
    assert not (world.home(spec.resource) / "signals").exists()


@pytest.mark.parametrize(("way", "told"), [("absent", 404), ("no-etag", 200)])
def test_how_a_machine_is_told_that_it_is_taken_back_is_a_doubt(world: World, way: str, told: int) -> None:
    world.cloud.doubts.arm(f"preempted-metadata={way}")
    world.cloud.doubts.arm("shutdown-script=never")
    spec = machine_spec("n1", COUNTS_BOOTS, shutdown=SAVES)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)
    state = world.fleet.state(spec.resource)
    assert state is not None
    connection = http.client.HTTPConnection("127.0.0.1", state.metadata[0])
    connection.request("GET", "/computeMetadata/v1/instance/preempted", headers={"Metadata-Flavor": "Google"})
    reply = connection.getresponse()
    assert (reply.status, reply.headers["ETag"]) == (told, None)
    connection.close()

    world.fleet.stop(spec.resource, notice_s=30.0)
    eventually(lambda: not world.fleet.alive(spec.resource), "the machine to be off")
    assert not (world.home(spec.resource) / "saved").exists()


def test_a_reboot_runs_the_script_again(world: World) -> None:
    spec = machine_spec("n1", COUNTS_BOOTS, shutdown=SAVES)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    world.fleet.reboot(spec.resource, notice_s=10.0)

    eventually(lambda: (world.home(spec.resource) / "boots").read_text() == "boot\nboot\n", "the script to run again")
    assert world.fleet.alive(spec.resource)


def test_every_worker_of_a_slice_is_a_machine_of_its_own(world: World) -> None:
    script = (
        '#!/bin/sh\necho "worker $TPU_WORKER_ID at $TPU_STUDIO_COORDINATOR devices $XLA_FLAGS"\necho up\nsleep 1000\n'
    )
    spec = machine_spec("slice", script, workers=4, chips=16)

    world.fleet.start(spec.resource, spec)
    for worker in range(4):
        world.up(spec.resource, worker)

    said = [world.console(spec.resource, worker) for worker in range(4)]
    state = world.fleet.state(spec.resource)
    assert state is not None and len(set(state.metadata)) == 4
    for worker in range(4):
        assert (
            f"worker {worker} at 127.0.0.1:{state.coordinator} devices --xla_force_host_platform_device_count=4"
            in said[worker]
        )


SERVER_THAT_DIES = """
import os, signal, sys
from pathlib import Path
from tests.fakes.vm_image import machine_spec, steps
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
practice = Practice(Settings(folder=Path(sys.argv[1]))).start()
spec = machine_spec("n1", steps())
practice.cloud.vms.start(spec.resource, spec)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_machine_outlives_the_killed_server_and_the_next_server_finds_it(begin: Begin, home: Path) -> None:
    died = subprocess.run([sys.executable, "-c", SERVER_THAT_DIES, str(home / "practice")], timeout=PATIENCE_S)
    assert died.returncode == -signal.SIGKILL
    spec = machine_spec("n1", "")

    world = begin()

    assert world.fleet.alive(spec.resource)
    assert world.fleet.names() == [spec.resource]
    eventually(lambda: (world.fleet.step(spec.resource) or 0) >= 3, "the training to go on")
    world.fleet.kill(spec.resource)
    assert not world.fleet.alive(spec.resource)


def test_what_a_killed_supervisor_left_is_ended_with_the_machine_or_by_the_next_server(begin: Begin) -> None:
    world = begin()
    specs = [machine_spec("n1", IDLE), machine_spec("n2", IDLE)]
    for spec in specs:
        world.fleet.start(spec.resource, spec)
    for spec in specs:
        world.up(spec.resource)
        state = world.fleet.state(spec.resource)
        assert state is not None
        os.kill(state.pid, signal.SIGKILL)
    for spec in specs:
        eventually(lambda spec=spec: not world.fleet.alive(spec.resource), "its death to be seen")
    first, second = (world.members(spec.resource) for spec in specs)
    assert first and second

    world.fleet.kill(specs[0].resource)
    assert not any(runs(process) for process in first)

    begin()
    eventually(lambda: not any(runs(process) for process in second), "the next server to end the strays")


def test_a_machine_killed_while_it_starts_never_runs(world: World) -> None:
    for number in range(3):
        spec = machine_spec(f"n{number}", IDLE)
        world.fleet.start(spec.resource, spec)
        machine = machines.read(world.folder(spec.resource))
        assert machine is not None
        world.fleet.kill(spec.resource)
        assert not world.fleet.alive(spec.resource)
        assert not processes.tagged({machine.tag})
        assert "\nup\n" not in world.console(spec.resource)
