"""The run's prefix in the bucket beside the run folder on this disk: three threads that carry things across.

    out     events as immutable ranges of their file, heartbeat, ledger        2 s while watched, else 20 s
    in      control objects, watching.json                                     every 2.5 s
    copies  checkpoints up, COMMITTED last; those that the trainer pruned go; then compiled programs

Nothing is remembered but what stands in the bucket: the next range begins where LIST says that the last one ends.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from tpu_studio.trainer.guardian.vm.bucket import Bucket
from tpu_studio.trainer.guardian.vm.compiled import CompiledPrograms
from tpu_studio.trainer.guardian.vm.config import Config
from tpu_studio.trainer.guardian.vm.web import Backoff, Refused, TooLong, Unreachable
from tpu_studio.wire.controls import AT_MOST
from tpu_studio.wire.events import encode
from tpu_studio.wire.runfolder import (
    COMMITTED,
    WATCHING,
    belongs,
    control_file,
    create_once,
    events_file,
    events_name,
    profile_folder,
)

RANGE_BYTES = 256 * 1024
WATCHED_S, UNWATCHED_S, OTHERS_S, IN_S, COPIES_S = 2.0, 20.0, 15.0, 2.5, 1.0
FRESH_S = 90.0
LEDGER_S, HEARTBEAT_S = 60.0, 30.0
MOST_USD, MOST_S = 1e6, 30 * 86_400.0
_OFFSET = re.compile(r"[0-9]{12}")
_STEP = re.compile(r"[0-9]{1,15}")
_COPY_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")


class Diverged(Exception):
    """The bucket holds other bytes than this disk for the same place in an events file."""


class Ranges:
    """The events file of one worker, carried up."""

    def __init__(self, bucket: Bucket, config: Config, run: Path, worker: int) -> None:
        self._bucket, self._path = bucket, events_file(run, config.attempt, worker)
        self._folder = f"{config.prefix}events/{events_name(config.attempt, worker)}/"
        self._single = f"{config.prefix}events/{events_name(config.attempt, worker)}.jsonl"
        self._lock = threading.Lock()
        self.sent = 0
        """Bytes that are in the bucket."""

    def catch_up(self) -> None:
        """Find where the bucket stands; what it has and this disk lost comes back. Before the file is opened.

        Raises:
            Unreachable, Refused, Diverged.
        """
        found = [(Path(name).stem, name, size) for name, size in self._bucket.list(self._folder)]
        ranges = [(int(stem), name, size) for stem, name, size in found if _OFFSET.fullmatch(stem)]
        self.sent = 0
        for offset, _, size in ranges:
            if offset != self.sent:
                raise Diverged(f"{self._folder} has a gap at {self.sent}")
            self.sent += size
        have = self._path.stat().st_size if self._path.exists() else 0
        if have >= self.sent:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "ab") as file:
            for offset, name, size in ranges:
                if offset + size <= have:
                    continue
                data = self._bucket.read(name)
                if data is None or len(data) != size:
                    raise Unreachable(f"{name} could not be read back")
                file.truncate(offset)
                file.seek(offset)
                file.write(data)
                have = offset + size
            file.flush()
            os.fsync(file.fileno())

    def send(self) -> bool:
        """One range of whole lines; True when one was sent. Raises Unreachable, Refused, Diverged."""
        with self._lock:
            try:
                with open(self._path, "rb") as file:
                    file.seek(self.sent)
                    data = file.read(RANGE_BYTES)
                    end = data.rfind(b"\n") + 1
                    while not end and len(data) >= RANGE_BYTES:  # one line longer than a range: it goes alone
                        more = file.read(RANGE_BYTES)
                        if not more:
                            break
                        data += more
                        end = data.find(b"\n") + 1
            except FileNotFoundError:
                return False
            if not end:
                return False
            name = f"{self._folder}{self.sent:012d}.jsonl"
            if self._bucket.create(name, data[:end]):
                self.sent += end
                return True
            there = self._bucket.read(name)  # an answer that was lost, or a guardian before this one
            if not there:
                raise Unreachable(f"{name} could not be read back")
            with open(self._path, "rb") as file:
                file.seek(self.sent)
                if file.read(len(there)) != there:
                    raise Diverged(name)
            self.sent += len(there)
            return True

    def send_all(self) -> None:
        while self.send():
            pass

    def compact(self) -> None:
        """All of it in one object; the ranges stay for whoever reads them now."""
        if self._path.exists():
            self._bucket.upload(self._path, self._single)


class Mailbox:
    """Args:
    ledger: What the ledger says now; None for a worker that keeps none.
    speed, now: Of the cloud's clock.
    monotonic: Our own, by which silence is measured.
    """

    def __init__(
        self,
        bucket: Bucket,
        config: Config,
        run: Path,
        worker: int,
        *,
        ledger: Callable[[], dict[str, object]] | None,
        speed: Callable[[], float],
        now: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bucket, self._config, self._run, self._worker = bucket, config, run, worker
        self._ledger, self._speed, self._now, self._monotonic = ledger, speed, now, monotonic
        self.ranges = Ranges(bucket, config, run, worker)
        self.copies = Copies(bucket, config, run, self.ranges.send_all)
        self.compiled: CompiledPrograms | None = None
        self.problem: BaseException | None = None
        """Why the bucket could not be used the last time it was tried; None when it could."""
        self.lost: Diverged | None = None
        self._control_lock = threading.Lock()
        self._next_control = 1
        self._watching: bytes | None = None
        self._watched_until = self._monotonic() + FRESH_S
        self._ledger_at = -1e9
        self._wrote_at = self._monotonic()
        self._over = threading.Event()
        self._urgent = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        loops: list[tuple[str, Callable[[], None]]] = [("out", self._out), ("in", self._in)]
        if self._worker == 0:
            loops.append(("copies", self._copies))
        for name, loop in loops:
            thread = threading.Thread(target=loop, name=f"mailbox-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Have the threads end; one that waits for an answer is given 5 s."""
        self._over.set()
        self._urgent.set()
        for thread in self._threads:
            thread.join(5.0)

    def hurry(self) -> None:
        """Send now what there is."""
        self._urgent.set()

    @property
    def silent_s(self) -> float:
        """How long the bucket has taken nothing, by our own clock; something is written every 30 s at least."""
        return self._monotonic() - self._wrote_at

    def fetch_controls(self, patience_s: float = float("inf")) -> None:
        """Put the controls that have come into the run folder; behind *patience_s* seconds the next call goes on.

        Raises:
            Unreachable, Refused, OSError.
        """
        until = self._monotonic() + patience_s
        with self._control_lock:
            while self._next_control <= AT_MOST + 1 and self._monotonic() < until:
                number = self._next_control
                data = self._control(f"{self._config.prefix}control/{number:06d}.json")
                if data is None:
                    return
                create_once(control_file(self._run, number), data)
                self._next_control += 1

    def _control(self, name: str) -> bytes | None:
        """None: there is none. What somebody laid there that nobody can read asks for nothing, and holds up none
        behind it: it has more bytes than anything of ours, or Google gives it to nobody without that one's key."""
        try:
            return self._bucket.read(name)
        except TooLong:
            return b""
        except Refused as refusal:
            if refusal.status == 400 or (refusal.status == 403 and "kms" in str(refusal).lower()):
                return b""
            raise

    # ------------------------------------------------------------------------------------------------------- threads

    def _out(self) -> None:
        backoff = Backoff(most_s=10.0)
        while not self._over.is_set():
            try:
                while self.ranges.send():
                    self._wrote_at = self._monotonic()
                self.write_ledger()
                self._beat()
                self.problem = None
                backoff.reset()
                pause = self._out_pause()
            except Diverged as error:
                self.lost = error
                return
            except (Unreachable, Refused) as error:
                self.problem = error
                pause = backoff.pause()
            self._urgent.wait(pause)
            self._urgent.clear()

    def _out_pause(self) -> float:
        watched = self._monotonic() < self._watched_until
        pause = OTHERS_S if self._worker else WATCHED_S if watched else UNWATCHED_S
        speed = self._speed()
        return min(pause, max(1.0, HEARTBEAT_S / speed), max(1.0, self._config.silence_s / speed / 4))

    def _in(self) -> None:
        backoff = Backoff(first_s=1.0, most_s=IN_S)
        while not self._over.is_set():
            try:
                self.fetch_controls()
                self._look_who_watches()
                pause = IN_S
            except (Unreachable, Refused):
                pause = backoff.pause()  # told by *out*, which tries the same bucket
            except OSError as error:  # a full disk: what comes when there is room is heard
                print(f"guardian: a control cannot be kept: {error}", flush=True)
                pause = backoff.pause()
            self._over.wait(pause)

    def _copies(self) -> None:
        while not self._over.is_set():
            pause = COPIES_S
            try:
                self.copies.carry()
                if self.compiled is not None:
                    self.compiled.carry()
            except (Unreachable, Refused, Diverged, OSError) as error:
                self.copies.problem = error
                pause = 5.0
            self._over.wait(pause)

    def _look_who_watches(self) -> None:
        seen = self._bucket.read(f"{self._config.prefix}{WATCHING}")
        if seen is not None and seen != self._watching:
            if self._monotonic() >= self._watched_until:
                self._urgent.set()
            self._watching, self._watched_until = seen, self._monotonic() + FRESH_S

    def write_ledger(self, *, force: bool = False) -> None:
        now = self._monotonic()
        every = max(2.0, LEDGER_S / self._speed())
        if self._ledger is None or (now - self._ledger_at < every and not force):
            return
        record = self._ledger()
        self._bucket.write(f"{self._config.prefix}ledger/a{self._config.attempt:04d}.json", encode(record))
        self._ledger_at = self._wrote_at = now

    def _beat(self) -> None:
        """Say that this machine lives, when nothing else has said so for a while."""
        if self._monotonic() - self._wrote_at < max(1.0, HEARTBEAT_S / self._speed()):
            return
        name = events_name(self._config.attempt, self._worker)
        self._bucket.write(f"{self._config.prefix}heartbeat/{name}.json", encode({"t": round(self._now(), 3)}))
        self._wrote_at = self._monotonic()


