"""A run that comes as one zip, from a notebook or another computer: checked before a byte is unpacked, then taken in.

A zip may complete a run that waits for it here (`Runs.launch` at the place ``colab``). Nothing in it is believed: names
and kinds, sizes and the plan are looked at first, and what is here stays as it is when anything is wrong. Taken in file
by file, events last, so that a crash in between is mended by doing it again.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Literal

from tpu_studio.wire.archives import open_zip
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import LINE_BYTES, Event, decode
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.plainfiles import plainly
from tpu_studio.wire.plan import Plan, loads
from tpu_studio.wire.runfolder import COMMITTED, OWNER, PLAN, belongs, is_known, is_number, is_run_id, tops_of
from tpu_studio.wire.sizes import PLAN_BYTES
from tpu_studio.workflow import passing
from tpu_studio.workflow.ports import Progress

LIMIT_BYTES = 40_000_000_000  # more than a free chip's memory can give rise to
ENTRIES_AT_MOST = 50_000
FOLDERS_AT_MOST = 20_000  # a run has one for each copy, and a dozen besides
RATIO_AT_MOST, RATIO_FROM_BYTES = 200, 64_000_000
RESULT = "result"
_MOST_PARTS = 50  # of a name; ours have seven
_LONGEST_PART = 255  # bytes, of a name in any file system
_OF_SYSTEMS = ("thumbs.db", "desktop.ini")
_SPARE = 64 << 20
_CHUNK = 1 << 20

_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    MemoryError,
)

Relation = Literal["nothing-new", "newer", "other"]


@dataclass(frozen=True)
class Unzipped:
    """A run folder out of a zip, in a temporary place on the disk of the runs."""

    folder: Path
    plan: Plan
    frozen: bytes
    left_out: tuple[str, ...] = ()


@contextmanager
def unzipped(path: Path, runs: Path, progress: Progress | None = None) -> Iterator[Unzipped]:
    """Unpack the run in *path* beside the runs; gone again when the context ends.

    Raises:
        RunError: ``zip-unreadable``, ``zip-not-a-run``, ``zip-unsafe``, ``zip-too-large``, ``plan-unreadable``,
            ``plan-newer``.
        OSError: The disk.
    """
    make_private(runs)
    with passing.folder(runs, "unzipping") as beside, ExitStack() as opened:
        with _reading(path):
            archive = opened.enter_context(open_zip(path))
        entries, root = _checked(archive, path, runs)
        with _reading(path):
            frozen = _plan(archive, root, path)
        plan = loads(frozen)
        folder = beside / (plan.run if is_run_id(plan.run) else "imported-run")
        own = [entry for entry in entries if belongs(PurePosixPath(entry.filename[len(root) :]))]
        _unpack(archive, own, root, folder, path, progress)
        opened.close()
        others = {entry.filename[len(root) :] for entry in entries} - {entry.filename[len(root) :] for entry in own}
        strange = (name for name in others if not _is_hidden(name) and not is_known(PurePosixPath(name)))
        yield Unzipped(folder, plan, frozen, tops_of(strange))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Only *path* is read within: whatever goes wrong then, an offset before the file's begin (OSError) or a disk that
    gives nothing back, the zip cannot be read, and the disk of the runs has nothing to do with it."""
    try:
        yield
    except _UNREADABLE as error:
        raise RunError("zip-unreadable", file=str(path), raw=str(error)) from error


