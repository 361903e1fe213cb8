"""What goes wrong with machines, on request: each fault does what its sentence says, and the machine can be ended."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import urllib.request

import psutil
import pytest

from tests.fakes.vm_image import COUNTS_BOOTS, DEAF, IDLE, machine_spec, steps
from tests.fakes.waiting import eventually
from tests.unit.practice.machines.conftest import Begin, World
from tpu_studio.practice.machines import image, processes

GETS_TOKEN = """#!/bin/sh
default="http://$GCE_METADATA_HOST/computeMetadata/v1/instance/service-accounts/default"
curl -s -H 'Metadata-Flavor: Google' "$default/token" >"$HOME/token"
echo up
sleep 1000
"""


def stopped(world: World, name: str) -> bool:
    members = world.members(name)
    return bool(members) and all(map(processes.stands_still, members))


def test_a_machine_that_hangs_at_boot_never_says_a_word_and_can_be_killed(begin: Begin) -> None:
    world = begin("vm-hung")
    spec = machine_spec("n1", IDLE)

    world.fleet.start(spec.resource, spec)
    eventually(lambda: stopped(world, spec.resource), "everything to stand still")

    assert "\nup\n" not in world.console(spec.resource)
    assert world.fleet.alive(spec.resource)
    world.fleet.kill(spec.resource)
    assert not world.fleet.alive(spec.resource)


def test_a_machine_that_hangs_from_a_step_on_stands_still_and_a_stop_still_ends_it(begin: Begin) -> None:
    world = begin("vm-hung:step=5", speed=100.0)
    spec = machine_spec("n1", steps())
    world.fleet.start(spec.resource, spec)

    eventually(lambda: stopped(world, spec.resource), "everything to stand still")

    step = world.fleet.step(spec.resource)
    assert step is not None and step >= 5
    world.fleet.stop(spec.resource, notice_s=30.0)
    eventually(lambda: not world.fleet.alive(spec.resource), "the machine to be off")


def test_a_running_machine_hangs_when_the_fault_is_armed(world: World) -> None:
    spec = machine_spec("n1", steps())
    world.fleet.start(spec.resource, spec)
    eventually(lambda: (world.fleet.step(spec.resource) or 0) >= 2, "training")

    world.cloud.faults.arm("vm-hung")

    eventually(lambda: stopped(world, spec.resource), "everything to stand still")


def test_a_machine_is_preempted_the_moment_it_reaches_a_step(world: World) -> None:
    spec = machine_spec("n1", steps())
    world.fleet.start(spec.resource, spec)

    world.fleet.preempt_at(spec.resource, step=7, notice_s=0.2)
    eventually(lambda: not world.fleet.alive(spec.resource), "the machine to be off")

    state = world.fleet.state(spec.resource)
    assert state is not None and state.preempted and state.notice_at is not None
    assert (world.fleet.step(spec.resource) or 0) >= 7


def test_without_network_neither_metadata_nor_the_cloud_answer_the_machine(begin: Begin) -> None:
    world = begin()
    spec = machine_spec("n1", GETS_TOKEN)
    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)
    token = json.loads((world.home(spec.resource) / "token").read_text())["access_token"]
    state = world.fleet.state(spec.resource)
    assert state is not None

    def ask(port: int, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", path, headers={"Metadata-Flavor": "Google", "Authorization": f"Bearer {token}"})
            return connection.getresponse().status
        finally:
            connection.close()

    port = int(world.practice.url.rpartition(":")[2])
    assert ask(state.metadata[0], "/computeMetadata/v1/instance/id") == 200
    assert ask(port, "/practice/bill") == 403  # known, and not the owner

    world.cloud.faults.arm("vm-without-network")
    eventually(lambda: world.fleet.is_cut(token), "the network to be gone")

    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(state.metadata[0], "/computeMetadata/v1/instance/id")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(port, "/practice/bill")
    request = urllib.request.Request(
        world.practice.url + "/practice/bill", headers={"Authorization": f"Bearer {world.practice.token}"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        assert reply.status == 200, "others are answered"


def test_when_the_environment_fails_nothing_is_ready_and_no_package_index_answers(begin: Begin) -> None:
    world = begin("environment-install-fails")
    script = (
        '#!/bin/sh\n[ -e "$TPU_STUDIO_VM_ROOT/ready.json" ] && echo ready\necho "index $PIP_INDEX_URL"\n'
        'curl -s --max-time 5 "$PIP_INDEX_URL" || echo "refused $?"\necho up\n'
    )
    spec = machine_spec("n1", script)

    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    said = world.console(spec.resource)
    assert "ready" not in said.replace("already", "") and "refused 7" in said


def command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # it ended since it was listed
        return []


def test_a_disk_that_gets_full_while_training_refuses_writes_and_kills_nobody(world: World) -> None:
    """Armed while it runs, nothing can be mounted any more: no file may grow."""
    spec = machine_spec("n1", steps())
    world.fleet.start(spec.resource, spec)
    eventually(lambda: (world.fleet.step(spec.resource) or 0) >= 3, "training")

    world.cloud.faults.arm("disk-full")

    gave_up = ["sleep", "1000"]  # what the script does when a line was refused
    eventually(lambda: gave_up in [command(one) for one in world.members(spec.resource)], "a refused write")
    assert world.fleet.alive(spec.resource)


@pytest.mark.parametrize("can_mount", [True, False])
def test_a_disk_that_is_full_from_boot_takes_small_files_only(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, can_mount: bool
) -> None:
    lead = image.small_disks()
    if can_mount and not lead:
        pytest.skip("this system lets nobody but root mount")
    monkeypatch.setattr(image, "small_disks", lambda: lead if can_mount else [])
    world = begin("disk-full:bytes=8192")
    script = (
        '#!/bin/sh\ncd "$TPU_STUDIO_VM_ROOT"\n[ -s ready.json ] && echo ready\necho small >small && echo wrote small\n'
        'python3 -c \'open("large", "wb").write(bytes(99999))\' 2>&1 | tail -1\necho up\n'
    )
    spec = machine_spec("n1", script)

    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    said = world.console(spec.resource)
    assert "ready\nwrote small\n" in said
    assert ("No space left on device" if can_mount else "File too large") in said


def test_a_disk_that_is_full_from_a_step_on_has_no_space_left(begin: Begin) -> None:
    if not image.small_disks():
        pytest.skip("this system lets nobody but root mount")
    world = begin("disk-full:step=5,bytes=300000")
    spec = machine_spec("n1", steps())

    world.fleet.start(spec.resource, spec)

    eventually(lambda: "cannot write" in world.console(spec.resource), "a refused write")
    assert world.fleet.alive(spec.resource)


def test_with_a_wrong_clock_programs_are_fooled_and_metadata_dates_are_right(begin: Begin) -> None:
    world = begin("clock-skew:seconds=-600")
    script = (
        "#!/bin/sh\n"
        "curl -s -D - -o /dev/null http://$GCE_METADATA_HOST/ | tr -d '\\r' | sed -n 's/^Date: //p' >date\n"
        'echo "right $(date -u -d "$(cat date)" +%s)"\necho "shell $(date +%s)"\n'
        "python3 -c 'import time; print(\"python\", int(time.time()))'\n"
        "python3 -c 'from datetime import datetime as d; print(\"object\", int(d.now().timestamp()))'\n"
        'engine=$(sed -n \'s/.*"python": "\\([^"]*\\)".*/\\1/p\' "$TPU_STUDIO_VM_ROOT/ready.json")\n'
        'PYTHONPATH=/nowhere "$engine" -c \'import time; print("engine", int(time.time()))\'\n'
        "echo up\n"
    )
    spec = machine_spec("n1", script)

    world.fleet.start(spec.resource, spec)
    world.up(spec.resource)

    told = dict(
        line.split(" ", 1)
        for line in world.console(spec.resource).splitlines()
        if line.startswith(("right", "shell", "python", "object", "engine"))
    )
    right = int(told["right"])
    wrong = [int(told[name]) for name in ("shell", "python", "object", "engine")]
    assert abs(right - world.cloud.clock.now()) < 60
    assert all(abs(right - 600 - moment) < 60 for moment in wrong)


def test_a_stop_of_a_deaf_machine_that_was_never_warned_about_ends_by_kill(world: World) -> None:
    for script in (DEAF, COUNTS_BOOTS):
        spec = machine_spec("n1", script)
        world.fleet.start(spec.resource, spec)
        world.up(spec.resource)
        world.fleet.power_off(spec.resource)
        assert not world.fleet.alive(spec.resource)
        world.fleet.kill(spec.resource)


def test_who_waits_for_a_child_that_was_stopped_before_it_began_stands_still() -> None:
    """A shell that was starting a program at that moment waits where no signal reaches it, and never looked stopped."""
    program = (
        "import ctypes, os, signal\n"
        "libc = ctypes.CDLL(None)\n"
        "if libc.vfork() == 0: libc.kill(libc.getpid(), signal.SIGSTOP)\n"
    )
    parent = subprocess.Popen([sys.executable, "-I", "-c", program])
    process = psutil.Process(parent.pid)
    try:
        eventually(process.children, "the child")
        eventually(lambda: processes.stands_still(process), "both to stand still")
        assert process.status() == psutil.STATUS_DISK_SLEEP
    finally:
        for one in (*process.children(), process):
            one.kill()
        parent.wait()
