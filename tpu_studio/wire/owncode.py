"""Reads a person's own model file: the one door for window, command line, bundle and trainer, with the same limits.

A job file names it, and a job may be a stranger's: a file in a network share is not opened, for opening it tells that
computer who asks (on Windows with the sign-in), and of a pipe or of gigabytes nothing is read.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from pathlib import Path

from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.sizes import MODEL_CODE_BYTES, TooLarge, read_at_most

_SCHEME = re.compile("(?:afp|cifs|davs?|file|ftps?|https?|nfs4?|sftp|smb|webdavs?):", re.I)
"""Known also where a path has lost one of the two slashes behind them."""
_ADDRESS = re.compile(r"(?:^|[/\\])(?!gs:)[a-z][a-z0-9+.-]+:[/\\]{2}", re.I)
_MOUNTS = "/net/"  # the automounter asks the computer HOST as soon as anything looks for /net/HOST


def in_a_share(path: str | Path) -> bool:
    """Whether *path* is another computer's, behind any base: ``\\\\host\\share``, ``\\??\\UNC\\host\\share``,
    ``//host/share``, any address (``smb://…``) but ``gs://…``, and ``/net/host`` unless the home folder is there, too.
    """
    plain = str(path).replace("\\", "/").lower()
    return (
        plain.startswith(("//", "/??/"))
        or _ADDRESS.search(str(path)) is not None
        or any(part.startswith(("\\\\", "/\\", "\\??\\")) or _SCHEME.fullmatch(part) for part in Path(path).parts)
        or _is_mounted_when_looked_for(posixpath.normpath(plain))
    )


def _is_mounted_when_looked_for(plain: str) -> bool:
    host = plain.removeprefix(_MOUNTS).split("/")[0] if plain.startswith(_MOUNTS) else ""
    return bool(host) and not f"{str(Path.home()).lower()}/".startswith(f"{_MOUNTS}{host}/")


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
