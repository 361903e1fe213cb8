"""A run being watched: its events files read as they grow, folded into a `RunView` and written to metric columns.

Each `poll` reads only new bytes. The cursor advances in the transaction that records the columns' lengths, so a crash
at any instant leaves no point out and none twice. Several followers, also of other processes, may watch the same run:
the first to get the transaction writes the points, the others only fold what it has read. A torn last line waits for
its rest.

Events of the desktop are merged with those of the attempts by their times; attempts are read one after the other.
"""

from __future__ import annotations

import errno
import re
import sqlite3
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.store import columns, viewcodec
from tpu_studio.store.curve import ColumnCurve
from tpu_studio.store.database import Cursor, Damaged, Database, Stored, refused
from tpu_studio.store.reading import METRICS_AT_MOST, Batch, Reader, Resume, records
from tpu_studio.store.tails import Tails
from tpu_studio.wire import places
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import LINE_BYTES, Event, complete_lines
from tpu_studio.wire.jsonfile import without_collecting
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import DESKS_AT_MOST, PLAN, events_names, is_of_desk
from tpu_studio.workflow.cloudruns.state import AHEAD_S, NOTICES_OF_DESKTOPS, OF_DESKTOPS
from tpu_studio.workflow.ports import EVENTS_AT_MOST, Changes

_CHUNK = 4 << 20
_PIECE = 256 << 10  # of a poll that has not long: some thousand of the shortest lines
_SNAPSHOT_LINES = 5000
_DESKS = 2 * DESKS_AT_MOST  # as many as are brought with a run, and of those that write here besides
_OWN = ("device", "log", "notice")
_ATTEMPT = re.compile(r"a([0-9]{4,9})-")
_OF_DESKTOPS = OF_DESKTOPS | {"upload", "waiting"}
"""What desktops say of machines: a machine's own word that it is gone is none."""
_OFTEN = ("metric", "speed", "device", "log")  # whoever says them
_PHASES = {Phase.SETTING_UP, Phase.COMPILING, Phase.TRAINING, Phase.SAVING}  # that a machine tells of


@dataclass(frozen=True)
class _Part:
    """Records read beyond the cursor, and where the cursor is after them."""

    found: list[Any]
    cursor: Cursor
    lines: int


