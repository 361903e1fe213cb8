"""Archives unpacked so that nothing can land outside its folder: plain files and folders, relative names, no surprises.

Stricter than ``tarfile``'s own data filter, which a Python 3.10 need not have.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

_MEMBERS_AT_MOST = 20_000_000
_IN_THE_WAY = (FileExistsError, NotADirectoryError, IsADirectoryError)  # a name twice, a file where a folder should be


class BadArchive(Exception):
    """What is wrong with it, in words."""


def is_unpacked(folder: Path, sha256: str) -> bool:
    mark = _mark(folder)
    return folder.is_dir() and mark.exists() and sha256 in mark.read_text().split()


def unpack(archive: Path, folder: Path, sha256: str, *, limit_bytes: int) -> None:
    """Add what *archive* holds to *folder*; several archives may fill one. Once done, `is_unpacked` says so.

    Raises:
        BadArchive: Refused; what it held before the bad member stays, and is not used.
        OSError: Disk full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _all_members(archive, folder, limit_bytes)
    except (tarfile.TarError, zlib.error, EOFError, ValueError, OverflowError, *_IN_THE_WAY) as error:
        raise BadArchive(f"{archive.name}: {error}") from error
    with open(_mark(folder), "a") as mark:
        mark.write(f"{sha256}\n")
        mark.flush()
        os.fsync(mark.fileno())


def _mark(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.unpacked")


def _all_members(archive: Path, folder: Path, limit_bytes: int) -> None:
    total = 0
    seen: set[Path] = set()
    with tarfile.open(archive, "r:gz" if _is_gzip(archive) else "r:") as tar:
        for number, member in enumerate(tar):
            total += member.size
            if number >= _MEMBERS_AT_MOST or total > limit_bytes:
                raise BadArchive(f"{archive.name} holds more than was agreed")
            target = folder.joinpath(*_parts(member.name))
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isreg():
                if target in seen or target == folder:
                    raise BadArchive(f"{member.name!r} is there twice")
                seen.add(target)
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                assert source is not None
                with open(target, "wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
                os.utime(target, (member.mtime, member.mtime))
            else:
                raise BadArchive(f"{member.name!r} is neither a file nor a folder")


def _is_gzip(archive: Path) -> bool:
    """Else it is packed by nothing: ours are either, and of every other packer the errors would have to be known."""
    with open(archive, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise BadArchive(f"{name!r} leads out of its folder")
    return path.parts
