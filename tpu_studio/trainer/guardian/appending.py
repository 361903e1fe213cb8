"""The guardian's own events file: appended line by line, never torn, and honest when the disk is full.

The guardian is the only writer. A line that does not fit is held in memory (up to a bound) and written when there is
room again; a part of a line that did fit is taken back. A small reserve file is kept beside the claim and given up at
the end, so that the closing event fits on a disk that is full to the last byte.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tpu_studio.wire.events import encode, event
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.plainfiles import make_folder, open_plain
from tpu_studio.wire.runfolder import claim_file, events_file, heartbeat_file, write_atomically

_HELD_BYTES = 1 << 20
_RESERVE_BYTES = 64 << 10
_TIME = re.compile(rb'\{"t": ?([0-9]{1,12}(?:\.[0-9]+)?)')
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HEARTBEAT_S = 30.0
_BEGIN = b'{"t":'  # of the first line of each events file (`wire.events.event`)


class EventsFile:
    """Appends to ``events/aNNNN-wNNN.jsonl`` of this attempt.

    Attributes:
        problem: ``OSError`` of the latest write that did not fit or was refused; None while all is well.
        written_at: Monotonic time of the latest line on disk.
        had_lines: Whether an earlier guardian of the attempt has written lines.
    """

    def __init__(
        self, run: Path, attempt: int, worker: int = 0, *, at: Callable[[float], float] = lambda wall: wall
    ) -> None:
        """*at*: what a time of this machine's clock is by the clock that counts."""
        self._at = at
        path = events_file(run, attempt, worker)
        make_private(path.parent.parent)
        make_folder(path.parent)
        self._fd = open_plain(path, os.O_RDWR | os.O_CREAT)
        self._size = _repair(self._fd)
        self.had_lines = self._size > 0
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._lost = 0
        self._reserve = claim_file(run, attempt).with_name(f".reserve-a{attempt:04d}-w{worker:03d}")
        self._heartbeat = heartbeat_file(run, attempt, worker)
        self._beaten_at = time.monotonic()
        self.problem: OSError | None = None
        self.written_at = time.monotonic()
        self._make_reserve()

    def say(self, kind: str, **fields: object) -> None:
        self.append(self.line(kind, **fields))

    def line(self, kind: str, **fields: Any) -> bytes:
        """An event of now, encoded."""
        return encode(event(kind, t=self._at(time.time()), **fields))

    def time(self, wall: float) -> float:
        """By the clock that counts, of a moment ago that was *wall* by this machine's own."""
        return round(self._at(wall), 3)

    def stamped(self, line: bytes) -> bytes:
        """The trainer's *line* with its time by the clock that counts."""
        found = _TIME.match(line)
        if found is None:
            return line
        said = float(found[1])
        counts = self._at(said)
        return line if counts == said else b'{"t":%.3f' % counts + line[found.end() :]

    def append(self, line: bytes) -> None:
        """Append one whole line; hold it if the disk refuses."""
        if self._held or not self._write(line):
            self._hold(line)

    def retry(self) -> bool:
        """Write what is held; True when nothing is left."""
        while self._held:
            if not self._write(self._held[0]):
                return False
            self._held_bytes -= len(self._held.popleft())
        if self._lost:
            line = self.line("notice", id="events-lost", level="warning", facts={"lines": self._lost})
            if not self._write(line):
                return False
            self._lost = 0
        return True

    def sync(self) -> None:
        """Wait until what is written is safe from a power cut."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            self.problem = error

    def beat(self) -> None:
        """Say that the guardian lives, if no line has said so for 30 s."""
        now = time.monotonic()
        if now - max(self.written_at, self._beaten_at) < HEARTBEAT_S:
            return
        self._beaten_at = now
        try:
            make_folder(self._heartbeat.parent)
            write_atomically(self._heartbeat, encode({"t": round(self._at(time.time()), 3)}))
        except OSError as error:
            self.problem = error

    def close_with(self, line: bytes, *, patience_s: float = 10.0) -> bool:
        """Write what is held and, as the very last, *line*; True when it is safe on disk.

        The reserve makes room. Held lines that still do not fit are given up for the sake of the last one.
        """
        self._reserve.unlink(missing_ok=True)
        deadline = time.monotonic() + patience_s
        while not (self.retry() and self._write(line)):
            if time.monotonic() > deadline or (self.problem and self.problem.errno not in _FULL):
                self._held.clear()
                if not self._write(line):
                    return False
                break
            time.sleep(0.2)
        self.sync()
        os.close(self._fd)
        return True

    def _make_reserve(self) -> None:
        try:
            make_folder(self._reserve.parent)
            with os.fdopen(open_plain(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                file.write(b"\0" * _RESERVE_BYTES)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self.problem = error

    def _write(self, line: bytes) -> bool:
        done = 0
        try:
            while done < len(line):
                done += os.pwrite(self._fd, line[done:], self._size + done)
        except OSError as error:
            self.problem = error
            if done:
                os.ftruncate(self._fd, self._size)
            return False
        self._size += done
        self.written_at = time.monotonic()
        return True

    def _hold(self, line: bytes) -> None:
        if self._held_bytes + len(line) > _HELD_BYTES:
            self._lost += 1
            return
        self._held.append(line)
        self._held_bytes += len(line)


def is_full(problem: OSError | None) -> bool:
    return problem is not None and problem.errno in _FULL


def _repair(fd: int) -> int:
    """Cut a torn last line off a file that is ours alone; its size. An earlier guardian of the attempt may have died.

    Raises OSError ``EINVAL`` for a file that is no log of events: nothing of it is cut, and nothing is written there.
    """
    size = os.fstat(fd).st_size
    head = os.pread(fd, len(_BEGIN), 0)
    if head.strip(b"\0") and not _BEGIN.startswith(head):  # zeros: what a power cut may leave
        os.close(fd)
        raise OSError(errno.EINVAL, "is no log of events")
    end = size
    while end > 0:
        start = max(0, end - 65_536)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        os.ftruncate(fd, end)
    return end
