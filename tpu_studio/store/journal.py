"""The journal: an intent is committed to disk before each act that matters, and closed after it. Never rebuilt.

SQLite with ``synchronous=FULL``: when `open` returns, the intent survives a power cut. App and command line share it.
Implements ``workflow.ports.Journal``.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tpu_studio.wire.errors import NotReady
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


class JournalFile:
    """``journal.db``. May be used from any thread.

    Raises:
        NotReady: ``journal-unreadable`` or ``journal-newer``: without a journal nothing is started.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
            self._begin()
        except (OSError, sqlite3.Error) as error:
            raise self._not_ready(error) from error

    def _begin(self) -> None:
        try:
            self._db.execute("PRAGMA synchronous=FULL")
            self._migrate()
        except BaseException:
            self._db.close()
            raise

    def open(self, action: str, run: str, facts: Mapping[str, Any], at: float) -> int:
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
            rows = self._execute(
                "SELECT number, action, run, facts, opened FROM intents WHERE closed IS NULL ORDER BY number", ()
            ).fetchall()
        return [Intent(number, action, run, json.loads(facts), at) for number, action, run, facts, at in rows]

    def disconnect(self) -> None:
        self._db.close()

    def _execute(self, sql: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql, values)
        except sqlite3.Error as error:
            raise self._not_ready(error) from error

    def _not_ready(self, error: Exception) -> NotReady:
        full = "disk is full" in str(error) or getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT)
        if full:
            return NotReady("disk-full", folder=str(self._path.parent), raw=str(error))
        return NotReady("journal-unreadable", file=str(self._path), raw=str(error))

    def _migrate(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")  # another process may be at it
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            self._db.execute("ROLLBACK")
            raise NotReady("journal-newer", file=str(self._path), version=version, known=len(MIGRATIONS))
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            for statement in filter(str.strip, script.split(";")):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {number}")
        self._db.execute("COMMIT")
