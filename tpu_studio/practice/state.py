"""The practice cloud's memory: JSON records by kind and name in one SQLite file (WAL), safe against SIGKILL."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tpu_studio.practice.transactions import SqliteFile

Record = dict[str, Any]
LONG = 10_000  # characters


def check_memory(path: Path) -> None:
    """Raises ValueError: the file is no database, or one of its records no JSON object; a sentence."""
    if not path.exists():
        return
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
    at = ""
    try:
        for kind, name, text in db.execute("SELECT kind, name, record FROM records"):
            at = f", {kind} {name}"
            if not isinstance(json.loads(text), dict):
                raise ValueError("it is no object")
    except sqlite3.OperationalError:
        return  # new, or somebody is at it; who opens it next is told
    except (sqlite3.DatabaseError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path.name}{at}: {error}") from error
    finally:
        db.close()


class Database(SqliteFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lasting: list[Callable[[], object]] = []
        self._long: dict[tuple[str, str], tuple[str, Record]] = {}
        self._seen: dict[str, list[tuple[str, Record]]] = {}
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS records "
            "(kind TEXT, name TEXT, record TEXT, PRIMARY KEY (kind, name)) WITHOUT ROWID"
        )

    def get(self, kind: str, name: str) -> Record | None:
        with self._lock:
            row = self._db.execute("SELECT record FROM records WHERE kind = ? AND name = ?", (kind, name)).fetchone()
        return None if row is None else self._parsed(kind, name, row[0])

    def put(self, kind: str, name: str, record: Record) -> None:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            self._seen.pop(kind, None)
            self._db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (kind, name, text))

    def delete(self, kind: str, name: str) -> bool:
        """Whether it was there."""
        with self._lock:
            self._seen.pop(kind, None)
            done = self._db.execute("DELETE FROM records WHERE kind = ? AND name = ?", (kind, name))
            self._long.pop((kind, name), None)
            return done.rowcount > 0

    def peek(self, kind: str) -> list[tuple[str, Record]]:
        """All of a kind by name, to be read and never changed: shared, and read anew only after a change."""
        with self._lock:
            found = self._seen.get(kind)
            if found is None:
                rows = self._db.execute(
                    "SELECT name, record FROM records WHERE kind = ? ORDER BY name", (kind,)
                ).fetchall()
                found = self._seen[kind] = [(name, self._shared(kind, name, text)) for name, text in rows]
            return found

    def list(self, kind: str, prefix: str = "", start: str = "", limit: int = -1) -> list[tuple[str, Record]]:
        """By name (code points), from *start* on (inclusive), at most *limit* (-1: all)."""
        low = max(prefix, start)
        with self._lock:
            rows = self._db.execute(
                "SELECT name, record FROM records WHERE kind = ? AND name >= ? AND name < ? ORDER BY name LIMIT ?",
                (kind, low, prefix + "\U0010ffff", limit),
            ).fetchall()
        return [(name, self._parsed(kind, name, record)) for name, record in rows]

    def _parsed(self, kind: str, name: str, text: str) -> Record:
        record = self._shared(kind, name, text)
        return record if len(text) < LONG else copy.deepcopy(record)

    def _shared(self, kind: str, name: str, text: str) -> Record:
        """A long record, as one with a machine's metadata, is parsed once; a short one is the caller's own."""
        if len(text) < LONG:
            return dict(json.loads(text))
        with self._lock:
            known = self._long.get((kind, name))
            if known is None or known[0] != text:
                known = self._long[kind, name] = (text, json.loads(text))
        return known[1]

    def count(self, counter: str) -> int:
        """The next number of a counter, from 1; never the same twice."""
        with self.transaction():
            number = int((self.get("counter", counter) or {"n": 0})["n"]) + 1
            self.put("counter", counter, {"n": number})
            return number

    def lasting(self, act: Callable[[], object]) -> None:
        """Do *act* now, and once more should the transaction around be taken back: a refusal has happened all the same.

        Call it in a transaction; *act* may be done twice.
        """
        act()
        self._lasting.append(act)

    def _committed(self) -> None:
        self._lasting = []

    def _taken_back(self) -> None:
        self._seen.clear()
        lasting, self._lasting = self._lasting, []
        for act in lasting:
            act()
