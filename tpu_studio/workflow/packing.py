"""A run as one zip, to send: all that its folder holds, as `zips` takes it in elsewhere.

Left out is what counts on this computer alone: whose the run is, and who follows it. Its plan says where its data lies
here; the data itself is not in it. Each file is covered by a sum, so one changed byte is seen when it comes.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from tpu_studio.wire.errors import RunError
from tpu_studio.wire.heldfolder import HeldFolder
from tpu_studio.wire.plainfiles import check_place, open_below
from tpu_studio.wire.runfolder import OWNER, WATCHING, belongs, beside, result_folder, surplus
from tpu_studio.wire.sums import damaged_file
from tpu_studio.workflow import desk
from tpu_studio.workflow.bringing import regular_files
from tpu_studio.workflow.ports import Progress

ENDING = "zip"
_OURS = frozenset({OWNER, WATCHING})
_PACKED = (".json", ".jsonl", ".csv", ".html", ".log")  # texts; weights do not get smaller
_FIRST_YEAR = 1980  # of a zip


@dataclass(frozen=True)
class Packed:
    file: Path
    bytes: int


def pack(folder: Path, file: Path, progress: Progress | None = None, *, replace: bool = False) -> Packed:
    """Write the run in *folder*, which is over, to *file*: whole, or not at all.

    Raises:
        BadInput: ``place-no-file``.
        RunError: ``page-exists`` (unless *replace*), ``result-damaged``, ``import-symlink``, ``import-special-file``,
            ``import-failed``, ``disk-full``, ``folder-unwritable``.
    """
    target = Path(os.path.expanduser(file)).absolute()
    check_place(target)
    try:
        with HeldFolder(target.parent) as held:  # others may write there, too
            if target.name in held.names() and not replace:
                raise RunError("page-exists", file=str(target))
            making = beside(PurePath(target.name), ENDING)
            try:
                size = _write(folder, held, making, _wanted(folder), progress)
                held.replace(making, target.name)
            finally:
                held.remove(making)
    except OSError as error:
        raise desk.disk_error(error, target.parent) from error
    return Packed(target, size)


def _wanted(folder: Path) -> list[tuple[PurePosixPath, int]]:
    """Files of the run, with their bytes. Raises RunError."""
    if (damaged := damaged_file(result_folder(folder))) is not None:
        raise RunError("result-damaged", run=folder.name, file=f"{result_folder(folder).name}/{damaged}")
    found = [(PurePosixPath(one.as_posix()), size) for one, size in regular_files(folder)]
    extra = surplus(name for name, _ in found)
    return [(name, size) for name, size in found if belongs(name) and name not in extra and str(name) not in _OURS]


def _write(
    folder: Path, held: HeldFolder, making: PurePath, wanted: list[tuple[PurePosixPath, int]], progress: Progress | None
) -> int:
    """Bytes of what was written."""
    total, done = max(1, sum(size for _, size in wanted)), 0
    with held.create(making) as file:
        with zipfile.ZipFile(file, "w", strict_timestamps=False) as archive:
            for name, size in wanted:
                with open_below(folder, name) as reader:
                    entry = _entry(f"{folder.name}/{name}", os.fstat(reader.fileno()).st_mtime)
                    with archive.open(entry, "w", force_zip64=size >= zipfile.ZIP64_LIMIT // 2) as writer:
                        shutil.copyfileobj(reader, writer, 1 << 20)
                done += size
                if progress is not None:
                    progress(min(1.0, done / total), str(name))
        file.flush()
        os.fsync(file.fileno())
        return os.fstat(file.fileno()).st_size


def _entry(name: str, changed: float) -> zipfile.ZipInfo:
    at = time.localtime(changed)
    entry = zipfile.ZipInfo(name, at[:6] if at.tm_year >= _FIRST_YEAR else (_FIRST_YEAR, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED if name.endswith(_PACKED) else zipfile.ZIP_STORED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry
