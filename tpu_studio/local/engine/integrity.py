"""Find packages of the engine whose files are not what their wheels brought (RECORD, PEP 376 and the wheel format)."""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Callable
from pathlib import Path

from tpu_studio.local.engine.lock import Lock, canonical


def damaged_packages(environment: Path, lock: Lock, tell: Callable[[int, str], None]) -> list[str]:
    """Locked packages that are absent, of another version, or have a file missing or changed.

    Reads about 2 GB. *tell* hears the number of packages looked at and the next one's name, and may raise to stop.
    """
    infos = {
        canonical(info.name.partition("-")[0]): info
        for info in environment.glob("lib/python3.*/site-packages/*.dist-info")
    }
    damaged: list[str] = []
    for number, (name, package) in enumerate(sorted(lock.packages.items())):
        tell(number, name)
        info = infos.get(name)
        version = info.name.removesuffix(".dist-info").partition("-")[2] if info else ""
        if info is None or version != package.version or not _is_whole(info):
            damaged.append(name)
    return damaged


def _is_whole(info: Path) -> bool:
    try:
        rows = list(csv.reader((info / "RECORD").read_text(encoding="utf-8").splitlines()))
        return bool(rows) and all(_matches(info.parent / row[0], row[1]) for row in rows)
    except (OSError, ValueError, IndexError, csv.Error):
        return False


def _matches(path: Path, expected: str) -> bool:
    """*expected* is `sha256=<urlsafe base64 without padding>`, or empty for files without a hash (RECORD, .pyc)."""
    if not expected:
        return path.suffix == ".pyc" or path.exists()
    algorithm, _, digest = expected.partition("=")
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, algorithm).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode() == digest
