"""The run's bucket over the Storage JSON API: create once, overwrite, read, list, and big files that survive cuts.

Every method raises `Unreachable` when nobody answers and `Refused` for a definite no.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tpu_studio.trainer.guardian.vm.config import Piece
from tpu_studio.trainer.guardian.vm.metadata import Authorized
from tpu_studio.trainer.guardian.vm.web import Backoff, Refused, Reply, Unreachable

_SMALL_BYTES = 8 << 20  # more goes up in a resumable session
_CHUNK_BYTES = 8 << 20  # a multiple of 256 KiB
_PAGE = 1000
_LISTED = 100_000  # names: more than any run has
_TRIES = 8
_PASSING_S = (0.3, 0.6)  # Google's own clients ask again after such answers


class WrongContent(Exception):
    """What was downloaded is not what the config says. Facts for people in the message."""


class Bucket:
    def __init__(self, api: Authorized, storage: str, bucket: str) -> None:
        self._api = api
        self._objects = f"{storage}/storage/v1/b/{bucket}/o"
        self._upload = f"{storage}/upload/storage/v1/b/{bucket}/o"
        self.heard_at = time.monotonic()
        """When the bucket last took or gave something."""
        self.operations = {"a": 0, "b": 0, "bytes": 0}
        """What the price list counts: writes and listings, reads, and what was moved."""
        self._counting = threading.Lock()

    def create(self, name: str, data: bytes) -> bool:
        """Create it once; False when it is there already, whatever it holds."""
        reply = self._media(name, data, "&ifGenerationMatch=0")
        if reply.status == 412:
            self.heard_at = time.monotonic()
            return False
        self._good(reply)
        self._count("a", len(data))
        return True

    def write(self, name: str, data: bytes) -> None:
        self._good(self._media(name, data, ""))
        self._count("a", len(data))

    def _count(self, kind: str, size: int = 0) -> None:
        with self._counting:
            self.operations[kind] += 1
            self.operations["bytes"] += size

    def read(self, name: str) -> bytes | None:
        """None: there is no such object."""
        reply = self._call("GET", f"{self._objects}/{quote(name, safe='')}?alt=media")
        if reply.status == 404:
            if "bucket" in reply.said().lower() and "does not exist" in reply.said().lower():
                raise Refused(reply)
            self.heard_at = time.monotonic()
            return None
        self._good(reply)
        self._count("b", len(reply.body))
        return reply.body

    def list(self, prefix: str, start: str = "") -> list[tuple[str, int]]:
        """Names from *start* on, with their sizes, in order; of more than _LISTED the first."""
        found: list[tuple[str, int]] = []
        page = ""
        while True:
            url = f"{self._objects}?prefix={quote(prefix, safe='')}&maxResults={_PAGE}"
            url += "&fields=items(name,size),nextPageToken"
            url += f"&startOffset={quote(start, safe='')}" if start else ""
            url += f"&pageToken={quote(page, safe='')}" if page else ""
            reply = self._good(self._call("GET", url)).json()
            self._count("a")
            found += [(str(item["name"]), int(item.get("size", 0))) for item in reply.get("items", [])]
            page = str(reply.get("nextPageToken", ""))
            if not page or len(found) >= _LISTED:
                return found

    def delete(self, name: str) -> None:
        reply = self._call("DELETE", f"{self._objects}/{quote(name, safe='')}")
        if reply.status != 404:
            self._good(reply)

    def upload(self, path: Path, name: str) -> None:
        """A file of any size, checked by the md5 that the bucket made of it.

        Raises:
            FileNotFoundError: It is gone.
        """
        size = path.stat().st_size
        if size <= _SMALL_BYTES:
            data = path.read_bytes()
            reply = self._good(self._media(name, data, ""))
            sent = hashlib.md5(data, usedforsecurity=False).digest()
        else:
            reply, sent = self._resumable(path, name, size)
        self._count("a", size)
        told = reply.json().get("md5Hash")
        if told and told != base64.b64encode(sent).decode():
            raise Unreachable(f"{name} arrived damaged")

    def download(
        self, piece: Piece, path: Path, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> None:
        """To *path*, in place only when size and sha256 are right; what an earlier try fetched is gone on from.

        Raises:
            WrongContent: The object is not what was agreed.
            Unreachable: Nothing came in several tries.
        """
        if path.exists() and path.stat().st_size == piece.bytes and sha256_of(path) == piece.sha256:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        backoff, tries = Backoff(), 0
        while (have := part.stat().st_size if part.exists() else 0) < piece.bytes:
            try:
                self._fetch(piece, part, have)
                progress(part.stat().st_size, piece.bytes)
            except (Unreachable, Refused) as error:
                if isinstance(error, Refused) and not Reply(error.status, {}).transient:
                    raise
                tries = 0 if part.exists() and part.stat().st_size > have else tries + 1
                if tries >= _TRIES:
                    raise
                time.sleep(backoff.pause())
        if not part.exists():
            part.write_bytes(b"")
        found = sha256_of(part)
        if part.stat().st_size != piece.bytes or found != piece.sha256:
            part.unlink()
            raise WrongContent(f"{piece.object} has the sha256 {found[:12]}…, agreed was {piece.sha256[:12]}…")
        os.replace(part, path)

    def fetch(self, name: str, path: Path) -> bool:
        """A whole object to *path*, in place only when it is complete; False when there is none. No sum is checked."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        with open(part, "wb") as file:
            reply = self._api.call(
                "GET", f"{self._objects}/{quote(name, safe='')}?alt=media", timeout_s=60.0, into=file
            )
        if reply.status == 404:
            part.unlink()
            return False
        self._good(reply)
        if (length := reply.headers.get("content-length")) and int(length) != part.stat().st_size:
            raise Unreachable(f"{name} was cut off")
        self._count("b", part.stat().st_size)
        os.replace(part, path)
        return True

    def _fetch(self, piece: Piece, part: Path, have: int) -> None:
        """The next range of it, appended."""
        last = min(piece.bytes, have + 4 * _CHUNK_BYTES) - 1
        with open(part, "ab") as file:
            reply = self._api.call(
                "GET",
                f"{self._objects}/{quote(piece.object, safe='')}?alt=media",
                {"Range": f"bytes={have}-{last}"},
                timeout_s=60.0,
                into=file,
            )
        size = reply.headers.get("content-range", "").rpartition("/")[2]  # of the whole object, where it is told
        if reply.status in (206, 416) and size.isdecimal() and len(size) < 20 and int(size) != piece.bytes:
            part.unlink()
            raise WrongContent(f"{piece.object} has {int(size)} bytes, agreed were {piece.bytes}")
        if reply.status == 416 or (reply.ok and reply.status != 206 and have):
            part.unlink()  # not the object it was, or no ranges here: from the beginning
            raise Unreachable(f"{piece.object}: no range of it was given")
        self._good(reply)
        self._count("b", part.stat().st_size - have)
        if part.stat().st_size > piece.bytes:
            part.unlink()
            raise WrongContent(f"{piece.object} is longer than {piece.bytes} bytes")

    def _resumable(self, path: Path, name: str, size: int) -> tuple[Reply, bytes]:
        start = self._good(
            self._api.call(
                "POST",
                f"{self._upload}?uploadType=resumable&name={quote(name, safe='')}",
                {
                    "Content-Type": "application/json; charset=UTF-8",
                    "X-Upload-Content-Type": "application/octet-stream",
                    "X-Upload-Content-Length": str(size),
                },
                json.dumps({"name": name}).encode(),
            )
        )
        session = start.headers.get("location", "")
        if not session:
            raise Unreachable(f"{name}: no upload session was given")
        at, backoff, tries = 0, Backoff(), 0
        with open(path, "rb") as file:
            while True:
                file.seek(at)
                chunk = file.read(_CHUNK_BYTES)
                span = f"bytes {at}-{at + len(chunk) - 1}/{size}"
                try:
                    reply = self._api.call("PUT", session, {"Content-Range": span}, chunk, timeout_s=120.0)
                    if reply.transient:
                        raise Unreachable(reply.said())
                except Unreachable:
                    tries += 1
                    if tries >= _TRIES:
                        raise
                    time.sleep(backoff.pause())
                    reply = self._api.call("PUT", session, {"Content-Range": f"bytes */{size}"}, b"")
                if reply.status != 308:
                    self._good(reply)
                    return reply, _md5(path)
                known = reply.headers.get("range", "")
                now_at = int(known.rpartition("-")[2]) + 1 if known else 0
                tries = 0 if now_at > at else tries
                at = now_at
                self.heard_at = time.monotonic()

    def _media(self, name: str, data: bytes, more: str) -> Reply:
        url = f"{self._upload}?uploadType=media&name={quote(name, safe='')}{more}"
        return self._call("POST", url, {"Content-Type": "application/octet-stream"}, data, timeout_s=60.0)

    def _call(
        self, method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b"", **more: Any
    ) -> Reply:
        """One call, made again where the answer is a passing one: who carries up many files shall not begin anew
        because one of them was refused for a moment. What outlasts this is for the caller, who pauses for longer.
        """
        for pause_s in _PASSING_S:
            reply = self._api.call(method, url, headers, body, **more)
            if not reply.transient:
                return reply
            time.sleep(pause_s * random.uniform(0.7, 1.3))
        return self._api.call(method, url, headers, body, **more)

    def _good(self, reply: Reply) -> Reply:
        if not reply.ok:
            raise Refused(reply)
        self.heard_at = time.monotonic()
        return reply


def is_bucket_gone(error: BaseException) -> bool:
    return isinstance(error, Refused) and error.status == 404


def sha256_of(path: Path) -> str:
    return str(_digest(path, hashlib.sha256()).hexdigest())


def _md5(path: Path) -> bytes:
    return bytes(_digest(path, hashlib.md5(usedforsecurity=False)).digest())


def _digest(path: Path, made: Any) -> Any:
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            made.update(chunk)
    return made
