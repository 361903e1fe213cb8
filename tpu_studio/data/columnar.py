"""Parquet and Arrow files, and folders of them, as Hugging Face data sets are: written out once as rows, then read;
so are lists of JSON (`jsonlist`).

Only the app has the library that reads them (`columnarchild`, a process of its own: a damaged file may end it). The
rows go to ``tables/`` in the home as JSON lines, lists below a list of names; look, trainer and machine read those.
The same files give the same place, so that a run which goes on finds its data again after a look at them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.data import jsonlist, links
from tpu_studio.data.paths import path_error
from tpu_studio.data.textlayout import COLUMNAR, RECORDS, has_shards
from tpu_studio.data.watching import Watch
from tpu_studio.wire import ownpython
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.homes import home_folder, make_private
from tpu_studio.wire.plainfiles import plainly
from tpu_studio.wire.runfolder import PLAN, beside
from tpu_studio.wire.sizes import PLAN_BYTES

DOOR = "--write-rows"  # of `tpu_studio.__main__`
PART = ".part"
_FRESH_S = 3600.0
MEMORY_AT_LEAST, MEMORY_TIMES = 768 * 2**20, 10  # bytes of the process that reads: so many times the files'
_POLL_S = 0.1
_ENDS = 65_536
_TRAIN = ("train", "training")
_OTHERS = ("test", "testing", "validation", "valid", "val", "dev", "eval")


@dataclass(frozen=True)
class Rows:
    """*file*: the rows as JSON lines; *left_out*: names of splits that are not among them."""

    file: Path
    left_out: tuple[str, ...] = ()


def is_columnar(path: Path) -> bool:
    return path.suffix.lower() in COLUMNAR or (os.path.isdir(path) and has_shards(path))


def is_written_out(path: Path) -> bool:
    """Whether its rows are read from what `rows_of` writes."""
    return is_columnar(path) or (path.suffix.lower() in RECORDS and jsonlist.is_one(path))


def rows_of(path: Path, watch: Watch) -> Rows:
    """The table at *path* as a file of rows, written if it is not there yet.

    Raises:
        DataError: data-parquet (this program has nothing to read it with), data-parquet-damaged, data-shards-differ,
            data-link-outside, data-missing, data-unreadable, data-disk-full, data-unpacks-large,
            data-json-list-broken.
        Cancelled
    """
    shards, left_out = _shards(path)
    folder = home_folder() / "tables" / hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:16]
    try:
        file = folder / _stamp(shards, watch) / f"{path.name or 'table'}.jsonl"
        if not file.is_file():
            make_private(folder)
            _write(path, shards, file, watch)
            _tidy(folder, file.parent)
    except OSError as error:
        raise path_error(path, error) from error
    return Rows(file, left_out)


def _tidy(folder: Path, kept: Path) -> None:
    """Without rows of files that are no longer so and that no run reads, and without what a killed look began."""
    read = _read_by_runs(folder)
    for old in folder.iterdir():
        began = [one for one in old.iterdir() if one.suffix == PART] if old.is_dir() else []
        if old != kept and read is not None and old.name not in read and not any(map(_is_fresh, began)):
            shutil.rmtree(old, ignore_errors=True)
        for part in began:
            if not _is_fresh(part):
                part.unlink(missing_ok=True)


def _is_fresh(part: Path) -> bool:
    """Whether somebody may be writing it."""
    with contextlib.suppress(OSError):
        return time.time() - part.stat().st_mtime < _FRESH_S
    return False


def _read_by_runs(folder: Path) -> set[str] | None:
    """Versions below *folder* that plans of runs name, also of runs in the trash. None: that cannot be told."""
    version = re.compile(re.escape(os.fsencode(folder.name)) + rb"[/\\\\]+([0-9a-f]{16})[/\\\\]")
    read: set[str] = set()
    try:
        for name in ("runs", "trash"):
            there = home_folder() / name
            if not there.is_dir() and (name == "runs" or os.path.lexists(there)):  # as on a disk that is away now
                return None
            for plan in there.glob(f"*/{PLAN}"):
                if not plan.is_file():  # a pipe has no end; whoever opens that run says so
                    continue
                with open(plan, "rb", opener=plainly) as file:
                    read.update(one.decode() for one in version.findall(file.read(PLAN_BYTES)))
    except OSError:
        return None
    return read


def _shards(path: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The files of the table in their order; and the splits beside the one for training, which are left out."""
    if not path.is_dir():
        return [path], ()
    found, outside = links.files_below(path, COLUMNAR)
    if outside:
        raise DataError("data-link-outside", path=str(outside[0]))
    found = [one for one in found if not one.name.startswith(("cache-", "indices"))]  # what `datasets` keeps for itself
    if not found:
        raise DataError("data-empty", path=str(path), others=0)
    splits = {one: _split(one.relative_to(path)) for one in found}
    train = [one for one in found if splits[one] in _TRAIN]
    if not train:
        return found, ()
    return train, tuple(sorted({name for name in splits.values() if name in _OTHERS}))


