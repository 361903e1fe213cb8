"""The Hugging Face Hub on this computer, as its own client meets it (huggingface_hub 2.4: `hf_api.model_info`,
`file_download.get_hf_file_metadata` and `http_get`, `utils._http.hf_raise_for_status`), over folders of a test.

`tools/hub_check.py` fetches from it with that client. `Fake.faults` has what goes wrong, by the path's end.
"""

from __future__ import annotations

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


@dataclass
class Repository:
    """*token*: who has it may read; "": everybody. *private*: nobody else hears of it."""

    folder: Path
    licence: str = "apache-2.0"
    token: str = ""
    private: bool = False
    revision: str = "a" * 40

    def siblings(self) -> list[dict[str, Any]]:
        return [self._sibling(one) for one in sorted(self.folder.iterdir()) if one.is_file()]

    def entries(self) -> list[dict[str, Any]]:
        return [_entry(one) for one in self.siblings()]

    def _sibling(self, path: Path) -> dict[str, Any]:
        data = path.read_bytes()
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        found: dict[str, Any] = {"rfilename": path.name, "size": len(data), "blobId": blob}
        if len(data) >= LARGE:
            found["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        return found


def _entry(one: dict[str, Any]) -> dict[str, Any]:
    found = {"type": "file", "path": one["rfilename"], "size": one["size"], "oid": one["blobId"]}
    large = one.get("lfs")
    return found | ({"lfs": {"oid": large["sha256"], **large}} if large else {})


@dataclass
class Fake:
    """*asked*: path and headers of each request, the other host's with its name before it."""

    address: str
    elsewhere: str
    repositories: dict[str, Repository] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def fault(self, path: str) -> str:
        for end, left in self.faults.items():
            if path.endswith(end) and left:
                return left.pop(0)
        return ""


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
        elif fault == "page":
            self._answer(200, b"<html>Welcome to this hotel</html>", {"Content-Type": "text/html"})
        elif is_storage:
            self._blob(path, fault)
        elif path.startswith("/api/models/"):
            self._info(path.removeprefix("/api/models/"), fault)
        else:
            self._resolve(path[1:], fault)

    do_HEAD = do_GET

    def _readable(self, name: str) -> Repository | None:
        repository = self.fake.repositories.get(name)
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if given and given.startswith("bad"):
            self._refuse(401, "", "Invalid credentials in Authorization header")
            return None
        if repository is None or (repository.private and given != repository.token):
            self._refuse(404 if given else 401, "RepoNotFound", "Repository not found")
            return None
        return repository

    def _info(self, rest: str, fault: str) -> None:
        name, tree_of, revision = rest.partition("/tree/")
        if not tree_of:
            name, _, revision = rest.partition("/revision/")
        if (repository := self._readable(name)) is None:
            return
        if tree_of:  # what its own client lists by
            self._answer(200, json.dumps(repository.entries()).encode(), {"Content-Type": "application/json"})
            return
        if revision not in ("", "main", repository.revision):
            self._refuse(404, "RevisionNotFound", "Invalid rev id")
            return
        tree = {
            "id": name,
            "modelId": name,
            "sha": repository.revision,
            "gated": "manual" if repository.token and not repository.private else False,
            "private": repository.private,
            "disabled": False,
            "tags": [],
            "cardData": {"license": repository.licence} if repository.licence else {},
            "siblings": repository.siblings(),
        }
        if fault == "odd":
            tree["siblings"] = [{"rfilename": "config.json"}]
        self._answer(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})

    def _resolve(self, rest: str, fault: str) -> None:
        name, _, at = rest.partition("/resolve/")
        revision, _, file = at.partition("/")
        if (repository := self._readable(name)) is None:
            return
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repository.token and given != repository.token:
            self._refuse(403 if given else 401, "GatedRepo", f"Access to model {name} is restricted.")
            return
        path = repository.folder / file
        if revision not in ("main", repository.revision) or not path.is_file():
            self._refuse(404, "EntryNotFound", "Entry not found")
            return
        (listed,) = [one for one in repository.siblings() if one["rfilename"] == file]
        headers = {"X-Repo-Commit": repository.revision}
        if "lfs" in listed:
            headers |= {"X-Linked-Size": str(listed["size"]), "X-Linked-Etag": f'"{listed["lfs"]["sha256"]}"'}
            self._answer(302, b"", headers | {"Location": f"{self.fake.elsewhere}/{name}/{file}?Signature=s"})
        else:
            self._send(path.read_bytes(), headers | {"ETag": f'"{listed["blobId"]}"'}, fault)

    def _blob(self, path: str, fault: str) -> None:
        owner, name, file = path[1:].split("/")
        self._send((self.fake.repositories[f"{owner}/{name}"].folder / file).read_bytes(), {}, fault)

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
