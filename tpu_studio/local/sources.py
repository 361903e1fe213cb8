"""The training program's sources of a packaged program, copied into the home folder once for each version.

A run may go on for days while the package is upgraded or removed under it: the copy lets it end with the code that it
began with. Python also keeps its compiled files there, which it may not do under /usr.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

KEPT_S = 90 * 86_400.0
"""No run is older; a copy of another version that was made longer ago than this goes when a new one comes."""


def kept_copy(source: Path, programs: Path) -> Path:
    """The copy of *source* in *programs*, made if need be; *source* itself where nothing can be written.

    *source* has a file ``ID``, which changes with its content, and ``resources``, which is linked, not copied.
    """
    made = programs / (source / "ID").read_text("ascii").strip()
    if made.is_dir():
        return made
    try:
        programs.mkdir(parents=True, exist_ok=True)
        _forget_old(programs)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=programs, ignore_cleanup_errors=True) as new:
            copy = Path(new) / made.name
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("resources", "__pycache__"))
            (copy / "resources").symlink_to((source / "resources").resolve())
            os.rename(copy, made)
    except OSError:
        # Another program made it meanwhile; or the disk is full or read-only, where the installed sources do as well.
        return made if made.is_dir() else source
    return made


def _forget_old(programs: Path) -> None:
    for folder in programs.iterdir():
        if time.time() - folder.stat().st_mtime > KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)