def _split(shard: Path) -> str:
    """``data/train-00000-of-00003.parquet``, ``train/data-00000-of-00003.arrow`` and ``train_sft.parquet`` are of the
    split ``train``."""
    words = [re.split(r"[-_.]", shard.stem.lower())[0], *(part.lower() for part in reversed(shard.parts[:-1]))]
    return next((word for word in words if word in (*_TRAIN, *_OTHERS)), "")


def _stamp(shards: Sequence[Path], watch: Watch) -> str:
    """Of these files as they are now: names, sizes, times, first and last bytes. Raises OSError."""
    digest = hashlib.sha256()
    for shard in shards:
        watch.check()
        seen = shard.stat()
        digest.update(f"{shard.name}\0{seen.st_size} {seen.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
        with open(shard, "rb", opener=plainly) as file:
            digest.update(file.read(_ENDS))
            file.seek(max(0, seen.st_size - _ENDS))
            digest.update(file.read(_ENDS))
    return digest.hexdigest()[:16]


def _write(path: Path, shards: Sequence[Path], file: Path, watch: Watch) -> None:
    """Raises DataError, Cancelled; OSError."""
    make_private(file.parent)
    part = beside(file, PART[1:])
    try:
        if not is_columnar(path):
            jsonlist.write(path, part, watch)
        else:
            _write_in_a_process(path, shards, part, watch)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def _write_in_a_process(path: Path, shards: Sequence[Path], part: Path, watch: Watch) -> None:
    command = [*ownpython.program(), DOOR, str(part), *(str(one.absolute()) for one in shards)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ownpython.NEUTRAL_FOLDER,
        env=ownpython.environment(),
    )
    most = max(MEMORY_AT_LEAST, MEMORY_TIMES * sum(one.stat().st_size for one in shards))
    with process:
        said = _waited(process, most, path, watch)
    told = _told(said)
    if told.get("error"):
        raise DataError(str(told["error"]), **{"path": str(path), **dict(told.get("facts") or {})})
    if process.returncode or "rows" not in told:
        raise DataError("data-parquet-damaged", path=str(path), raw=f"ended with {process.returncode}")


def _waited(process: subprocess.Popen[bytes], most: int, path: Path, watch: Watch) -> bytes:
    """What it said. Raises DataError ``data-unpacks-large``: a text that a file names once is in memory as often as its
    rows have it."""
    import psutil

    seen = psutil.Process(process.pid)
    while True:
        try:
            return process.communicate(timeout=_POLL_S)[0]
        except subprocess.TimeoutExpired:
            pass
        try:
            watch.check()
            with contextlib.suppress(psutil.Error):
                if seen.memory_info().rss > most:
                    raise DataError("data-unpacks-large", path=str(path), allowed_bytes=most)
        except BaseException:
            process.kill()
            raise


def _told(said: bytes) -> dict[str, Any]:
    """What the child said; {} where it ended before it could."""
    try:
        told = json.loads(said.splitlines()[-1]) if said.strip() else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
