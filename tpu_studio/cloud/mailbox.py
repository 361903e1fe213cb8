"""The bucket as a mailbox between desktop and machine. Implements `workflow.cloudruns.ports.Mailbox`.

Google's storage client on our session; its own retries are off, ours are on. Every write carries a precondition, so
that a repeat whose first try got through is noticed by comparing content, and never writes twice.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import google_crc32c

from tpu_studio.cloud import errors
from tpu_studio.cloud.session import PATIENT, TIMEOUT, Patience, segment
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.sizes import TooLarge
from tpu_studio.workflow.cloudruns.ports import LISTED_AT_MOST, READ_AT_MOST, Progress, Stored

CHUNK = 8 * 2**20  # of a resumable upload; Google wants a multiple of 256 KiB
_PIECE = 2**20
_FIELDS = "items(name,size,generation,updated,md5Hash),nextPageToken"
_AT_ONCE = 8
RENEW_S = 86_400.0
"""Our buckets delete after 30 days (``doctor.repairs.bucket_body``), and a run may wait for 28 with what was there."""
T = TypeVar("T")


class BucketMailbox:
    """Args:
    http: What `session.session` made.
    endpoint: Base URL of Cloud Storage.
    """

    def __init__(
        self,
        http: Any,
        endpoint: str,
        project: str,
        bucket: str,
        *,
        patience: Patience = PATIENT,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._http, self._endpoint, self._project, self._name = http, endpoint.rstrip("/"), project, bucket
        self._patience, self._now = patience, now

    @property
    def bucket(self) -> str:
        return self._name

    def create(self, name: str, data: bytes) -> bool:
        return self._put(name, data, 0) is not None

    def write(self, name: str, data: bytes, *, generation: int | None = None) -> int | None:
        if generation is not None:
            return self._put(name, data, generation)
        return self._call(lambda: self._upload(name, data, None), name)  # the same bytes again: no harm

    def read(self, name: str, *, start: int = 0) -> bytes | None:
        try:
            return self._call(lambda: self._look(name, start), name)
        except CloudRefused as error:
            if error.id == "not-found":
                return None
            if error.facts.get("code") == 416:  # there is nothing from *start* on
                return b""
            raise

    def stat(self, name: str) -> Stored | None:
        blob = self._blob(name)
        return None if blob is None else _stored(blob)

    def list(self, prefix: str, *, start: str = "", most: int = LISTED_AT_MOST) -> Sequence[Stored]:
        def read() -> list[Stored]:
            found = self._client.list_blobs(
                self._name,
                prefix=prefix,
                start_offset=start or None,
                max_results=most,
                fields=_FIELDS,
                timeout=TIMEOUT,
                retry=None,
            )
            return [_stored(one) for one in found]

        return self._call(read, prefix)

    def upload(self, path: Path, name: str, progress: Progress | None = None) -> None:
        """See `ports.Mailbox`. Whatever *progress* raises cancels and comes out as it is.

        Raises:
            OSError: The file cannot be read.
        """
        try:
            self._upload_file(path, name, _cancellable(progress))
        except _Cancelled as cancelled:
            raise cancelled.cause from None

    def _upload_file(self, path: Path, name: str, told: Progress) -> None:
        total = path.stat().st_size
        there = self._blob(name)
        if there is not None and int(there.size or 0) == total and there.crc32c == _crc32c_of(path):
            if self._renewed(there):
                told(total, total)
                return
            there = None  # it went at this very moment
        generation = 0 if there is None else int(there.generation)

        def send() -> None:
            with open(path, "rb") as file:
                blob = self._bucket.blob(name, chunk_size=CHUNK if total > CHUNK else None)
                watched: object = _Watched(file, total, told)
                blob.upload_from_file(
                    watched,
                    size=total,
                    content_type="application/octet-stream",
                    if_generation_match=generation,
                    timeout=TIMEOUT,
                    retry=_within(total),
                    checksum="crc32c",
                )

        try:
            self._call(send, name)
        except CloudRefused as error:
            if error.id != "precondition":
                raise
            now = self._blob(name)  # another try, or another computer, was first
            if now is None or int(now.size or 0) != total or now.crc32c != _crc32c_of(path):
                raise
        told(total, total)

    def renew(self, name: str) -> bool:
        there = self._blob(name)
        return there is not None and self._renewed(there)

    def _renewed(self, there: Any) -> bool:
        """Rewritten onto itself where it is old: that is an object made now. False: it is gone."""
        if self._now() - there.time_created.timestamp() < RENEW_S:
            return True
        generation = int(there.generation)

        def rewrite() -> None:
            token: str | None = None
            while True:
                token, _, _ = self._bucket.blob(there.name).rewrite(
                    there,
                    token=token,
                    if_generation_match=generation,
                    if_source_generation_match=generation,
                    timeout=TIMEOUT,
                    retry=None,
                )
                if token is None:
                    return

        try:
            self._call(rewrite, there.name)
        except CloudRefused as error:
            if error.id == "not-found":
                return False
            if error.id != "precondition":
                raise
            return self._blob(there.name) is not None  # another computer was first
        return True

    def download(self, name: str, path: Path, progress: Progress | None = None, *, at_most: int | None = None) -> None:
        """See `ports.Mailbox`. Whatever *progress* raises cancels and comes out as it is.

        Raises:
            CloudRefused: ``not-found``.
            OSError: The file cannot be written.
            TooLarge: More than *at_most* bytes, by what the object is said to have or by what came.
        """
        there = self._blob(name)
        if there is None:
            raise errors.make("not-found", {"name": name, "raw": "no such object"})
        total, generation = int(there.size or 0), int(there.generation)
        if at_most is not None and total > at_most:
            raise TooLarge(total, at_most)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
        os.close(handle)
        try:
            told = _cancellable(progress)
            self._call(lambda: self._fetch(name, generation, Path(beside), total, told), name)
            if os.path.getsize(beside) != total or (there.crc32c and _crc32c_of(Path(beside)) != there.crc32c):
                raise errors.make("unreadable-reply", {"name": name, "raw": "the object arrived damaged"})
            os.replace(beside, path)
        except _Cancelled as cancelled:
            raise cancelled.cause from None
        finally:
            Path(beside).unlink(missing_ok=True)

    def delete(self, names: Sequence[str]) -> None:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(self._delete_one, names):
                pass

    # ------------------------------------------------------------------------------------------------------ calls

    @cached_property
    def _client(self) -> Any:
        """Google's client on our session; importing it costs 0.2 s, done with the first call."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.storage import Client

        nobody: Any = AnonymousCredentials  # the session has the real ones
        client = Client(
            project=self._project,
            credentials=nobody(),
            _http=self._http,
            client_options={"api_endpoint": self._endpoint},
        )
        client._bucket_metadata_cache = None  # it asks for the bucket in a thread of its own, to label traces
        return client

    @property
    def _bucket(self) -> Any:
        return self._client.bucket(self._name)

    def _call(self, work: Callable[[], T], name: str) -> T:
        return self._patience.call(work, name=name, bucket=self._name)

    def _put(self, name: str, data: bytes, generation: int) -> int | None:
        """Written where *generation* still holds; None when it does not, unless the content there is ours."""
        try:
            return int(self._call(lambda: self._upload(name, data, generation), name))
        except CloudRefused as error:
            if error.id != "precondition":
                raise
        there = self._blob(name)
        if there is None:
            return None
        md5 = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
        same = int(there.size or 0) == len(data) and there.md5_hash == md5
        return int(there.generation) if same else None

    def _upload(self, name: str, data: bytes, generation: int | None) -> int:
        blob = self._bucket.blob(name)
        kind = "application/json" if name.endswith(".json") else "application/octet-stream"
        blob.upload_from_string(
            data, content_type=kind, if_generation_match=generation, timeout=TIMEOUT, retry=None, checksum="crc32c"
        )
        return int(blob.generation)

    def _blob(self, name: str) -> Any:
        return self._call(lambda: self._bucket.get_blob(name, timeout=TIMEOUT, retry=None), name)

    def _look(self, name: str, start: int) -> bytes:
        """A download without the machinery of Google's client, which took half of the desktop's time with fifty runs
        that are watched."""
        url = f"{self._endpoint}/download/storage/v1/b/{segment(self._name)}/o/{segment(name)}?alt=media"
        asked = {"Accept-Encoding": "gzip", **({"Range": f"bytes={start}-"} if start else {})}
        reply = self._http.look(url, asked)
        if reply.status_code == 401 or reply.is_redirect:  # the token has run out, or it lies elsewhere: asked in full
            reply.close()
            reply = self._http.request("GET", url, headers=asked, stream=True)
        with reply:
            about = {"name": name, "bucket": self._name}
            if reply.status_code not in (200, 206):
                raise errors.of_reply(reply.status_code, reply.content, **about)
            into = _Bounded()
            try:
                for piece in reply.raw.stream(_PIECE, decode_content=False):
                    into.write(piece)
            except _Enough:
                return into.getvalue()
            data = into.getvalue()
            if not start and not _is_whole(data, reply.headers.get("X-Goog-Hash", "")):
                raise errors.make("unreadable-reply", {**about, "raw": "the object arrived damaged"})
            return data

    def _fetch(self, name: str, generation: int, path: Path, total: int, told: Progress) -> None:
        with open(path, "wb") as file:
            watched: object = _Written(file, total, told)
            self._bucket.blob(name, generation=generation).download_to_file(
                watched, raw_download=True, timeout=TIMEOUT, retry=_within(total), checksum=None
            )

    def _delete_one(self, name: str) -> None:
        try:
            self._call(lambda: self._bucket.blob(name).delete(timeout=TIMEOUT, retry=None), name)
        except CloudRefused as error:
            if error.id != "not-found":
                raise