class Follower:
    """Implements ``workflow.ports.Following``. Made by ``store.index``; may be polled and read on different threads."""

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        key: str,
        identity: str,
        database: Database,
        spare: Callable[[], Database] | None = None,
        names: Callable[[Path], list[Path]] = events_names,
    ) -> None:
        """
        Args:
            spare: An index elsewhere, for the moment when *database* has no room left.
            names: The events files that count, in their order.
        """
        self._files, self._rents = names, places.by_id(plan.place).rents
        self._rate = limits_of(plan).usd_per_hour
        self.folder, self.plan, self._spare = folder, plan, spare
        self._key, self._identity, self._db = key, identity, database
        self._lock = threading.RLock()
        self._curves: dict[str, ColumnCurve] = {}
        self._dirty_lines, self._unsynced = 0, False
        self.unread = 0  # bytes that the latest poll has left, because of its limit
        self._view, self._cursor, self._generation, self._reader = RunView(), Cursor(), 0, Reader()
        try:
            self._restore(database.begin(key, identity))
        except sqlite3.Error as error:
            if not self._moved_aside(error):
                raise

    @property
    def view(self) -> RunView:
        return self._view

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(name for name, curve in self._curves.items() if len(curve))

    def curve(self, metric: str) -> ColumnCurve:
        """The curve of *metric*; empty, and filled by later polls, when it has no points yet."""
        with self._lock:
            if metric not in self._curves:
                self._curves[metric] = ColumnCurve(self._columns, -1)
            return self._curves[metric]

    def poll(self, patience_s: float | None = None) -> Changes:
        """Read what is new.

        Args:
            patience_s: Seconds; stop behind the piece in which they have passed. `unread` is what is left then.

        Raises:
            RunError: ``disk-full`` (there is no room for an index anywhere), ``run-unreadable``. The run itself goes
            on; poll again later.
        """
        try:
            if self._has_read_all():
                return Changes((), frozenset(), False)
            with without_collecting():
                return self._poll(patience_s)
        except (OSError, sqlite3.Error, Damaged, UnicodeDecodeError) as error:
            if self._db.renewed_after(error):
                return replace(self.poll(patience_s), reset=True)
            if self._moved_aside(error):
                return replace(self.poll(patience_s), reset=True)
            full = "disk is full" in str(error) or getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT)
            raise RunError(
                "disk-full" if full else "run-unreadable", folder=str(self.folder), raw=str(error)
            ) from error

    def _poll(self, patience_s: float | None) -> Changes:
        with self._lock:
            events: deque[Event] = deque(maxlen=EVENTS_AT_MOST)
            self.unread, begun, parts = 0, time.monotonic(), 0
            before = {name: curve.version for name, curve in self._curves.items()}
            reset = False
            while True:
                stored = self._db.stored(self._key)
                if stored is None or _behind(stored.cursor, self._cursor) or self._shrunk():
                    self._restore(self._begin_anew() if self._shrunk() else self._db.begin(self._key, self._identity))
                    reset = True
                    continue
                if patience_s is not None and parts and time.monotonic() - begun >= patience_s:
                    self.unread = max(0, sum(self._sizes().values()) - sum(self._cursor.values()))
                    break
                written_already = _behind(self._cursor, stored.cursor)
                piece = _CHUNK if patience_s is None else _PIECE
                part = self._next_part(stored.cursor if written_already else None, piece)
                if part is None:
                    break
                batch = self._reader.read(part.found)
                if not written_already:
                    stored_now = self._write(batch, part.cursor, stored)
                    if stored_now is None:
                        continue  # another follower was first: fold what it has read, then look again
                    stored = stored_now
                for event in batch.fold:
                    self._view = apply(self._view, event)
                self._cursor, parts = part.cursor, parts + 1
                self._dirty_lines += max(1, part.lines)  # what was no record has been read, too
                events += batch.events
                dropped = any(isinstance(one, Resume) for one in batch.parts)
                reset = reset or dropped
                self._show(stored, changed=dropped)
            if self._dirty_lines >= _SNAPSHOT_LINES or (self._dirty_lines and self._view.over):
                self._save()
            grown = {name for name, curve in self._curves.items() if curve.version != before.get(name, 0)}
            return Changes(tuple(events), frozenset(grown), reset)

    def close(self, *, sync: bool = True) -> None:
        """Save where the fold stands. *sync* also makes the columns of a run that is over safe from a power cut."""
        with self._lock:
            whole = sync and self._view.over and self._unsynced
            if whole:
                columns.sync(self._columns)
                self._unsynced = False
            if self._dirty_lines or whole:
                with suppress(sqlite3.Error):  # no room: then it is read again the next time
                    self._save(synced=whole)

    def recent_logs(self, at_most: int = 200) -> tuple[Event, ...]:
        """The latest lines that the training program wrote, from the ends of its events files that can be read."""
        found: list[Event] = []
        for path in reversed(self._files(self.folder)):
            try:
                with open_to_read(path) as file:
                    size = file.seek(0, 2)
                    file.seek(max(0, size - (1 << 20)))
                    lines, _ = complete_lines(file.read())
            except OSError:  # replaced by a link or a pipe since it was read: its words are gone
                continue
            here = [event for event in Reader().read(records(lines)).events if event.kind == "log"]
            found = here + found
            if len(found) >= at_most:
                break
        return tuple(found[-at_most:])

    # -------------------------------------------------------------------------------------------------------- private

    @property
    def _columns(self) -> Path:
        return self._db.columns / self._key

    def _restore(self, stored: Stored) -> None:
        """Take up the fold where it was last saved, or at the beginning; there too if columns were damaged or lost."""
        if not columns.are_whole(self._columns, stored.lengths.values()):
            stored = self._begin_anew()
        text, cursor = self._db.snapshot(self._key)
        view = viewcodec.loads(text) if text else None
        if view is None or _behind(stored.cursor, cursor):
            view, cursor = RunView(), {}
        self._view, self._cursor, self._generation = view, cursor, stored.generation
        self._reader = Reader(view)
        self._show(stored, changed=True)

    def _moved_aside(self, error: Exception) -> bool:
        """After *error* of a full disk: whether the run is read into the spare index from here on."""
        if self._spare is None or refused(self._db.columns.parent, error).id != "disk-full":
            return False
        spare, self._spare = self._spare, None
        with self._lock:
            try:
                self._db = spare()
                for curve in self._curves.values():
                    curve.move(self._columns)
                self._restore(self._db.begin(self._key, self._identity))
            except (OSError, sqlite3.Error, RunError):
                return False  # the caller tells of the first error
        return True

    def _begin_anew(self) -> Stored:
        self._db.reset(self._key, self._identity)
        return self._db.stored(self._key) or Stored()

    def _sizes(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self._names()}

    def _names(self) -> list[Path]:
        """The events files. Raises RunError where more desktops are said to have written some than any run has."""
        names = self._files(self.folder)
        if len(names) > _DESKS and is_of_desk(names[_DESKS].name):
            raise RunError("run-unreadable", folder=str(self.folder), raw=f"events of more than {_DESKS} computers")
        return names

    def _has_read_all(self) -> bool:
        """Most polls of a run that is watched find nothing: then the index is left alone too."""
        with self._lock:
            return bool(self._cursor) and self._sizes() == self._cursor and not (self._dirty_lines and self._view.over)

    def _shrunk(self) -> bool:
        """An events file is shorter than what was read of it: this is no longer the run that was indexed."""
        sizes = self._sizes()
        return any(sizes.get(name, 0) < read for name, read in self._cursor.items()) and (self.folder / PLAN).exists()

    def _show(self, stored: Stored, *, changed: bool) -> None:
        """Let the curves see the stored lengths; *changed*: also where a length is the same, the points may not be."""
        for metric, (number, length) in stored.lengths.items():
            curve = self._curves.get(metric)
            if curve is None:
                curve = self._curves[metric] = ColumnCurve(self._columns, number)
            if changed or (length, number) != (len(curve), curve.number):
                curve.show(length, number)
        for metric in self._curves.keys() - stored.lengths.keys():
            if len(self._curves[metric]):
                self._curves[metric].show(0)

    def _save(self, *, synced: bool = False) -> None:
        self._db.save_snapshot(self._key, viewcodec.dumps(self._view), self._cursor, self._generation, synced=synced)
        self._dirty_lines = 0

    def _next_part(self, until: Cursor | None, piece: int) -> _Part | None:
        """The next records beyond our cursor, about *piece* bytes: of the attempts' files in their order, and of the
        desktop by time; None at the end.

        Args:
            until: Read no further than this cursor of another follower.
        """
        cursor = dict(self._cursor)
        of_desks: list[tuple[Path, int]] = []
        unread: list[tuple[Path, int]] = []
        for path in self._names():
            limit = path.stat().st_size if until is None else until.get(path.name, 0)
            if cursor.get(path.name, 0) < limit:
                (of_desks if is_of_desk(path.name) else unread).append((path, limit))
        alone = not any(is_of_desk(name) for name in (*cursor, *(path.name for path, _ in of_desks)))
        desk = _desk_lines(of_desks, cursor, piece)
        found: list[Any] = []
        read = 0
        for path, limit in unread:  # a slice may have a thousand workers, each with a file of a few lines
            start = cursor.get(path.name, 0)
            lines, end = _lines(path, start, limit, piece)
            if end == start:
                continue
            cursor[path.name], read = end, read + end - start
            is_last = end >= limit and path == unread[-1][0]
            told = _of_worker(path, records(lines))
            told = _of_machine(path, told, self._rate, alone=alone) if self._rents else told
            found += _merged(told, desk, cursor, is_last=is_last)
            if limit - start > piece or read >= piece:
                break
        if not read:
            found = _merged([], desk, cursor, is_last=True)
        if cursor == self._cursor:
            return None
        return _Part(found, cursor, len(found))

    def _write(self, batch: Batch, cursor: Cursor, stored: Stored) -> Stored | None:
        """Append the batch's points and advance the shared cursor; None when another follower was first."""
        segments = list(_segments(batch))  # before anybody waits for this transaction
        with self._db.transaction() as db:
            now = self._db.stored(self._key)
            if now is None or now.cursor != stored.cursor:
                return None
            tails = Tails(self._columns, now.lengths, self._last_step)
            for segment in segments:
                if isinstance(segment, Resume):
                    tails.resume(segment.step)
                    continue
                for metric, rows in segment.items():
                    tails.add(metric, rows, METRICS_AT_MOST)
            after = Stored(cursor, now.generation, tails.write())
            self._db.advance(db, self._key, after, synced=False)
        self._unsynced = True
        return after

    def _last_step(self, metric: str, number: int, length: int) -> int:
        """The step of the last point of a column, from what is shown of it where that is as long."""
        curve = self._curves.get(metric)
        if curve is not None and (curve.number, len(curve)) == (number, length) and (last := curve.last()) is not None:
            return last[0]
        return columns.last_step(self._columns, number, length)


