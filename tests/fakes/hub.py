"""The Hugging Face Hub on this computer, as its own client meets it (huggingface_hub 2.4: `hf_api.model_info` and
`dataset_info`, `file_download.get_hf_file_metadata` and `http_get`, `utils._http.hf_raise_for_status`), over folders of
a test. Of a data set the Hub's conversion to Parquet is a folder of its own.

`tools/hub_check.py` fetches from it with that client. `Fake.faults` has what goes wrong, by the path's end.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = 5_000  # bytes from which a file is in LFS here; in the Hub, whatever its owner's .gitattributes say


CONVERTED = "refs/convert/parquet"


@dataclass
class Repository:
    """*token*: who has it may read; "": everybody. *private*: nobody else hears of it. *converted*: what lies on the
    branch of the Hub's conversion. *card*: what its card says beside the licence."""

    folder: Path
    licence: str = "apache-2.0"
    token: str = ""
    private: bool = False
    revision: str = "a" * 40
    converted: Path | None = None
    converted_revision: str = "c" * 40
    card: dict[str, Any] = field(default_factory=dict)

    def at(self, revision: str) -> tuple[Path, str] | None:
        """The folder and commit of a branch or commit; None where there is none."""
        if revision in ("", "main", self.revision):
            return self.folder, self.revision
        if self.converted is not None and revision in (CONVERTED, self.converted_revision):
            return self.converted, self.converted_revision
        return None


def siblings(folder: Path) -> list[dict[str, Any]]:
    return [sibling(folder, one) for one in sorted(folder.rglob("*")) if one.is_file()]


def sibling(folder: Path, path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    found: dict[str, Any] = {"rfilename": path.relative_to(folder).as_posix(), "size": len(data), "blobId": blob}
    if len(data) >= LARGE:
        found["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
    return found


def _entry(one: dict[str, Any]) -> dict[str, Any]:
    found = {"type": "file", "path": one["rfilename"], "size": one["size"], "oid": one["blobId"]}
    large = one.get("lfs")
    return found | ({"lfs": {"oid": large["sha256"], **large}} if large else {})


@dataclass
class Fake:
    """*asked*: path and headers of each request, the other host's with its name before it. *moved*: old names of data
    sets, and the ones that they have now."""

    address: str
    elsewhere: str
    repositories: dict[str, Repository] = field(default_factory=dict)
    datasets: dict[str, Repository] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, Path] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    sent: int = 0

    def fault(self, path: str) -> str:
        for end, left in self.faults.items():
            if path.endswith(end) and left:
                return left.pop(0)
        return ""


_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
RAW = {
    "packed": _OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}"),
    "going on": b"HTTP/1.1 100 Continue\r\n\r\n" * 100 + _OK + b"Content-Length: 2\r\n\r\n{}",
    "trailing": _CHUNKED + b"X: y\r\n" * 5_000_000,
}
"""Answers without end, or that unpack without end; of each some."""


