"""Files of a run's folder are opened only where they are plain files in plain folders: no link leads a write elsewhere.

A run's folder may come from somebody else, with links in it to files of the person who opens it. Standard library
only: the guardian uses this too.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePath
from typing import BinaryIO

from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.runfolder import create_once, write_atomically

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # Windows has none


def check_place(path: Path) -> None:
    """That *path*, which a person names for a file, is free, a plain file, or a link to either: nothing else gives way.

    Raises:
        BadInput: ``place-no-file``.
    """
    if what := what_stands(path):
        raise BadInput("place-no-file", file=str(path), what=what)


def write_named(path: Path, data: bytes) -> None:
    """Write *data* as *path*, which a person has named, in place of a file or a link that is there: whole, or not at
    all.

    Raises:
        BadInput: ``place-no-file``.
        OSError: The folder is not there, besides what writing raises.
    """
    check_place(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path))
    write_atomically(path, data)


def what_stands(path: Path) -> str:
    """ "a folder" or the like where no file can be written to *path*; "" where one can."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""  # whoever writes there is told why
    if stat.S_ISDIR(mode):
        return "a folder"
    if not stat.S_ISREG(mode) or _is_stream(path):
        return "a device or a pipe"
    return ""


def _is_stream(path: Path) -> bool:
    """Whether it is a name for what a program has open, as `/dev/stdout`."""
    try:
        return os.readlink(path).startswith("/proc/")
    except (OSError, ValueError):  # no link
        return False


def open_plain(path: Path, flags: int, mode: int = 0o644) -> int:
    """A descriptor of the plain file at *path*, which has no other name, in a folder that is no link.

    Raises:
        OSError: ``ELOOP`` where a link or a special file is in its place, besides what opening raises.
    """
    check_folder(path.parent)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):  # Windows has nothing else; and no pipe is waited for
            raise _refused(path)
    except FileNotFoundError:
        pass
    fd = os.open(path, flags | _SAFE, mode)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise _refused(path)
        if hasattr(os, "set_blocking"):
            os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_to_read(path: Path) -> BufferedReader:
    """The plain file at *path*; a pipe in its place is not waited for.

    Raises:
        OSError: It is no plain file, besides what opening raises.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _refused(path)
    return os.fdopen(fd, "rb")


def plainly(path: str, flags: int) -> int:
    """For `open`, as its opener: what was a file when it was looked at may be a pipe by now, which is not waited for.

    Raises:
        OSError: It is no plain file, besides what opening raises.
    """
    return plain(path, flags)


def plain(path: str, flags: int, folder: int | None = None) -> int:
    """The same in the open folder *folder*, if one is given: a descriptor. Raises OSError as `plainly`."""
    fd = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0), dir_fd=folder)
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise OSError(
            *(
                (errno.EISDIR, "It is a folder")
                if stat.S_ISDIR(mode)
                else (errno.EINVAL, "It is a pipe or a device, not a file")
            ),
            path,
        )
    return fd


def open_below(root: Path, relative: PurePath) -> BufferedReader:
    """The plain file *relative* below the folder *root*, to read: no link is followed on the way to it, whoever changes
    the folder meanwhile, and no pipe waited for.

    Raises:
        OSError: As `open_to_read`.
    """
    if os.open not in os.supports_dir_fd:  # Windows
        return open_to_read(root / relative)
    way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC  # of a folder that need not be listed
    at = os.open(root, way)
    try:
        for part in relative.parts[:-1]:
            inner = os.open(part, way | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        fd = os.open(relative.name, os.O_RDONLY | _SAFE, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _refused(root / relative)
    return os.fdopen(fd, "rb")


def open_to_append(path: Path) -> BinaryIO:
    """The plain file at *path*, made where it is not there, for bytes at its end. Raises OSError as `open_plain`."""
    return os.fdopen(open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab")


def make_folder(path: Path) -> None:
    """Make the folder *path* in one that is there. Raises OSError: ``ELOOP`` where a link is in its place."""
    path.mkdir(exist_ok=True)
    check_folder(path)


def write_inside(root: Path, path: Path, data: bytes) -> None:
    """`write_atomically` below the folder *root*, in folders that are made where they are missing.

    Raises:
        OSError: ``ELOOP`` where a link is in the place of one of them.
    """
    make_folders(root, path.parent)
    write_atomically(path, data)


def create_inside(root: Path, path: Path, data: bytes) -> bool:
    """`create_once`, as `write_inside`."""
    make_folders(root, path.parent)
    return create_once(path, data)


def make_folders(root: Path, folder: Path) -> None:
    """Make *folder* and those between it and *root*, which is there. Raises OSError as `make_folder`."""
    at = root
    for part in folder.relative_to(root).parts:
        at = at / part
        make_folder(at)


def check_folder(path: Path) -> None:
    """Raises OSError: there is no such folder, or it is a link (``ELOOP``)."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise _refused(path)


def strange_entry(folder: Path) -> Path | None:
    """The first link or special file in *folder*, however deep; None: there are only files and folders. Raises
    OSError."""
    return next(_strange(folder), None)


def check_plain(folder: Path) -> None:
    """Raises OSError ``ELOOP`` where *folder* holds a link or a special file."""
    found = strange_entry(folder)
    if found is not None:
        raise _refused(found)


def _strange(folder: Path) -> Iterator[Path]:
    todo = [folder]
    while todo:
        at = todo.pop()
        try:
            entries = list(os.scandir(at))
        except FileNotFoundError:
            if at == folder:
                raise
            continue  # of a run that goes on: a checkpoint was renamed, or pruned
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                todo.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False) and os.path.lexists(entry.path):  # else it is gone by now
                yield Path(entry.path)


def _refused(path: Path) -> OSError:
    return OSError(errno.ELOOP, "is a link or no plain file", str(path))
