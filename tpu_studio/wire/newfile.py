"""A file that the caller makes: nothing that has its name already, a link above all, is written through."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

_MAKES = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_NEW = _MAKES | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def create_new(path: str | Path, folder: int | None = None) -> BinaryIO:
    """The file *path*, in the open folder *folder* if one is given, made by this call, for bytes.

    Raises:
        OSError: ``EEXIST`` where anything has its name.
    """
    return os.fdopen(os.open(path, _NEW, 0o666, dir_fd=folder), "wb")
