"""What a run brings to the bucket: the trainer with its plan as one archive, and the data in pieces named by content.

The same sources give the same bytes, so that a repeat uploads nothing: times, owners and modes are fixed, names sorted.
The bundle holds what the trainer needs and nothing else; the person's own model file only as agreed to.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePath
from typing import BinaryIO

from tpu_studio.data.paths import check_ordinary, data_path, path_error
from tpu_studio.data.readers import reader_of
from tpu_studio.wire import kinds, models, owncode, starters
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import DataError, ModelError
from tpu_studio.wire.job import Job
from tpu_studio.wire.plainfiles import open_below
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.resources import resource_path
from tpu_studio.wire.sizes import MODEL_CODE_BYTES

PIECE_BYTES = 64_000_000
_BUNDLE_BYTES = 64_000_000  # unpacked, where ours has some three
_AS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,12}")
_READ = 1 << 20


def bundle(plan: Plan, model: bytes | None = None) -> bytes:
    """The archive: ``plan.json``, ``tpu_studio/`` as sources with the lock of packages, ``model/model.py``, the starter
    weights that it begins from. A folder that it begins from goes beside it (`presetparts`).

    Args:
        model: The person's own file, where it does not lie on this computer; as agreed to, like the one that does.

    Raises:
        ModelError: ``model-file-missing``, ``model-no-consent``: the file is not the one that was agreed to;
            ``starter-missing``, ``starter-damaged``.
        FileNotFoundError: The installation is incomplete.
    """
    files = [("plan.json", plans.dumps(plan)), *_program(plan.job)]
    if plan.job.model.is_own:
        files.append(("model/model.py", _agreed(plan, model) if model is not None else _own_model(plan)))
    if not plan.job.model.folder and (preset := plan.job.model.starts_from):
        files.append(_starter(preset))
    raw = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in sorted(files):
            archive.addfile(_entry(name, len(data)), io.BytesIO(data))
    return raw.getvalue()


def _program(job: Job) -> Iterator[tuple[str, bytes]]:
    root = sources()
    package = root / "tpu_studio"
    found = [package / "__init__.py"]
    for part in ("wire", "data", "trainer"):
        found += sorted((package / part).rglob("*.py"))
    for path in found:
        yield path.relative_to(root).as_posix(), path.read_bytes()
    for lock in sorted(resource_path("vm").glob("*.lock.txt")):
        yield f"tpu_studio/resources/vm/{lock.name}", lock.read_bytes()
    if kinds.by_id(job.data.kind).is_built_in:
        yield "tpu_studio/resources/samples/digits/digits.csv.gz", _digits()


def _starter(preset: str) -> tuple[str, bytes]:
    starter = models.starter(preset)
    if problem := starter.problem():
        raise ModelError(problem, preset=preset, path=str(starter.path))
    return "/".join(("tpu_studio", *starters.BROUGHT, starter.file)), starter.path.read_bytes()


def _digits() -> bytes:
    return resource_path("samples", "digits", "digits.csv.gz").read_bytes()


def _own_model(plan: Plan) -> bytes:
    path = Path(plan.job.base, os.path.expanduser(str(plan.job.model.file)))
    try:
        data = owncode.read(path)
    except OSError as error:
        raise ModelError("model-file-missing", file=str(path), raw=str(error)) from error
    if data is None:
        raise ModelError("model-file-missing", file=str(path))
    return _agreed(plan, data)


def _agreed(plan: Plan, data: bytes) -> bytes:
    if not plan.consent or hashlib.sha256(data).hexdigest() != plan.consent:
        raise ModelError("model-no-consent", file=str(plan.job.model.file), place=plan.place)
    return data


def model_in(packed: bytes) -> bytes | None:
    """The person's own file in an archive that `bundle` may have made, or anybody; None: it is not to be had."""
    try:
        raw = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(packed, _BUNDLE_BYTES)
        return next((data for name, data in _plain_files(raw) if name == "model/model.py"), None)
    except (zlib.error, ValueError):
        return None


