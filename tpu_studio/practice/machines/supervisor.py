"""The supervisor of one machine: serves its metadata, runs its startup scripts, and carries out what the fleet asks.

It is detached and needs neither server nor app. It ends when the machine is off: told to stop (`/stop`, after the
notice), or killed by the fleet together with everything below it. A startup script that ends leaves the machine
running, as at Google.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import resource
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from tpu_studio.domain.loopback import LoopbackHandler, LoopbackServer
from tpu_studio.practice.machines import clockline, image, processes, progress, tree
from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.machines.machine import Machine, State
from tpu_studio.practice.machines.metadata import MetadataServer
from tpu_studio.practice.machines.tokens import Tokens

_TURN_S = 0.05  # while something is being watched
_REST_S = 5.0  # a child's end wakes us anyway
_ENDS_S = 0.02
_AT_ONCE = 32  # connections to the control port
OFF_S = 2.0  # practice seconds from the warning until a machine without a shutdown script is off


class Supervisor:
    """Call `run` once, from the main thread."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self._folder, self._machine = folder, machine
        self._root = folder.parent
        self._clock = clockline.read(self._root)
        self._clock_mtime = 0
        self._preempted = False
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._wake_in, self._wake_out = os.pipe()
        self._workers: dict[int, int] = {}  # pid of the startup script → worker
        self._ending: set[int] = set()  # pids of shutdown scripts
        self._beginning = threading.Lock()  # of a shutdown script: its end is not missed
        self._servers: list[MetadataServer] = []
        self._at_step = {
            name: int(facts["step"]) for name, facts in machine.faults.items() if facts.get("step") is not None
        }
        self._state: State | None = None

    def run(self) -> int:
        for name in (self._wake_in, self._wake_out):
            os.set_blocking(name, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_out, warn_on_full_buffer=False)
        processes.adopt_orphans()
        tokens = Tokens(self._root, self._machine)
        without_etag = ("/instance/preempted",) if self._machine.doubts.get("preempted-metadata") == "no-etag" else ()
        self._servers = [
            MetadataServer(tree.build(self._machine, worker, tokens.get, self._is_preempted), self._line, without_etag)
            for worker in range(self._machine.workers)
        ]
        control = _Control(self._machine.key, {"/stop": self._stop, "/fault": self._fault, "/reboot": self._reboot})
        self._state = State(
            pid=os.getpid(),
            created=psutil.Process().create_time(),
            boot=self._machine.boot,
            control=control.server_port,
            metadata=tuple(server.port for server in self._servers),
            coordinator=_free_port(),
        )
        self._state.save(self._folder)
        if (self._folder / machines.KILLED).exists():
            return 0
        self._cut("vm-without-network" in self._machine.faults and "vm-without-network" not in self._at_step)
        self._boot()
        while not self._over.is_set():
            self._reap()
            self._watch_steps()
            readable, _, _ = select.select([self._wake_in], [], [], _TURN_S if self._at_step else _REST_S)
            if readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_in, 4096)
        return 0

    def _is_preempted(self) -> str:
        return "TRUE" if self._preempted else "FALSE"

    def _line(self) -> clockline.ClockLine:
        """Practice time; read again when a restarted server has drawn a new line."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            mtime = (self._root / clockline.NAME).stat().st_mtime_ns
            if mtime != self._clock_mtime:
                self._clock, self._clock_mtime = clockline.read(self._root), mtime
        return self._clock

    # ------------------------------------------------------------------------------------------------ booting

    def _boot(self) -> None:
        """Run the startup script of every worker: first boot and each later one."""
        assert self._state is not None
        text = self._machine.metadata.get("startup-script", "")
        full = self._machine.faults.get("disk-full")
        for worker in range(self._machine.workers):
            image.make_disk(self._machine, self._folder, worker)
            if not text:
                self._say(worker, "No startup script in the metadata.")
                continue
            script = machines.worker_folder(self._folder, worker) / "startup-script"
            script.write_text(text, "utf-8")
            script.chmod(0o700)
            by_length = full is not None and not full["mount"] and "disk-full" not in self._at_step
            limit = int(full["bytes"]) if full is not None and by_length else None
            self._say(worker, "Running startup script.")
            with _files_up_to(limit):
                command = image.command(script, self._machine.faults)
                self._workers[self._started(worker, command, self._environment(worker))] = worker

    def _environment(self, worker: int) -> dict[str, str]:
        assert self._state is not None
        return image.environment(
            self._machine,
            self._folder,
            worker,
            metadata_port=self._servers[worker].port,
            coordinator=self._state.coordinator,
        )

    def _started(self, worker: int, command: list[str], env: Mapping[str, str]) -> int:
        """The pid of a program of *worker* that prints on its console."""
        with open(machines.console(self._folder, worker), "ab") as output:
            started = subprocess.Popen(
                command,
                cwd=machines.home(self._folder, worker),
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        started.returncode = 0  # reaped here, with the orphans, not by Popen
        return started.pid

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            with self._beginning:
                self._ending.discard(pid)
            worker = self._workers.pop(pid, None)
            if worker is not None:
                code = os.waitstatus_to_exitcode(status)
                self._say(worker, f'Script "startup-script" ended with exit status {code}.')

    def _say(self, worker: int, text: str) -> None:
        stamp = time.strftime("%b %d %H:%M:%S", time.gmtime(self._line().now()))
        with open(machines.console(self._folder, worker), "a", encoding="utf-8") as file:
            file.write(f"{stamp} google_metadata_script_runner: {text}\n")

    # ------------------------------------------------------------------------------------------------ what is asked

    def _stop(self, about: Mapping[str, Any]) -> None:
        """``{"notice_real_s", "preempted"}``: warn, and be off at the latest when the notice is over."""
        with self._lock:
            if self._state is None or self._state.notice_at is not None:
                return
            self._preempted = bool(about["preempted"])
            self._state = replace(self._state, notice_at=self._line().now(), preempted=self._preempted)
            self._state.save(self._folder)
        for server in self._servers:
            server.changed()
        threading.Thread(target=self._go_off, args=(float(about["notice_real_s"]),), name="off", daemon=True).start()

    def _go_off(self, notice_real_s: float) -> None:
        self._shut_down(notice_real_s)
        self._over.set()
        self._wake()

    def _reboot(self, about: Mapping[str, Any]) -> None:
        """``{"notice_real_s"}``: end everything and run the startup script again on the same disk."""
        again = threading.Thread(
            target=self._boot_again, args=(float(about["notice_real_s"]),), name="boot", daemon=True
        )
        again.start()

    def _boot_again(self, notice_real_s: float) -> None:
        self._shut_down(notice_real_s)
        self._boot()

    def _shut_down(self, notice_real_s: float) -> None:
        """As systemd does it there: the shutdown script runs to its end, with network, while all else goes on; then
        what is left of the startup script and its children is killed. No SIGTERM comes to them: KillMode=process."""
        began = time.monotonic()
        scripts = self._run_shutdown_scripts()
        least = 0.0 if scripts else min(notice_real_s, OFF_S / self._line().speed)
        while (passed := time.monotonic() - began) < (notice_real_s if self._ending else least):
            time.sleep(min(_ENDS_S, max(0.001, notice_real_s - passed)))
        processes.end(self._machine.tag, os.getpid())

    def _run_shutdown_scripts(self) -> bool:
        """Begin the metadata's ``shutdown-script`` on every worker; whether there is one."""
        text = self._machine.metadata.get("shutdown-script", "")
        if not text or self._machine.doubts.get("shutdown-script") == "never":
            return False
        running = {worker: pid for pid, worker in self._workers.items()}
        for worker in range(self._machine.workers):
            script = machines.worker_folder(self._folder, worker) / "shutdown-script"
            script.write_text(text, "utf-8")
            script.chmod(0o700)
            self._say(worker, "Running shutdown script.")
            env = self._environment(worker)
            if self._machine.faults.get("disk-full", {}).get("mount") and worker in running:
                env["TPU_STUDIO_VM_ROOT"] = f"/proc/{running[worker]}/root{machines.vm_root(self._folder, worker)}"
            with self._beginning:
                self._ending.add(self._started(worker, image.command(script, {}), env))
        return True

    def _fault(self, about: Mapping[str, Any]) -> None:
        """``{"name", "facts"}``: now, or from the step ``step`` on."""
        name, facts = str(about["name"]), dict(about["facts"])
        self._machine = replace(self._machine, faults={**self._machine.faults, name: facts})
        if facts.get("step") is not None:
            self._at_step[name] = int(facts["step"])
            self._wake()
        else:
            self._happen(name, facts)

    def _watch_steps(self) -> None:
        if not self._at_step:
            return
        step = progress.step(self._roots())
        for name, at in list(self._at_step.items()):
            if step is not None and step >= at:
                del self._at_step[name]
                self._happen(name, self._machine.faults[name])

    def _happen(self, name: str, facts: Mapping[str, Any]) -> None:
        if name == "vm-hung":
            processes.freeze(self._machine.tag, os.getpid())
        elif name == "vm-without-network":
            self._cut(not facts.get("over", False))
        elif name == "disk-full":
            if facts["mount"]:
                for root in self._roots():
                    _fill_up(root / ".full")
            else:
                _let_no_file_grow(self._members(), int(facts["bytes"]))
        elif name == "preempted-at-step":
            self._stop({"notice_real_s": float(facts["notice_real_s"]), "preempted": True})

    def _roots(self) -> list[Path]:
        """`TPU_STUDIO_VM_ROOT` of every worker, also where it is a small disk that only its own processes see."""
        roots = [machines.vm_root(self._folder, worker) for worker in range(self._machine.workers)]
        if not self._machine.faults.get("disk-full", {}).get("mount"):
            return roots
        return [Path(f"/proc/{pid}/root{roots[worker]}") for pid, worker in self._workers.items()]

    def _cut(self, cut: bool) -> None:
        for server in self._servers:
            server.is_cut = cut
        with self._lock:
            if self._state is not None and self._state.is_cut != cut:
                self._state = replace(self._state, is_cut=cut)
                self._state.save(self._folder)

    def _members(self) -> list[psutil.Process]:
        return processes.members(self._machine.tag, os.getpid())

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_out, b"!")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def _files_up_to(size: int | None) -> Any:
    """Children started meanwhile can't make a file longer than *size* bytes: a write beyond it fails (EFBIG)."""
    if size is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _fill_up(path: Path) -> None:
    """Write until nothing more fits."""
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while file.write(bytes(65536)):
            pass


def _let_no_file_grow(members: list[psutil.Process], size: int) -> None:
    for process in members:
        with contextlib.suppress(psutil.Error, AttributeError):  # rlimit of others: Linux only
            process.rlimit(psutil.RLIMIT_FSIZE, (size, size))


class _Control(LoopbackServer):
    """POST /<verb> with a JSON object and the machine's key; answers when it has been done or begun."""

    def __init__(self, key: str, verbs: Mapping[str, Callable[[Mapping[str, object]], None]]) -> None:
        super().__init__(0, _ControlHandler, _AT_ONCE)
        self.key, self.verbs = key, verbs
        threading.Thread(target=self.serve_forever, args=(3600.0,), name="control", daemon=True).start()


class _ControlHandler(LoopbackHandler):
    server: _Control

    def do_POST(self) -> None:
        verb = self.server.verbs.get(self.path)
        allowed = hmac.compare_digest(self.headers.get("X-Practice-Key", "").encode(), self.server.key.encode())
        if not allowed or verb is None:
            self._answer(403 if not allowed else 404, {})
            return
        verb(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"))
        self._answer(200, {})

    def _answer(self, status: int, body: dict[str, object]) -> None:
        data = json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass
