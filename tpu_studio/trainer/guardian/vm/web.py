"""HTTP with a timeout on every call, over connections that are kept open; nothing is sent through a proxy.

Every call that the guardian makes may be made twice (names, preconditions and whole-object writes see to that), so a
connection that went stale is opened anew and the call repeated, once.
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from tpu_studio.wire.secrets import short

BODY_AT_MOST = 32 << 20
"""Bytes of an answer that is held in memory; the longest that is asked for is a range of an events file."""
_TIMEOUT_S = 30.0
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


class Unreachable(OSError):
    """No answer: no route, refused, cut off, timed out."""


class TooLong(Unreachable):
    """An answer that is longer than anything that was asked for: it is not read, whoever put it there."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = b""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def transient(self) -> bool:
        return self.status in _TRANSIENT

    def json(self) -> dict[str, Any]:
        """The object in the body; {} when it is none."""
        try:
            found = json.loads(self.body or b"{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def said(self) -> str:
        """What the other side said, short; for people."""
        error = self.json().get("error")
        text = (
            str(error.get("message", "")) if isinstance(error, dict) else self.body[:10_000].decode("utf-8", "replace")
        )
        return short(f"{self.status} {text}".strip(), 500)


class Refused(Exception):
    """A definite answer that is not what was asked for."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.said())
        self.status = reply.status


class Web:
    """One thread uses one connection to each host."""

    def __init__(self) -> None:
        self._local = threading.local()

    def call(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_s: float = _TIMEOUT_S,
        into: IO[bytes] | None = None,
    ) -> Reply:
        """One request and its reply. With *into*, the body of a good reply (2xx) is written there.

        Raises:
            Unreachable: No answer, or cut off in the middle of it. The call may have been carried out.
        """
        for fresh in (False, True):
            connection, used = self._connection(url, timeout_s, fresh)
            try:
                return self._once(connection, method, url, headers or {}, body, into)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if isinstance(error, TooLong):
                    raise
                if fresh or not used or isinstance(error, TimeoutError):
                    raise Unreachable(f"{type(error).__name__}: {error}") from error
        raise AssertionError("not reached")

    def _once(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        into: IO[bytes] | None,
    ) -> Reply:
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        sent = {"Content-Length": str(len(body)), **headers} if body or method in ("POST", "PUT", "PATCH") else headers
        connection.request(method, target or "/", body or None, dict(sent))
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        if into is None or not 200 <= answer.status < 300:
            body = answer.read(BODY_AT_MOST + 1)
            if len(body) > BODY_AT_MOST:
                connection.close()
                raise TooLong(f"the answer has more than {BODY_AT_MOST} bytes")
            return Reply(answer.status, found, body)
        while chunk := answer.read(1 << 20):
            into.write(chunk)
        return Reply(answer.status, found)

    def _connection(self, url: str, timeout_s: float, fresh: bool) -> tuple[http.client.HTTPConnection, bool]:
        """The connection to the host of *url*, and whether it has been used before."""
        pool: dict[tuple[str, str], http.client.HTTPConnection] = self._local.__dict__.setdefault("pool", {})
        parts = urlsplit(url)
        key = (parts.scheme, parts.netloc)
        connection = pool.get(key)
        if connection is None or fresh or connection.sock is None:
            if connection is not None:
                connection.close()
            if parts.scheme == "https":
                connection = http.client.HTTPSConnection(
                    parts.netloc, timeout=timeout_s, context=ssl.create_default_context()
                )
            else:
                connection = http.client.HTTPConnection(parts.netloc, timeout=timeout_s)
            pool[key] = connection
            return connection, False
        connection.sock.settimeout(timeout_s)
        return connection, True


@dataclass
class Backoff:
    """Pauses that double from *first_s* to *most_s*, none exactly like another."""

    first_s: float = 0.5
    most_s: float = 30.0
    _next: float = field(default=0.0)

    def pause(self) -> float:
        self._next = min(self.most_s, self._next * 2 or self.first_s)
        return self._next * random.uniform(0.7, 1.3)

    def reset(self) -> None:
        self._next = 0.0


def persist(
    what: Callable[[], object], until: Callable[[], bool], *, most_s: float = 15.0, stubborn: bool = False
) -> Any:
    """The value of *what()*, tried again while nobody answers, as long as *until()* is false.

    Args:
        stubborn: Try again also after a definite no: it may be lifted, and what is at stake is worth the wait.

    Raises:
        Unreachable: Nobody answered in time. Refused passes through at once, unless it is a passing one.
    """
    backoff = Backoff(most_s=most_s)
    while True:
        try:
            return what()
        except Refused as error:
            if not (stubborn or error.status in _TRANSIENT) or until():
                raise
        except Unreachable:
            if until():
                raise
        time.sleep(backoff.pause())
