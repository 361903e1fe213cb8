"""What the desktop itself writes into a run folder: its own events file and who drives the run.

App and command line of one installation share one events file, so appending takes a lock on it and mends a line that
a crash has torn.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tpu_studio.wire.claims import this_machine, try_lock
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import encode, event, is_time
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.plainfiles import make_folder, open_plain
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import OWNER, PLAN, create_once, desk_events_file, write_atomically
from tpu_studio.wire.shapes import fits
from tpu_studio.wire.sizes import RECORD_BYTES, TooLarge, read_at_most
from tpu_studio.workflow import seals

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID_LENGTH = 8
_KEY = re.compile(r"[0-9a-f]{64}")
_LOOK_AGAIN_S = 0.05
_LEAST_BYTES = 1 << 20  # with less, SQLite's journal and the run's events find no room in one turn or the next


def install_id(home: Path) -> str:
    """The name of this installation, made on first need and kept in ``install-id``; made anew if that is damaged."""
    return _identity(home)[0]


def seal_key(home: Path) -> bytes:
    """What this installation seals its events with (`workflow.seals`). It stands in the file of its name, so that who
    has lost the one has lost both, and is another computer."""
    name, key = _identity(home)
    if not key:  # of an earlier version
        key = secrets.token_hex(32)
        _keep_identity(home, name, key)
    return bytes.fromhex(key)


def _identity(home: Path) -> tuple[str, str]:
    path = home / "install-id"
    if not path.exists() and create_once(path, "\n".join((*_new_identity(), "")).encode()):
        path.chmod(0o600)
    name, _, key = path.read_bytes().decode("ascii", "replace").strip().partition("\n")
    if len(name) == _ID_LENGTH and set(name) <= set(ALPHABET) and (not key or _KEY.fullmatch(key)):
        return name, key
    made = _new_identity()
    _keep_identity(home, *made)
    return made


def _new_identity() -> tuple[str, str]:
    return "".join(secrets.choice(ALPHABET) for _ in range(_ID_LENGTH)), secrets.token_hex(32)


def _keep_identity(home: Path, name: str, key: str) -> None:
    write_atomically(home / "install-id", f"{name}\n{key}\n".encode())
    (home / "install-id").chmod(0o600)


def write_event(folder: Path, install: str, kind: str, *, t: float, key: bytes = b"", **fields: object) -> None:
    """Append one event to the desktop's file, safe on disk when this returns.

    Args:
        key: `seal_key`; without it the line is not taken back from a bucket as this computer's own.

    Raises OSError; FileNotFoundError when there is no such folder: of a run that was moved away nothing is begun anew.
    """
    write_events(folder, install, [(kind, t, fields)], key=key)


def write_events(
    folder: Path, install: str, events: Iterable[tuple[str, float, Mapping[str, object]]], *, key: bytes = b""
) -> None:
    """As `write_event`, of kind, time and fields of each: all of them, or none."""
    path = desk_events_file(folder, install)
    make_folder(path.parent)
    fd = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        size = os.fstat(fd).st_size
        data = b"\n" if size > 0 and os.pread(fd, 1, size - 1) != b"\n" else b""
        for kind, t, fields in events:
            line = encode(event(kind, t=t, **fields))
            data += seals.sealed(key, folder.name, size + len(data), line) if key else line
        append_whole(fd, data, size)
        os.fsync(fd)
    finally:
        os.close(fd)


def append_whole(fd: int, data: bytes, size: int) -> None:
    """Append *data* to the file of *size* bytes open at *fd*: all of it, or nothing. Raises OSError."""
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(fd, left) :]
    except OSError:
        with suppress(OSError):  # what cannot be cut off either is mended by the next who appends
            os.ftruncate(fd, size)
        raise


def disk_error(error: OSError, folder: Path) -> RunError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return RunError("disk-full" if full else "folder-unwritable", folder=str(folder), raw=error.strerror or str(error))


def free_bytes(home: Path) -> int | None:
    """On the disk of *home*, which need not be there yet; None where the system does not tell."""
    there = next((path for path in (home, *home.parents) if path.is_dir()), home)
    try:
        return shutil.disk_usage(there).free
    except OSError:
        return None


def is_full(home: Path) -> bool:
    """Whether what a rented run does finds no room on the disk of *home*."""
    free = free_bytes(home)
    return free is not None and free < _LEAST_BYTES


def check_room(folder: Path, plan: Plan) -> None:
    """That a run of *plan* in *folder* can end with a model. Raises RunError ``disk-full``."""
    from tpu_studio.planner.room import least_bytes  # with the planner's words, which most verbs do without

    need, free = least_bytes(plan.memory.params), shutil.disk_usage(folder).free
    if free < need:
        raise RunError("disk-full", folder=str(folder), need_bytes=need, free_bytes=free)


@contextmanager
def driving(folder: Path, wait_s: float = 0.0) -> Iterator[bool]:
    """Alone among desktops in starting an attempt, declaring a run lost or moving it away.

    False when another is at it now, and for *wait_s* seconds from now. Raises OSError; FileNotFoundError when the run
    is not there, also when it was moved away while this waited.
    """
    give_up = time.monotonic() + wait_s
    while (fd := _alone_in(folder / PLAN)) is None and time.monotonic() < give_up:
        time.sleep(_LOOK_AGAIN_S)
    try:
        yield fd is not None
    finally:
        if fd is not None:
            os.close(fd)


def _alone_in(path: Path) -> int | None:
    """A descriptor that holds the lock of the file that is at *path* now; None when another holds it."""
    while True:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            alone = try_lock(fd)
            current = os.path.samestat(os.fstat(fd), os.stat(path))  # not moved away, nor replaced, before it was ours
        except BaseException:
            os.close(fd)
            raise
        if alone and current:
            return fd
        os.close(fd)
        if current:
            return None


@contextmanager
def making(folder: Path) -> Iterator[bool]:
    """Alone in filling the new *folder* of a run; False when another program is at it now. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)


def owner_record(install: str, *, t: float, **more: object) -> dict[str, object]:
    return {"install": install, "t": round(t, 3), "host": this_machine()["host"], **more}


def write_owner(folder: Path, install: str, *, t: float, **more: object) -> None:
    put_owner(folder, owner_record(install, t=t, **more))


def put_owner(folder: Path, record: Mapping[str, object]) -> None:
    write_atomically(folder / OWNER, json.dumps(dict(record), sort_keys=True).encode() + b"\n")


def read_owner(folder: Path) -> Mapping[str, object]:
    """Who drives the run; empty when nobody said so."""
    try:
        return owner_of(read_at_most(folder / OWNER, RECORD_BYTES))
    except (OSError, TooLarge):
        return {}


def owner_of(data: bytes) -> Mapping[str, object]:
    """What *data* says of who drives a run; empty where it says nothing that can be understood."""
    try:
        record = parse_json(data, OWNER)
    except ValueError:
        return {}
    if not isinstance(record, dict):
        return {}
    known = {"install": lambda value: fits(value, str), "host": lambda value: fits(value, str), "t": is_time}
    return {name: value for name, value in record.items() if name not in known or known[name](value)}
