"""The files an engine is installed from: kept in `<root>/wheels` until the engine counts, so that a cancelled or
broken download goes on where it was, on any network and without relying on a cache of pip's.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tpu_studio.local.engine.lock import Lock, canonical

# A file this big is fetched by a pip of its own, because pip hands over its files only at the end of a command.
ALONE_BYTES = 8_000_000


def sound_wheels(folder: Path, lock: Lock, tell: Callable[[str], None]) -> set[str]:
    """Locked packages whose file lies in *folder*, whole; anything else there is deleted.

    *tell* hears each package before its file is read, and may raise to stop.
    """
    sound: set[str] = set()
    for wheel in sorted(folder.glob("*")):
        name, _, rest = wheel.name.partition("-")
        package = lock.packages.get(canonical(name))
        if package is not None and rest.partition("-")[0] == package.version:
            tell(package.name)
            with open(wheel, "rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() in package.hashes:
                    sound.add(package.name)
                    continue
        wheel.unlink()
    return sound


class Unpacking(NamedTuple):
    """One wheel on its way into site-packages: its files in their order, and the packed bytes up to each."""

    wheel: Path
    files: list[str]
    packed: list[int]

    def bytes_through(self, site_packages: Path) -> int:
        """Packed bytes of the files that are there: pip unpacks in the wheel's order, so a bisection finds the last.

        A dozen looks at the disk, also for TensorFlow's fifteen thousand files.
        """
        there = bisect.bisect_left(self.files, True, key=lambda name: not (site_packages / name).exists())
        return self.packed[there - 1] if there else 0


def open_wheel(folder: Path, name: str) -> Unpacking | None:
    """The wheel of package *name* in *folder*; None when it is not there or no wheel."""
    for wheel in folder.glob("*.whl"):
        if canonical(wheel.name.partition("-")[0]) == name and zipfile.is_zipfile(wheel):
            with zipfile.ZipFile(wheel) as archive:
                # Data files go elsewhere, and RECORD is written anew at the end.
                parts = [part for part in archive.infolist() if ".data/" not in part.filename and not part.is_dir()]
            packed = list(itertools.accumulate(part.compress_size for part in parts))
            return Unpacking(wheel, [part.filename for part in parts], packed)
    return None


def download_groups(names: list[str], lock: Lock, python: str) -> list[list[str]]:
    """*names* in the order of fetching: the small ones together, then each big one alone, smallest first."""
    by_size = sorted(names, key=lambda name: (lock.packages[name].sizes[python], name))
    small = [name for name in by_size if lock.packages[name].sizes[python] < ALONE_BYTES]
    return ([small] if small else []) + [[name] for name in by_size if name not in small]
