"""``index.db``: how far each run's events have been read, how long its columns are, and its row in the list.

Disposable: one that is damaged, or was made by another version, is thrown away with the columns and made anew; a disk
that is full or read-only is no reason for that, and raises RunError ``disk-full`` or ``folder-unwritable``.
Several processes share it; what belongs together is written in one transaction that first checks what it builds upon.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tpu_studio.wire.claims import this_machine
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.homes import make_private

VERSION = 3
_SMALLEST_ROOM = 1 << 20
Cursor = dict[str, int]  # events file name → bytes read

_SCHEMA = """
CREATE TABLE runs (key TEXT PRIMARY KEY, identity TEXT NOT NULL, cursor TEXT NOT NULL, generation INTEGER NOT NULL,
    boot TEXT NOT NULL, synced INTEGER NOT NULL, snapshot TEXT NOT NULL, snapshot_cursor TEXT NOT NULL);
CREATE TABLE columns (key TEXT NOT NULL, metric TEXT NOT NULL, number INTEGER NOT NULL, length INTEGER NOT NULL,
    PRIMARY KEY (key, metric));
CREATE TABLE summaries (key TEXT PRIMARY KEY, stamp TEXT NOT NULL, row TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Stored:
    """What the index knows of a run.

    Attributes:
        generation: Grows when points were dropped or all was begun anew.
        lengths: Metric → (number of its column, points).
    """

    cursor: Cursor = field(default_factory=dict)
    generation: int = 0
    lengths: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Damaged(ValueError):
    """A row of the index is none of ours."""


class Database:
    """One connection; may be used from any thread."""

    def __init__(self, home: Path) -> None:
        self._path, self.columns = home / "index.db", home / "columns"
        self._lock = threading.RLock()
        self._boot = this_machine()["boot"]
        try:
            make_private(home)
            self._db = self._open()
        except (OSError, sqlite3.OperationalError) as error:
            raise refused(home, error) from error

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Alone among all processes until the block ends; taken back when it raises."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk may have ended it already
                    self._db.execute("ROLLBACK")
                raise

    def stored(self, key: str) -> Stored | None:
        with self._lock:
            found = self._db.execute("SELECT cursor, generation FROM runs WHERE key = ?", (key,)).fetchone()
            if found is None:
                return None
            columns = self._db.execute(
                "SELECT metric, number, length FROM columns WHERE key = ? ORDER BY number", (key,)
            )
            lengths = {str(metric): (_count(number), _count(length)) for metric, number, length in columns}
            return Stored(_cursor(found[0]), _count(found[1]), lengths)

    def begin(self, key: str, identity: str) -> Stored:
        """What is known of the run *key*; nothing, and begun anew, if that was another run or may be damaged.

        Columns that were written before the computer last started and never synced may lack what SQLite did not: a
        power cut. They are rebuilt.
        """
        with self._lock:
            row = self._db.execute("SELECT identity, boot, synced FROM runs WHERE key = ?", (key,)).fetchone()
        if row is not None and row[0] == identity and (row[2] or row[1] == self._boot):
            return self.stored(key) or Stored()
        self.reset(key, identity)
        return self.stored(key) or Stored()

    def reset(self, key: str, identity: str) -> None:
        with self.transaction() as db:
            row = db.execute("SELECT generation FROM runs WHERE key = ?", (key,)).fetchone()
            db.execute("DELETE FROM columns WHERE key = ?", (key,))
            db.execute("DELETE FROM summaries WHERE key = ?", (key,))
            db.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, '{}', ?, ?, 0, '', '{}')",
                (key, identity, (_count(row[0]) + 1) if row else 0, self._boot),
            )

    def advance(self, db: sqlite3.Connection, key: str, stored: Stored, *, synced: bool) -> None:
        """Within a transaction: the run has been read up to *stored*."""
        db.execute(
            "UPDATE runs SET cursor = ?, generation = ?, boot = ?, synced = ? WHERE key = ?",
            (json.dumps(stored.cursor), stored.generation, self._boot, int(synced), key),
        )
        db.executemany(
            "INSERT OR REPLACE INTO columns VALUES (?, ?, ?, ?)",
            [(key, metric, number, length) for metric, (number, length) in stored.lengths.items()],
        )

    def snapshot(self, key: str) -> tuple[str, Cursor]:
        """The fold as it stood at a cursor; empty text when there is none."""
        with self._lock:
            row = self._db.execute("SELECT snapshot, snapshot_cursor FROM runs WHERE key = ?", (key,)).fetchone()
        return (str(row[0]), _cursor(row[1])) if row else ("", {})

    def save_snapshot(self, key: str, text: str, cursor: Cursor, generation: int, *, synced: bool) -> None:
        with self.transaction() as db:
            db.execute(
                "UPDATE runs SET snapshot = ?, snapshot_cursor = ?, synced = MAX(synced, ?) "
                "WHERE key = ? AND generation = ?",
                (text, json.dumps(cursor), int(synced), key, generation),
            )

    def summary(self, key: str) -> tuple[str, str] | None:
        """(stamp, row) of the list, as last saved."""
        with self._lock:
            row = self._db.execute("SELECT stamp, row FROM summaries WHERE key = ?", (key,)).fetchone()
        return (str(row[0]), str(row[1])) if row else None

    def save_summary(self, key: str, stamp: str, row: str) -> None:
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", (key, stamp, row))

    def forget(self, key: str) -> None:
        """Raises sqlite3.Error when the disk is full; the columns are gone all the same, and are missed by whoever
        follows the run again."""
        try:
            with self.transaction() as db:
                for table in ("runs", "columns", "summaries"):
                    db.execute(f"DELETE FROM {table} WHERE key = ?", (key,))
        finally:
            shutil.rmtree(self.columns / key, ignore_errors=True)

    def renewed_after(self, error: Exception) -> bool:
        """Whether *error* told that the index is damaged; it was thrown away then, and a new one is begun.

        Raises RunError of the disk.
        """
        if not is_damage(error) and not is_locked_by_its_bytes(error, self._path):
            return False
        with self._lock:
            self._db.close()
            try:
                self._throw_away()
                self._db = self._connect()
            except (OSError, sqlite3.Error) as failed:
                raise refused(self._path.parent, failed) from failed
        return True

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except (sqlite3.DatabaseError, ValueError) as error:
            if not is_damage(error) and not is_locked_by_its_bytes(error, self._path):
                raise  # the disk's fault, not the index's
            self._throw_away()
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=10.0, isolation_level=None, check_same_thread=False)
        db.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("BEGIN IMMEDIATE")
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            if version not in (0, VERSION):
                raise sqlite3.DatabaseError(f"index of version {version}")
            if version == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _throw_away(self) -> None:
        for name in ("index.db", "index.db-wal", "index.db-shm"):
            with suppress(FileNotFoundError):
                self._path.with_name(name).unlink()
        shutil.rmtree(self.columns, ignore_errors=True)


