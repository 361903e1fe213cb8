"""A folder that is held open while it is filled: whoever may write into it too can lead no write elsewhere.

A folder that several people share can be renamed, replaced by a link, or have links laid in it between a look at it and
a write. What is written through `HeldFolder` goes into the folder that was opened, makes each file anew, and follows no
link below it. Where a system cannot hold a folder (Windows) its path is used; files are made anew there, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from tpu_studio.wire.newfile import create_new
from tpu_studio.wire.plainfiles import plain

CAN_HOLD = os.open in os.supports_dir_fd and os.listdir in os.supports_fd
_WAY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class HeldFolder:
    """The folder at *path*, which is there; `close` it, or use it as a context.

    Args:
        same: `identity` of the folder that it must be.
        own: It was made just now: a link in its place is somebody else's.

    Raises:
        OSError: It cannot be opened, or is another folder than *same*.
    """

    def __init__(self, path: Path, same: tuple[int, int] | None = None, *, own: bool = False) -> None:
        self.path = path
        flags = os.O_RDONLY | _WAY | (getattr(os, "O_NOFOLLOW", 0) if own else 0)
        self._fd = os.open(path, flags) if CAN_HOLD else -1
        if same is not None and self.identity != same:
            self.close()
            raise OSError("it was replaced while it was filled")

    def __enter__(self) -> HeldFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def identity(self) -> tuple[int, int]:
        """What tells it from another folder of the same path."""
        found = os.fstat(self._fd) if CAN_HOLD else os.stat(self.path)
        return found.st_dev, found.st_ino

    def names(self) -> list[str]:
        return os.listdir(self._fd if CAN_HOLD else self.path)

    def create(self, relative: PurePath) -> BinaryIO:
        """The file *relative*, made anew in folders that are made where they are missing. Raises OSError: something of
        that name is there, or a link in the place of a folder."""
        with self._inside(relative.parent, make=True) as inner:
            return create_new(inner.name(relative), inner.fd)

    def read(self, relative: PurePath, most: int) -> bytes:
        """At most so many bytes of the plain file *relative*. Raises OSError: it is a link, or no file."""
        with self._inside(relative.parent) as inner:
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            with open(inner.name(relative), "rb", opener=lambda path, _: plain(path, flags, inner.fd)) as file:
                return file.read(most)

    def replace(self, relative: PurePath, name: str) -> None:
        """Call the file *relative* *name*, in its folder, whatever was called so."""
        with self._inside(relative.parent) as inner:
            old, new = inner.name(relative), inner.name(relative.with_name(name))
            os.replace(old, new, src_dir_fd=inner.fd, dst_dir_fd=inner.fd)

    def remove(self, relative: PurePath) -> None:
        """The file *relative*, or the link of that name; nothing where there is none."""
        with suppress(FileNotFoundError), self._inside(relative.parent) as inner:
            os.unlink(inner.name(relative), dir_fd=inner.fd)

    def remove_folder(self, relative: PurePath) -> None:
        """The folder *relative* and the files in it; one that holds folders stays, as does what is no folder."""
        with suppress(OSError):
            with self._inside(relative) as inner:
                for name in inner.names(relative):
                    os.unlink(inner.name(relative / name), dir_fd=inner.fd)
            with self._inside(relative.parent) as inner:
                os.rmdir(inner.name(relative), dir_fd=inner.fd)

    @contextmanager
    def _inside(self, folder: PurePath, *, make: bool = False) -> Iterator[_Inner]:
        """The folder *folder* of it, which is opened part by part."""
        if not CAN_HOLD:
            if make:
                (self.path / folder).mkdir(parents=True, exist_ok=True)
            yield _Inner(None, self.path)
            return
        at = os.dup(self._fd)
        try:
            for part in folder.parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=at)
                inner = os.open(part, os.O_RDONLY | _WAY | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            yield _Inner(at, self.path)
        finally:
            os.close(at)


@dataclass(frozen=True)
class _Inner:
    """A folder below *root*: its descriptor, or None where a system has none of them."""

    fd: int | None
    root: Path

    def name(self, relative: PurePath) -> str:
        """What the file *relative*, which is in it, is called beside the descriptor."""
        return str(self.root / relative) if self.fd is None else relative.name

    def names(self, relative: PurePath) -> list[str]:
        return os.listdir(self.root / relative if self.fd is None else self.fd)