class Copies:
    """Checkpoints: the newest first, every file, COMMITTED last; before it, by *tell*, the events up to the copy: who
    goes on from there makes none of their steps again."""

    def __init__(self, bucket: Bucket, config: Config, run: Path, tell: Callable[[], None] = lambda: None) -> None:
        self._bucket, self._prefix, self._run, self._tell = bucket, f"{config.prefix}checkpoints/", run, tell
        self._held = run / ".uploading"
        self._there: dict[str, int] | None = None  # step → mtime of the COMMITTED that was carried up
        self._lock = threading.Lock()
        self.problem: BaseException | None = None

    def carry(self) -> None:
        """Carry up the newest that is not there, then what the trainer has pruned goes. Raises Unreachable, Refused,
        OSError."""
        with self._lock:
            if self._there is None:
                self._there = dict.fromkeys(self._committed_there(), 0)
            here = self._committed_here()
            missing = [step for step in here if self._there.get(step) not in (here[step], 0)]
            if missing:
                self._up(max(missing), here[max(missing)])
            elif here and max(here) in self._there:
                for step in [step for step in self._there if step not in here]:
                    self._remove(step)
            self.problem = None

    def carry_newest(self) -> None:
        """Until the newest copy on this disk is in the bucket. Raises Unreachable, Refused, OSError."""
        self.carry()
        while True:
            here = self._committed_here()
            if not here or max(here) in (self._there or {}):
                return
            self.carry()

    def fetch(self) -> list[int]:
        """Copies from the bucket onto this disk, newest first, where there is none; their steps.

        Raises:
            Unreachable, Refused, OSError.
        """
        with self._lock:  # half of them here would look to `carry` as if the others had been pruned
            return self._fetch()

    def _fetch(self) -> list[int]:
        if self._committed_here():
            return []
        steps = sorted(self._committed_there(), reverse=True)
        for step in steps:
            names = [(name, size) for name, size in self._bucket.list(f"{self._prefix}{step}/")]
            making = self._run / "checkpoints" / f".{step}.coming"
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir(parents=True)
            for name, _ in names:
                base = name.rpartition("/")[2]
                if not _COPY_FILE.fullmatch(base) or base == COMMITTED:
                    continue  # nothing that the trainer writes
                if not self._bucket.fetch(name, making / base):
                    raise Unreachable(f"{name} was there a moment ago")
        for step in steps:  # all or none, the newest first
            final = self._run / "checkpoints" / step
            shutil.rmtree(final, ignore_errors=True)
            os.replace(final.with_name(f".{step}.coming"), final)
            (final / COMMITTED).write_bytes(b"")
        return [int(step) for step in steps]

    def _committed_here(self) -> dict[str, int]:
        found: dict[str, int | None] = {}
        folder = self._run / "checkpoints"
        for name in os.listdir(folder) if folder.is_dir() else []:
            try:
                found[name] = (folder / name / COMMITTED).stat().st_mtime_ns if _STEP.fullmatch(name) else None
            except FileNotFoundError:
                continue
        return {name: made for name, made in found.items() if made is not None}

    def _committed_there(self) -> list[str]:
        names = [name.removeprefix(self._prefix).split("/") for name, _ in self._bucket.list(self._prefix)]
        return [parts[0] for parts in names if len(parts) == 2 and parts[1] == COMMITTED and _STEP.fullmatch(parts[0])]

    def _up(self, step: str, made: int) -> None:
        """One copy, held by links so that it stays while it is carried, whatever the trainer prunes."""
        assert self._there is not None
        shutil.rmtree(self._held, ignore_errors=True)
        self._held.mkdir(parents=True)
        try:
            source = self._run / "checkpoints" / step
            try:
                for path in source.iterdir():
                    if path.is_file() and not path.is_symlink() and path.name != COMMITTED:
                        os.link(path, self._held / path.name)
                if (source / COMMITTED).stat().st_mtime_ns != made:
                    return  # written anew meanwhile
            except FileNotFoundError:
                return  # pruned meanwhile
            if step in self._there:
                self._bucket.delete(f"{self._prefix}{step}/{COMMITTED}")
                del self._there[step]
            for path in sorted(self._held.iterdir()):
                self._bucket.upload(path, f"{self._prefix}{step}/{path.name}")
            self._tell()
            self._bucket.write(f"{self._prefix}{step}/{COMMITTED}", b"")
            self._there[step] = made
        finally:
            shutil.rmtree(self._held, ignore_errors=True)

    def _remove(self, step: str) -> None:
        assert self._there is not None
        self._bucket.delete(f"{self._prefix}{step}/{COMMITTED}")
        for name, _ in self._bucket.list(f"{self._prefix}{step}/"):
            self._bucket.delete(name)
        del self._there[step]