def is_damage(error: Exception) -> bool:
    """Whether it tells of an index whose bytes are not those that were written: SQLite's own word, or a row that is no
    row of ours (`Damaged`). SQLite quotes what it met, which need not be text."""
    if isinstance(error, (Damaged, UnicodeDecodeError)):
        return True
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    damaged = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last: see `journal`
    return code in damaged or type(error) is sqlite3.DatabaseError


def is_locked_by_its_bytes(error: Exception, path: Path) -> bool:
    """Whether SQLite may not write to *path* though we may: a damaged header says that a newer SQLite alone can."""
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code != sqlite3.SQLITE_READONLY or not os.access(path.parent, os.W_OK):
        return False
    beside = [path.with_name(path.name + ending) for ending in ("", "-journal", "-wal", "-shm")]
    return all(os.access(one, os.R_OK | os.W_OK) for one in beside if one.exists())


def _cursor(text: object) -> Cursor:
    """Raises Damaged."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise Damaged(str(error)) from error
    if not isinstance(found, dict):
        raise Damaged("a cursor is no object")
    return {str(name): _count(position) for name, position in found.items()}


def _count(value: object) -> int:
    """Raises Damaged."""
    if isinstance(value, int) and value >= -1:
        return value
    raise Damaged(f"no count: {value!r:.40}")


def refused(home: Path, error: Exception) -> RunError:
    full = "is full" in str(error) or getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT)
    if "disk I/O error" in str(error):  # also how SQLite calls a disk without room for its shared memory
        full = shutil.disk_usage(home).free < _SMALLEST_ROOM
    return RunError("disk-full" if full else "folder-unwritable", folder=str(home), raw=str(error))
