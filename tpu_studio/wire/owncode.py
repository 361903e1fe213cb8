"""Reads a person's own model file: the one door for window, command line, bundle and trainer, with the same limits.

A job file names it, and a job may be a stranger's: a file in a network share is not opened, for opening it tells that
computer who asks (on Windows with the sign-in), and of a pipe or of gigabytes nothing is read.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.sizes import MODEL_CODE_BYTES, TooLarge, read_at_most

_SCHEME = re.compile("(?:afp|cifs|davs?|file|ftps?|https?|nfs4?|sftp|smb|webdavs?):", re.I)
"""Known also where a path has lost one of the two slashes behind them."""
_ADDRESS = re.compile(r"(?:^|[/\\])(?!gs:)[a-z][a-z0-9+.-]+:[/\\]{2}", re.I)
_MOUNTS = re.compile("(/(?:net|afs|network/servers)/[^/]+)(?:/|$)")
"""Automounters (macOS's has two such places) and AFS ask the computer or cell of that name once it is looked for."""
_MOUNTING = ("/net/", "/afs/", "/network/")  # nearly no path has one of them
_WHOLE_DISK = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?root")  # proc(5): another name of "/"
_ROOT_PARTS = 5  # of its longest: /proc/1/task/1/root
_MOST_PARTS = 250
_LONGEST_WAY = 100  # parts of all links on a path
_MOST_LINKS = 40  # that Linux follows of one path (path_resolution(7))


def in_a_share(path: str | Path) -> bool:
    """Whether *path* is another computer's, behind any base: ``\\\\host\\share``, ``\\??\\UNC\\host\\share``,
    ``//host/share``, any address (``smb://…``) but ``gs://…``, and ``/net/host``, ``/afs/cell`` and
    ``/Network/Servers/host`` unless the home folder is there, too.
    """
    plain = str(path).replace("\\", "/").lower()
    if plain.startswith(("//", "/??/")) or _ADDRESS.search(str(path)):
        return True
    if ("\\" in str(path) or ":" in plain) and any(map(_names_a_share, Path(path).parts)):
        return True
    return any(name in plain for name in _MOUNTING) and _is_mounted_when_looked_for(_by_its_first_name(plain))


def _names_a_share(part: str) -> bool:
    return part.startswith(("\\\\", "/\\", "\\??\\")) or _SCHEME.fullmatch(part) is not None


def _by_its_first_name(plain: str) -> str:
    """*plain* without the other names that proc(5) has for the whole disk, wherever they stand in it."""
    at: list[str] = []
    for part in plain.split("/"):
        if part == "..":
            del at[-1:]
        elif part == "fd" and at == ["dev"]:
            at[:] = ["proc", "self", "fd"]
        elif part not in ("", "."):
            at.append(part)
            if part == "root" and len(at) <= _ROOT_PARTS and _WHOLE_DISK.fullmatch("/".join(["", *at])):
                at.clear()
    return "/".join(["", *at]) if plain.startswith("/") else plain


def _is_mounted_when_looked_for(plain: str) -> bool:
    mount = _MOUNTS.match(plain)
    return mount is not None and not f"{str(Path.home()).lower()}/".startswith(f"{mount[1]}/")


def located(path: Path) -> Path | None:
    """Where *path* is, through all links; None: one leads to another computer.

    A link is read before it is followed: to look through it would already ask that computer.

    Raises:
        OSError: ``ELOOP``: too many links; ``ENAMETOOLONG``: more folders than anybody has, each in the other.
    """
    whole = path.absolute()
    if len(whole.parts) > _MOST_PARTS:
        raise _error(errno.ENAMETOOLONG, path)
    at, ahead, links, way = Path(whole.anchor), [*reversed(whole.parts[1:])], 0, 0
    followed: list[tuple[Path, int]] = []  # links of which parts are still ahead, and how many are behind these
    while ahead:
        part = ahead.pop()
        at = at.parent if part == ".." else at / part
        if in_a_share(at) or in_a_share(target := _target(at)):
            return None
        if target:
            links += 1
            followed = [(link, behind) for link, behind in followed if behind <= len(ahead)]
            if links > _MOST_LINKS or any(link == at for link, _ in followed):
                raise _error(errno.ELOOP, path)
            followed.append((at, len(ahead)))
            leads = Path(target)
            at = at.parent / leads.anchor
            parts = leads.parts[1:] if leads.anchor else leads.parts
            ahead, way = [*ahead, *reversed(parts)], way + len(parts)
            if way > _LONGEST_WAY:
                raise _error(errno.ENAMETOOLONG, path)
    return at


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path)[:200])


def _target(path: Path) -> str:
    """What the link *path* says; "" where there is none."""
    try:
        found = os.readlink(path)
    except (OSError, ValueError):
        return ""
    # Windows puts this before the name of a disk of its own
    return found.removeprefix("\\\\?\\") if re.match(r"\\\\\?\\[a-z]:", found, re.I) else found


def read(path: Path) -> bytes | None:
    """Its bytes; None where there is no plain file.

    Raises:
        ModelError: ``model-file-in-a-share``, ``model-file-too-large``.
        OSError: It is there and cannot be read.
    """
    try:
        if not in_a_share(path) and located(path) is not None:
            is_file = stat.S_ISREG(os.stat(path).st_mode)  # a pipe may never end
            return read_at_most(path, MODEL_CODE_BYTES) if is_file else None
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        if isinstance(error, TooLarge):
            raise ModelError("model-file-too-large", file=str(path), size=error.size, limit=error.limit) from error
        return None
    raise ModelError("model-file-in-a-share", file=str(path))
