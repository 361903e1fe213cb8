"""Converts any data set into sharded TFRecord with a `dataset.json`, which kind "tfrecord" reads back.

Used by `tpu-studio convert` and the window. Shards are written in several processes; a cancelled or killed
conversion goes on where it was: finished shards are kept after their checksum is verified. The result does not
depend on the number of processes.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from tpu_studio.data.brokenness import check_broken
from tpu_studio.data.converting import Converting, prepare
from tpu_studio.data.described import NAME, SPLITS
from tpu_studio.data.looked import NAMED_BROKEN, Broken, Look
from tpu_studio.data.shardwriting import STOP_NAME, ShardTask, destination_error, ready, write_shard
from tpu_studio.data.tfrecord import sha256_of
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.heldfolder import HeldFolder
from tpu_studio.wire.job import Job
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import strange_entry
from tpu_studio.wire.runfolder import beside
from tpu_studio.wire.sizes import DATASET_BYTES

SHARD_BYTES = 64 * 2**20
STATE = ".converting.json"
_SMALL = 24 * 2**20  # less than this is written sooner than a second process has started


@dataclass(frozen=True)
class ConvertProgress:
    """Where a conversion stands. ``phase``: looking, writing, done; bytes are of the source."""

    phase: str
    shards_done: int
    shards: int
    bytes_done: int
    bytes_total: int


@dataclass(frozen=True)
class ConvertReport:
    """What was written. *resumed*: shards kept from an earlier try; *reencoded*: pictures stored as PNG anew;
    *shrunk*: pictures too large for a record, stored at the size the model sees."""

    path: str
    kind: str
    task: str
    examples: dict[str, int]
    shards: int
    bytes: int
    seconds: float
    resumed: int = 0
    reencoded: int = 0
    shrunk: int = 0
    broken: tuple[Broken, ...] = ()
    broken_count: int = 0
    classes: dict[str, dict[str, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def convert(
    job: Job,
    destination: Path,
    *,
    workers: int = 2,
    shard_bytes: int = SHARD_BYTES,
    decoded: bool = False,
    progress: Callable[[ConvertProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ConvertReport:
    """Convert the job's data into *destination* (made if needed; empty, or with an unfinished conversion of the same).

    *decoded*: store pictures as the pixels that a model sees; larger, and read many times faster while training.

    Raises:
        DataError: as `sources.open_data`; data-destination-taken, data-destination-unwritable, data-disk-full,
            data-converter-died.
        Cancelled: *cancelled* said so; calling again goes on from there.
    """
    started = time.monotonic()
    watch = Watch(None, cancelled)
    watch.check()
    if progress is not None:
        progress(ConvertProgress("looking", 0, 0, 0, 0))
    _check_destination(destination)
    with _Processes(workers) as processes:
        work = prepare(job, destination, shard_bytes, watch, processes.expect, decoded=decoded)
        _check_space(destination, work)
        with _Destination(destination, work) as made:
            finished = made.begin()
            resumed = len(finished)
            _write_all(work, made, finished, processes, progress, watch)
            report = _finish(work, made, finished, time.monotonic() - started, resumed)
    if progress is not None:
        progress(ConvertProgress("done", len(work.tasks), len(work.tasks), work.weight, work.weight))
    return report


class _Processes:
    """The processes that write. They start while the shards are still being laid out, and not for little data."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)

    def expect(self, weight: int) -> None:
        """About so many bytes are going to be written."""
        if self._workers > 1 and weight >= _SMALL and self.pool is None:
            self.pool = ProcessPoolExecutor(self._workers, mp_context=multiprocessing.get_context("spawn"))
            for _ in range(self._workers):
                self.pool.submit(ready)


