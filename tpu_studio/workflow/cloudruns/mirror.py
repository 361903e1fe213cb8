"""A run folder on this disk and the same one in the bucket, kept alike: events down, controls and our own events up.

An events file in the bucket is stored as immutable byte ranges of itself, named by their offset; the size of our copy
is the cursor, so a range is taken exactly once. An append that a crash has torn leaves a size at which no range begins:
then the listing tells which range the rest is in. Everything that comes down stays inside the run's folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from tpu_studio.wire import compiled
from tpu_studio.wire import plan as plans
from tpu_studio.wire.controls import AT_MOST
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.events import LINE_BYTES, Event, complete_lines, decode
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import (
    make_folder,
    make_folders,
    open_to_append,
    open_to_read,
    write_inside,
)
from tpu_studio.wire.records import inner
from tpu_studio.wire.runfolder import (
    OWNER,
    PLAN,
    RECEIPT,
    WATCHING,
    belongs,
    claim_file,
    desk_events_file,
    events_file,
    events_name,
    heartbeat_file,
    ledger_file,
)
from tpu_studio.wire.sizes import TooLarge, read_at_most
from tpu_studio.workflow import desk, seals
from tpu_studio.workflow.cloudruns.bucketcontrols import BucketControls
from tpu_studio.workflow.cloudruns.deskevents import DESK_AT_MOST
from tpu_studio.workflow.cloudruns.machine import Guard
from tpu_studio.workflow.cloudruns.ports import READ_AT_MOST, Mailbox, Stored, needs_a_key
from tpu_studio.workflow.cloudruns.state import AHEAD_S
from tpu_studio.workflow.desk import append_whole

WATCHING_EVERY_S = 30.0
HEARD_BEFORE_S = 60.0  # no warning is written down later than that
EVENTS_AT_MOST = 2 << 30  # bytes of one machine's events; a run of weeks writes some hundred megabytes
RESULT_AT_MOST, RESULT_FILES = 40_000_000_000, 50_000  # as of a zip
DESKS_AT_MOST = 4 << 20  # of all others'; a run writes some kilobytes
DESKS_FROM_BUCKET = 20  # other desktops
_DIGITS = 12
_RANGES = 10_000  # objects that are looked at of desktops' events: a run has some hundred
_ATTEMPTS = 50  # first and last
_LARGE = 64 << 10  # of a range; a guardian cuts them at 256 KiB
_PIECE = 1 << 20
_NO_FILE = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL, errno.EILSEQ)
_log = logging.getLogger(__name__)


def prefix_of(run: str) -> str:
    return f"runs/{run}/"


class Words:
    """What the guardians' events files say that matters here, read as they grow.

    Args:
        patience_s: Seconds for each look, behind which it ends with what has been read; the next goes on from there.
    """

    def __init__(self, folder: Path, patience_s: float = float("inf")) -> None:
        self._folder, self._patience_s = folder, patience_s
        self._read: dict[tuple[int, int], int] = {}
        self._guards: dict[int, Guard] = {}
        self._inside: frozenset[tuple[int, int]] = frozenset()

    def guard(self, attempt: int) -> Guard:
        until = time.monotonic() + self._patience_s
        for worker in range(_workers_there(self._folder, attempt)):
            while self._scan_some(attempt, worker) and time.monotonic() < until:
                pass
        guard = self._guards.get(attempt, Guard())
        beat = _heartbeat(self._folder, attempt)
        claimed = 1.0 if claim_file(self._folder, attempt).exists() else 0.0
        return replace(guard, spoke=max(guard.spoke, beat, claimed))

    def _scan_some(self, attempt: int, worker: int) -> bool:
        """Some of what is new; True: there may be more."""
        path, start = events_file(self._folder, attempt, worker), self._read.get((attempt, worker), 0)
        try:
            with open_to_read(path) as file:
                file.seek(start)
                chunk = file.read(_PIECE)
                if b"\n" not in chunk:
                    chunk += file.readline(LINE_BYTES - len(chunk))
        except FileNotFoundError:
            return False
        lines, used = complete_lines(chunk) if b'"kind"' in chunk else ([], chunk.rfind(b"\n") + 1)
        if (attempt, worker) in self._inside:  # the end of a longer line than any guardian writes
            lines, self._inside = lines[1:], self._inside - ({(attempt, worker)} if used else set())
        if not used and len(chunk) == LINE_BYTES:
            used, self._inside = len(chunk), self._inside | {(attempt, worker)}
        self._read[attempt, worker] = start + used
        guard = self._guards.get(attempt, Guard())
        for number, line in enumerate(lines):
            if b'"kind"' not in line or line.lstrip()[:1] != b"{":  # no event: megabytes of them cost no time
                continue
            matters = any(word in line for word in _TOLD) or (not guard.since and b'"money"' in line)
            matters = matters or (not guard.trained and b'"metric"' in line)
            if number != len(lines) - 1 and guard.first and not matters:
                continue
            event = decode(line)
            if event is None:
                continue
            event = heard(event)
            guard = replace(guard, spoke=max(guard.spoke, event.t), first=guard.first or event.t)
            if event.kind == "notice" and event.get("id") == "preempted":
                guard = replace(guard, preempted=True, warned=guard.warned or _heard(event))
            elif event.kind == "notice" and event.get("id") == compiled.NOTICE and worker == 0:
                piece = compiled.piece_of(event.get("facts"), prefix_of(self._folder.name))
                if piece:
                    guard = replace(guard, compiled=piece, compiled_seal=inner(event.get("facts")).get("seal"))
            elif event.kind == "end" and worker == 0:
                guard = replace(guard, end=event)
            elif event.kind == "metric":
                guard = replace(guard, trained=guard.trained or event.t)
            elif event.kind == "control" and isinstance(order := event.get("number"), int):
                if 0 < order <= AT_MOST and order not in guard.heard:
                    guard = replace(guard, heard=guard.heard | {order})
            elif event.kind == "money":
                since = event.get("since")
                if isinstance(since, (int, float)) and 0 < since <= guard.first:  # it was made before it spoke
                    guard = replace(guard, since=float(since))
        self._guards[attempt] = guard
        return used > 0


def attempts(latest: int) -> list[int]:
    """Those whose words are looked for: all, and of thousands, which only a bucket that somebody has written to tells
    of, the first and the last."""
    first = range(1, min(latest, _ATTEMPTS) + 1)
    return [*first, *range(max(len(first), latest - _ATTEMPTS) + 1, latest + 1)]


class Mirror:
    """One run's; every method may raise CloudRefused, CloudUnclear, SignedOut, OSError, and may be called again.

    Args:
        key: `desk.seal_key` of *install*, for `restore`.
    """

    def __init__(self, folder: Path, install: str, mailbox: Mailbox, key: bytes = b"") -> None:
        self.folder, self._install, self._box, self._key = folder, install, mailbox, key
        self.prefix = prefix_of(folder.name)
        self._pushed: int | None = None
        self._watching_at = float("-inf")
        self._heard: dict[str, int] = {}
        self.left_out: set[str] = set()
        self.signs = 0  # of life, by what came and could not be kept on this disk
        self.controls = BucketControls(folder, self.prefix, mailbox, self._leave_out)

    # ---------------------------------------------------------------------------------------------------------- down

    def pull(self, attempt: int, workers: int, *, catch_up: bool = False, one: bool = False) -> bool:
        """New bytes of the attempt's events files; True when some came.

        Args:
            catch_up: Also look for what cannot be found by its name: the rest of a torn append, a compacted file.
            one: There cannot be more than one range; a large one may have another behind it all the same.
        """
        came = False
        for worker in range(workers):
            path = events_file(self.folder, attempt, worker)
            came |= self._pull_file(events_name(attempt, worker), path, catch_up, one=one)
        return came

    def _pull_file(
        self,
        name: str,
        path: Path,
        catch_up: bool,
        at_most: int = EVENTS_AT_MOST,
        one: bool = False,
        only_own: bool = False,
    ) -> bool:
        came = False
        size = path.stat().st_size if path.exists() else 0
        while size < at_most:
            data = self._read(f"{self.prefix}events/{name}/{size:0{_DIGITS}d}.jsonl")
            if not data and catch_up:
                data = self._rest(name, size)
            if not data:
                return came
            whole = len(data) < READ_AT_MOST
            if only_own and not (data := self._own(path, size, data)):
                break
            catch_up = catch_up or not whole  # the rest of it is to be had
            make_folder(path.parent)
            with open_to_append(path) as file:
                if file.tell() != size:
                    return came  # another desktop's process was at it
                try:
                    append_whole(file.fileno(), data, size)
                except OSError:
                    self._listen(name, size + len(data))
                    raise
            size, came = size + len(data), True
            if one and len(data) < _LARGE:
                return came
        self._leave_out(f"events/{name}")
        return came

    def _read(self, name: str, start: int = 0) -> bytes | None:
        """As the mailbox; nothing of an object that is there and that Google gives to nobody without a key of whoever
        laid it there: it holds up nothing."""
        try:
            return self._box.read(name, start=start)
        except CloudRefused as error:
            if not needs_a_key(error):
                raise
            self._leave_out(name.removeprefix(self.prefix))
            return None

    def _own(self, path: Path, size: int, data: bytes) -> bytes:
        """What of *data*, which is to stand behind *size* bytes at *path*, this computer has written."""
        begun = b""
        if size:
            with open_to_read(path) as file:
                begun = file.read().rpartition(b"\n")[2]  # of a line that a crash has torn
        return seals.own(self._key, self.folder.name, size - len(begun), begun + data)[len(begun) :]

    def _leave_out(self, what: str) -> None:
        """The rest of *what* stays in the bucket: no run of ours writes so much, or no such line. Said once in the log,
        and to whoever reads `left_out`."""
        if what not in self.left_out:
            self.left_out.add(what)
            _log.warning("%s%s: no run writes so much; the rest stays in the bucket", self.prefix, what)

    def _listen(self, name: str, end: int) -> None:
        """Whether there is more than what was heard last, of a file that cannot be kept here now."""
        before = self._heard.get(name, 0)
        end = max(end, before)
        while data := self._box.read(f"{self.prefix}events/{name}/{end:0{_DIGITS}d}.jsonl"):
            end += len(data)
        if end > before:
            self._heard[name] = end
            self.signs += 1

    def _rest(self, name: str, size: int) -> bytes | None:
        """From the middle of a range, or of the file that the ranges were joined to at the end."""
        for stored in reversed(self._box.list(f"{self.prefix}events/{name}/")):
            offset = _offset(stored.name)
            if offset is not None and offset <= size:
                if size < offset + stored.size:
                    return self._read(stored.name, start=size - offset)
                break
        whole = self._box.stat(f"{self.prefix}events/{name}.jsonl")
        if whole is not None and whole.size > size:
            return self._read(whole.name, start=size)
        return None

    def heartbeat(self, attempt: int, worker: int = 0) -> None:
        """The sign of life of a machine that writes nothing else."""
        self._fetch(heartbeat_file(self.folder, attempt, worker))

    def records(self, attempt: int) -> None:
        """The attempt's claim and ledger."""
        for path in (claim_file(self.folder, attempt), ledger_file(self.folder, attempt)):
            self._fetch(path)

    def desk_files(self) -> None:
        """The other desktops' events, for whoever takes the run over: of those that are here and then of those that
        began first, DESKS_FROM_BUCKET, and DESKS_AT_MOST bytes in all."""
        began: dict[str, float] = {}
        for one in self._box.list(f"{self.prefix}events/desk-", most=_RANGES):
            name = PurePosixPath(one.name).parent.name
            if _DESK.fullmatch(name) and name != f"desk-{self._install}":
                began[name] = min(one.updated, began.get(name, one.updated))
        files = {name: inside(self.folder, f"events/{name}.jsonl") for name in began}
        sizes = {name: path.stat().st_size if path.exists() else 0 for name, path in files.items()}
        wanted = sorted(began, key=lambda name: (not sizes[name], began[name], name))
        left = DESKS_AT_MOST - sum(sizes.values())
        for name in wanted[:DESKS_FROM_BUCKET]:
            before = sizes[name]
            self._pull_file(name, files[name], True, before + max(0, left))
            left -= (files[name].stat().st_size if files[name].exists() else 0) - before
        if wanted[DESKS_FROM_BUCKET:]:
            self._leave_out("events/desk-*")

    def restore(self) -> bool:
        """Our own events that the bucket has and this disk has lost; True when some came. No machine is forgotten, and
        nothing that others have laid under our name counts as ours (`seals`)."""
        name = f"desk-{self._install}"
        path = desk_events_file(self.folder, self._install)
        ranges = self._ranges(name)
        came = _size(path) < max((at + size for at, size in ranges.items()), default=0)
        came = came and self._pull_file(name, path, True, DESK_AT_MOST, only_own=True)
        self._pushed = _end_of(ranges, _size(path))
        return came

    def result(self) -> int:
        """Download what lies under result/, and the raw traces of profiles; how many files are there now. Names that
        lead elsewhere, or that no file can have here, are left out, and what is beyond RESULT_AT_MOST or RESULT_FILES:
        by the bytes that came."""
        count, total = 0, 0
        for stored in (*self._box.list(f"{self.prefix}result/"), *self._box.list(f"{self.prefix}profile/")):
            relative = stored.name.removeprefix(self.prefix)
            if relative.endswith("/") or not belongs(PurePosixPath(relative)) or relative.startswith(f"{RECEIPT}/"):
                continue
            try:
                path = inside(self.folder, relative)
            except ValueError:
                continue
            if count >= RESULT_FILES or total + stored.size > RESULT_AT_MOST:
                self._leave_out("result")
                continue
            try:
                if not _as_stored(path, stored):
                    make_folders(self.folder, path.parent)
                    self._box.download(stored.name, path, at_most=RESULT_AT_MOST - total)
                total += path.stat().st_size
            except TooLarge:
                self._leave_out("result")
                continue
            except CloudRefused as refusal:
                if not needs_a_key(refusal):
                    raise
                self._leave_out("result")
                continue
            except OSError as error:
                if error.errno not in _NO_FILE:
                    raise
                _log.warning("%s is left out: %s", stored.name[:200], error.strerror)
                continue
            count += 1
        return count

    def _fetch(self, path: Path) -> None:
        data = self._read(self.prefix + path.relative_to(self.folder).as_posix())
        if data is not None and _kept(path) != data:
            write_inside(self.folder, path, data)

    # ------------------------------------------------------------------------------------------------------------ up

    def open(self, owner: dict[str, object], *, take_over: bool = False) -> bool:
        """Plan and owner into the bucket, where they are not there yet; False when another desktop drives the run.

        Args:
            take_over: Become the owner by compare-and-swap.
        """
        if self.owns():
            return True
        self._box.create(self.prefix + PLAN, plans.frozen(self.folder))
        name, mine = self.prefix + OWNER, json.dumps(owner, sort_keys=True).encode() + b"\n"
        if self._box.create(name, mine):
            return True
        stat, holder = self._box.stat(name), self.holder()
        if holder.get("install") == self._install:
            return True
        if holder and not take_over:
            return False
        return stat is not None and self._box.write(name, mine, generation=stat.generation) is not None

    def owns(self) -> bool:
        return self.holder().get("install") == self._install

    def holder(self) -> Mapping[str, object]:
        """Who drives the run, as the bucket says; empty where nobody is named. Of what else stands there nothing comes
        down: that a run was brought here as files is for this disk alone to say."""
        record = desk.owner_of(self._box.read(self.prefix + OWNER) or b"")
        return (
            {name: record[name] for name in ("install", "host", "t") if name in record} if "install" in record else {}
        )

    def push_desk(self) -> None:
        """Our own events, as immutable byte ranges of complete lines."""
        name = f"desk-{self._install}"
        path = desk_events_file(self.folder, self._install)
        if not path.exists():
            return
        if self._pushed is None:
            self._pushed = _end_of(self._ranges(name), _size(path))
        with open_to_read(path) as file:
            file.seek(self._pushed)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        if not data:
            return
        object = f"{self.prefix}events/{name}/{self._pushed:0{_DIGITS}d}.jsonl"
        if not self._box.create(object, data):
            there = self._box.read(object)
            if there and data.startswith(there):  # an earlier call of unknown outcome had carried a shorter range
                data = there
            else:  # laid there by somebody else
                self._box.write(object, data)
        self._pushed += len(data)

    def _ranges(self, name: str) -> dict[int, int]:
        """Where each of a file's ranges begins, and how many bytes it has."""
        stored = self._box.list(f"{self.prefix}events/{name}/", most=_RANGES)
        return {at: one.size for one in stored if (at := _offset(one.name)) is not None}

    def watching(self, now: float) -> None:
        """Say that somebody looks; rewritten at most every 30 s (holds for 90)."""
        if now - self._watching_at >= WATCHING_EVERY_S:
            record = {"t": round(now, 3), "install": self._install}
            self._box.write(self.prefix + WATCHING, json.dumps(record).encode() + b"\n")
            self._watching_at = now

    def discard(self) -> None:
        """The saved copies out of the bucket: nobody wants them. A result of an earlier attempt was kept, and stays."""
        self._box.delete([one.name for one in self._box.list(f"{self.prefix}checkpoints/")])

    def kept_bytes(self) -> int:
        """What the run's own folder in the bucket holds."""
        return sum(one.size for one in self._box.list(self.prefix))

    def put(self, relative: str, data: bytes) -> None:
        self._box.write(self.prefix + relative, data)


