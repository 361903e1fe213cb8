"""The trainer's two pipes: events out, commands in.

Events go to what was file descriptor 1 at start; descriptor 1 itself is pointed at stderr first, so that a model that
prints cannot break the stream. One thread encodes and writes, so a slow reader never holds up training. Commands are
JSON lines on stdin; its end means that the guardian is gone.

A guardian that says ``answers`` answers each ``written`` event when all lines before it are on its disk: what stands in
the pipe dies with the guardian, and a copy of the state must not count on it.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from tpu_studio.wire.events import encode, event

Command = dict[str, Any]
GONE: Command = {"verb": "gone"}


class Events:
    """Where events go. `send` may be called from any thread and returns at once."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: queue.SimpleQueue[Mapping[str, object] | threading.Event] = queue.SimpleQueue()
        self.broken = False
        self._answers = False
        self._asked: dict[int, threading.Event] = {}
        threading.Thread(target=self._write, name="events", daemon=True).start()

    def send(self, kind: str, **fields: Any) -> None:
        self._lines.put(event(kind, **fields))

    def flush(self, timeout_s: float = 10.0) -> None:
        """Wait until what was sent so far is written."""
        written = threading.Event()
        self._lines.put(written)
        written.wait(timeout_s)

    def told(self, timeout_s: float = 30.0) -> None:
        """Wait until the guardian has what was sent so far on its disk; one that does not answer: in the pipe."""
        if not self._answers or self.broken:
            return self.flush(timeout_s)
        number, written = len(self._asked) + 1, threading.Event()
        self._asked[number] = written
        self._lines.put(event("written", number=number))
        written.wait(timeout_s)

    def heard(self, command: Command) -> bool:
        """Take an answer of the guardian's; False when it is a command of another kind."""
        verb, number = command["verb"], command.get("number")
        if verb == "answers":
            self._answers = True
        elif verb == "written" and isinstance(number, int) and number in self._asked:
            self._asked[number].set()
        elif verb == "gone":  # nobody will answer any more
            self._answers = False
            for written in self._asked.values():
                written.set()
        return verb in ("answers", "written")

    def _write(self) -> None:
        while True:
            item = self._lines.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            line = encode(item)
            while line and not self.broken:
                try:
                    line = line[os.write(self._fd, line) :]
                except OSError:  # the reader is gone; the end of stdin says so too, and that is acted upon
                    self.broken = True


def take_stdout() -> int:
    """The descriptor for events; from here on whatever is printed goes to stderr."""
    sys.stdout.flush()
    fd = os.dup(1)
    os.set_inheritable(fd, False)
    os.dup2(2, 1)
    return fd


class Commands:
    """Commands as they come in; *on_arrival* is called in the reading thread, and keeps what it says True to."""

    def __init__(self, fd: int, on_arrival: Callable[[Command], bool] | None = None) -> None:
        self._fd, self._on_arrival = fd, on_arrival
        self._arrived: queue.SimpleQueue[Command] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def take(self) -> Command | None:
        try:
            return self._arrived.get_nowait()
        except queue.Empty:
            return None

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                chunk = os.read(self._fd, 1 << 16)
            except OSError:
                chunk = b""
            if not chunk:
                self._arrive(GONE)
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                command = _command(line)
                if command is not None:
                    self._arrive(command)

    def _arrive(self, command: Command) -> None:
        if self._on_arrival is None or not self._on_arrival(command):
            self._arrived.put(command)


def _command(line: bytes) -> Command | None:
    if not line.strip():
        return None
    try:
        command = json.loads(line)
    except ValueError:
        command = None
    if not isinstance(command, dict) or not isinstance(command.get("verb"), str):
        print(f"trainer: not a command: {line[:200]!r}", file=sys.stderr)
        return None
    return command