def _checked(archive: zipfile.ZipFile, path: Path, runs: Path) -> tuple[list[zipfile.ZipInfo], str]:
    """The plain files in it and the folder they all lie in ("" for none), before anything is unpacked."""

    def refuse(entry: str, why: str) -> RunError:
        return RunError("zip-unsafe", file=str(path), entry=entry[:120], why=why)

    entries: list[zipfile.ZipInfo] = []
    ways: list[tuple[str, str]] = []
    seen: set[str] = set()
    if len(archive.infolist()) > ENTRIES_AT_MOST:
        raise refuse("", f"it has more than {ENTRIES_AT_MOST:,} entries")
    for entry in archive.infolist():
        name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
        parts = PurePosixPath(name).parts
        long = len(name) > 300 or any(len(part.encode()) > _LONGEST_PART for part in parts)
        if name.startswith("/") or ".." in parts or any(sign in name for sign in "\\:\0") or long or not name:
            raise refuse(name, "its name leads out of the folder")
        if len(parts) > _MOST_PARTS:
            raise refuse(name, "it lies in more folders than any run has, each in the other")
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise refuse(name, "it is a link or no plain file")
        if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refuse(name, "it is encrypted or packed in a way that runs are not")
        if entry.is_dir() or not parts:
            continue
        if name.lower() in seen:
            raise refuse(name, "it is there twice")
        seen.add(name.lower())
        entries.append(entry)
        ways.append(("\0".join(parts).lower(), name))
    if _folders(way for way, _ in ways) > FOLDERS_AT_MOST:
        raise refuse("", f"it has more than {FOLDERS_AT_MOST:,} folders")
    for (way, name), (after, _) in pairwise(sorted(ways)):  # what lies below a name comes right behind it
        if f"{after}\0".startswith(f"{way}\0"):
            raise refuse(name, "it is a file and a folder" if after != way else "it is there twice")
    claims, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
    limit = min(LIMIT_BYTES, max(0, shutil.disk_usage(runs).free - _SPARE))
    if claims > limit:
        raise RunError("zip-too-large", file=str(path), claims_bytes=claims, limit_bytes=limit)
    if packed > path.stat().st_size or (claims > RATIO_FROM_BYTES and claims > RATIO_AT_MOST * max(1, packed)):
        raise refuse("", "it would unpack to far more than it can hold")
    names = [entry.filename for entry in entries]
    plans = [name for name in names if name.endswith(f"/{PLAN}") or name == PLAN]
    plans = [name for name in plans if len(PurePosixPath(name).parts) <= 2]
    if len(plans) != 1:
        raise RunError("zip-not-a-run", file=str(path))
    root = plans[0][: -len(PLAN)]
    outside = next((name for name in names if not name.startswith(root)), None)
    if outside is not None:
        raise refuse(outside, "it lies beside the run's folder")
    return entries, root


def _folders(ways: Iterable[str]) -> int:
    """How many there are on these *ways*, whose parts a NUL stands between."""
    found: set[str] = set()
    for way in ways:
        while (way := way.rpartition("\0")[0]) and way not in found:
            found.add(way)
    return len(found)


def _plan(archive: zipfile.ZipFile, root: str, path: Path) -> bytes:
    entry = archive.getinfo(f"{root}{PLAN}")
    if entry.file_size > PLAN_BYTES:
        raise RunError("zip-not-a-run", file=str(path))
    return archive.read(entry)


def _unpack(
    archive: zipfile.ZipFile,
    entries: list[zipfile.ZipInfo],
    root: str,
    folder: Path,
    path: Path,
    progress: Progress | None,
) -> None:
    total, done = max(1, sum(entry.file_size for entry in entries)), 0
    for entry in entries:
        name = entry.filename[len(root) :]
        if _is_hidden(name) or name == OWNER:
            continue
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "xb") as writer:
                for part in _parts(archive, entry, path):
                    writer.write(part)
                    done += len(part)
                    if progress is not None:
                        progress(min(1.0, done / total), name)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise RunError("zip-unsafe", file=str(path), entry=name[:120], why="a file is in its way") from error


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(name).parts)