def _plain_files(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """The files in an archive as `bundle` makes one: short names, and no headers with more of them, which the standard
    library searches for minutes (CVE-2024-6232). Up to the first entry of another kind. Raises ValueError."""
    at = 0
    while at + tarfile.BLOCKSIZE <= len(raw):
        head, at = raw[at : at + tarfile.BLOCKSIZE], at + tarfile.BLOCKSIZE
        size = int(head[124:136].rstrip(b"\0 ") or b"0", 8)
        if head[156:157] not in (tarfile.REGTYPE, tarfile.AREGTYPE) or not 0 <= size <= len(raw) - at:
            return
        if size <= MODEL_CODE_BYTES:
            yield head[:100].rstrip(b"\0").decode("utf-8", "replace"), raw[at : at + size]
        at += -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def sources() -> Path:
    """The folder that holds ``tpu_studio`` as ``.py`` files; a frozen program carries them beside itself."""
    frozen = getattr(sys, "_MEIPASS", None)
    return Path(frozen) / "engine-source" if frozen is not None else Path(__file__).resolve().parents[2]


# ----------------------------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class DataFile:
    """A file of the data: where it is, what it is called below the data's folder, its size in bytes.

    Attributes:
        root: The folder, without links, out of which nothing is read; *at*: where below it.
        links: Whether a link may stand there, to another file below *root*.
    """

    path: Path
    name: str
    size: int
    root: Path
    at: PurePath
    links: bool = True


@dataclass(frozen=True)
class Piece:
    """Files that travel together. *single*: the file itself, not a tar of it.

    Attributes:
        folder: ``as`` in ts-config: the folder (or file) below ``data/`` on the machine.
        file: The file in that folder which is the data; "" for the folder itself.
    """

    files: Sequence[DataFile]
    folder: str = "data"
    file: str = ""
    single: bool = False

    @property
    def size(self) -> int:
        return sum(one.size for one in self.files)

    @property
    def suffix(self) -> str:
        """Of the object's name; a single file must not look like an archive that is to be unpacked."""
        if not self.single:
            return ".tar"
        suffix = Path(self.files[0].name).suffix.lower()
        return suffix if _SUFFIX.fullmatch(suffix) and suffix not in (".tar", ".tgz", ".gz") else ".bin"

    def write(self, out: BinaryIO) -> str:
        """Write it; its sha256.

        Raises:
            DataError: ``data-changed`` (a file has another length now), ``data-unreadable``, ``data-missing``.
            OSError: *out* cannot be written.
        """
        summed = _Summed(out)
        if self.single:
            for part in _content(self.files[0]):
                summed.write(part)
        else:
            with tarfile.open(fileobj=summed, mode="w|", format=tarfile.PAX_FORMAT) as archive:
                for one in self.files:
                    archive.addfile(_entry(one.name, one.size), _Stream(_content(one)))
        return summed.digest.hexdigest()


def data_pieces(job: Job, piece_bytes: int = PIECE_BYTES) -> list[Piece]:
    """The job's data as it shall travel; [] for the data that comes with the program. Nothing is read but names.

    Raises:
        DataError: as `data.data_path` and the readers' listings.
    """
    if kinds.by_id(job.data.kind).is_built_in:
        return []
    path = data_path(job)
    files = _files(path, reader_of(job).files(job))
    if path.is_file() and len(files) == 1 and files[0].path == path:
        if _AS.fullmatch(path.name):
            return [Piece(files, folder=path.name, single=True)]
        return [Piece(files, folder="data", file=path.name)]
    named = path.name if path.is_file() else ""  # a data set given by the file that describes it
    pieces: list[Piece] = []
    held, size = list[DataFile](), 0
    for one in files:
        if held and size + one.size > piece_bytes:
            pieces.append(Piece(held, file=named))
            held, size = [], 0
        held.append(one)
        size += one.size
    return [*pieces, Piece(held, file=named)] if held else pieces


def _files(given: Path, found: Iterable[tuple[Path, str]]) -> list[DataFile]:
    """*found* in the data at *given*, which itself may be a link: it is the person's own."""
    folder = given if given.is_dir() else given.parent
    root, itself = Path(os.path.realpath(folder)), Path(os.path.realpath(given))
    files = []
    for path, name in found:
        check_ordinary(path)
        size = path.stat().st_size
        if path == given:
            files.append(DataFile(path, name, size, itself.parent, PurePath(itself.name), links=False))
        else:
            files.append(DataFile(path, name, size, root, path.relative_to(folder)))
    return files


def _content(one: DataFile) -> Iterator[bytes]:
    left = one.size
    try:
        with _opened(one) as file:
            while left and (part := file.read(min(_READ, left))):
                left -= len(part)
                yield part
            if left or file.read(1):
                raise DataError("data-changed", path=str(one.path))
    except OSError as error:
        raise path_error(one.path, error) from error


def _opened(one: DataFile) -> BufferedReader:
    """To read; whatever takes its place since it was listed, no file outside. Raises DataError ``data-changed``;
    OSError."""
    real = Path(os.path.realpath(one.root / one.at))
    if not real.is_relative_to(one.root) or (not one.links and real != one.root / one.at):
        raise DataError("data-changed", path=str(one.path))
    try:
        return open_below(one.root, real.relative_to(one.root))
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):  # a link just now
            raise DataError("data-changed", path=str(one.path)) from error
        raise


class _Stream(io.RawIOBase):
    """An iterator of bytes as a file to read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._held = parts, b""

    def read(self, size: int = -1) -> bytes:
        while len(self._held) < size or size < 0:
            part = next(self._parts, None)
            if part is None:
                break
            self._held += part
        size = len(self._held) if size < 0 else size
        out, self._held = self._held[:size], self._held[size:]
        return out


class _Summed(io.RawIOBase):
    """Writes through, and sums what is written."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self.digest = out, hashlib.sha256()

    def write(self, data: object) -> int:
        assert isinstance(data, bytes)
        self.digest.update(data)
        return self._out.write(data)


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, 0o644, 0
    return entry
