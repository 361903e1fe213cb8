"""The trainer as a child process: its two pipes, its stderr, its process group, and its death.

Reader threads put what arrives into one queue; the keeper empties it. The queue is bounded, so a trainer that reports
faster than the disk takes it is slowed down instead of filling the memory.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

from tpu_studio.trainer.guardian.memory import MemoryWatch

LINE_AT_MOST = 8 << 20
_LAST_WORDS = 30

Arrival = tuple[str, bytes]  # ("stdout" | "stderr" | "end-of-stdout" | "end-of-stderr", line without newline)


class Trainer:
    """A started trainer. Its arrivals are read with `next_arrival`; it is over when `is_over`."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """*environment*: None for ours. Raises OSError when the program cannot be started."""
        self._arrivals: queue.Queue[Arrival] = queue.Queue(maxsize=4096)
        self._process = subprocess.Popen(
            _dies_with_us(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )
        give_way(self._process.pid, os.getpriority(os.PRIO_PROCESS, 0))
        self._open = {"stdout", "stderr"}
        self._exited_at: float | None = None
        self._memory_at = 0.0
        self.memory = MemoryWatch(self._process.pid)
        self.last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self.killed_by_us = False
        for name, pipe in (("stdout", self._process.stdout), ("stderr", self._process.stderr)):
            assert pipe is not None
            threading.Thread(target=self._read, args=(name, pipe), daemon=True, name=f"trainer-{name}").start()

    @property
    def code(self) -> int | None:
        """Exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def is_over(self) -> bool:
        """The process has ended and its pipes are read to the end (a grandchild may hold them open: 2 s are enough)."""
        if self._process.poll() is None:
            return False
        self._exited_at = self._exited_at or time.monotonic()
        return self._arrivals.empty() and (not self._open or time.monotonic() - self._exited_at > 2.0)

    def next_arrival(self, timeout_s: float) -> Arrival | None:
        try:
            arrival = self._arrivals.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if arrival[0].startswith("end-of-"):
            self._open.discard(arrival[0].removeprefix("end-of-"))
            return None
        return arrival

    def tell(self, command: Mapping[str, object]) -> bool:
        """Send one command; False when the trainer no longer listens."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
        except (BrokenPipeError, ValueError):
            return False
        return True

    def watch_memory(self) -> None:
        """Note the size of the process, at most once a second."""
        if time.monotonic() - self._memory_at >= 1.0:
            self._memory_at = time.monotonic()
            self.memory.sample()

    def end(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the trainer and everything it started."""
        self.killed_by_us = True
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # all of the group is gone

    def close(self) -> None:
        """After the end: nothing of the trainer's group stays behind, no pipe stays open."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self._process.wait()
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass

    def _read(self, name: str, pipe: IO[bytes]) -> None:
        """Cut what comes through *pipe* into lines; one longer than LINE_AT_MOST is dropped and said so."""
        rest, dropped = b"", 0
        fd = pipe.fileno()
        while True:
            chunk = os.read(fd, 1 << 16)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if dropped:
                    line, dropped = f"a line of {dropped + len(line)} bytes was left out".encode(), 0
                    self._arrivals.put(("stderr", line))
                    continue
                self._arrivals.put((name, line))
            if len(rest) > LINE_AT_MOST:
                dropped, rest = dropped + len(rest), b""
        if rest:
            self._arrivals.put((name, rest))
        pipe.close()
        self._arrivals.put((f"end-of-{name}", b""))


def give_way(leader: int, by: int) -> None:
    """Let other sessions of this computer come before that of process *leader*, as *by* (its niceness) asks for.

    Linux divides the processor among sessions first, and only within one by niceness (man 7 sched, “autogroup”), so a
    trainer in a session of its own would hold up the window however nice it is. Elsewhere its own niceness is enough.
    """
    for _ in range(5 if by > 0 else 0):
        try:
            with open(f"/proc/{leader}/autogroup", "w") as group:
                group.write(str(by))
            return
        except BlockingIOError:  # the kernel takes ten such changes a second
            time.sleep(0.1)
        except OSError:
            return  # no such groups here, or the trainer is over already


_DIES = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG, kept over the exec
if os.getppid() != int(sys.argv[1]):
    os._exit(1)  # the guardian died before
os.execv(sys.argv[2], sys.argv[2:])
"""


def _dies_with_us(argv: Sequence[str]) -> list[str]:
    """On Linux, *argv* as a program that the kernel ends when the guardian is gone, however it went; elsewhere itself.

    End of file on its stdin tells the trainer the same, but not while it is deep in a compiler. Nothing of ours runs
    between fork and exec: with several threads that can wait for ever for a lock that one of them held.

    Raises OSError: there is no such program.
    """
    if not sys.platform.startswith("linux"):
        return list(argv)
    program = shutil.which(argv[0])
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    return [sys.executable, "-I", "-S", "-c", _DIES, str(os.getpid()), program, *argv[1:]]