def _parts(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> Iterator[bytes]:
    with ExitStack() as opened:
        with _reading(path):
            reader = opened.enter_context(archive.open(entry))
        while True:
            with _reading(path):
                part = reader.read(_CHUNK)
            if not part:
                return
            yield part


# ------------------------------------------------------------------------------------------------- completing a run


def relation(folder: Path, brought: Path) -> Relation:
    """How the events that were *brought* stand to those in *folder*: attempts' files, compared byte by byte."""
    here, there = _events(folder), _events(brought)
    if all(_begins(here.get(name), path) for name, path in there.items()):
        return "nothing-new"
    return "newer" if all(_begins(there.get(name), path) for name, path in here.items()) else "other"


def last_word(folder: Path) -> Event | None:
    """The `end` event of the latest attempt, or None while it has none."""
    files = sorted(_events(folder).items())
    if not files:
        return None
    last = None
    with open(files[-1][1], "rb", opener=plainly) as lines:
        while line := lines.readline(LINE_BYTES):
            if b'"end"' in line and (event := decode(line)) and event.kind == "end":
                last = event
    return last


def has_result(folder: Path) -> bool:
    return any(path.is_file() for path in (folder / RESULT).rglob("*"))


def goes_on(folder: Path, brought: Path) -> bool:
    """Whether *brought* says to have trained on where the run at *folder* has ended, and to have come to an end and a
    result of its own. Who has the plan and the events of a run can say that, too."""
    one, other = last_word(folder), last_word(brought)
    return None not in (one, other) and _attempt(other) > _attempt(one) and has_result(brought)


def _attempt(end: Event | None) -> int:
    number = end.get("attempt") if end is not None else None
    return number if isinstance(number, int) else 0


def keeps_result(folder: Path, brought: Path) -> bool:
    """Whether all of the result at *folder* is in what was *brought*, byte by byte, or the zip brings none to take its
    place: so it is also where taking it in was interrupted before."""
    if has_result(folder) and not has_result(brought):
        return last_word(folder) is None
    return all(_is_same(path, brought / path.relative_to(folder)) for path in _ours(folder / RESULT, folder))


def _ours(part: Path, folder: Path) -> list[Path]:
    """Files that the program writes, in *part* of the run at *folder*; not what systems and people put beside them."""
    files = [path for path in part.rglob("*") if path.is_file()]
    return [path for path in files if not _is_stray(path.relative_to(folder).as_posix())]


def _is_stray(name: str) -> bool:
    return _is_hidden(name) or PurePosixPath(name).name.lower() in _OF_SYSTEMS


def _is_same(one: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(one, other, shallow=False)


def take(folder: Path, brought: Path) -> None:
    """Move what was *brought* into the run at *folder*. What it replaces of the result goes; desktops' events there
    stay, a result where none is brought, and every whole copy of the model: whoever made the zip can say of one that it
    is a later one. Of a copy COMMITTED comes last, and of all the events. Raises OSError."""
    whole = {f"checkpoints/{name}" for name in _copies(folder)}
    files = [path for path in brought.rglob("*") if path.is_file()]
    names = {path.relative_to(brought).as_posix() for path in files}
    for part in ["claims", *([RESULT] if has_result(brought) else [])]:
        for old in _ours(folder / part, folder):
            if old.relative_to(folder).as_posix() not in names:
                old.unlink()
    for name, old in _events(folder).items():
        if f"events/{name}" not in names:
            old.unlink()
    for path in sorted(files, key=lambda path: (path.parent.name == "events", path.name == COMMITTED)):
        target = path.relative_to(brought)
        is_here = target.parent.as_posix() in whole and (folder / target).is_file()
        if target.as_posix() == PLAN or target.name.startswith("desk-") or is_here:
            continue
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, folder / target)


def _copies(folder: Path) -> list[str]:
    """Folders of the whole checkpoints, the oldest first; each is named by its step."""
    whole = [path.parent.name for path in (folder / "checkpoints").glob(f"*/{COMMITTED}")]
    return sorted((name for name in whole if is_number(name)), key=int)


def _events(folder: Path) -> dict[str, Path]:
    """Events files of attempts, by name; a link in the place of one is none."""
    found = (folder / "events").glob("a[0-9]*.jsonl")
    return {path.name: path for path in found if stat.S_ISREG(path.lstat().st_mode)}


def _begins(longer: Path | None, shorter: Path) -> bool:
    """Whether *longer* begins with all that *shorter* holds."""
    if longer is None or longer.stat().st_size < shorter.stat().st_size:
        return False
    with open(longer, "rb", opener=plainly) as one, open(shorter, "rb", opener=plainly) as other:
        while part := other.read(_CHUNK):
            if one.read(len(part)) != part:
                return False
    return True
