"""Deleted runs: moved aside, brought back, and in the end removed for good."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import loads
from tpu_studio.wire.runfolder import PLAN


@dataclass(frozen=True)
class Deleted:
    """A run in the trash: its id, what it was called, and when it was deleted (seconds since 1970)."""

    run: str
    name: str
    at: float


def listed(trash: Path) -> list[Deleted]:
    """Deleted last first."""
    try:
        folders = [path for path in trash.iterdir() if path.is_dir() and not path.name.startswith(".")]
        found = [Deleted(path.name, _name(path), path.stat().st_mtime) for path in folders]
    except FileNotFoundError:
        return []  # nothing was ever deleted, or another window empties it right now
    return sorted(found, key=lambda one: -one.at)


def _name(folder: Path) -> str:
    try:
        return loads((folder / PLAN).read_bytes()).job.name
    except (OSError, RunError):
        return folder.name  # damaged before it was deleted


def put(folder: Path, trash: Path) -> Path:
    """Move *folder* into *trash*; one that lies there under the same name, deleted longer ago, is removed for good."""
    trash.mkdir(parents=True, exist_ok=True)
    target = trash / folder.name
    remove(target)
    os.rename(folder, target)
    os.utime(target)  # when it was deleted
    return target


def take_back(run: str, trash: Path, runs: Path) -> None:
    """Raises RunError: ``run-not-in-trash``, ``run-exists``."""
    source = trash / run
    if run != Path(run).name or not source.is_dir():
        raise RunError("run-not-in-trash", run=run)
    if (runs / run).exists():
        raise RunError("run-exists", run=run)
    runs.mkdir(parents=True, exist_ok=True)
    os.rename(source, runs / run)


def older_than(trash: Path, seconds: float, now: float) -> list[str]:
    if not trash.is_dir():
        return []
    return sorted(path.name for path in trash.iterdir() if path.is_dir() and now - path.stat().st_mtime >= seconds)


def remove(folder: Path) -> None:
    """Delete *folder* for good, if it is there. Symlinks in it are removed, not followed."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