class _Destination:
    """The folder being filled, and the record of finished shards in it (`STATE`). It is held: others may write there,
    and what it holds is looked at once more."""

    def __init__(self, folder: Path, work: Converting) -> None:
        self.folder, self.work = folder, work
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.held = HeldFolder(folder)
        except OSError as error:
            raise destination_error(folder, error) from error
        layout = [work.fingerprint, work.settings, [(task.name, task.weight) for task in work.tasks]]
        self.layout = hashlib.sha256(json.dumps(layout, sort_keys=True).encode()).hexdigest()

    def __enter__(self) -> _Destination:
        return self

    def __exit__(self, *_: object) -> None:
        self.held.close()

    def begin(self) -> dict[str, dict[str, object]]:
        """Make the folder ready; name → what is known of each shard that is already whole."""
        try:
            _check_names(self.folder, self.held.names())
            self.held.remove(PurePath(STOP_NAME))
            was = self._state()
            if was is None or was.get("layout") != self.layout:
                self.clear()
                self.save({})
                return {}
            known = {name: told for name, told in was["shards"].items() if self._whole(name, told)}
            self.save(known)
            return known
        except OSError as error:
            raise destination_error(self.folder, error) from error

    def save(self, shards: dict[str, dict[str, object]]) -> None:
        text = json.dumps({"layout": self.layout, "shards": shards})
        self.put(STATE, text.encode(), sync=False)  # what it says is verified when it is read

    def put(self, name: str, data: bytes, *, sync: bool) -> None:
        target = PurePath(name)
        temporary = beside(target, "tmp")
        try:
            try:
                with self.held.create(temporary) as file:
                    file.write(data)
                    file.flush()
                    if sync:
                        os.fsync(file.fileno())
                self.held.replace(temporary, target.name)
            except BaseException:
                self.held.remove(temporary)
                raise
        except OSError as error:
            raise destination_error(self.folder, error) from error

    def clear(self) -> None:
        """Remove what an earlier conversion with other data or settings left unfinished."""
        for name in self.held.names():
            if name in (STATE, STOP_NAME) or name.endswith((".tfrecord", ".tfrecord.part")):
                self.held.remove(PurePath(name))
        self.held.remove_folder(PurePath("preview"))

    def _state(self) -> dict[str, Any] | None:
        try:
            tree = read_json(self.folder / STATE, DATASET_BYTES)
            return tree if isinstance(tree.get("shards"), dict) else None
        except (FileNotFoundError, ValueError, AttributeError):
            return None

    def _whole(self, name: str, told: object) -> bool:
        file = self.folder / name
        if not any(task.name == name for task in self.work.tasks) or not file.is_file():
            return False
        if not (isinstance(told, dict) and _is_told(name, told)):
            return False
        return file.stat().st_size == told.get("bytes") and sha256_of(file) == told.get("sha256")


def _is_told(name: str, told: Mapping[str, object]) -> bool:
    """Whether it is what `write_shard` tells of a shard: the record of it lies where others may write."""
    counts = (told.get(key) for key in ("examples", "bytes", "reencoded", "shrunk"))
    classes, broken = told.get("classes"), told.get("broken")
    return (
        told.get("name") == name
        and told.get("split") in SPLITS
        and all(type(count) is int for count in counts)
        and isinstance(classes, dict)
        and all(type(count) is int for count in classes.values())
        and isinstance(broken, list)
        and all(
            isinstance(one, list) and len(one) == 2 and all(isinstance(word, str) for word in one) for one in broken
        )
    )


def _write_all(
    work: Converting,
    made: _Destination,
    finished: dict[str, dict[str, object]],
    processes: _Processes,
    progress: Callable[[ConvertProgress], None] | None,
    watch: Watch,
) -> None:
    waiting = [replace(task, same=made.held.identity) for task in work.tasks if task.name not in finished]
    processes.expect(sum(task.weight for task in waiting))
    pool = processes.pool

    def tell() -> None:
        if progress is None:
            return
        done = sum(task.weight for task in work.tasks if task.name in finished)
        for task in work.tasks:
            if task.name not in finished:
                done += min(task.weight, _size(made.folder / f"{task.name}.part"))
        progress(ConvertProgress("writing", len(finished), len(work.tasks), done, work.weight))

    def keep(told: dict[str, Any]) -> None:
        finished[told["name"]] = told
        made.save(finished)
        tell()

    tell()
    if pool is None:
        for task in waiting:
            watch.check()
            keep(write_shard(task, watch.cancelled))
        return
    try:
        running: set[Future[dict[str, object]]] = {pool.submit(write_shard, task) for task in waiting}
        while running:
            done, running = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
            for future in done:
                keep(future.result())
            tell()
            watch.check()
    except BaseException as error:
        with suppress(OSError):  # it is there, or there is no room: then the shards that are begun are written
            made.held.create(PurePath(STOP_NAME)).close()
        pool.shutdown(wait=True, cancel_futures=True)
        made.held.remove(PurePath(STOP_NAME))
        if isinstance(error, BrokenProcessPool):
            raise DataError("data-converter-died", path=str(made.folder), raw=str(error)) from error
        raise