@contextmanager
def running() -> Iterator[Fake]:
    """Two hosts: large files are led to the other one, as from the Hub to its storage."""
    servers = [ThreadingHTTPServer((host, 0), _Handler) for host in ("127.0.0.1", "127.0.0.2")]
    first, second = (
        f"http://{host}:{server.server_address[1]}"
        for host, server in zip(("127.0.0.1", "127.0.0.2"), servers, strict=True)
    )
    fake = Fake(first, second)
    threads = []
    for server in servers:
        server.fake = fake  # type: ignore[attr-defined]
        server.daemon_threads = True
        threads.append(threading.Thread(target=server.serve_forever, args=(0.02,)))
        threads[-1].start()
    try:
        yield fake
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def fake(self) -> Fake:
        found: Fake = self.server.fake  # type: ignore[attr-defined]
        return found

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        is_storage = self.headers["Host"].startswith("127.0.0.2")
        self.fake.asked.append((("storage:" if is_storage else "") + path, dict(self.headers)))
        fault = self.fake.fault(path)
        if fault == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if fault.startswith("status "):
            self._refuse(int(fault.split()[1]), "", "")
        elif fault.startswith("endless "):
            self._endless(int(fault.split()[1]))
        elif fault.startswith("raw "):
            with contextlib.suppress(OSError):
                self.wfile.write(RAW[fault.removeprefix("raw ")])
            self.close_connection = True
        elif fault.startswith("to "):
            self._answer(302, b"", {"Location": fault.removeprefix("to ")})
        elif fault.startswith("said "):
            self._answer(200, fault.removeprefix("said ").encode(), {"Content-Type": "application/json"})
        elif fault == "page":
            self._answer(200, b"<html>Welcome to this hotel</html>", {"Content-Type": "text/html"})
        elif is_storage:
            self._blob(path, fault)
        elif path.startswith(("/api/models/", "/api/datasets/")):
            kind, _, rest = path.removeprefix("/api/").partition("/")
            self._info(kind, rest, fault)
        elif path.startswith("/datasets/"):
            self._resolve("datasets", path.removeprefix("/datasets/"), fault)
        else:
            self._resolve("models", path[1:], fault)

    do_HEAD = do_GET

    def _readable(self, kind: str, name: str) -> Repository | None:
        if kind == "datasets" and name in self.fake.moved:
            now = self.path.replace(f"/datasets/{name}", f"/datasets/{self.fake.moved[name]}", 1)
            self._answer(307, b"", {"Location": now})
            return None
        repository = (self.fake.datasets if kind == "datasets" else self.fake.repositories).get(name)
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if given and given.startswith("bad"):
            self._refuse(401, "", "Invalid credentials in Authorization header")
            return None
        if repository is None or (repository.private and given != repository.token):
            self._refuse(404 if given else 401, "RepoNotFound", "Repository not found")
            return None
        return repository

    def _info(self, kind: str, rest: str, fault: str) -> None:
        name, tree_of, revision = rest.partition("/tree/")
        if not tree_of:
            name, _, revision = rest.partition("/revision/")
        if (repository := self._readable(kind, name)) is None:
            return
        if (found := repository.at(revision)) is None:
            self._refuse(404, "RevisionNotFound", "Invalid rev id")
            return
        if tree_of:  # what its own client lists by
            entries = [_entry(one) for one in siblings(found[0])]
            self._answer(200, json.dumps(entries).encode(), {"Content-Type": "application/json"})
            return
        licence = {"license": repository.licence} if repository.licence else {}
        tree = {
            "id": name,
            "sha": found[1],
            "gated": "manual" if repository.token and not repository.private else False,
            "private": repository.private,
            "disabled": False,
            "tags": [],
            "cardData": licence | repository.card,
            "siblings": self._siblings(found[0]),
        }
        if kind == "models":
            tree["modelId"] = name
        if fault == "odd":
            tree["siblings"] = [{"rfilename": "config.json"}]
        self._answer(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})

    def _siblings(self, folder: Path) -> list[dict[str, Any]]:
        sums = "blobs=" in urlsplit(self.path).query
        return [one if sums else {"rfilename": one["rfilename"]} for one in siblings(folder)]

    def _resolve(self, kind: str, rest: str, fault: str) -> None:
        name, _, at = rest.partition("/resolve/")
        revision, _, file = (
            (CONVERTED, "", at.removeprefix(f"{CONVERTED}/")) if at.startswith(CONVERTED) else at.partition("/")
        )
        if (repository := self._readable(kind, name)) is None:
            return
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repository.token and given != repository.token:
            self._refuse(403 if given else 401, "GatedRepo", f"Access to {name} is restricted.")
            return
        found = repository.at(revision)
        if found is None or not (found[0] / file).is_file():
            self._refuse(404, "EntryNotFound" if found else "RevisionNotFound", "It is not there")
            return
        path, listed = found[0] / file, sibling(found[0], found[0] / file)
        headers = {"X-Repo-Commit": found[1]}
        if "lfs" in listed:
            sha256 = listed["lfs"]["sha256"]
            self.fake.blobs[sha256] = path
            headers |= {"X-Linked-Size": str(listed["size"]), "X-Linked-Etag": f'"{sha256}"'}
            self._answer(302, b"", headers | {"Location": f"{self.fake.elsewhere}/{sha256}/{path.name}?Signature=s"})
        else:
            self._send(path.read_bytes(), headers | {"ETag": f'"{listed["blobId"]}"'}, fault)

    def _blob(self, path: str, fault: str) -> None:
        self._send(self.fake.blobs[path.split("/")[1]].read_bytes(), {}, fault)

    def _send(self, data: bytes, headers: dict[str, str], fault: str) -> None:
        begin = 0
        if (asked := self.headers.get("Range")) and fault != "whole":
            begin = int(asked.removeprefix("bytes=").rstrip("-").partition("-")[0])
            headers = headers | {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}
        body = data[begin:]
        if fault == "differs":
            body = body[:-1] + bytes([body[-1] ^ 1])
        if fault == "more":
            body += b"more"
        if fault.startswith("half"):
            self._answer(206 if begin else 200, body, headers, body[: len(body) // 2])
            self.close_connection = True
            return
        self._answer(206 if begin else 200, body, headers)

    def _endless(self, status: int) -> None:
        """A body of 400 MB: what reads it all is seen. `Fake.sent` has what was taken of it."""
        self.send_response(status)
        self.send_header("Location", f"{self.fake.address}/elsewhere")
        self.send_header("Content-Length", str(400 << 20))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            for _ in range(400):
                self.wfile.write(bytes(1 << 20))
                self.fake.sent += 1 << 20

    def _refuse(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
        self._answer(status, json.dumps({"error": message}).encode(), headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str], sent: bytes | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:  # as it was asked for; who is not told of it would ask again on this connection
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if sent is None else sent)