def _is_whole(data: bytes, sums: str) -> bool:
    """Whether *data* is what Cloud Storage's header says; true where it says nothing."""
    told = next((one.strip()[7:] for one in sums.split(",") if one.strip().startswith("crc32c=")), "")
    return not told or told == _as_told(google_crc32c.value(data))


def _within(total: int) -> object:
    """Google's own retries inside a large transfer, which go on where it broke off; none for a small one."""
    from google.cloud.storage.retry import DEFAULT_RETRY

    return DEFAULT_RETRY.with_delay(initial=0.5, maximum=8.0).with_timeout(60.0) if total > CHUNK else None


class _Enough(Exception):
    """No more is wanted."""


class _Bounded(io.BytesIO):
    """Takes READ_AT_MOST bytes: whoever may write to the bucket may put a gigabyte where a line was due."""

    def write(self, data: Any) -> int:
        room = READ_AT_MOST - self.tell()
        super().write(data[:room])
        if len(data) > room:
            raise _Enough
        return len(data)


class _Cancelled(BaseException):
    """Carries what a progress function raised past Google's client and our retries: neither may take it for a fault."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


def _cancellable(told: Progress | None) -> Progress:
    def tell(done: int, total: int) -> None:
        try:
            if told is not None:
                told(done, total)
        except Exception as error:
            raise _Cancelled(error) from error

    return tell


class _Watched:
    """A file being read, which says how far."""

    def __init__(self, file: BinaryIO, total: int, told: Progress) -> None:
        self._file, self._total, self._told = file, total, told

    def read(self, size: int = -1) -> bytes:
        self._told(min(self._file.tell(), self._total), self._total)
        return self._file.read(size)

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)


class _Written:
    def __init__(self, file: BinaryIO, total: int, told: Progress) -> None:
        self._file, self._total, self._told = file, total, told

    def write(self, data: bytes) -> int:
        if self._file.tell() + len(data) > self._total:  # it would go on for ever
            raise _Cancelled(TooLarge(self._file.tell() + len(data), self._total))
        count = self._file.write(data)
        self._told(self._file.tell(), self._total)
        return count

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def flush(self) -> None:
        self._file.flush()


def _stored(blob: Any) -> Stored:
    updated = blob.updated.timestamp() if blob.updated else 0.0
    md5 = base64.b64decode(blob.md5_hash).hex() if blob.md5_hash else ""
    return Stored(str(blob.name), int(blob.size or 0), int(blob.generation or 0), updated, md5)


def _crc32c_of(path: Path) -> str:
    """As Cloud Storage writes it: base64 of four bytes, the highest first."""
    value = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            value = google_crc32c.extend(value, piece)
    return _as_told(value)


def _as_told(crc32c: int) -> str:
    return base64.b64encode(crc32c.to_bytes(4, "big")).decode()
