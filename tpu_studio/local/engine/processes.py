"""Run one step of the installation as a process: its lines as they come, stopped with all its children when asked.

Used by everything here that starts pip, venv or the self-test. One thread, no callbacks from elsewhere: the
caller's `on_line` and `idle` run in the calling thread.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from tpu_studio.local.engine.progress import Cancelled
from tpu_studio.wire.errors import StudioError

_LOOK_EVERY_S = 0.1
_TERM_GRACE_S = 3.0
_TAIL_LINES = 60
_LOGIN = re.compile(rb"(?<=://)[^\s'\"]*:[^\s'\"]*@")

# Variables of a person's pip setup that would send packages elsewhere; index, proxy and certificate are kept.
_PIP_ELSEWHERE = {
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_CONSTRAINT",
    "PIP_REQUIREMENT",
    "PIP_DRY_RUN",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_NO_BINARY",
    "PIP_QUIET",
    "PIP_VERBOSE",
    "PIP_LOG",
    "PIP_REPORT",
    "PIP_PYTHON",
    "PIP_NO_DEPS",
    "PIP_IGNORE_INSTALLED",
    "PIP_PLATFORM",
    "PIP_PYTHON_VERSION",
    "PIP_UPGRADE",
    "PIP_PRE",
    "PIP_FORCE_REINSTALL",
    "PIP_BUILD_CONSTRAINT",
    "PIP_PROGRESS_BAR",
    "PIP_COMPILE",
    "PIP_NO_COMPILE",
}


def clean_environment(**changes: str) -> dict[str, str]:
    """This process's environment without what would lead another Python astray, plus *changes*."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name not in _PIP_ELSEWHERE and name != "VIRTUAL_ENV"
    }
    if "LD_LIBRARY_PATH_ORIG" in kept:  # set by PyInstaller, which points LD_LIBRARY_PATH at its own libraries
        kept["LD_LIBRARY_PATH"] = kept.pop("LD_LIBRARY_PATH_ORIG")
    return {**kept, "LC_ALL": "C.UTF-8", **changes}


def run(
    command: Sequence[str | Path],
    *,
    env: dict[str, str],
    log: Path,
    on_line: Callable[[str], None],
    cancelled: Cancelled,
    idle: Callable[[], None] = lambda: None,
    keep_open: Sequence[int] = (),
    deadline_s: float | None = None,
) -> tuple[int, str]:
    """Run *command* to its end; return its exit code and the last lines it said (both streams, also in *log*).

    Args:
        idle: Called about ten times a second.
        keep_open: File descriptors the process inherits: a lock stays held while an orphan still works.
        deadline_s: After so many seconds it is ended and counts as exit code 124.

    Raises:
        StudioError: `engine-cancelled`; the process and its children are gone.
    """
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    arguments = [str(part) for part in command]
    started = time.monotonic()
    with open(log, "ab") as record:
        record.write(f"$ {' '.join(arguments)}\n".encode())
        process = subprocess.Popen(
            arguments,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=tuple(keep_open),
            bufsize=0,
        )
        try:
            assert process.stdout is not None
            os.set_blocking(process.stdout.fileno(), False)
            with process.stdout as pipe, selectors.DefaultSelector() as selector:
                selector.register(pipe, selectors.EVENT_READ)
                pending = b""
                open_end = True
                while open_end:
                    if cancelled():
                        raise StudioError("engine-cancelled")
                    if deadline_s is not None and time.monotonic() - started > deadline_s:
                        tail.append(f"ended after {deadline_s:.0f} seconds without an answer")
                        return 124, "\n".join(tail)
                    if selector.select(_LOOK_EVERY_S):
                        chunk = pipe.read(65536)
                        open_end = chunk != b""
                        *lines, pending = (pending + (chunk or b"")).split(b"\n")
                        for line in map(_without_logins, lines):
                            record.write(line + b"\n")
                            _tell(line, tail, on_line)
                    idle()
            if pending:
                pending = _without_logins(pending)
                record.write(pending)
                _tell(pending, tail, on_line)
            return process.wait(), "\n".join(tail)
        finally:
            _end_group(process)


def _without_logins(line: bytes) -> bytes:
    """pip says the whole address of a proxy or an index that it cannot parse: what stands before its last @ is cut."""
    return _LOGIN.sub(b"", line)


def _tell(line: bytes, tail: deque[str], on_line: Callable[[str], None]) -> None:
    text = line.decode("utf-8", "replace").rstrip()
    if text and not text.startswith("Progress "):
        tail.append(text)
    on_line(text)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and whatever it started; a no-op after it has ended by itself."""
    if process.poll() is not None:
        return
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(_TERM_GRACE_S)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue
    process.wait()
