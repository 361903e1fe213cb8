"""What a machine fetches before it trains: the program, the data, and the folder that the model begins from.

Everything is checked by its sha256. A cut loses what was on its way of one object; what is whole is not fetched again.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tpu_studio.trainer.guardian.vm.bucket import Bucket, WrongContent, sha256_of
from tpu_studio.trainer.guardian.vm.config import Piece, Whole
from tpu_studio.trainer.guardian.vm.unpack import is_unpacked, unpack
from tpu_studio.trainer.guardian.vm.web import persist

_TIMES_ITS_BYTES = 200  # an archive of b bytes may unpack to so many times b, and to 64 MiB at least


class Fetching:
    """Args:
    folder: Of this machine.
    say: Detail of the phase, bytes that are here, and in all; whatever it raises ends the fetching.
    must_end: Whether nothing more is to be tried.
    """

    def __init__(
        self, bucket: Bucket, folder: Path, say: Callable[[str, int, int], None], must_end: Callable[[], bool]
    ) -> None:
        self._bucket, self._folder, self._say, self._must_end = bucket, folder, say, must_end

    def data(self, piece: Piece) -> Path:
        """Where the trainer finds it. Raises as `unpacked`."""
        target = self._folder / "data" / piece.name
        if not piece.object.endswith((".tar", ".tar.gz")):
            return self.object(piece, target)
        self.unpacked(piece, target)
        return target / piece.file if piece.file else target

    def unpacked(self, piece: Piece, folder: Path, what: str = "data") -> None:
        """Raises BadArchive, and as `object`."""
        if is_unpacked(folder, piece.sha256):
            return
        archive = self.object(piece, self._aside(piece.sha256), what)
        unpack(archive, folder, piece.sha256, limit_bytes=max(64 << 20, piece.bytes * _TIMES_ITS_BYTES))
        archive.unlink()  # the disk may be small

    def installer(self, piece: Piece) -> Path:
        return self.object(piece, self._aside(piece.sha256))

    def object(self, piece: Piece, path: Path, what: str = "data") -> Path:
        """Raises WrongContent, Unreachable, Refused; OSError, also where the disk has no room for it."""
        if not path.exists():
            self._need(piece.bytes, piece.object)
        persist(lambda: self._bucket.download(piece, path, lambda *told: self._say(what, *told)), self._must_end)
        return path

    def preset(self, files: tuple[Whole, ...]) -> Path:
        """The folder that the model begins from, with *files* and no others. Raises as `object`."""
        folder, total = self._folder / "preset", sum(one.bytes for one in files)
        missing = [one for one in files if not (folder / one.name).exists()]
        largest = max((part.bytes for one in missing for part in one.parts), default=0)
        here = [self._aside(f"{one.sha256}.joined") for one in missing]
        held = sum(path.stat().st_size for path in here if path.exists())
        self._need(sum(one.bytes for one in missing) - held + largest, "the folder that the model begins from")
        done = total - sum(one.bytes for one in missing)
        for one in missing:
            self._joined(one, folder / one.name, done, total)
            done += one.bytes
        return folder

    def _joined(self, whole: Whole, target: Path, before: int, total: int) -> None:
        """Of its parts, one behind the other; it has its name only when all of it is right."""
        making = self._aside(f"{whole.sha256}.joined")
        making.parent.mkdir(parents=True, exist_ok=True)
        making.touch()
        begun = have = making.stat().st_size
        start = 0
        for part in whole.parts:
            end = start + part.bytes
            if have < end:
                os.truncate(making, start)
                self._append(part, making, before + start, total)
                have = end
            start = end
        if sha256_of(making) == whole.sha256:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(making, target)
            return
        making.unlink()
        if not begun:
            raise WrongContent(f"the parts of {whole.name} do not make the file that was agreed")
        self._joined(whole, target, before, total)  # what lay there before a crash was not all written

    def _append(self, part: Piece, making: Path, before: int, total: int) -> None:
        path = self._aside(part.sha256)

        def told(done: int, whole: int) -> None:
            self._say("weights", before + done, total)

        persist(lambda: self._bucket.download(part, path, told), self._must_end)
        with open(path, "rb") as source, open(making, "ab") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        path.unlink()

    def _aside(self, name: str) -> Path:
        return self._folder / "fetched" / name

    def _need(self, size: int, what: str) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < size:
            raise OSError(errno.ENOSPC, f"{what} needs {size} bytes, {free} are free")
