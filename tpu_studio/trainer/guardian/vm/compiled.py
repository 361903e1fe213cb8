"""What the framework has compiled, as a folder: fetched before the trainer starts, carried up while it is new.

It saves minutes that are charged, and no run ever fails for it: whatever goes wrong here is told, and the trainer
compiles as if there were nothing.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tpu_studio.trainer.guardian.vm.bucket import Bucket, WrongContent, sha256_of
from tpu_studio.trainer.guardian.vm.config import Piece
from tpu_studio.trainer.guardian.vm.unpack import BadArchive, is_unpacked, unpack
from tpu_studio.trainer.guardian.vm.web import Refused, Unreachable
from tpu_studio.wire import compiled, frameworks
from tpu_studio.wire.secrets import short

ROOM_BYTES = 2 << 30  # of the disk, left for what the run itself writes
TIMES = 4  # carried up in an attempt at most: training, evaluation, and what comes with an extension
_ENTRY = "-cache"  # how the names of JAX's entries end
_LOOKS_APART = 3  # turns of the mailbox between two looks: an entry is written in place, not all at once


class Tell(Protocol):
    def __call__(self, id: str, level: str = "warning", **facts: object) -> None: ...


class CompiledPrograms:
    """Args:
    tell: Puts a notice into the run's events.
    free: Bytes free where *folder* is.
    key: With which what is told of new programs is sealed (`wire.compiled`).
    """

    def __init__(
        self,
        bucket: Bucket,
        prefix: str,
        folder: Path,
        tell: Tell,
        free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
        key: str = "",
    ) -> None:
        self._bucket, self._prefix, self._folder, self._tell, self._free = bucket, prefix, folder, tell, free
        self._key = key
        self._there: set[str] = set()  # names of entries that are in the bucket
        self._seen: dict[str, tuple[int, int]] = {}
        self._turns, self._left = 0, TIMES

    def prepare(self, piece: Piece | None, framework: str, check: Callable[[], None]) -> dict[str, str]:
        """What of its environment has the trainer keep its programs in the folder, and take them from there.

        Args:
            piece: What an earlier machine has compiled.
            check: May raise, to give up the attempt.
        """
        if piece is not None:
            self.fetch(piece, lambda done, total: check())
        wanted = frameworks.find(framework)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            roomy = self._free(self._folder) >= ROOM_BYTES + compiled.MOST_BYTES
        except OSError as error:
            self._tell("compiled-unused", "info", raw=str(error))
            return {}
        if wanted is None or not roomy:
            return {}
        return {name: value.format(folder=self._folder) for name, value in wanted.cache_environment.items()}

    def fetch(self, piece: Piece, progress: Callable[[int, int], None]) -> None:
        """Put the programs of *piece* into the folder."""
        archive = self._folder.with_name(f"{self._folder.name}.tar")
        try:
            if not is_unpacked(self._folder, piece.sha256):
                if self._free(self._folder.parent) < ROOM_BYTES + 2 * piece.bytes:
                    self._tell("compiled-unused", "info", raw="the disk is nearly full")
                    return
                self._bucket.download(piece, archive, progress)
                unpack(archive, self._folder, piece.sha256, limit_bytes=piece.bytes)
            self._there = set(self._entries())
        except (WrongContent, BadArchive, Refused, Unreachable, OSError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._tell("compiled-unused", "info", raw=short(str(error), 500))
        finally:
            archive.unlink(missing_ok=True)

    def carry(self) -> None:
        """Carry up what is new and whole, now and then; called each second. Raises Unreachable."""
        self._turns += 1
        if self._left <= 0 or self._turns % _LOOKS_APART:
            return
        try:
            before, self._seen = self._seen, self._entries()
            if self._seen and self._seen == before and not self._there.issuperset(self._seen):
                self._up(list(self._seen))
        except (Refused, OSError) as error:
            self._left = 0
            self._tell("compiled-not-carried", "info", raw=short(str(error), 500))

    def _up(self, names: list[str]) -> None:
        archive = self._folder.with_name(f"{self._folder.name}.new.tar")
        try:
            if sum(self._seen[name][0] for name in names) <= compiled.MOST_BYTES:
                _pack(self._folder, names, archive)
            if not archive.exists() or archive.stat().st_size > compiled.MOST_BYTES:
                self._left = 0
                self._tell("compiled-not-carried", "info", most_bytes=compiled.MOST_BYTES)
                return
            sha256, size = sha256_of(archive), archive.stat().st_size
            name = compiled.object_name(self._prefix, sha256)
            self._bucket.upload(archive, name)
        finally:
            archive.unlink(missing_ok=True)
        self._there, self._left = set(names), self._left - 1
        seal = compiled.seal(self._key, name, sha256, size)
        self._tell(compiled.NOTICE, "info", object=name, sha256=sha256, bytes=size, programs=len(names), seal=seal)

    def _entries(self) -> dict[str, tuple[int, int]]:
        """Name → size and time of each entry. Raises OSError."""
        found = {}
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            if path.name.endswith(_ENTRY) and path.is_file() and not path.is_symlink():
                stat = path.stat()
                found[path.name] = (stat.st_size, stat.st_mtime_ns)
        return found


def _pack(folder: Path, names: list[str], archive: Path) -> None:
    """These files, in an archive that is the same whenever it is made. Raises OSError."""
    with tarfile.open(archive, mode="w") as tar:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = (folder / name).stat().st_size
            with open(folder / name, "rb") as file:
                tar.addfile(entry, file)
