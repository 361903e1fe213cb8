"""Folders beside the runs that are there only while something is taken in, and what a killed program left of them.

Whoever makes one holds a lock on it; a system lets go of it with the process, however that ends.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tpu_studio.wire.claims import try_lock

_KINDS = (".importing-", ".unzipping-")
_LEFT_AFTER_S = 3600.0


@contextmanager
def folder(runs: Path, kind: str) -> Iterator[Path]:
    """A new folder in *runs*, removed in the end unless it has moved. *kind*: importing, unzipping. Raises OSError."""
    made = runs / f".{kind}-{secrets.token_hex(8)}"
    made.mkdir()
    held = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try_lock(held)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(held)


def sweep(runs: Path, now: float) -> None:
    """Remove those that nobody holds, an hour after their last change: earlier versions held none."""
    with suppress(OSError):  # no runs yet, or a folder that is no longer ours to read: the next start looks again
        for path in runs.iterdir():
            if path.name.startswith(_KINDS):
                _remove(path, now)


def _remove(path: Path, now: float) -> None:
    with suppress(OSError):  # it is gone meanwhile, or a link: neither is ours to remove
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if now - os.fstat(held).st_mtime > _LEFT_AFTER_S and try_lock(held):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(held)
