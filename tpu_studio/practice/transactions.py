"""A SQLite file for many threads: one connection, one re-entrant lock, transactions that may be nested.

A transaction is a critical section for the whole server, so keep network and processes out of it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SqliteFile:
    """To be inherited from: what a subclass remembers beside the file follows it by the two hooks."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._depth = 0
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing; a power cut may

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, alone; may be nested."""
        with self._lock:
            outermost = self._depth == 0
            if outermost:
                self._db.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if outermost:
                    self._take_back()
                raise
            self._depth -= 1
            if outermost:
                try:
                    self._db.execute("COMMIT")
                except BaseException:
                    self._take_back()
                    raise
                self._committed()

    def _take_back(self) -> None:
        if self._db.in_transaction:  # on a full disk SQLite has taken it back itself
            self._db.execute("ROLLBACK")
        self._taken_back()

    def _committed(self) -> None:
        """After the commit, the lock still held."""

    def _taken_back(self) -> None:
        """After the rollback, the lock still held."""