def heard(event: Event) -> Event:
    """What a machine says, no later than it can be by this computer's clock: what comes after goes by its time."""
    return replace(event, t=min(event.t, time.time() + AHEAD_S))


def inside(folder: Path, relative: str) -> Path:
    """The file of that name in *folder*. Raises ValueError for a name that leads out of it, by links too."""
    parts = PurePosixPath(relative).parts
    bad = relative.startswith("/") or "\\" in relative or "\0" in relative or ":" in relative
    if bad or not parts or any(part in ("", ".", "..") for part in relative.split("/")):
        raise ValueError(relative)
    path = folder.joinpath(*parts)
    root = os.path.realpath(folder)
    if os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise ValueError(relative)
    return path


def _as_stored(path: Path, stored: Stored) -> bool:
    """Whether the file at *path* is that object. A later model has the names, and often the sizes, of an earlier
    attempt's; where the bucket tells no sum, it is not."""
    if not stored.md5 or not path.is_file() or path.stat().st_size != stored.size:
        return False
    with open_to_read(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest() == stored.md5


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _end_of(ranges: Mapping[int, int], size: int) -> int:
    """How far *ranges* follow one another without a gap, within *size* bytes: what lies elsewhere we have not sent."""
    at = 0
    while 0 < ranges.get(at, 0) <= size - at:
        at += ranges[at]
    return at


def _kept(path: Path) -> bytes | None:
    """What the plain file at *path* holds; None where there is none that can have come from a bucket."""
    try:
        return read_at_most(path, READ_AT_MOST)
    except (OSError, TooLarge):
        return None


def _offset(name: str) -> int | None:
    stem = PurePosixPath(name).stem
    return int(stem) if _NUMBER.fullmatch(stem) else None


_TOLD = (b'"end"', b'"preempted"', b'"control"', f'"{compiled.NOTICE}"'.encode())
_NUMBER = re.compile(r"[0-9]{1,15}")
_DESK = re.compile(r"desk-[A-Za-z0-9_-]{1,64}")


def _heard(notice: Event) -> float:
    """When the machine heard that it is taken back: some moments before it could write that."""
    facts = notice.get("facts")
    heard = facts.get("heard") if isinstance(facts, dict) else None
    if isinstance(heard, (int, float)) and notice.t - HEARD_BEFORE_S <= heard <= notice.t:
        return float(heard)
    return notice.t


def _workers_there(folder: Path, attempt: int) -> int:
    return len(list((folder / "events").glob(f"a{attempt:04d}-w*.jsonl")))


def _heartbeat(folder: Path, attempt: int) -> float:
    try:
        record = read_json(heartbeat_file(folder, attempt))
        value = record.get("t", 0.0)
        return float(value) if isinstance(value, (int, float)) and 0 < value < 1e11 else 0.0
    except (OSError, ValueError, AttributeError):
        return 0.0
