"""Buckets, objects and unfinished uploads on disk: records in SQLite, contents in files. Knows no HTTP.

A content file is written under a fresh random name and stays invisible until one transaction names it, so a reader
sees the old object or the new one and SIGKILL leaves at worst a file without a record, swept at the next start. Files
are never rewritten; copies share one. Object names are keys as UTF-8 bytes: that is the order Cloud Storage lists in.

    <folder>/index.db            buckets, objects, uploads
    <folder>/content/ab/ab12…    one file a content (also of an upload that is still growing)
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import google_crc32c

from tpu_studio.practice.state import Record
from tpu_studio.practice.transactions import SqliteFile

Facts = Record
BLOCK = 1 << 20  # bytes read or written at a time

_TABLES = """
CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT, name BLOB, generation INTEGER, metageneration INTEGER, size INTEGER, content TEXT, created REAL,
    updated REAL, facts TEXT, PRIMARY KEY (bucket, name)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS objects_content ON objects (content);
CREATE TABLE IF NOT EXISTS uploads (id TEXT PRIMARY KEY, content TEXT, started REAL, record TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbers (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
"""
_COLUMNS = "bucket, name, generation, metageneration, size, content, created, updated, facts"


@dataclass(frozen=True)
class StoredObject:
    """``created`` and ``updated`` in practice seconds since 1970; ``facts`` is the rest of Google's Object resource
    (contentType, md5Hash, metadata …) by its own keys."""

    bucket: str
    name: str
    generation: int
    metageneration: int
    size: int
    content: str
    created: float
    updated: float
    facts: Facts


@dataclass
class Digest:
    """Checksums of what has been written so far."""

    size: int = 0
    _md5: Any = field(default_factory=hashlib.md5)
    _crc: Any = field(default_factory=google_crc32c.Checksum)

    def update(self, data: bytes) -> None:
        self._md5.update(data)
        self._crc.update(data)
        self.size += len(data)

    @property
    def md5(self) -> str:
        return base64.b64encode(self._md5.digest()).decode()

    @property
    def crc32c(self) -> str:
        return base64.b64encode(self._crc.digest()).decode()


class BucketMissing(Exception):
    pass


class UploadEnded(Exception):
    """Finished, cancelled or unknown: it has no content that could grow."""


class ObjectStore(SqliteFile):
    """Thread-safe. *now* gives practice seconds since 1970."""

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        self._content = folder / "content"
        for number in range(256):
            (self._content / f"{number:02x}").mkdir(parents=True, exist_ok=True)
        self._now = now
        self.on_drop: Callable[[StoredObject, float], None] = lambda stored, at: None
        """Told of each object that is deleted or replaced, and when."""
        self._dropped: list[str] = []  # contents that the transaction has let go
        super().__init__(folder / "index.db")
        self._db.executescript(_TABLES)
        self._digests: dict[str, Digest] = {}  # of growing uploads, so that each byte is hashed once
        self._growing: dict[str, threading.Lock] = {}
        self._sweep()

    def _committed(self) -> None:
        """Contents that nobody needs any more go."""
        dropped, self._dropped = self._dropped, []
        for content in dropped:
            if not self._is_used(content):
                self.discard(content)

    def _taken_back(self) -> None:
        self._dropped.clear()

    # ------------------------------------------------------------------------------------------------- buckets

    def bucket(self, name: str) -> Facts | None:
        with self._lock:
            row = self._db.execute("SELECT record FROM buckets WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def buckets(self) -> list[Facts]:
        """By name."""
        with self._lock:
            rows = self._db.execute("SELECT record FROM buckets ORDER BY name").fetchall()
        return [json.loads(row[0]) for row in rows]

    def put_bucket(self, name: str, record: Facts) -> None:
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO buckets VALUES (?, ?)", (name, json.dumps(record)))

    def delete_bucket(self, name: str) -> None:
        with self._lock:
            self._db.execute("DELETE FROM buckets WHERE name = ?", (name,))

    def is_empty(self, bucket: str) -> bool:
        with self._lock:
            return self._db.execute("SELECT 1 FROM objects WHERE bucket = ? LIMIT 1", (bucket,)).fetchone() is None

    # ------------------------------------------------------------------------------------------------- objects

    def find(self, bucket: str, name: str) -> StoredObject | None:
        with self._lock:
            row = self._db.execute(
                f"SELECT {_COLUMNS} FROM objects WHERE bucket = ? AND name = ?", (bucket, name.encode())
            ).fetchone()
        return None if row is None else _object(row)

    def scan(self, bucket: str, start: bytes = b"", stop: bytes = b"\xff", limit: int = -1) -> list[StoredObject]:
        """Names from *start* (inclusive) to *stop* (exclusive), in order, at most *limit* (-1: all)."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM objects WHERE bucket = ? AND name >= ? AND name < ? ORDER BY name LIMIT ?",
                (bucket, start, stop, limit),
            ).fetchall()
        return [_object(row) for row in rows]

    def put(self, bucket: str, name: str, content: str, size: int, facts: Facts) -> StoredObject:
        """A new generation, from now on the object of that name. In a transaction with its preconditions.

        Raises:
            BucketMissing: the bucket has gone meanwhile.
        """
        with self.transaction():
            if self.bucket(bucket) is None:
                raise BucketMissing(bucket)
            before = self.find(bucket, name)
            now = self._now()
            made = StoredObject(bucket, name, self._next_generation(now), 1, size, content, now, now, facts)
            self._write(made)
            if before is not None:
                self._dropped.append(before.content)
                self.on_drop(before, now)
            return made

    def change(self, stored: StoredObject, facts: Facts) -> StoredObject:
        """New metadata for the same content: metageneration + 1."""
        changed = replace(stored, metageneration=stored.metageneration + 1, updated=self._now(), facts=facts)
        with self.transaction():
            self._write(changed)
        return changed

    def delete(self, stored: StoredObject) -> None:
        with self.transaction():
            self._db.execute(
                "DELETE FROM objects WHERE bucket = ? AND name = ? AND generation = ?",
                (stored.bucket, stored.name.encode(), stored.generation),
            )
            self._dropped.append(stored.content)
            self.on_drop(stored, self._now())

    # ------------------------------------------------------------------------------------------------- contents

    def write(self, chunks: Iterable[bytes]) -> tuple[str, Digest]:
        """A new content; nothing stays when *chunks* or the disk fails. Raises: OSError, and what *chunks* does."""
        content, digest = secrets.token_hex(16), Digest()
        path = self._path(content)
        try:
            with path.open("xb") as file:
                for chunk in chunks:
                    file.write(chunk)
                    digest.update(chunk)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return content, digest

    def open(self, stored: StoredObject) -> IO[bytes] | None:
        """For reading; it stays readable when the object is overwritten meanwhile. None: just replaced, look again."""
        try:
            return self._path(stored.content).open("rb")
        except FileNotFoundError:
            return None

    def blocks(self, stored: StoredObject) -> Iterator[bytes]:
        """Raises: FileNotFoundError when it has been replaced meanwhile."""
        with self._path(stored.content).open("rb") as file:
            while block := file.read(BLOCK):
                yield block

    def discard(self, content: str) -> None:
        """Delete a content that no record names. On Windows an open file waits for the next start."""
        try:
            self._path(content).unlink(missing_ok=True)
        except PermissionError:
            pass

    # -------------------------------------------------------------------------------------------------- uploads

    def begin_upload(self, record: Facts) -> str:
        """A resumable upload; its id."""
        id, content = secrets.token_urlsafe(24), secrets.token_hex(16)
        self._path(content).touch()
        with self._lock:
            self._db.execute("INSERT INTO uploads VALUES (?, ?, ?, ?)", (id, content, self._now(), json.dumps(record)))
        return id

    def upload(self, id: str) -> Facts | None:
        with self._lock:
            row = self._db.execute("SELECT record FROM uploads WHERE id = ?", (id,)).fetchone()
        return None if row is None else json.loads(row[0])

    @contextmanager
    def growing(self, id: str) -> Iterator[Growing]:
        """The content of an upload, for one request at a time.

        Raises:
            UploadEnded: it has been finished meanwhile, or there is none.
        """
        with self._lock:
            lock = self._growing.setdefault(id, threading.Lock())
        with lock:
            with self._lock:
                row = self._db.execute("SELECT content FROM uploads WHERE id = ?", (id,)).fetchone()
                digest = self._digests.get(id)
            if row is None or row[0] is None:
                raise UploadEnded(id)
            path = self._path(row[0])
            if digest is None or digest.size != path.stat().st_size:
                digest = Digest()
                with path.open("rb") as file:
                    while block := file.read(BLOCK):
                        digest.update(block)
            with self._lock:
                self._digests[id] = digest
            yield Growing(row[0], path, digest)

    def finish_upload(self, id: str, record: Facts) -> None:
        """In the transaction that puts the object: the content is the object's now."""
        with self.transaction():
            self._db.execute("UPDATE uploads SET content = NULL, record = ? WHERE id = ?", (json.dumps(record), id))
            self._digests.pop(id, None)
            self._growing.pop(id, None)

    def drop_upload(self, id: str, record: Facts) -> None:
        """The content goes; *record* stays, so that the client learns why."""
        with self.transaction():
            row = self._db.execute("SELECT content FROM uploads WHERE id = ?", (id,)).fetchone()
            self.finish_upload(id, record)
            if row is not None and row[0] is not None:
                self._dropped.append(row[0])

    def drop_uploads_before(self, started: float) -> int:
        """Forget uploads that began before *started*, finished ones too; how many there were."""
        with self.transaction():
            rows = self._db.execute("SELECT id, content FROM uploads WHERE started < ?", (started,)).fetchall()
            self._db.execute("DELETE FROM uploads WHERE started < ?", (started,))
            for id, content in rows:
                self._digests.pop(id, None)
                self._growing.pop(id, None)
                if content is not None:
                    self._dropped.append(content)
        return len(rows)

    # ------------------------------------------------------------------------------------------------------------

    def _path(self, content: str) -> Path:
        return self._content / content[:2] / content

    def _write(self, stored: StoredObject) -> None:
        self._db.execute(
            f"INSERT OR REPLACE INTO objects ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                stored.bucket,
                stored.name.encode(),
                stored.generation,
                stored.metageneration,
                stored.size,
                stored.content,
                stored.created,
                stored.updated,
                json.dumps(stored.facts),
            ),
        )

    def _next_generation(self, now: float) -> int:
        """Microseconds since 1970, as Google's look; never the same twice, never falling."""
        row = self._db.execute("SELECT value FROM numbers WHERE name = 'generation'").fetchone()
        number = max(int(now * 1e6), (row[0] if row else 0) + 1)
        self._db.execute("INSERT OR REPLACE INTO numbers VALUES ('generation', ?)", (number,))
        return number

    def _is_used(self, content: str) -> bool:
        return any(
            self._db.execute(f"SELECT 1 FROM {table} WHERE content = ? LIMIT 1", (content,)).fetchone()
            for table in ("objects", "uploads")
        )

    def _sweep(self) -> None:
        for path in self._content.glob("*/*"):
            if not self._is_used(path.name):
                self.discard(path.name)


@dataclass
class Growing:
    """A resumable upload's content while one request has it."""

    content: str
    _path: Path
    digest: Digest

    @property
    def size(self) -> int:
        return self.digest.size

    def append(self, chunks: Iterable[bytes]) -> None:
        """Add *chunks*. When they fail midway, what came stays: the client is told how much that is."""
        with self._path.open("ab") as file:
            for chunk in chunks:
                file.write(chunk)
                self.digest.update(chunk)


def _object(row: tuple[Any, ...]) -> StoredObject:
    bucket, name, generation, metageneration, size, content, created, updated, facts = row
    return StoredObject(
        bucket, bytes(name).decode(), generation, metageneration, size, content, created, updated, json.loads(facts)
    )
