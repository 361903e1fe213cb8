"""One practice server for each TPU_STUDIO_HOME: who holds the home serves it, and everybody else finds it by a file.

    <home>/practice/lock          held by the server for as long as it lives
    <home>/practice/server.json   pid, port, url, token …; 0600; written when the port listens
    <home>/practice/server.log    what a detached server had to say

`start_or_join` is for the app and `--on practice`; `serve` is the server's own life, in the foreground or detached. A
detached one leaves after ten minutes without a request, a machine or a task that waits; state and machines stay.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib import error, request

import psutil

from tpu_studio.practice.faults import read_fault
from tpu_studio.practice.machines import processes
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.practice.settings import folder_of as folder
from tpu_studio.practice.state import Record, check_memory
from tpu_studio.wire import ownpython
from tpu_studio.wire.claims import try_lock
from tpu_studio.wire.errors import NotReady, words_of
from tpu_studio.wire.homes import make_private

_LOOPBACK = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}")
IDLE_S = 600.0
START_S = 60.0
STOP_S = 60.0
_CALL_S = 20.0
_LOG_TAIL = 2000
_LOOKS = 50
_ODD_RECORD = (KeyError, TypeError, AttributeError, IndexError, OverflowError)
_TRIES = 10  # of starting one, where others that start have the home for a moment
_started: list[subprocess.Popen[bytes]] = []  # servers outlive us; what ended before is collected here


def running(home: Path) -> Record | None:
    """What the server of *home* printed when it was ready, if it answers; None: there is none.

    A file that a killed server left is not believed, for its port may be somebody else's by now: only while a server
    holds the home, and the process that wrote the file lives, is the port asked, and its answer must name itself.
    """
    try:
        record: Record = json.loads((folder(home) / "server.json").read_text("utf-8"))
        lives = processes.is_running(int(record["pid"]), float(record["created"]))
        if not lives or not _is_held(home) or not _LOOPBACK.fullmatch(record["url"]):
            return None  # its token is for nobody else
        ready = _call(record, "GET", "/practice/ready")
        is_itself = (ready["url"], ready["token"]) == (record["url"], record["token"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, HTTPException):
        return None
    return ready if is_itself else None


def start_or_join(home: Path, program: list[str] | None = None, options: tuple[str, ...] = ()) -> Record:
    """``{"url","project","zone","bucket","token"}`` of the server of *home*, started if need be.

    Args:
        program: How this program is called; default: as it was started.
        options: Of the verb ``practice``, for a server that has to be started.

    Raises:
        NotReady: ``practice-failed``: it does not start; ``raw`` holds the end of its log. ``practice-damaged``.
    """
    started: subprocess.Popen[bytes] | None = None
    give_up, tries = time.monotonic() + START_S, 0
    while (found := running(home)) is None:
        if started is None or (started.poll() is not None and not _is_held(home)):
            tries += 1
            late = time.monotonic() > give_up or tries > _TRIES
            if late or (started is not None and started.returncode not in (0, 4)):
                raise NotReady("practice-failed", raw=_tail(folder(home) / "server.log"))
            _check_memory(folder(home))
            started = _spawn(home, [*(program or ownpython.program()), "practice", *options])
        elif time.monotonic() > give_up:
            raise NotReady("practice-failed", raw=_tail(folder(home) / "server.log"))
        time.sleep(0.05)
    return found


def serve(
    settings: Settings,
    faults: tuple[str, ...],
    port: int,
    ready: Callable[[dict[str, object]], None],
    ended: threading.Event,
    idle_s: float | None = None,
    doubts: tuple[str, ...] = (),
) -> Practice:
    """Serve until *ended* is set, somebody calls `stop`, or nothing has happened for *idle_s*.

    Raises:
        NotReady: ``practice-running``: another server has this home; ``practice-port-taken``; ``practice-damaged``.
        ValueError: a fault that is not known.
    """
    for text in faults:
        read_fault(text)
    with _held(settings.folder):
        _check_memory(settings.folder)
        try:
            practice = Practice(settings, faults, port, doubts)
        except OSError as failed:
            raise NotReady("practice-port-taken", port=port, raw=str(failed)) from failed
        except _ODD_RECORD as odd:
            raise NotReady("practice-damaged", folder=str(settings.folder), raw=words_of(odd)) from odd
        practice.cloud.on_stop = ended.set
        practice.start()
        try:
            itself = {"pid": os.getpid(), "created": psutil.Process().create_time()}
            _write(settings.folder / "server.json", {**itself, **practice.ready()})
            ready(practice.ready())
            while not ended.wait(0.2):
                quiet_s = time.monotonic() - practice.server.used_at
                if idle_s is not None and quiet_s > idle_s and not any(busy() for busy in practice.cloud.busy):
                    break
        finally:
            (settings.folder / "server.json").unlink(missing_ok=True)
            practice.stop()
    return practice


def arm(home: Path, faults: list[str]) -> list[dict[str, object]]:
    """Have *faults* (``NAME[:key=value,…]``) go wrong in the server of *home*; all that are armed there.

    Raises:
        NotReady: ``practice-failed``: there is no server.
        ValueError: a fault or a key that it does not know.
    """
    record = running(home)
    if record is None:
        raise NotReady("practice-failed", raw="It does not run.")
    wanted = [read_fault(text) for text in faults]
    answer = _call(record, "GET", "/practice/faults")
    for name, about in wanted:
        answer = _call(record, "POST", "/practice/faults", {"name": name, **about})
    armed: list[dict[str, object]] = answer["armed"]
    return armed


def doubt(home: Path, texts: list[str]) -> dict[str, str]:
    """Have the server of *home* answer *texts* (``ID[=other]``) the other way; all that it does, slug by id.

    Raises:
        NotReady: ``practice-failed``: there is no server.
        ValueError: a doubt that it does not know.
    """
    record = running(home)
    if record is None:
        raise NotReady("practice-failed", raw="It does not run.")
    answer = _call(record, "GET", "/practice/doubts")
    for text in texts:
        answer = _call(record, "POST", "/practice/doubts", {"doubt": text})
    armed: dict[str, str] = answer["armed"]
    return armed


def lend_engine(record: dict[str, object], root: Path) -> None:
    """Tell the server of *record*, which may have been started before there was one, where the training engine is: its
    machines would install their software from the network. Raises OSError."""
    if (root / "engine.json").is_file():
        _call(record, "POST", "/practice/engine", {"root": str(root.absolute())})


def stop(home: Path) -> bool:
    """End the server of *home* and its machines; whether there was one, or a machine that had outlived it.

    Raises NotReady: ``practice-does-not-stop``; ``practice-stop-unrecorded``: it has ended with its machines, but could
        not write that down; ``practice-failed``: it does not start where a machine is there that only a server can end.
    """
    record = running(home)
    if record is None:
        if not _machines_left(home):
            return False
        record = start_or_join(home)
    unrecorded: list[str] = []
    with suppress(OSError):  # it may be gone before it has answered; whether it is, the lock tells
        unrecorded = _call(record, "POST", "/practice/stop")["unrecorded"]
    give_up = time.monotonic() + STOP_S
    while _is_held(home):
        if time.monotonic() > give_up:
            raise NotReady("practice-does-not-stop", url=record["url"])
        time.sleep(0.05)
    _collect()
    if unrecorded:
        raise NotReady("practice-stop-unrecorded", folder=str(folder(home)), raw="; ".join(unrecorded))
    return True


def _check_memory(folder: Path) -> None:
    """Raises NotReady ``practice-damaged``."""
    try:
        check_memory(Settings(folder).database)
    except ValueError as damage:
        raise NotReady("practice-damaged", folder=str(folder), raw=str(damage)) from damage


def _machines_left(home: Path) -> bool:
    from tpu_studio.practice.machines import machine

    states = [machine.read_state(path.parent) for path in (folder(home) / "machines").glob(f"*/{machine.STATE}")]
    return any(state is not None and processes.is_running(state.pid, state.created) for state in states)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    make_private(folder)
    with (folder / "lock").open("a") as lock:
        looks = _LOOKS
        while not try_lock(lock.fileno()):
            looks -= 1
            if (told := running(folder.parent)) is not None or looks == 0:
                raise NotReady("practice-running", url=(told or {}).get("url", ""))
            time.sleep(0.01)  # somebody may only have looked whether it is held
        (folder / "server.json").unlink(missing_ok=True)  # left by one that was killed
        yield


def _is_held(home: Path) -> bool:
    if sys.platform == "win32":  # no locks there
        return (folder(home) / "server.json").exists()
    try:
        with (folder(home) / "lock").open("r+") as lock:
            return not try_lock(lock.fileno(), shared=True)
    except FileNotFoundError:
        return False


def _call(record: dict[str, object], method: str, path: str, body: dict[str, object] | None = None) -> Record:
    data = None if body is None else json.dumps(body).encode()
    asked = request.Request(str(record["url"]) + path, data, method=method)
    asked.add_header("Authorization", f"Bearer {record['token']}")
    opener = request.build_opener(request.ProxyHandler({}))  # a proxy of this computer's is not asked for loopback
    try:
        with opener.open(asked, timeout=_CALL_S) as reply:
            answer: dict[str, object] = json.loads(reply.read())
            return answer
    except error.HTTPError as refused:
        with refused:
            text = refused.read()
        if refused.code == 400:
            raise ValueError(str(json.loads(text)["error"]["message"])) from refused
        raise OSError(str(refused)) from refused
    except (error.URLError, HTTPException) as failed:
        raise OSError(str(failed)) from failed


def _spawn(home: Path, program: list[str]) -> subprocess.Popen[bytes]:
    make_private(folder(home))
    arguments = [*program, "--json", "--as-server"]  # its token is not for a log
    with (folder(home) / "server.log").open("wb") as log:
        _collect()
        started = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            cwd=ownpython.NEUTRAL_FOLDER,
            env=ownpython.environment() | {"TPU_STUDIO_HOME": str(home)},
        )
    _started.append(started)
    return started


def _collect() -> None:
    _started[:] = [server for server in _started if server.poll() is None]


def _write(path: Path, record: dict[str, object]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(record, file)
    temporary.replace(path)


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-_LOG_TAIL:].decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
