"""The journal: an intent is committed to disk before each act that matters, and closed after it.

SQLite with ``synchronous=FULL``: when `open` returns, the intent survives a power cut. App and command line share it.
A file that is damaged is put aside under a name of its own and a new one is begun: what was open is told by the run
folders (`Runs.reconcile`). Implements ``workflow.ports.Journal``.
"""

from __future__ import annotations

import errno
import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from tpu_studio.store.database import is_locked_by_its_bytes
from tpu_studio.wire.claims import wait_for_lock
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.homes import make_private
from tpu_studio.workflow.ports import Intent

# Migrations in order; the database's user_version says how many have been applied. Only ever append.
MIGRATIONS = (
    """
    CREATE TABLE intents (
        number INTEGER PRIMARY KEY AUTOINCREMENT, action TEXT NOT NULL, run TEXT NOT NULL, facts TEXT NOT NULL,
        opened REAL NOT NULL, closed REAL, outcome TEXT);
    CREATE INDEX open_intents ON intents (number) WHERE closed IS NULL;
    """,
)
T = TypeVar("T")
_MOVED = sqlite3.SQLITE_READONLY_DBMOVED
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""The last: SQLite cannot make sense of a statement, and ours are always the same: then it is the file."""
_CLOSED_TO_US = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_BEGUN = "('launch', 'open', 'create', 'take-over')"
_LATEST_EVER = 1000  # a larger version is no newer program's, but other bytes
_BESIDE = ("", "-journal", "-wal", "-shm")


class JournalFile:
    """``journal.db``. May be used from any thread.

    Attributes:
        put_aside: Where the damaged one is now that this process has found, or None.
        fresh: This process has begun it: intents of before are not in it.

    Raises:
        NotReady: ``journal-unreadable``, ``home-unwritable``, ``journal-newer``: without a journal nothing is started.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self.put_aside: Path | None = None
        self.fresh, self._file = False, 0
        try:
            make_private(path.parent)
            self._db = self._opened()
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self._not_ready(error) from error

    def open(self, action: str, run: str, facts: Mapping[str, object], at: float) -> int:
        with self._lock:
            cursor = self._execute(
                "INSERT INTO intents (action, run, facts, opened) VALUES (?, ?, ?, ?)",
                (action, run, json.dumps(dict(facts), default=str), at),
            )
            return int(cursor.lastrowid or 0)

    def close(self, number: int, outcome: str, at: float) -> None:
        """Closing twice keeps the first outcome."""
        with self._lock:
            self._execute(
                "UPDATE intents SET closed = ?, outcome = ? WHERE number = ? AND closed IS NULL", (at, outcome, number)
            )

    def open_intents(self) -> Sequence[Intent]:
        with self._lock:
            rows = self._rows(
                "SELECT number, action, run, facts, opened FROM intents WHERE closed IS NULL ORDER BY number", ()
            )
        return [
            Intent(int(number), str(action), str(run), _facts(text), float(at) if _is_time(at) else 0.0)
            for number, action, run, text, at in rows
        ]

    def begun(self) -> Collection[str]:
        """See `workflow.ports.Journal`."""
        with self._lock:
            return [str(run) for (run,) in self._rows(f"SELECT DISTINCT run FROM intents WHERE action IN {_BEGUN}", ())]

    def plan_of(self, run: str) -> Mapping[str, object] | None:
        """JSON of the plan that *run* was begun with, from an intent that tells it, closed or not."""
        plans = (facts.get("plan") for facts in self._begun(run))
        return next((plan for plan in plans if isinstance(plan, dict)), None)

    def begun_at(self, run: str) -> tuple[str, str] | None:
        """See `workflow.ports.Journal`; as the latest intent tells it."""
        told = ((facts.get("project"), facts.get("bucket")) for facts in self._begun(run))
        return next(((p, b) for p, b in told if p and b and isinstance(p, str) and isinstance(b, str)), None)

    def was_taken_over(self, run: str) -> bool:
        """See `workflow.ports.Journal`."""
        with self._lock:
            return bool(self._rows("SELECT 1 FROM intents WHERE run = ? AND action = 'take-over' LIMIT 1", (run,)))

    def _begun(self, run: str) -> Iterator[dict[str, object]]:
        """Facts of the intents with which something of *run* was begun, latest first."""
        with self._lock:
            rows = self._rows(
                f"SELECT facts FROM intents WHERE run = ? AND action IN {_BEGUN} ORDER BY number DESC",
                (run,),
            )
        return (_facts(text) for (text,) in rows)

    def disconnect(self) -> None:
        self._db.close()

    def _opened(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not self._is_lost(error):
                raise
        return self._renewed()

    def _renewed(self, damaged: int = 0) -> sqlite3.Connection:
        """A journal that can be used: the damaged one is put aside, by one process of those that find it so.

        *damaged*: Number of the file (inode) that showed it in use, though it opens; 0 for one that does not open.
        """
        with open(self._path.with_name("journal.lock"), "ab") as guard:
            wait_for_lock(guard.fileno())
            try:
                if damaged == 0 or damaged != _number(self._path):
                    return self._connect()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if not self._is_lost(error):
                    raise
            number = 1
            while (aside := self._path.with_name(f"journal-damaged-{number}.db")).exists():
                number += 1
            for ending in _BESIDE:
                with suppress(FileNotFoundError):
                    os.replace(f"{self._path}{ending}", f"{aside}{ending}")
            self.put_aside = aside
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=10.0, isolation_level=None, check_same_thread=False)
        db.text_factory = _text
        try:
            db.execute("PRAGMA synchronous=FULL")
            self._migrate(db)
            told = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if told != "ok":
                raise _damaged(str(told))
            db.execute("SELECT number, action, run, facts, opened, closed, outcome FROM intents LIMIT 0")
            self._file = _number(self._path)
        except BaseException:
            db.close()
            raise
        return db

    def _execute(self, sql: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        return self._done(lambda: self._db.execute(sql, values))

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Fetched here: a damaged page may be met by any row."""
        return self._done(lambda: self._db.execute(sql, values).fetchall())

    def _done(self, work: Callable[[], T]) -> T:
        try:
            try:
                return work()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if not self._is_lost(error):
                    raise
                self._db.close()
                self._db = self._renewed(damaged=self._file)
                return work()
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self._not_ready(error) from error

    def _is_lost(self, error: Exception) -> bool:
        """Whether it can never be used again: damaged (SQLite quotes what it met, which need not be text), removed
        under our hands, or closed to us in a folder that is open."""
        if isinstance(error, UnicodeDecodeError):
            return True
        code = getattr(error, "sqlite_errorcode", 0) or 0
        if code == _MOVED or code & 0xFF in _DAMAGED:
            return True
        if is_locked_by_its_bytes(error, self._path):
            return True
        closed = self._path.is_file() and not os.access(self._path, os.R_OK | os.W_OK)
        return code & 0xFF in _CLOSED_TO_US and closed and os.access(self._path.parent, os.W_OK)

    def _not_ready(self, error: Exception) -> NotReady:
        full = "disk is full" in str(error) or getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT)
        if full:
            return NotReady("disk-full", folder=str(self._path.parent), raw=str(error))
        if _is_closed(self._path.parent):
            return NotReady("home-unwritable", folder=str(self._path.parent), raw=str(error))
        return NotReady("journal-unreadable", file=str(self._path), raw=str(error))

    def _migrate(self, db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")  # another process may be at it
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if not 0 <= version <= _LATEST_EVER:
            raise _damaged(f"version {version}")
        if version > len(MIGRATIONS):
            db.execute("ROLLBACK")
            raise NotReady("journal-newer", file=str(self._path), version=version, known=len(MIGRATIONS))
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            for statement in filter(str.strip, script.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
        if version == 0:  # numbers of an earlier journal, which somebody may still hold, mean nothing in this one
            db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('intents', ?)", (time.time_ns() // 1000,))
        db.execute("COMMIT")
        self.fresh = self.fresh or version == 0


def _is_closed(folder: Path) -> bool:
    """Whether nothing can be written into it, or, where it is not there, into what would hold it."""
    there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    return not os.access(there, os.W_OK | os.X_OK)


def _number(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _facts(text: object) -> dict[str, object]:
    """Of one intent; of a damaged row none: that something was begun is still known."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _is_time(at: object) -> bool:
    return isinstance(at, (int, float)) and math.isfinite(at)


def _damaged(told: str) -> sqlite3.Error:
    error = sqlite3.DatabaseError(told)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error
