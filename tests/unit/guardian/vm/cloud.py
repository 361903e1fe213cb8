"""A small cloud on loopback, as much of it as the guardian on a machine speaks to, and a machine that runs it.

Metadata server, Storage JSON API (media, resumable, ranges, list, preconditions), queued resources, instances, Resource
Manager, Cloud Tasks. What a test wants to go wrong it says with `rules`: functions that get (method, path) and return a
status, "cut", or None. A call that Google's discovery documents do not know fails the test (`unheard_of`).
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.google_methods import what_is_wrong
from tests.fakes.plans import plan
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.wire.plan import dumps

ROOT = Path(__file__).resolve().parents[4]
FAKE = ROOT / "tests" / "fakes" / "trainer.py"
BUCKET, PREFIX, NAME = "tpu-studio-0123456789ab", "runs/digits-k3f7/", "ts-digits-k3f7-a1-t1"
TOKEN = "ya29.planted-secret"
QUEUE = "projects/p/locations/us-west4/queues/tpu-studio"
Rule = Callable[[str, str], "int | str | None"]

LOCKED = {"lock": "jax", "uv": {"version": "0.13.9", "sha256": "ab" * 32}}
"""Of an environment in ts-config."""


class Cloud:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.created: list[str] = []
        self.tasks: dict[str, dict[str, Any]] = {}
        self.deletes: list[str] = []
        self.metadata: dict[str, str] = {}
        self.rules: list[Rule] = []
        self.calls: list[tuple[str, str]] = []
        self.speed: float | None = None
        self.ahead_s = 0.0
        self.preempted = False
        self.unheard_of: list[str] = []
        self.granted = {"tpu.nodes.delete", "compute.instances.delete"}
        """What the machine's own account may do."""
        self.forced = 200
        self.instance: dict[str, Any] = {}
        """What else an instance of Compute Engine tells of itself."""
        self.changed = threading.Condition()
        self.create_time = time.time()
        self._sessions: dict[str, tuple[str, bytearray]] = {}
        cloud = self

        class Handler(_Handler):
            pass

        Handler.cloud = cloud
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # so that closing it waits for them
        self._closing = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._accepting = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._accepting.start()

    def close(self) -> None:
        self._closing = True
        self._server.shutdown()
        self._accepting.join()
        self._server.server_close()

    def bundle(self, *extra: tuple[tarfile.TarInfo, bytes], **plan_options: Any) -> tuple[bytes, str]:
        """A bundle with the fake trainer in the place of the real one."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for name, data in (
                ("plan.json", dumps(plan(**plan_options))),
                ("tpu_studio/__init__.py", b""),
                ("tpu_studio/resources/vm/jax.lock.txt", b""),
                ("tpu_studio/trainer/__init__.py", b""),
                ("tpu_studio/trainer/__main__.py", FAKE.read_bytes()),
            ):
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            for entry, data in extra:
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        data = buffer.getvalue()
        return data, hashlib.sha256(data).hexdigest()

    def config(self, bundle: tuple[bytes, str] | None = None, **changes: Any) -> dict[str, Any]:
        data, sha = bundle or self.bundle()
        attempt = int(changes.get("attempt", 1))
        name = f"ts-digits-k3f7-a{attempt}-t1"
        self.objects[f"{PREFIX}job/bundle-{sha}.tar.gz"] = data
        config = {
            "format": 1,
            "run": "digits-k3f7",
            "attempt": attempt,
            "try": 1,
            "name": name,
            "install": "me",
            "backend": "tpu",
            "resource": f"v2/projects/p/locations/us-west4-a/queuedResources/{name}?force=true",
            "node": f"v2/projects/p/locations/us-west4-a/nodes/{name}",
            "project": "p",
            "zone": "us-west4-a",
            "region": "us-west4",
            "workers": 1,
            "chips": 8,
            "bucket": BUCKET,
            "prefix": PREFIX,
            "endpoints": {
                "storage": self.url,
                "tpu": self.url,
                "compute": self.url,
                "tasks": f"{self.url}/cloudtasks",
                "resourcemanager": f"{self.url}/resources",
            },
            "outside_stops": {
                "queue": QUEUE,
                "account": "stopper@p.iam.gserviceaccount.com",
                "margin_s": 600,
            },
            "lease_s": 14400,
            "usd_per_hour": 1.2,
            "spent_usd": 0.0,
            "money_usd": 5.0,
            "idle_minutes": 15,
            "silence_s": 900,
            "bundle": {"object": f"{PREFIX}job/bundle-{sha}.tar.gz", "sha256": sha, "bytes": len(data)},
            "data": [],
            "environment": {"framework": "jax", "python": "3.12", **LOCKED},
            "trust_code": False,
            "guardian_sha256": "",
        }
        config.update(changes)
        self.metadata["ts-config"] = json.dumps(config)
        return config

    # what is in the bucket

    def ranges(self, attempt: int = 1) -> list[tuple[int, bytes]]:
        folder = f"{PREFIX}events/a{attempt:04d}-w000/"
        return [
            (int(Path(name).stem), data)
            for name, data in sorted(self.objects.items())
            if name.startswith(folder) and re.fullmatch("[0-9]{12}", Path(name).stem)
        ]

    def events(self, attempt: int = 1) -> list[dict[str, Any]]:
        """What a reader has that appends range after range; fails on a gap, an overlap or a torn line."""
        whole = b""
        for offset, data in self.ranges(attempt):
            assert offset == len(whole), f"range at {offset}, but {len(whole)} bytes so far"
            assert data.endswith(b"\n")
            whole += data
        return [json.loads(line) for line in whole.splitlines()]

    def said(self, kind: str, attempt: int = 1) -> list[dict[str, Any]]:
        return [event for event in self.events(attempt) if event["kind"] == kind]

    def put(self, name: str, data: bytes) -> None:
        self.objects[PREFIX + name] = data

    def wait(self, condition: Callable[[], Any], what: str = "", patience_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + patience_s
        while not condition():
            with self.changed:
                self.changed.wait(0.1)
            assert time.monotonic() < deadline, what or "waited in vain"

    def note(self) -> None:
        with self.changed:
            self.changed.notify_all()

    # the services

    def answer(self, method: str, url: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(url)
        path, query = parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}
        if path.startswith("/computeMetadata/v1/"):
            assert headers["Metadata-Flavor"] == "Google"
            return self._metadata(path.removeprefix("/computeMetadata/v1/"), query)
        assert headers["Authorization"] == f"Bearer {TOKEN}"
        if "/storage/v1/b/" in path or path.startswith("/session/"):
            return self._storage(method, path, query, headers, body)
        service, path = self._service(path)
        if wrong := what_is_wrong(service, method, path, query, body):
            self.unheard_of.append(wrong)
            return 404, {}, b"<html>not found</html>"
        if service == "tasks":
            return self._tasks(method, path.removeprefix("/v2/"), body)
        if path.rpartition("/")[2].rpartition(":")[2] == "testIamPermissions":
            held = [one for one in json.loads(body)["permissions"] if one in self.granted]
            return 200, {}, json.dumps({"permissions": held} if held else {}).encode()
        if method == "DELETE":
            self.deletes.append(url)
            refused = {"error": {"code": self.forced, "message": "no"}}
            return self.forced, {}, json.dumps(refused if self.forced >= 300 else {"name": "operation"}).encode()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.create_time))
        about: dict[str, Any] = {"createTime": f"{stamp}.123456789Z"}
        if service == "compute":
            about = {"creationTimestamp": f"{stamp}.123Z", **self.instance}
        return 200, {}, json.dumps(about).encode()

    @staticmethod
    def _service(path: str) -> tuple[str, str]:
        """Whose path it is, and the path as Google has it."""
        for service, prefix in (("tasks", "/cloudtasks"), ("resourcemanager", "/resources")):
            if path.startswith(f"{prefix}/"):
                return service, path.removeprefix(prefix)
        return ("compute" if path.startswith("/compute/") else "tpu"), path

    def _metadata(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("instance/attributes/"):
            value = self.metadata.get(path.rpartition("/")[2])
            return (404, {}, b"") if value is None else (200, {}, value.encode())
        if path == "instance/service-accounts/default/token":
            return 200, {}, json.dumps({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}).encode()
        if path == "instance/preempted":
            until = time.monotonic() + 1.0
            while query.get("wait_for_change") and not (self.preempted or self._closing) and time.monotonic() < until:
                time.sleep(0.02)
            return 200, {"ETag": "b" if self.preempted else "a"}, b"TRUE" if self.preempted else b"FALSE"
        return 200, {}, b"1"

    def _storage(
        self, method: str, path: str, query: dict[str, str], headers: Any, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/session/"):
            name, got = self._sessions[path]
            span = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)", headers["Content-Range"])
            assert span is not None
            if span[1] is not None and int(span[1]) == len(got):
                got += body
            if len(got) < int(span[3]):
                return 308, {"Range": f"bytes=0-{len(got) - 1}"} if got else {}, b""
            return self._stored(name, bytes(got), query)
        if path.startswith("/upload/"):
            if query["uploadType"] == "resumable":
                session = f"/session/{len(self._sessions)}"
                self._sessions[session] = (query["name"], bytearray())
                return 200, {"Location": self.url + session}, b""
            return self._stored(query["name"], body, query)
        assert path.startswith(f"/storage/v1/b/{BUCKET}/o")
        name = unquote(path.removeprefix(f"/storage/v1/b/{BUCKET}/o").lstrip("/"))
        if not name:
            items = [
                {"name": each, "size": str(len(self.objects[each]))}
                for each in sorted(self.objects)
                if each.startswith(query["prefix"]) and each >= query.get("startOffset", "")
            ]
            return 200, {}, json.dumps({"items": items} if items else {}).encode()
        if name not in self.objects:
            return 404, {}, b'{"error":{"code":404,"message":"No such object"}}'
        if method == "DELETE":
            del self.objects[name]
            return 204, {}, b""
        data = self.objects[name]
        if span := re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("Range") or ""):
            if int(span[1]) >= len(data):
                return 416, {"Content-Range": f"bytes */{len(data)}"}, b""
            part = data[int(span[1]) : int(span[2]) + 1]
            return 206, {"Content-Range": f"bytes {span[1]}-{int(span[1]) + len(part) - 1}/{len(data)}"}, part
        return 200, {}, data

    def _stored(self, name: str, data: bytes, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if query.get("ifGenerationMatch") == "0" and name in self.objects:
            return 412, {}, b""
        self.objects[name] = data
        self.created.append(name)
        md5 = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
        return 200, {}, json.dumps({"name": name, "md5Hash": md5}).encode()

    def _tasks(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if method == "POST":
            task = json.loads(body)["task"]
            if task["name"] in self.tasks:
                return 409, {}, b""
            self.tasks[task["name"]] = task
            return 200, {}, json.dumps(task).encode()
        if path == f"{QUEUE}/tasks":
            return 200, {}, json.dumps({"tasks": [{"name": name} for name in self.tasks]}).encode()
        if path not in self.tasks:
            return 404, {}, b""
        if method == "DELETE":
            del self.tasks[path]
        return 200, {}, b"{}"


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A machine that is killed lets go of its connections as it likes."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    cloud: Cloud
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # whoever sent it was killed amid it: nothing is stored of half a request
            self.close_connection = True
            return
        cloud = self.cloud
        cloud.calls.append((self.command, self.path))
        ruled = next((found for rule in cloud.rules if (found := rule(self.command, self.path)) is not None), None)
        if ruled == "cut":
            self.close_connection = True
            cloud.note()
            return
        if ruled == "apply-then-cut":
            cloud.answer(self.command, self.path, self.headers, body)
            self.close_connection = True
            cloud.note()
            return
        if isinstance(ruled, int):
            status, headers, data = ruled, {}, json.dumps({"error": {"code": ruled, "message": "as ruled"}}).encode()
        else:
            status, headers, data = cloud.answer(self.command, self.path, self.headers, body)
        lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(data)}"]
        speed = cloud.speed or 1.0
        now = cloud.create_time + (time.time() - cloud.create_time) * speed + cloud.ahead_s
        lines += [f"Date: {formatdate(now, usegmt=True)}"]
        lines += [f"X-Practice-Speed: {cloud.speed}"] if cloud.speed else []
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        cloud.note()

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Vm:
    """A machine: its disk, and the guardian on it, started again and again as the startup script would."""

    def __init__(self, cloud: Cloud, root: Path, trainer: str = "--steps 20", **ready: str) -> None:
        self.cloud, self.root = cloud, root
        root.mkdir(parents=True, exist_ok=True)
        (root / "ready.json").write_text(
            json.dumps({"python": sys.executable, "env": {"FAKE_TRAINER": trainer, **ready}})
        )
        self.process: subprocess.Popen[bytes] | None = None
        self.more: dict[str, str] = {}
        """What else stands in its environment."""

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "PYTHONPATH": str(ROOT),
            "GCE_METADATA_HOST": urlsplit(self.cloud.url).netloc,
            "TPU_STUDIO_VM_ROOT": str(self.root),
            "PYTHONFAULTHANDLER": "1",  # `abort`
            **self.more,
        }

    def boot(self, *argv: str) -> Vm:
        argv = argv or (sys.executable, "-m", "tpu_studio.trainer.guardian", "vm")
        with open(self.root / "serial.log", "ab") as log:
            self.process = subprocess.Popen(
                argv, env=self.environment, cwd=self.root, stdout=log, stderr=log, start_new_session=True
            )
        return self

    def kill(self) -> None:
        """At once, with all that it started (the trainer goes by the kernel's hand)."""
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()

    def abort(self) -> None:
        """So that its log tells where each of its threads stands."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()

    @property
    def log(self) -> str:
        return (self.root / "serial.log").read_text()

    def forced(self) -> list[str]:
        return [url for url in self.cloud.deletes if "force=true" in url]

    def to_its_deletion(self, patience_s: float = PATIENCE_S) -> None:
        try:
            self.cloud.wait(self.forced, f"it has not deleted itself: {self.root}", patience_s)
        except AssertionError:
            self.abort()
            raise AssertionError(self.log) from None
        finally:
            self.kill()
