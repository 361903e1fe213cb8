"""Reads a person's own model file: the one door for window, command line, bundle and trainer, with the same limits.

A job file names it, and a job may be a stranger's: a file in a network share is not opened, for opening it tells that
computer who asks (on Windows with the sign-in), and of a pipe or of gigabytes nothing is read.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.sizes import MODEL_CODE_BYTES, TooLarge, read_at_most

_SCHEMES = frozenset({"smb:", "file:", "dav:", "davs:", "afp:", "nfs:", "ftp:", "sftp:", "http:", "https:"})


def in_a_share(path: str | Path) -> bool:
    """Whether *path* is another computer's: ``\\\\host\\share``, ``//host/share``, ``smb://…``, behind any base."""
    plain = str(path).replace("\\", "/").lower()
    return plain.startswith("//") or any(
        part.startswith(("\\\\", "/\\")) or part.lower() in _SCHEMES for part in Path(path).parts
    )


def read(path: Path) -> bytes | None:
    """Its bytes; None where there is no plain file.

    Raises:
        ModelError: ``model-file-in-a-share``, ``model-file-too-large``.
        OSError: It is there and cannot be read.
    """
    if in_a_share(path):
        raise ModelError("model-file-in-a-share", file=str(path))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe may never end
            return None
        return read_at_most(path, MODEL_CODE_BYTES)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        if isinstance(error, TooLarge):
            raise ModelError("model-file-too-large", file=str(path), size=error.size, limit=error.limit) from error
        return None