def _of_worker(path: Path, found: list[object]) -> list[Any]:
    """Of a worker besides the first only what is its own: phases, curve, money and end are worker 0's to tell."""
    if path.stem.endswith("-w000"):
        return found
    return [one for one in found if isinstance(one, dict) and one.get("kind") in _OWN]


def _of_machine(path: Path, found: list[Any], usd_per_hour: float | None, *, alone: bool) -> list[Any]:
    """Of a rented machine what is a machine's to tell, for its own attempt and no later than now.

    Args:
        usd_per_hour: What it costs by its plan: what trains there may say less.
        alone: No desktop tells which attempt goes on: a part of somebody's run.
    """
    number, kept = _ATTEMPT.match(path.name), []
    attempt, latest = int(number[1]) if number else 0, time.time() + AHEAD_S
    for one in found:
        if not isinstance(one, dict) or not isinstance(kind := one.get("kind"), str) or _is_a_desktops(kind, one):
            continue
        if isinstance(t := one.get("t"), (int, float)) and t > latest:
            one = {**one, "t": latest}
        if kind in ("end", "phase", "resume"):
            one = {**one, "attempt": attempt}
        if kind == "money":
            one = {name: value for name, value in one.items() if name not in ("usd_at_least", "usd_at_most")}
            if usd_per_hour and isinstance(rate := one.get("usd_per_hour"), (int, float)):
                one["usd_per_hour"] = max(rate, usd_per_hour)
        if not alone and kind not in _OFTEN:
            one = {**one, "machine_of": attempt}
        kept.append(one)
    return kept


