"""The image of a practice machine: what its startup script finds around it.

An environment made from nothing (none of the person's variables but the locale), private folders, a `python3` that is
plain, and `ready.json`, which offers the training engine so that nothing has to be installed. Real machines have no
`ready.json`; with the fault `environment-install-fails` practice machines have none either, and no package index.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tpu_studio
from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.machines import measures
from tpu_studio.practice.machines.machine import Machine
from tpu_studio.practice.machines.processes import TAG
from tpu_studio.wire.homes import home_folder

READY = "ready.json"
NICE = 10
_NO_INDEX = "http://127.0.0.1:9/simple"  # the discard port: refused at once
_KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_FILE", "SYSTEMROOT")
_SUPERVISOR_KEPT = (*_KEPT, "PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


def unsupported() -> str:
    """Why this computer can't have practice machines, as a sentence; "" when it can."""
    if sys.platform == "win32":
        return "Practice machines run a Linux startup script, which Windows cannot. Use Linux, macOS or WSL."
    for program in ("sh", "curl", "nice"):
        if shutil.which(program) is None:
            return f"Practice machines need the program {program}, which is not installed here."
    if not _plain_python():
        return "Practice machines need the program python3, which is not installed here."
    return ""


def make_disk(machine: Machine, folder: Path, worker: int) -> None:
    """Folders and programs of a worker; what is there stays, as it is on a disk."""
    for place in (machines.home, machines.vm_root, _bin, _temporary):
        place(folder, worker).mkdir(parents=True, exist_ok=True)
    skew = machine.faults.get("clock-skew")
    lead = machines.worker_folder(folder, worker) / "skew"
    shutil.rmtree(lead, ignore_errors=True)
    (_bin(folder, worker) / "date").unlink(missing_ok=True)
    if skew is not None:
        _skewed_clock(lead, _bin(folder, worker), float(skew["seconds"]))
    python = _plain_python() if machine.backend == "tpu" else _without_pip(folder, worker)
    _python(_bin(folder, worker) / "python3", python, lead if skew is not None else None)
    ready = machines.vm_root(folder, worker) / READY
    offered = None if _nothing_installs(machine) else ready_environment(machine)
    if offered is None:
        ready.unlink(missing_ok=True)
    else:
        if skew is not None:
            _python(_bin(folder, worker) / "engine-python", offered["python"], lead)
            offered["python"] = str(_bin(folder, worker) / "engine-python")
        offered["env"] |= measures.install(machine, folder, worker)
        ready.write_text(json.dumps(offered), "utf-8")


def ready_environment(machine: Machine) -> dict[str, Any] | None:
    """What `ready.json` says: the training engine's Python and what makes frameworks see the slice; None: no engine."""
    python = _engine_python()
    return None if python is None else {"python": str(python), "env": frameworks(machine)}


def _engine_python() -> Path | None:
    root = _engine_root()
    python = root / "main" / "bin" / "python"
    return python if (root / "engine.json").is_file() and python.exists() else None


def _engine_root() -> Path:
    return Path(os.environ.get("TPU_STUDIO_ENGINE") or home_folder() / "engine").expanduser().absolute()


def take_engine(root: Path) -> None:
    """Offer the engine at *root* to machines from now on, where this server was started without one."""
    if _engine_python() is None and (root / "engine.json").is_file():
        os.environ["TPU_STUDIO_ENGINE"] = str(root)


def frameworks(machine: Machine) -> dict[str, str]:
    """JAX shows as many host devices as the slice has per host; TensorFlow is cut up by the trainer itself."""
    return {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={machine.devices}",
        "CUDA_VISIBLE_DEVICES": "-1",
    }


def supervisor_environment() -> dict[str, str]:
    """The whole environment of a supervisor, a process of the machine too: no secret and no proxy of a person's."""
    told = {name: os.environ[name] for name in _SUPERVISOR_KEPT if name in os.environ}
    source = str(Path(tpu_studio.__file__).resolve().parent.parent)
    return told | {"PYTHONPATH": source, "PYTHONSAFEPATH": "1", "TPU_STUDIO_ENGINE": str(_engine_root())}


