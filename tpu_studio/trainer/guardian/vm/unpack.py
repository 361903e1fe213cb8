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
_IN_THE_WAY = (FileExistsError, NotADirectoryError, IsADirectoryError)  # the same name twice


class BadArchive(Exception):
    """What is wrong with it, in words."""


def unpack(archive: Path, folder: Path, sha256: str, *, limit_bytes: int) -> Path:
    """*folder* with what *archive* holds; done before for the same sum, it is left alone.

    Raises:
        BadArchive: Refused; nothing of it stays.
        OSError: Disk full.
    """
    mark = folder.with_name(f".{folder.name}.unpacked")
    if mark.exists() and mark.read_text() == sha256 and folder.is_dir():
        return folder
    making = folder.with_name(f".{folder.name}.unpacking")
    for old in (making, folder):
        shutil.rmtree(old, ignore_errors=True)
    making.mkdir(parents=True)
    try:
        _all_members(archive, making, limit_bytes)
    except (tarfile.TarError, zlib.error, EOFError, ValueError, *_IN_THE_WAY) as error:
        shutil.rmtree(making, ignore_errors=True)
        raise BadArchive(f"{archive.name}: {error}") from error
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    os.replace(making, folder)
    mark.write_text(sha256)
    return folder


def _all_members(archive: Path, folder: Path, limit_bytes: int) -> None:
    total = 0
    with tarfile.open(archive, "r:*") as tar:
        for number, member in enumerate(tar):
            total += member.size
            if number >= _MEMBERS_AT_MOST or total > limit_bytes:
                raise BadArchive(f"{archive.name} holds more than was agreed")
            target = folder.joinpath(*_parts(member.name))
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isreg():
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                assert source is not None
                with open(target, "xb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
                os.utime(target, (member.mtime, member.mtime))
            else:
                raise BadArchive(f"{member.name!r} is neither a file nor a folder")


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise BadArchive(f"{name!r} leads out of its folder")
    return path.parts
