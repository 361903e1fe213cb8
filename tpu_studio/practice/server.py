"""The port: HTTP/1.1 with keep-alive on loopback; who calls, what they may, and the faults of the line.

Python's own server writes header and body apart, which costs 40 ms a call (Nagle against delayed acknowledgements):
hence ``wbufsize`` and ``disable_nagle_algorithm``.

Against other local web pages: the Host must be this port on loopback (DNS rebinding), and whatever a browser sends from
a page (Origin, Sec-Fetch-Site) is refused but on the sign-in pages. Other users of this computer are hung up on
(`domain.loopback`). Against broken and hostile callers: where a request
ends is never guessed (two lengths, a length and chunks, a chunk without a plain size: 400, and the line is closed),
a body that is held in memory has a largest size, connections have a largest number, and silence has an end.
"""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from email.errors import MissingHeaderBodySeparatorDefect
from email.message import Message
from email.utils import formatdate
from typing import IO, Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from tpu_studio.domain.loopback import LoopbackHandler, LoopbackServer
from tpu_studio.practice import consumers
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.conditions import NOTHING, Target, target
from tpu_studio.practice.errors import GoogleError, error_info, log_failure
from tpu_studio.practice.principals import Principal
from tpu_studio.practice.routing import Reply, Request, Route, Router
from tpu_studio.practice.state import Record

