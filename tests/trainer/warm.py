"""Programs of the engine, forked from one that has imported their framework: seconds of processor time less for each.

A server for each framework and process of pytest (`tests/fakes/warm_engine.py`). `Server.serves` says where it may not
stand for a real start: where the environment differs in what is read while the frameworks are imported.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.fakes.waiting import PATIENCE_S

SERVER = Path(__file__).resolve().parents[1] / "fakes" / "warm_engine.py"
READ_AT_IMPORT = ("ABSL", "CUDA", "GRPC", "HOME", "JAX", "KERAS", "LD_", "OMP", "OPENBLAS", "PYTHON", "TF_", "XDG_")
ASKED_FOR = "KERAS_BACKEND"  # looked at when a program imports Keras


class Forked:
    """What `subprocess.Popen` is to a program that was started; its standard input and output are pipes."""

    def __init__(self, answer: socket.socket, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self.returncode: int | None = None
        self._answer = answer
        self._answer.settimeout(PATIENCE_S)
        self.pid = self._told()

    def wait(self, timeout: float | None = None) -> int:
        """Raises TimeoutError."""
        if self.returncode is None:
            self._answer.settimeout(timeout)
            self.returncode = self._told()
            self._answer.close()
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0.0)
        except BlockingIOError:
            return None

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _told(self) -> int:
        told = self._answer.recv(100)
        assert told, "the warm engine has ended"
        return int(told)


class Server:
    """One that has imported *framework*. It ends with this process."""

    def __init__(self, python: Path, framework: str, environment: Mapping[str, str]) -> None:
        self._environment = {**environment, ASKED_FOR: framework}
        self._questions, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = [str(python), str(SERVER), framework]
        with its:
            self._process = subprocess.Popen(argv, env=self._environment, stdin=its, stdout=subprocess.DEVNULL)
        atexit.register(self.end)

    def serves(self, environment: Mapping[str, str]) -> bool:
        names = {name for name in {*environment, *self._environment} if name.startswith(READ_AT_IMPORT)}
        return all(environment.get(name) == self._environment.get(name) for name in names - {ASKED_FOR})

    def fork(self, argv: Sequence[str], environment: Mapping[str, str], stderr: IO[bytes]) -> Forked:
        """A program, as `python *argv*` would be it: a script or ``-m`` with a module, and its arguments."""
        told = {"argv": [*argv], "environment": {**environment}, "folder": os.getcwd()}
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (reads, stdin), (stdout, writes) = os.pipe(), os.pipe()
        socket.send_fds(self._questions, [json.dumps(told).encode()], [reads, writes, stderr.fileno(), its.fileno()])
        its.close()
        os.close(reads)
        os.close(writes)
        return Forked(mine, open(stdin, "wb", buffering=0), open(stdout, "rb", buffering=0))

    def end(self) -> None:
        self._questions.close()
        self._process.wait()
