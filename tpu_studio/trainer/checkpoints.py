"""Checkpoints on the disk: whole or not there, checked before use, the last two and the best kept.

    checkpoints/00001200/state.safetensors   weights, optimizer, random state, by the names of ``state``
                         data-w000.json      where the data stands, and what the loop remembers
                         manifest.json       step, and the sha256 of the two
                         COMMITTED           written last: without it the folder is an accident

A folder is filled under another name, synced and renamed. A half-written, torn or altered one is skipped and named,
and the one before is used. `Saver` writes in a thread from a copy of the state, so that training goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tpu_studio.trainer.progress import Progress
from tpu_studio.trainer.state import Arrays
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import check_folder, make_folder, plainly
from tpu_studio.wire.runfolder import COMMITTED, checkpoint_folder, is_number

STATE, DATA, MANIFEST = "state.safetensors", "data-w000.json", "manifest.json"
KEEP = 2
_OURS = frozenset({STATE, DATA, MANIFEST, COMMITTED, ".DS_Store"})  # the last is what a Mac's file manager leaves


@dataclass(frozen=True)
class Loaded:
    """An opened checkpoint. *position* is what `Saver.save` was given."""

    step: int
    arrays: Arrays
    position: Mapping[str, Any]
    path: Path


@dataclass(frozen=True)
class Damaged:
    """A checkpoint that cannot be used, and why: not-committed, missing-file, altered, unreadable."""

    step: int
    why: str


def write(run: Path, step: int, arrays: Arrays, position: Mapping[str, object]) -> Path:
    """Write one checkpoint; on an error nothing of it stays and what was there before is untouched.

    Raises:
        OSError: Disk full, no permission.
    """
    final = checkpoint_folder(run, step)
    make_folder(final.parent)  # of a run that was removed meanwhile nothing is made anew
    making = final.with_name(f".{final.name}.{os.getpid()}.making")
    shutil.rmtree(making, ignore_errors=True)
    try:
        making.mkdir()
        save_file(arrays, making / STATE)
        _sync(making / STATE)
        _write_synced(making / DATA, _json(position))
        sums = {name: sha256(making / name) for name in (STATE, DATA)}
        _write_synced(making / MANIFEST, _json({"format": 1, "step": step, "sha256": sums}))
        _sync(making)
        if final.exists():  # the same step again, after going back
            old = final.with_name(f".{final.name}.{os.getpid()}.old")
            os.replace(final, old)
            shutil.rmtree(old, ignore_errors=True)
        os.replace(making, final)
        _write_synced(final / COMMITTED, b"")
        _sync(final)
        _sync(final.parent)
    except SafetensorError as error:
        shutil.rmtree(making, ignore_errors=True)
        raise _as_os_error(error, making) from error
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return final


def steps(run: Path) -> list[int]:
    """Steps of all folders that look like checkpoints, newest first."""
    folder = run / "checkpoints"
    names = os.listdir(folder) if folder.is_dir() else []
    return sorted((int(name) for name in names if is_number(name)), reverse=True)


def were_whole(run: Path) -> bool:
    """Whether copies were ever finished here, readable now or not."""
    return any((checkpoint_folder(run, step) / COMMITTED).exists() for step in steps(run))


def read(run: Path, step: int) -> Loaded | Damaged:
    """Open one checkpoint after checking every sum."""
    path = checkpoint_folder(run, step)
    if not (path / COMMITTED).exists():
        return Damaged(step, "not-committed")
    try:
        sums = read_json(path / MANIFEST)["sha256"]
        for name in (STATE, DATA):  # whatever else it names may lie anywhere, and have no end
            if sha256(path / name) != sums[name]:
                return Damaged(step, "altered")
        position = read_json(path / DATA)
        if Progress.from_json(position).step != step:
            return Damaged(step, "unreadable")
        return Loaded(step, load_file(path / STATE), position, path)
    except FileNotFoundError:
        return Damaged(step, "missing-file")
    except (ValueError, KeyError, TypeError, AttributeError, SafetensorError):
        return Damaged(step, "unreadable")


def newest(run: Path, tell: Callable[[Damaged], None]) -> Loaded | None:
    """The newest good checkpoint; *tell* hears of each that was passed over. None when there is none."""
    for step in steps(run):
        found = read(run, step)
        if isinstance(found, Loaded):
            return found
        tell(found)
    return None


def prune(run: Path, best: int | None, keep: int = KEEP) -> None:
    """Delete all but the last *keep* whole checkpoints and the best; uncommitted ones older than those go too."""
    there = steps(run)
    whole = [step for step in there if (checkpoint_folder(run, step) / COMMITTED).exists()]
    kept, given_up = {*whole[:keep], *([best] if best is not None else [])}, set(whole)
    for step in there:
        if step not in kept and (step in given_up or (whole and step < whole[0])):
            _remove(checkpoint_folder(run, step))


def drop_after(run: Path, step: int) -> None:
    """Delete checkpoints beyond *step*: damaged, or of a future that was given up by going back."""
    for later in steps(run):
        if later > step:
            _remove(checkpoint_folder(run, later))


def _remove(path: Path) -> None:
    """Delete one checkpoint; what is no folder of ours, or is reached by a link, stays as it is.

    Raises OSError ``ELOOP`` where the folder of all checkpoints is a link.
    """
    check_folder(path.parent)
    if path.is_symlink() or not path.is_dir():
        return
    with os.scandir(path) as entries:
        if any(one.name not in _OURS or not one.is_file(follow_symlinks=False) for one in entries):
            return
    (path / COMMITTED).unlink(missing_ok=True)  # first, so that a half-deleted one never counts
    shutil.rmtree(path, ignore_errors=True)


@dataclass
class Saver:
    """Writes checkpoints one at a time in a thread; *before* is called ahead, *saved* after, with step and seconds.

    An error of the thread is raised by the next `check` or `wait` in the training thread.
    """

    run: Path
    saved: Callable[[int, float], None]
    before: Callable[[], None] = lambda: None
    _thread: threading.Thread | None = None
    _error: BaseException | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def save(self, step: int, arrays: Arrays, position: Mapping[str, Any], best: int | None) -> None:
        """Begin to write; waits for the one before. *arrays* belong to the saver from here on."""
        self.wait()
        self._thread = threading.Thread(target=self._write, args=(step, arrays, dict(position), best), name="saver")
        self._thread.start()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.check()

    def check(self) -> None:
        with self._lock:
            error, self._error = self._error, None
        if error is not None:
            raise error

    def _write(self, step: int, arrays: Arrays, position: Mapping[str, object], best: int | None) -> None:
        begun = time.monotonic()
        try:
            self.before()
            write(self.run, step, arrays, position)
            prune(self.run, best)
            self.saved(step, time.monotonic() - begun)
        except BaseException as error:  # noqa: BLE001  raised again in the training thread
            with self._lock:
                self._error = error


def sha256(path: Path) -> str:
    with open(path, "rb", opener=plainly) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()


def _write_synced(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _as_os_error(error: SafetensorError, path: Path) -> OSError:
    """safetensors wraps what the system said into its text: `… Os { code: 28, kind: StorageFull, … }`."""
    import re

    found = re.search(r"code: (\d+)|os error (\d+)", str(error))
    number = int(found.group(1) or found.group(2)) if found else 5
    return OSError(number, os.strerror(number), str(path))