_log = logging.getLogger(__name__)
_INVALID_TOKEN = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
_NO_TOKEN = (
    "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
DRAIN_BYTES = 1 << 20
MEMORY_BYTES = 64 << 20  # of a body that is read whole; uploads are streamed
IDLE_S, PATIENCE_S = 600.0, 60.0  # between requests; within one
CONNECTIONS = 512
_LINE_BYTES = 4096  # of a chunk's size or a trailer
_TRAILERS = 100
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(r"[0-9]{1,15}")


class PracticeServer(LoopbackServer):
    """Attributes:
    used_at: Monotonic time of the last request, for the detached server's patience.
    """

    def __init__(self, cloud: Cloud, router: Router, port: int = 0) -> None:
        self.cloud, self.router = cloud, router
        self.used_at = time.monotonic()
        super().__init__(port, _Handler, CONNECTIONS)
        cloud.url = f"http://127.0.0.1:{self.server_port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))

    def serve(self) -> None:
        self.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """Close the port and every connection; requests in progress end first or break."""
        self.shutdown()
        self.hang_up()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that hangs up is no news
            log_failure()


class _Handler(LoopbackHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "practice-cloud", ""
    wbufsize = 65536
    disable_nagle_algorithm = True
    timeout = IDLE_S
    server: PracticeServer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: requests carry no secrets into a log that nobody asked for."""

    def _serve(self) -> None:
        self.connection.settimeout(PATIENCE_S)
        try:
            self._serve_one()
        finally:
            self.connection.settimeout(IDLE_S)

    def _serve_one(self) -> None:
        try:
            split = urlsplit(self.path)
            stream = _body(self.rfile, self.headers)
        except ValueError:
            self.close_connection = True
            message = "Your client has issued a malformed or illegal request."
            self._send(Reply(400, GoogleError(400, "INVALID_ARGUMENT", message).body(self.path)), False)
            return
        self.server.used_at = time.monotonic()
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.wfile.flush()
        query = parse_qs(split.query, keep_blank_values=True)
        request = Request(self.command, split.path, query, self.headers, cast("IO[bytes]", stream))
        cut = False
        try:
            found = self.server.router.find(self.command, split.path)
            if found is None:
                self._refuse_strangers(None)
                message = f"The requested URL {split.path} was not found on this server."
                raise GoogleError(404, "NOT_FOUND", message)
            request.route, request.match = found
            self._refuse_strangers(request.route)
            self._admit(request, request.route)
            self._fail_before(request)
            reply = self._answer(request)
            cut = self._take("connection-cut", request) is not None
            if self._take("apply-then-fail", request) is not None:
                raise GoogleError(503, "UNAVAILABLE", "The service is currently unavailable.")
            if (silent := self._take("no-answer", request)) is not None:
                time.sleep(self.server.cloud.clock.real_s(float(silent["seconds"])))
                self.close_connection = True
                return
        except GoogleError as error:
            reply = Reply(error.code, error.body(split.path), error.headers)
        except OSError:
            self.close_connection = True  # the caller has hung up
            return
        except TooLarge:
            self.close_connection = True
            reply = Reply(
                413, GoogleError(413, "INVALID_ARGUMENT", "Request payload size exceeds the limit.").body(split.path)
            )
        except Exception:  # noqa: BLE001  the server's boundary: the caller gets Google's 500, the log the traceback
            log_failure()
            reply = Reply(500, GoogleError(500, "INTERNAL", "Internal error encountered.").body(split.path))
        if not stream.drain():
            self.close_connection = True
        self._send(reply, cut)
        self.server.used_at = time.monotonic()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve

    # ------------------------------------------------------------------------------------------------------ admission

    def _refuse_strangers(self, route: Route | None) -> None:
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise GoogleError(403, "PERMISSION_DENIED", "This address is not served here.")
        if route is not None and route.pages:
            return
        if "Origin" in self.headers or self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise GoogleError(403, "PERMISSION_DENIED", "Calls from web pages are refused.")

    def _admit(self, request: Request, route: Route) -> None:
        cloud = self.server.cloud
        if not route.public:
            request.principal = self._principal(request)
        consumers.admit(cloud, request, route)
        if route.permission:
            require(cloud, request, route.permission)

    def _principal(self, request: Request) -> Principal:
        cloud = self.server.cloud
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        token = token.strip() if kind.lower() == "bearer" else request.one("access_token")
        if not token:
            info = error_info("CREDENTIALS_MISSING", service="googleapis.com", method=request.call)
            raise GoogleError(401, "UNAUTHENTICATED", _NO_TOKEN, [info], headers={"WWW-Authenticate": "Bearer"})
        if any(cut(token) for cut in cloud.hangs_up):
            raise ConnectionError("this machine has no network")
        who = cloud.principals.of(token)
        ended = who is not None and who.kind == "user" and cloud.faults.armed("token-revoked") is not None
        if ended or (who is not None and who.kind == "user" and cloud.faults.take("token-expired") is not None):
            cloud.principals.revoke(token)
            who = None
        if who is None:
            info = error_info("ACCESS_TOKEN_EXPIRED", service="googleapis.com", method=request.call)
            raise GoogleError(
                401,
                "UNAUTHENTICATED",
                _INVALID_TOKEN,
                [info],
                headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/", error="invalid_token"'},
            )
        return who

    # --------------------------------------------------------------------------------------------------------- faults

    def _take(self, name: str, request: Request) -> Record | None:
        if request.path.startswith("/practice/"):
            return None
        return self.server.cloud.faults.take(name, call=request.call)

    def _fail_before(self, request: Request) -> None:
        if (slow := self._take("slow-replies", request)) is not None:
            time.sleep(float(slow["seconds"]))
        if self._take("too-many-requests", request) is not None:
            raise GoogleError(
                429,
                "RESOURCE_EXHAUSTED",
                "Quota exceeded for quota metric 'Read requests' and limit "
                "'Read requests per minute' of service 'tpu.googleapis.com'.",
                [error_info("RATE_LIMIT_EXCEEDED", service="tpu.googleapis.com")],
            )
        if self._take("server-error", request) is not None:
            raise GoogleError(500, "INTERNAL", "Internal error encountered.")
        if self._take("unavailable", request) is not None:
            raise GoogleError(503, "UNAVAILABLE", "Internal error. Please try again")
        if self._take("gateway-timeout", request) is not None:
            raise GoogleError(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.")

    def _answer(self, request: Request) -> Reply:
        assert request.route is not None
        answer = request.route.handler(request)
        if self._take("answered-twice", request) is not None:
            answer = request.route.handler(request)
        return Reply(body=answer) if isinstance(answer, dict) else answer

    # -------------------------------------------------------------------------------------------------------- sending

    def _send(self, reply: Reply, cut: bool) -> None:
        if wrong := [name for name, value in reply.headers.items() if _CONTROL.search(name + value)]:
            _log.error("a reply with headers that cannot be sent was not: %s", ", ".join(wrong))
            reply = Reply(500, GoogleError(500, "INTERNAL", "Internal error encountered.").body(self.path))
        body, headers = reply.body, {name: _as_bytes(value) for name, value in reply.headers.items()}
        if isinstance(body, dict):
            body = json.dumps(body, ensure_ascii=False, indent=1).encode() + b"\n"
            headers.setdefault("Content-Type", "application/json; charset=UTF-8")
        if reply.status >= 400 and self.server.cloud.doubts.way("date-header"):
            self.send_response_only(reply.status)
        else:
            self.send_response(reply.status)
        headers.setdefault("X-Practice-Speed", f"{self.server.cloud.clock.speed:g}")
        headers.setdefault("Cache-Control", "no-store")
        headers.setdefault("X-Content-Type-Options", "nosniff")
        chunked = False
        if isinstance(body, bytes):
            if reply.status not in (204, 304):
                headers.setdefault("Content-Length", str(len(body)))
        elif "Content-Length" not in headers:
            headers["Transfer-Encoding"], chunked = "chunked", True
        if self.close_connection:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self._send_body(body, chunked, cut)
        self.wfile.flush()
        if cut:
            self.close_connection = True

    def date_time_string(self, timestamp: float | None = None) -> str:
        """``Date`` is practice time: from it the desktop and the machines know what time it is."""
        return formatdate(self.server.cloud.clock.now() if timestamp is None else timestamp, usegmt=True)

    def _send_body(self, body: bytes | Iterator[bytes], chunked: bool, cut: bool) -> None:
        if isinstance(body, bytes):
            self.wfile.write(body[: len(body) // 2] if cut else body)
            return
        for piece in body:
            if cut:
                piece = piece[: len(piece) // 2]
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            if cut:
                return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")


def require(cloud: Cloud, request: Request, permission: str, *more: str) -> None:
    """Raises GoogleError 403 unless the caller has *permission* on the request's project, bucket or one of *more*."""
    resources = [f"projects/{request.match.get('project', request.match.get('home', ''))}", *more]
    if "bucket" in request.match:
        resources.append(f"buckets/{request.match['bucket']}")
    if cloud.principals.may(request.principal, permission, *resources, about=about(cloud, request)):
        return
    scopes = request.principal.scopes
    if "https://www.googleapis.com/auth/cloud-platform" not in scopes and not permission.startswith("storage."):
        info = error_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", service=permission.split(".")[0] + ".googleapis.com")
        message = "Request had insufficient authentication scopes."
        raise GoogleError(403, "PERMISSION_DENIED", message, [info], reason="insufficientPermissions")
    if "bucket" in request.match:
        resource = f"Google Cloud Storage bucket {request.match['bucket']}"
        message = f"{request.principal.email} does not have {permission} access to the {resource}. Permission "
        message += f"'{permission}' denied on resource (or it may not exist)."
        raise GoogleError(403, "PERMISSION_DENIED", message)
    target = unquote(request.path.partition("/projects/")[2])
    target = f"projects/{target}" if target else resources[0]
    info = error_info("IAM_PERMISSION_DENIED", "iam.googleapis.com", permission=permission, resource=target)
    message = f"Permission '{permission}' denied on '{target}' (or it may not exist)."
    raise GoogleError(403, "PERMISSION_DENIED", message, [info])


def about(cloud: Cloud, request: Request) -> Target:
    """What conditions of grants see of what *request* is about."""
    seen = target(request.match)
    way = cloud.doubts.way("compute-condition") if seen.name else ""
    if way == "not-in-tests":
        return seen if not request.path.endswith("/testIamPermissions") else NOTHING
    if way == "absent-name-denied":
        return seen if cloud.db.get("compute-instance", seen.name) is not None else NOTHING
    return NOTHING if way else seen


class _Body(io.RawIOBase):
    """A request's body, in pieces; stops where the request ends, so that the next one can follow."""

    def __init__(self, source: Any, length: int | None) -> None:
        self._source, self._left, self._chunked, self._ended = source, length or 0, length is None, length == 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if size < 0 and self._left > MEMORY_BYTES:
            raise TooLarge
        pieces, wanted, held = [], size, 0
        while wanted != 0 and not self._ended:
            if self._chunked and self._left == 0:
                self._next_chunk()
                continue
            piece = self._source.read(min(self._left, MEMORY_BYTES if wanted < 0 else wanted))
            if not piece:
                raise ConnectionError("the request ended early")
            pieces.append(piece)
            self._left -= len(piece)
            held += len(piece)
            if size < 0 and held > MEMORY_BYTES:
                raise TooLarge
            wanted = wanted if wanted < 0 else wanted - len(piece)
            if self._left == 0:
                if self._chunked:
                    if self._source.readline(_LINE_BYTES) not in (b"\r\n", b"\n"):
                        raise ConnectionError("a chunk is longer than it says")
                else:
                    self._ended = True
        return b"".join(pieces)

    def _next_chunk(self) -> None:
        line = self._source.readline(_LINE_BYTES)
        size = line.split(b";")[0].strip()
        if not line.endswith(b"\n") or not _CHUNK_SIZE.fullmatch(size):
            raise ConnectionError("a chunk without its size")
        self._left = int(size, 16)
        if self._left == 0:
            for _ in range(_TRAILERS):
                if not self._source.readline(_LINE_BYTES).strip():
                    self._ended = True
                    return
            raise ConnectionError("too many trailers")

    def drain(self) -> bool:
        """Read what the handler left; False: too much, close the connection."""
        try:
            if not self._ended:
                self.read(DRAIN_BYTES)
        except OSError:
            return False
        return self._ended


def _as_bytes(value: str) -> str:
    """What `send_header` writes as *value* in UTF-8: it knows Latin-1 only."""
    return value.encode("utf-8", "replace").decode("latin-1")


class TooLarge(Exception):
    """A body that would have to be held in memory whole."""


def _body(source: object, headers: Message) -> _Body:
    """Raises ValueError: it cannot be told for certain where the request ends (RFC 9112, 6.3)."""
    if any(isinstance(defect, MissingHeaderBodySeparatorDefect) for defect in headers.defects):
        raise ValueError("a line among the headers that is none")
    encodings, lengths = headers.get_all("Transfer-Encoding", []), headers.get_all("Content-Length", [])
    if encodings:
        if lengths or [one.strip().lower() for one in encodings] != ["chunked"]:
            raise ValueError("two ways to tell the length")
        return _Body(source, None)
    if len(set(lengths)) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0].strip())):
        raise ValueError("a length that is none")
    return _Body(source, int(lengths[0]) if lengths else 0)