def _is_a_desktops(kind: str, record: dict[str, Any]) -> bool:
    """Whether it is a desktop's to tell: of a machine that is waited for, gone, not to be deleted, or settled."""
    match kind:
        case "phase":
            return _word(record, "phase") not in _PHASES
        case "money":
            return bool(record.get("settled"))
        case "notice":
            return _word(record, "id") in {"", *NOTICES_OF_DESKTOPS}
    return kind in _OF_DESKTOPS


def _word(record: dict[str, Any], name: str) -> str:
    """ "" where something else stands there."""
    return value if isinstance(value := record.get(name), str) else ""


def _behind(one: Cursor, other: Cursor) -> bool:
    """Whether *other* has read something that *one* has not."""
    return any(position > one.get(name, 0) for name, position in other.items())


def _lines(path: Path, start: int, limit: int, piece: int) -> tuple[list[bytes], int]:
    """Complete lines from *start* on, at most *piece* bytes or one longer line, and where they end. A line longer
    than a chunk is skipped in pieces, its end too."""
    if limit <= start:
        return [], start
    with open_to_read(path) as file:
        file.seek(max(0, start - 1))
        inside = start > 0 and file.read(1) != b"\n"
        chunk = file.read(min(piece, limit - start))
        if b"\n" not in chunk:
            chunk += file.readline(min(LINE_BYTES, limit - start) - len(chunk))
    end = chunk.rfind(b"\n") + 1
    if end == 0 and len(chunk) == LINE_BYTES:
        return [], start + len(chunk)
    lines = chunk[:end].split(b"\n")[:-1]
    if inside and lines:
        lines[0] = b" " * len(lines[0])
    return lines, start + end