def upload_result(bucket: Bucket, config: Config, run: Path) -> int:
    """Every plain file of ``result/``, and the raw traces; how many. Raises Unreachable, Refused, OSError."""
    count = 0
    for path in [*sorted((run / "result").rglob("*")), *sorted(profile_folder(run).rglob("*"))]:
        name = PurePosixPath(path.relative_to(run).as_posix())
        if path.is_file() and not path.is_symlink() and belongs(name) and not name.parts[1].startswith(".making"):
            bucket.upload(path, f"{config.prefix}{name}")
            count += 1
    return count


def fetch_history(bucket: Bucket, config: Config, run: Path) -> None:
    """Events of earlier attempts onto this disk: the report of the result draws the whole curve.

    Raises:
        Unreachable, Refused.
    """
    for attempt in range(1, config.attempt):
        path = events_file(run, attempt, 0)
        if path.exists():
            continue
        name = events_name(attempt, 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        making = path.with_name(f".{path.name}.coming")
        with open(making, "wb") as file:
            for each, _ in bucket.list(f"{config.prefix}events/{name}/"):
                file.write(bucket.read(each) or b"")
        os.replace(making, path)


def spent_before(bucket: Bucket, config: Config) -> tuple[float, float]:
    """Dollars and seconds of the attempts before this one, by their ledgers; 0 where there is none.

    Raises:
        Unreachable, Refused.
    """
    usd = seconds = 0.0
    for attempt in range(1, config.attempt):
        data = bucket.read(f"{config.prefix}ledger/a{attempt:04d}.json")
        try:
            record = json.loads(data or b"{}")
            own_usd, own_s = float(record.get("usd", 0.0)), float(record.get("elapsed_s", 0.0))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            continue  # the figure in the create body rules
        if 0.0 <= own_usd <= MOST_USD and 0.0 <= own_s <= MOST_S:  # else nobody can have written it in earnest
            usd, seconds = usd + own_usd, seconds + own_s
    return usd, seconds
