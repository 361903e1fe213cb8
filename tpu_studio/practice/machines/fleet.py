"""The machines as the server's services know them (`practice.vms.Vms`): start, stop, kill, is it alive.

All that lasts stands in the machines' folders, so a server that was started again finds them all. Killing needs
nobody's help: this process ends the tree itself, supervisor last. A stop with notice is the supervisor's, so that it is
carried out when this process dies meanwhile.
"""

from __future__ import annotations

import contextlib
import hmac
import http.client
import json
import secrets
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.machines import image, processes, progress, shapes
from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.machines.clockline import ClockLine
from tpu_studio.practice.machines.machine import Machine, State
from tpu_studio.practice.vms import MachineSpec
from tpu_studio.wire import ownpython
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.homes import make_private

FAULTS = ("vm-hung", "vm-without-network", "environment-install-fails", "disk-full", "clock-skew")
RUNNING_FAULTS = ("vm-hung", "vm-without-network", "disk-full")
DISK_FULL_BYTES = 1 << 20  # of a disk that is full from boot: the guardian fits, the training program does not
DISK_BYTES = 64 << 20  # of one that gets full later; it is memory
_STARTING_S = 30.0
_CONTROL_S = 10.0
_LOG_TAIL = 2000


class Fleet:
    """Implements `practice.vms.Vms`; for any thread. *name* is a spec's ``resource``."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._root = cloud.settings.machine_root
        make_private(self._root)
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.RLock()
        ClockLine(cloud.clock.now(), time.time(), cloud.clock.speed, cloud.url).save(self._root)
        self._may_be_cut = {machine.name for machine in self._known() if "vm-without-network" in machine.faults}
        self._end_strays()

    # ------------------------------------------------------------------------------------------------ the port

    def start(self, name: str, spec: MachineSpec) -> None:
        """See `Vms.start`. Returns when the supervisor runs; the startup script begins some 0.2 s later.

        Raises:
            NotReady: ``practice-machines-unsupported``.
        """
        if reason := image.unsupported():
            raise NotReady("practice-machines-unsupported", raw=reason)
        with self._lock:
            if self.alive(name):
                return
            folder = self._folder(name)
            before = machines.read(folder)
            (folder / machines.STATE).unlink(missing_ok=True)
            (folder / machines.KILLED).unlink(missing_ok=True)
            machine = self._machine(name, spec, before)
            machine.save(folder)
            if "vm-without-network" in machine.faults:
                self._may_be_cut.add(name)
            self._started[name] = self._spawn(folder)

    def stop(self, name: str, notice_s: float) -> None:
        self._warn(name, notice_s, preempted=True)

    def shut_down(self, name: str, notice_s: float) -> None:
        """As `stop`, but not taken away: somebody stops it, and ``preempted`` stays FALSE."""
        self._warn(name, notice_s, preempted=False)

    def reboot(self, name: str, notice_s: float) -> None:
        self._ask(name, "/reboot", {"notice_real_s": self._cloud.clock.real_s(notice_s)})

    def kill(self, name: str) -> None:
        with self._lock:
            folder = self._folder(name)
            machine = machines.read(folder)
            if machine is None:
                return
            self._end(name, folder, machine)
            self._forget_disk(folder, machine)
            self._may_be_cut.discard(name)
            for token, record in self._cloud.db.list("machine-token"):
                if record["machine"] == name:
                    self._cloud.db.delete("machine-token", token)
                    self._cloud.principals.revoke(token)

    def end_all(self) -> None:
        """End every process of every machine, whatever the database takes: the practice cloud is about to end."""
        with self._lock:
            for machine in self._known():
                self._end(machine.name, self._folder(machine.name), machine)

    def power_off(self, name: str) -> None:
        """End every process now; the disk stays (a stop that went over its time)."""
        with self._lock:
            folder = self._folder(name)
            machine = machines.read(folder)
            if machine is not None:
                self._end(name, folder, machine)

    def alive(self, name: str) -> bool:
        started = self._started.get(name)
        if started is not None:
            if started.poll() is None:
                return True
            del self._started[name]
        folder = self._folder(name)
        state = machines.read_state(folder)
        if state is not None:
            return processes.is_running(state.pid, state.created)
        try:  # a server that died in the moment of starting one
            written = (folder / machines.MACHINE).stat().st_mtime
        except FileNotFoundError:
            return False
        return not (folder / machines.KILLED).exists() and time.time() - written < _STARTING_S

    def step(self, name: str) -> int | None:
        return progress.step(self._folder(name).glob("w*/vm"))

    # ------------------------------------------------------------------------------------------------ besides

    def names(self) -> list[str]:
        """Machines that run, by name."""
        return [machine.name for machine in self._known() if self.alive(machine.name)]

    def console(self, name: str, worker: int = 0) -> bytes:
        """All that the serial port of a worker has shown, deleted machines included."""
        try:
            return machines.console(self._folder(name), worker).read_bytes()
        except FileNotFoundError:
            return b""

    def state(self, name: str) -> State | None:
        """Ports, and whether it was told to stop; None: no boot under way that is known of."""
        return machines.read_state(self._folder(name))

    def preempt_at(self, name: str, step: int, notice_s: float) -> None:
        """Have its supervisor preempt it the moment training has reached *step*; `state(name).notice_at` tells."""
        self._ask(
            name,
            "/fault",
            {"name": "preempted-at-step", "facts": {"step": step, "notice_real_s": self._cloud.clock.real_s(notice_s)}},
        )

    def noticed(self, name: str) -> float | None:
        state = self.state(name)
        return state.notice_at if state is not None and state.preempted else None

    def fault(self, name: str, fault: str, **facts: object) -> None:
        """Have one of `RUNNING_FAULTS` happen to a machine, now or from ``step`` on."""
        folder = self._folder(name)
        machine = machines.read(folder)
        if machine is None:
            return
        facts = _facts(fault, facts, running=True)
        replace(machine, faults={**machine.faults, fault: facts}).save(folder)
        if fault == "vm-without-network":
            self._may_be_cut.add(name)
        self._ask(name, "/fault", {"name": fault, "facts": facts})

    def look_at_faults(self) -> None:
        """Faults that were armed while machines run happen to the first one that is there."""
        for fault in RUNNING_FAULTS:
            if self._cloud.faults.armed(fault) is None:
                continue
            for name in self.names():
                machine = machines.read(self._folder(name))
                if machine is None or fault in machine.faults or self.state(name) is None:
                    continue
                taken = self._cloud.faults.take(fault, machine=name)
                if taken is not None:
                    self.fault(name, fault, **taken)

    def issue_token(self, name: str, key: str) -> dict[str, object] | None:
        """``{"access_token","expires"}`` (practice seconds since 1970) for a machine's account; None: a wrong key."""
        machine = machines.read(self._folder(name))
        if machine is None or not hmac.compare_digest(machine.key.encode(), key.encode()):
            return None
        lifetime = 3600.0
        account, zone = machine.service_account, machine.zone
        token = self._cloud.principals.issue(account, "serviceAccount", machine.scopes, lifetime, zone)
        self._cloud.db.put("machine-token", token, {"machine": name})
        return {"access_token": token, "expires": self._cloud.clock.now() + lifetime}

    def is_cut(self, token: str) -> bool:
        """Whether the machine that holds *token* has no network."""
        if not self._may_be_cut:
            return False
        record = self._cloud.db.get("machine-token", token)
        state = self.state(record["machine"]) if record is not None else None
        return state is not None and state.is_cut

    def close(self) -> None:
        """The server stops; the machines live on, and are no longer our children to be waited for."""
        for started in self._started.values():
            started.returncode = 0 if started.poll() is None else started.returncode

    # ------------------------------------------------------------------------------------------------ inside

    def _machine(self, name: str, spec: MachineSpec, before: Machine | None) -> Machine:
        faults = {}
        for fault in FAULTS:
            taken = self._cloud.faults.take(fault, machine=name)
            if taken is not None:
                faults[fault] = _facts(fault, taken, running=False)
        faults |= _doubted(self._cloud)
        project = self._cloud.db.get("project", spec.project) or {}
        return Machine(
            name=name,
            backend=spec.backend,
            project=spec.project,
            project_number=str(project.get("projectNumber", self._cloud.settings.number)),
            zone=spec.zone,
            node=spec.node,
            accelerator_type=spec.accelerator_type,
            chips=spec.chips,
            topology=spec.topology,
            workers=spec.workers,
            machine_type=shapes.machine_type(spec.accelerator_type, spec.chips, spec.workers),
            devices=shapes.devices_per_worker(spec.accelerator_type, spec.chips, spec.workers),
            service_account=spec.service_account,
            scopes=tuple(spec.scopes),
            spot=spec.spot,
            metadata=dict(spec.metadata),
            faults=faults,
            doubts=self._cloud.doubts.armed(),
            tag=before.tag if before else f"{spec.node}-{secrets.token_hex(6)}",
            key=before.key if before else secrets.token_urlsafe(24),
            instance_id=before.instance_id if before else secrets.randbelow(2**62 - 4096) + 2**62,
            boot=before.boot + 1 if before else 1,
        )

    def _spawn(self, folder: Path) -> subprocess.Popen[bytes]:
        with open(folder / "supervisor.log", "ab") as log:
            return subprocess.Popen(
                [*supervisor_program(), str(folder)],
                cwd=folder,
                env=image.supervisor_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _warn(self, name: str, notice_s: float, *, preempted: bool) -> None:
        about = {"notice_real_s": self._cloud.clock.real_s(notice_s), "preempted": preempted}
        if not self._ask(name, "/stop", about):
            self.power_off(name)  # no supervisor that listens: nothing to wait for

    def _ask(self, name: str, verb: str, about: dict[str, Any]) -> bool:
        """Whether the machine's supervisor has done it; waits for one that is only just starting."""
        folder = self._folder(name)
        machine = machines.read(folder)
        give_up = time.monotonic() + _CONTROL_S
        while machine is not None and self.alive(name) and time.monotonic() < give_up:
            state = machines.read_state(folder)
            if state is None:
                time.sleep(0.02)
                continue
            try:
                with contextlib.closing(
                    http.client.HTTPConnection("127.0.0.1", state.control, timeout=_CONTROL_S)
                ) as connection:
                    connection.request("POST", verb, json.dumps(about), {"X-Practice-Key": machine.key})
                    return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False
        return False

    def _end(self, name: str, folder: Path, machine: Machine) -> None:
        with contextlib.suppress(OSError):  # a full disk holds up no end
            (folder / machines.KILLED).touch()
        started = self._started.pop(name, None)
        state = machines.read_state(folder)
        pid = started.pid if started is not None else None
        if pid is None and state is not None and processes.is_running(state.pid, state.created):
            pid = state.pid
        processes.end(machine.tag, pid)
        if pid is not None:
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).kill()
            processes.end(machine.tag, None)  # what it had started in this very moment
        if started is not None:
            started.wait()
        (folder / machines.STATE).unlink(missing_ok=True)

    def _forget_disk(self, folder: Path, machine: Machine) -> None:
        """The console stays, for whoever asks afterwards what went wrong."""
        for worker in range(machine.workers):
            inside = machines.worker_folder(folder, worker)
            for path in list(inside.iterdir()) if inside.is_dir() else []:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name != "console.log":
                    path.unlink(missing_ok=True)
        (folder / machines.MACHINE).unlink(missing_ok=True)

    def _known(self) -> list[Machine]:
        found = (machines.read(path.parent) for path in sorted(self._root.glob(f"*/{machines.MACHINE}")))
        return [machine for machine in found if machine is not None]

    def _end_strays(self) -> None:
        """Processes of machines whose supervisor is gone: this computer was switched off, or somebody killed it."""
        tags = {machine.tag for machine in self._known() if not self.alive(machine.name)}
        for process in processes.tagged(tags) if tags else []:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _folder(self, name: str) -> Path:
        """``projects/P/locations/Z/nodes/N`` → ``tpu.Z.N`` (names of other projects carry theirs)."""
        parts = name.split("/")
        backend = "compute" if "instances" in parts else "tpu"
        project = [] if parts[1] == self._cloud.settings.project else [parts[1]]
        return self._root / ".".join([backend, *project, parts[3], parts[-1]])


def supervisor_program() -> list[str]:
    """How a supervisor is started; a packaged program has no ``-m`` and comes in by a door of `__main__` instead."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "--practice-machine"]
    return ownpython.module(sys.executable, "tpu_studio.practice.machines")


def _doubted(cloud: Cloud) -> dict[str, dict[str, object]]:
    """What a machine finds otherwise than is assumed of it, as if it were a fault."""
    found: dict[str, dict[str, object]] = {}
    if cloud.doubts.way("install-sources"):
        found["environment-install-fails"] = {}
    return found


def _facts(fault: str, told: dict[str, object], *, running: bool) -> dict[str, object]:
    facts = {key: value for key, value in told.items() if key not in ("machine", "match")}
    if fault == "disk-full":
        facts["mount"] = [] if running else image.small_disks()
        facts.setdefault("bytes", _disk_bytes(mounted=bool(facts["mount"]), later="step" in facts or running))
    return facts


def _disk_bytes(*, mounted: bool, later: bool) -> int:
    if later:
        return DISK_BYTES if mounted else 0
    return DISK_FULL_BYTES
