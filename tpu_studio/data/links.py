"""Links in a folder of data. Whoever sent it may have laid links in it to files of ours, whose words would then stand
in plans that are shared, and go along to the cloud: what leads out of the folder is no data.

A link to something in the same folder is followed, and the folder itself may be a link: the person chose that.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from tpu_studio.data.paths import leads_outside, path_error
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import open_below, open_to_read

OUTSIDE = "link-outside"


def is_outside(root: Path, entry: os.DirEntry[str]) -> bool:
    """Whether an *entry* of a folder, *root* or below it, is a link that leads out. Asked before anything else is:
    looking through such a link might already ask another computer."""
    return entry.is_symlink() and leads_outside(root, Path(entry.path))


def is_file_inside(root: Path, name: str) -> bool:
    return not leads_outside(root, root / name) and (root / name).is_file()


def is_folder_inside(root: Path, name: str) -> bool:
    return not leads_outside(root, root / name) and (root / name).is_dir()


def files_below(root: Path, endings: Collection[str]) -> tuple[list[Path], list[Path]]:
    """Files with these endings at any depth, sorted; and beside them the links of such a name that lead outside.

    Raises:
        DataError: data-unreadable, data-missing, data-loop.
    """
    found, outside = [], []
    try:
        for entry in entries_below(root):
            if os.path.splitext(entry.name)[1].lower() not in endings:
                continue
            if is_outside(root, entry):
                outside.append(Path(entry.path))
            elif is_file(entry):
                found.append(Path(entry.path))
    except OSError as error:
        raise path_error(root, error) from error
    return sorted(found), sorted(outside)


def links_below(root: Path) -> list[Path]:
    """Links to files that do not lead out of *root*, sorted. Raises OSError."""
    entries = (entry for entry in entries_below(root) if entry.is_symlink())
    return sorted(Path(entry.path) for entry in entries if not is_outside(root, entry) and is_file(entry))


def entries_below(root: Path) -> Iterator[os.DirEntry[str]]:
    """What is no folder, at any depth, sorted in each; folders that are links are not walked through. Raises OSError of
    *root*."""
    waiting = [os.fspath(root)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            if folder == os.fspath(root):
                raise
            continue
        yield from (entry for entry in found if not entry.is_dir(follow_symlinks=False))
        waiting += [entry.path for entry in reversed(found) if entry.is_dir(follow_symlinks=False)]


def is_file(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.is_file()
    return False


def all_below(root: Path, endings: Collection[str]) -> list[Path]:
    """As `files_below`, where none may be left out.

    Raises:
        DataError: data-link-outside, data-empty; and those.
    """
    found, outside = files_below(root, endings)
    if outside:
        raise DataError("data-link-outside", path=str(outside[0]))
    if not found:
        raise DataError("data-empty", path=str(root), others=0)
    return found


def check_inside(root: Path, paths: Iterable[Path]) -> None:
    """Raises DataError ``data-link-outside`` for the first that leads outside of *root*."""
    for path in paths:
        if leads_outside(root, path):
            raise DataError("data-link-outside", path=str(path))


def opened(root: Path, path: Path) -> BufferedReader:
    """The file *path* below the folder *root*, or *root* where that is the file, to read. Whatever has taken its place
    since it was listed: nothing outside of the folder is opened, and no pipe waited for.

    Raises:
        OSError: ``ELOOP`` for what leads outside; it is no plain file, besides what opening raises.
    """
    if path == root:
        return open_to_read(path)
    try:
        return open_below(root, path.relative_to(root))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
    if leads_outside(root, path):
        raise OSError(errno.ELOOP, "leads out of the folder", str(path))
    base = Path(os.path.realpath(root))
    return open_below(base, Path(os.path.realpath(path)).relative_to(base))


def content(root: Path, path: Path, most: int) -> bytes:
    """What is in the file `opened`, *most* bytes of it. Raises OSError as it does."""
    with opened(root, path) as file:
        return file.read(min(most, os.fstat(file.fileno()).st_size + 1))
