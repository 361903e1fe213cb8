"""Folders of the home that hold what came from the Hugging Face Hub: one writer at a time, room, and what is there."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tpu_studio.wire import claims
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.homes import make_private

LOCK = "lock"
_SPARE = 200_000_000  # bytes of a disk that are left


def size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Raises NotReady ``hub-busy``: another process fetches this model."""
    with writing(folder):
        make_private(folder)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not claims.try_lock(lock):
            raise NotReady("hub-busy", name=folder.name.replace("--", "/", 1))
        yield
    finally:
        os.close(lock)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except requests.RequestException:
        raise
    except OSError as error:
        if isinstance(error, (TimeoutError, ConnectionError)):
            raise
        id = "hub-no-disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "hub-folder"
        raise NotReady(id, folder=str(folder), raw=error.strerror or "") from error


def check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise NotReady("hub-no-disk", folder=str(folder), needed_bytes=needed + _SPARE, free_bytes=free)