def _desk_lines(files: list[tuple[Path, int]], cursor: dict[str, int], piece: int) -> deque[tuple[bytes, str, int]]:
    """Unread lines of the desktops' files, given with how far each may be read: about *piece* bytes of all together.
    Each with its file's name and where that is read up to then; *cursor* goes on over empty lines before the first."""
    desk: deque[tuple[bytes, str, int]] = deque()
    for path, limit in files:
        at = cursor.get(path.name, 0)
        lines, end = _lines(path, at, limit, piece)
        piece -= end - at
        for line in lines:
            at += len(line) + 1
            if line.strip():
                desk.append((line, path.name, at))
            elif desk and desk[-1][1] == path.name:
                desk[-1] = (*desk[-1][:2], at)
            else:
                cursor[path.name] = at
        if not lines and end > at:
            cursor[path.name] = end  # of a line without an end
        if piece <= 0:
            break
    return desk


def _merged(
    found: list[object], desk: deque[tuple[bytes, str, int]], cursor: dict[str, int], *, is_last: bool
) -> list[object]:
    """*found* with the desktop's events where their times belong. Those whose time has not come stay in *desk*: more of
    the attempts lies before them, but for *is_last*."""
    if not desk:
        return found
    latest = list(accumulate(map(_time_of, found), max))
    last_t = _time_of(found[-1]) if found else 0.0
    placed: list[tuple[int, float, list[object]]] = []
    while desk:
        line, name, position = desk[0]
        parsed = records([line])
        t = _time_of(parsed[0]) if parsed else 0.0
        place = len(found) if not found or last_t <= t else bisect_right(latest, t)
        if place == len(found) and not is_last:
            break
        placed.append((place, t, parsed))
        cursor[name] = position
        desk.popleft()
    merged: list[object] = []
    at = 0
    for place, _, parsed in sorted(placed, key=lambda one: one[:2]):
        merged += found[at:place]
        merged += parsed
        at = place
    return merged + found[at:]


def _time_of(record: object) -> float:
    """When it was, as far as it says so; it may be no event at all."""
    value = record.get("t", 0.0) if isinstance(record, dict) else 0.0
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else 0.0


def _segments(batch: Batch) -> Iterator[Resume | dict[str, columns.Rows]]:
    """Between resumes, all rows of each metric in the order of their steps."""
    gathered: dict[str, list[columns.Rows]] = {}
    for part in [*batch.parts, None]:
        if part is None or isinstance(part, Resume):
            if gathered:
                yield {name: _in_order(rows) for name, rows in gathered.items()}
                gathered = {}
            if part is not None:
                yield part
            continue
        for name, rows in part.rows():
            gathered.setdefault(name, []).append(rows)


def _in_order(parts: list[columns.Rows]) -> columns.Rows:
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate(parts)
    return rows[np.argsort(rows["step"], kind="stable")]