def _finish(
    work: Converting, made: _Destination, finished: dict[str, dict[str, Any]], seconds: float, resumed: int
) -> ConvertReport:
    told = [finished[task.name] for task in work.tasks]
    items = [Broken(name, why) for shard in told for name, why in shard["broken"]]
    total = sum(shard["examples"] for shard in told) + len(items)
    check_broken(len(items), total, work.allowed_broken, items)
    count = len(items) + work.problem_count
    items = [*work.problems, *items][:NAMED_BROKEN]
    splits: dict[str, Any] = {}
    for split in SPLITS:
        mine = [shard for shard in told if shard["split"] == split]
        counts = {name: sum(shard["classes"].get(name, 0) for shard in mine) for name in work.classes}
        splits[split] = {
            "examples": sum(shard["examples"] for shard in mine),
            "classes": counts,
            "shards": [{key: shard[key] for key in ("name", "examples", "bytes", "sha256")} for shard in mine],
        }
        if split in work.text_bytes:
            splits[split]["bytes_of_text"] = work.text_bytes[split]
            splits[split]["examples"] = getattr(work.look, split)  # windows, not the pieces that are stored
    for name, data in work.previews:
        made.put(name, data, sync=False)
    look = _look_of(work, splits, items, count)
    tree = {
        "format": work.format,
        "kind": work.look.kind,
        "task": work.look.task,
        "target": work.look.target,
        "features": work.features,
        "splits": splits,
        "description": work.description,
        "broken_count": count,
        "broken": [[item.item, item.why] for item in items],
        "source_fingerprint": work.fingerprint,
        "settings": work.settings,
        "look": look.to_json(),
    }
    made.put(NAME, json.dumps(tree, indent=1).encode(), sync=True)
    made.held.remove(PurePath(STATE))
    return ConvertReport(
        str(made.folder),
        work.look.kind,
        work.look.task,
        {split: splits[split]["examples"] for split in SPLITS},
        len(told),
        sum(shard["bytes"] for shard in told),
        round(seconds, 3),
        resumed,
        sum(shard["reencoded"] for shard in told),
        sum(shard["shrunk"] for shard in told),
        tuple(items),
        count,
        {split: splits[split]["classes"] for split in SPLITS},
    )


def _look_of(work: Converting, splits: dict[str, Any], items: list[Broken], count: int) -> Look:
    pictures = [
        {"path": name, "class": label} for (name, _), label in zip(work.previews, work.preview_classes, strict=True)
    ]
    look = replace(work.look, preview={"pictures": pictures}) if pictures else work.look
    if work.text_bytes:
        return look
    train, kept = (splits[split]["examples"] for split in SPLITS)
    counts = tuple(
        (name, splits["train"]["classes"][name] + splits["validation"]["classes"][name]) for name in work.classes
    )
    return replace(
        look,
        train=train,
        validation=kept,
        examples=train + kept,
        classes=counts,
        sampled=False,
        broken=tuple(items),
        broken_count=count,
    )


def _check_destination(destination: Path) -> None:
    try:
        if not destination.exists():
            return
        if not destination.is_dir():
            raise DataError("data-destination-taken", path=str(destination), first=destination.name)
        names = sorted(item.name for item in destination.iterdir())
        strange = strange_entry(destination)  # through a link in it, files elsewhere would be written
    except OSError as error:
        raise destination_error(destination, error) from error
    _check_names(destination, names)
    if strange is not None:
        first = f"the link {strange.relative_to(destination)}"
        raise DataError("data-destination-taken", path=str(destination), first=first)


def _check_names(destination: Path, names: Collection[str]) -> None:
    first = min(names, default="")
    if first and STATE not in names:
        raise DataError("data-destination-taken", path=str(destination), first=first)


def _check_space(destination: Path, work: Converting) -> None:
    folder = destination
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < work.weight:
        raise DataError("data-disk-full", path=str(destination), needed=work.weight, free=free)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


__all__ = ["Cancelled", "ConvertProgress", "ConvertReport", "ShardTask", "convert"]