def environment(machine: Machine, folder: Path, worker: int, *, metadata_port: int, coordinator: int) -> dict[str, str]:
    """The whole environment of the startup script of *worker*."""
    bin_, home = _bin(folder, worker), machines.home(folder, worker)
    told = {name: os.environ[name] for name in _KEPT if name in os.environ}
    curl = shutil.which("curl")
    path = dict.fromkeys([str(bin_), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    if curl:
        path[str(Path(curl).parent)] = None
    told |= {
        TAG: machine.tag,
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        "TMPDIR": str(_temporary(folder, worker)),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "GCE_METADATA_HOST": f"127.0.0.1:{metadata_port}",
        "GCE_METADATA_IP": f"127.0.0.1:{metadata_port}",
        "GCE_METADATA_ROOT": f"127.0.0.1:{metadata_port}",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "TPU_STUDIO_VM_ROOT": str(machines.vm_root(folder, worker)),
        "TPU_STUDIO_COORDINATOR": f"127.0.0.1:{coordinator}",
        "TPU_WORKER_ID": str(worker),
        "TPU_WORKER_HOSTNAMES": ",".join(["127.0.0.1"] * machine.workers),
        "PYTHONDONTWRITEBYTECODE": "1",
        **frameworks(machine),
    }
    if _nothing_installs(machine):
        told |= {"PIP_INDEX_URL": _NO_INDEX, "UV_DEFAULT_INDEX": _NO_INDEX, "PIP_RETRIES": "0", "UV_HTTP_TIMEOUT": "2"}
        told |= {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1"}
    return told


def small_disks() -> list[str]:
    """How a program is started that may mount small disks for itself (Linux, where we are let); []: it may not."""
    for lead in (["unshare", "-m"], ["unshare", "-r", "-m"]):
        tried = [*lead, "sh", "-c", "mount -t tmpfs -o size=4k practice /tmp"]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(tried, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
            if done.returncode == 0:
                return lead
    return []


_SMALL_DISK = (
    'mount -t tmpfs -o "size=$SIZE,mode=700" practice "$TMPDIR" && cp -a "$TPU_STUDIO_VM_ROOT/." "$TMPDIR" && '
    'mount --bind "$TMPDIR" "$TPU_STUDIO_VM_ROOT" || exit 1; unset SIZE; '
)


def command(script: Path, faults: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """How the startup script is started: nice, and with SIGXFSZ ignored, so that a full disk is an error and no death.

    Ignoring outlives exec. A machine that hangs at boot stops itself before the script's first line. With `disk-full`
    its disk is a small one in memory that nobody else sees.
    """
    full = faults.get("disk-full", {})
    lead = [*full["mount"], "env", f"SIZE={full['bytes']}"] if full.get("mount") else []
    mount = _SMALL_DISK if lead else ""
    hang = "kill -STOP $$; " if "vm-hung" in faults and "step" not in faults["vm-hung"] else ""
    text = script.read_bytes()[:2]
    run = [str(script)] if text == b"#!" else ["/bin/sh", str(script)]
    return [*lead, "/bin/sh", "-c", f"{mount}trap '' XFSZ; {hang}exec nice -n {NICE} \"$@\"", "boot", *run]


def _python(program: Path, python: str, lead: Path | None) -> None:
    """A program that is *python*, with *lead* before everything else that it imports from."""
    before = f'PYTHONPATH={shlex.quote(str(lead))}"${{PYTHONPATH:+:$PYTHONPATH}}" ' if lead is not None else ""
    _program(program, f'{before}exec {shlex.quote(python)} "$@"')


def _plain_python() -> str:
    """A Python without our packages, as on a real machine: the one that our environment was made from.

    A packaged program is no Python: there the one that the training engine was made from, else the system's; "": none.
    """
    if not getattr(sys, "frozen", False):
        return str(getattr(sys, "_base_executable", "") or sys.executable)
    engine = _engine_python()
    return os.path.realpath(engine) if engine else shutil.which("python3") or ""


def _nothing_installs(machine: Machine) -> bool:
    return "environment-install-fails" in machine.faults or machine.doubts.get("install-sources") == "blocked"


def _without_pip(folder: Path, worker: int) -> str:
    """The same Python with nothing installed, as on images of Compute Engine: an environment of its own, empty."""
    root = machines.worker_folder(folder, worker) / "bare"
    python, real = root / "bin" / "python3", Path(_plain_python())
    if not python.is_symlink():
        python.parent.mkdir(parents=True, exist_ok=True)
        (root / "pyvenv.cfg").write_text(f"home = {real.parent}\ninclude-system-site-packages = false\n", "utf-8")
        python.symlink_to(real)
    return str(python)


def _bin(folder: Path, worker: int) -> Path:
    return machines.worker_folder(folder, worker) / "bin"


def _temporary(folder: Path, worker: int) -> Path:
    return machines.worker_folder(folder, worker) / "tmp"


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", "utf-8")
    path.chmod(0o755)


_SITECUSTOMIZE = '''"""The system clock of this practice machine is wrong by SKEW seconds, for Python."""
import datetime as _d
import time as _t

SKEW = {seconds!r}
_time, _time_ns, _gettime, _local, _gm = _t.time, _t.time_ns, _t.clock_gettime, _t.localtime, _t.gmtime
_t.time = lambda: _time() + SKEW
_t.time_ns = lambda: _time_ns() + int(SKEW * 1e9)
_t.clock_gettime = lambda clock: _gettime(clock) + (SKEW if clock == _t.CLOCK_REALTIME else 0.0)
_t.localtime = lambda seconds=None: _local(_t.time() if seconds is None else seconds)
_t.gmtime = lambda seconds=None: _gm(_t.time() if seconds is None else seconds)


class datetime(_d.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(_t.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.fromtimestamp(_t.time(), _d.timezone.utc).replace(tzinfo=None)

    @classmethod
    def today(cls):
        return cls.fromtimestamp(_t.time())


_d.datetime = datetime
'''


def _skewed_clock(lead: Path, bin_: Path, seconds: float) -> None:
    """A clock that is wrong for what asks for the time: every Python (sitecustomize) and the program `date`.

    The kernel's own clock can't be moved for some processes alone, so files get right times. `Date` of the metadata
    server is right, as at Google.
    """
    lead.mkdir(parents=True)
    (lead / "sitecustomize.py").write_text(_SITECUSTOMIZE.format(seconds=seconds), "utf-8")
    real = shutil.which("date", path="/usr/bin:/bin") or "/bin/date"
    said = "-r " if sys.platform == "darwin" else "-d@"
    asked = 'for word in "$@"; do case "$word" in -d*|--date*|-r*|-f*|-s*|-j*) exec REAL "$@" ;; esac; done\n'
    told = f'exec REAL {said}$(( $(REAL +%s) + {int(seconds)} )) "$@"'
    _program(bin_ / "date", (asked + told).replace("REAL", real))
