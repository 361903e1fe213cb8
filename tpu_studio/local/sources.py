"""The training program's sources of an installed program, copied into the home folder once for each version.

A run may go on for days while the package is upgraded or removed under it: the copy lets it end with the code that it
began with. Python also keeps its compiled files there, which it may not do under /usr. And the engine's Python finds
nothing else beside it: in site-packages stand the app's own numpy and Pillow, made for another Python.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tpu_studio.wire.homes import make_private

PARTS = ("__init__.py", "wire", "data", "trainer")
"""What of the package guardian and trainer import."""
KEPT_S = 90 * 86_400.0
"""No run is older; a copy of another version that was made longer ago than this goes when a new one comes."""


def kept_copy(source: Path, programs: Path) -> Path:
    """The copy of *source* in *programs*, made if need be; *source* itself where nothing can be written.

    *source* has a file ``ID``, which changes with its content, and ``resources``, which is linked, not copied.
    """

    def fill(copy: Path) -> None:
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("resources", "__pycache__"))
        (copy / "resources").symlink_to((source / "resources").resolve())

    return _copied((source / "ID").read_text("ascii").strip(), programs, fill) or source


def installed_copy(package: Path, version: str, programs: Path) -> Path:
    """As `kept_copy`, of the `PARTS` of *package*, the folder ``tpu_studio`` in site-packages."""
    files = [package / PARTS[0], *sorted(file for part in PARTS[1:] for file in (package / part).rglob("*.py"))]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(package)}\n".encode() + file.read_bytes())

    def fill(copy: Path) -> None:
        for file in files:
            target = copy / package.name / file.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        (copy / "resources").symlink_to((package / "resources").resolve())

    return _copied(f"{version}-{digest.hexdigest()[:12]}", programs, fill) or package.parent


def _copied(name: str, programs: Path, fill: Callable[[Path], None]) -> Path | None:
    """``programs/name``, made whole or not at all by *fill*; None where it is not there and cannot be made."""
    made = programs / name
    if made.is_dir():
        return made
    try:
        make_private(programs)
        _forget_old(programs)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=programs, ignore_cleanup_errors=True) as new:
            fill(Path(new) / name)
            os.rename(Path(new) / name, made)
    except OSError:
        # Another program made it meanwhile; or the disk is full or read-only, where the installed sources do as well.
        return made if made.is_dir() else None
    return made


def _forget_old(programs: Path) -> None:
    for folder in programs.iterdir():
        if time.time() - folder.stat().st_mtime > KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)
