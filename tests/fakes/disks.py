"""A small disk of its own, to be filled to the last byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """*folder*, which is made, as a disk of this size. Skips the test where none can be mounted."""
    folder.mkdir()
    if os.getuid() != 0 or not shutil.which("mount"):
        pytest.skip("a small disk can be mounted by root only")
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "none", str(folder)]
    if (mounted := subprocess.run(mounting, capture_output=True, text=True)).returncode:
        pytest.skip(f"no small disk could be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave no byte free; the file that takes the room."""
    filler = disk / "filler"
    with pytest.raises(OSError, match="No space left"), open(filler, "ab", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    return filler
