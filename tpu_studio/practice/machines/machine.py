"""One machine as its folder knows it: `machine.json`, `state.json`, and where its disk is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tpu_studio.wire.homes import make_private
from tpu_studio.wire.runfolder import write_atomically

MACHINE, STATE, KILLED = "machine.json", "state.json", "killed"


@dataclass(frozen=True)
class Machine:
    """What a supervisor needs to know.

    Attributes:
        name: Full resource name, the fleet's key.
        tag: In the environment of every process of it; new for each machine, never used again.
        key: Secret between server and supervisor (control port, tokens).
        boot: Rises with each boot on the same disk.
        instance_id: Of worker 0; the others follow.
        devices: What frameworks are to see on each worker.
        faults: Fault name → its facts (`fleet.FAULTS`), as they stand at boot.
        doubts: Doubt → how it is answered, of those that are armed at boot.
    """

    name: str
    backend: str
    project: str
    project_number: str
    zone: str
    node: str
    accelerator_type: str
    machine_type: str
    chips: int
    devices: int
    topology: str
    workers: int
    service_account: str
    scopes: tuple[str, ...]
    spot: bool
    tag: str
    key: str
    instance_id: int
    boot: int = 1
    metadata: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        make_private(folder)
        _write(folder / MACHINE, asdict(self))


def read(folder: Path) -> Machine | None:
    record = _read(folder / MACHINE)
    return None if record is None else Machine(**{**record, "scopes": tuple(record["scopes"])})


@dataclass(frozen=True)
class State:
    """A boot under way, as its supervisor wrote it.

    Attributes:
        created: psutil's create_time of the supervisor: tells it from a later process of the same number.
        control: Port of the control server.
        metadata: Port of each worker's metadata server.
        coordinator: Port at which worker 0 may serve the framework's distributed runtime.
        notice_at: Practice time at which it was told to stop; None: it was not.
        preempted: Whether that was a preemption.
        is_cut: Whether its network is gone: the server, too, hangs up on it then.
    """

    pid: int
    created: float
    boot: int
    control: int
    metadata: tuple[int, ...]
    coordinator: int
    notice_at: float | None = None
    preempted: bool = False
    is_cut: bool = False

    def save(self, folder: Path) -> None:
        _write(folder / STATE, asdict(self))


def read_state(folder: Path) -> State | None:
    record = _read(folder / STATE)
    return None if record is None else State(**{**record, "metadata": tuple(record["metadata"])})


def worker_folder(folder: Path, worker: int) -> Path:
    return folder / f"w{worker}"


def console(folder: Path, worker: int) -> Path:
    return worker_folder(folder, worker) / "console.log"


def vm_root(folder: Path, worker: int) -> Path:
    return worker_folder(folder, worker) / "vm"


def home(folder: Path, worker: int) -> Path:
    return worker_folder(folder, worker) / "home"


def _write(path: Path, record: dict[str, object]) -> None:
    umask = os.umask(0o077)
    try:
        write_atomically(path, json.dumps(record).encode())
    finally:
        os.umask(umask)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return record if isinstance(record, dict) else None
