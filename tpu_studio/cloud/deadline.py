"""An end for each call as a whole: a peer that sends a byte every twenty seconds passes every timeout of a socket.

`Call` is a call's time. `during` holds it for this thread, `Adapter` gives a session connections that keep to it: a
proxy's answer, sending, the reply's header and its body, by a socket timeout that shrinks; no thread watches. Reaching
a host has its own limit, ten seconds for each of its addresses, and does not count: where some are dead, it works.
"""

from __future__ import annotations

import sys
import threading
from http.client import BadStatusLine, HTTPResponse
from socket import SocketIO, socket
from time import monotonic
from typing import Any, cast

from requests import Response
from requests.adapters import HTTPAdapter
from urllib3 import connection, connectionpool

REST_S = 30.0
"""For all of a call but its longest silence, which the caller's read timeout is: sending, and a reply of Google's lists
(some hundred KiB) on a slow line. So 60 s by default, 90 s for a create, which may be silent for 60."""
LEAST_PER_S = 8 * 2**10
"""Bytes a second (64 kbit/s) with which a long body, sent or read in pieces, may go on for as long as it has to."""
_MOST_HEARD = 20  # times that a peer says "100 Continue" before its status
_PIECE = 16 * 2**10  # one TLS record
_here = threading.local()


class Call:
    """Args:
    silence_s: The longest that the peer may say nothing at all.
    by_rate: The reply is read in pieces, and large: it may take as long as it comes with LEAST_PER_S.
    """

    __slots__ = ("_ends", "_whole_s", "by_rate")

    def __init__(self, silence_s: float, by_rate: bool) -> None:
        self._whole_s, self.by_rate = silence_s + REST_S, by_rate
        self._ends = monotonic() + self._whole_s

    def left(self, since: float = 0.0) -> float:
        """Seconds. What passed *since* then does not count. Raises TimeoutError where there are none."""
        now = monotonic()
        if since:
            self._ends += now - since
        left = self._ends - now
        if left <= 0.0:
            raise TimeoutError(f"not over after {self._whole_s:g} s")
        return left

    def moved(self, count: int) -> float:
        """*count* bytes went the right way; never does that give more time than a call has at its beginning. When."""
        now = monotonic()
        self._ends = min(self._ends + count / LEAST_PER_S, now + self._whole_s)
        return now


class during:
    """What this thread asks meanwhile is one call; in the course of another it is that one's.

    Args:
        timeout: As `requests` takes it: seconds, or (to connect, of silence).
        by_rate: See `Call`.
    """

    __slots__ = ("_by_rate", "_outer", "_timeout")

    def __init__(self, timeout: Any, by_rate: bool) -> None:
        self._timeout, self._by_rate = timeout, by_rate

    def __enter__(self) -> None:
        self._outer = getattr(_here, "call", None)
        if self._outer is None:
            timeout = self._timeout
            _here.call = Call(timeout[1] if isinstance(timeout, tuple) else timeout, self._by_rate)

    def __exit__(self, *_: object) -> None:
        _here.call = self._outer


class _Kept:
    """Of a connection: what it sends and reads for the `Call` of its thread."""

    sock: Any
    timeout: Any

    def _new_conn(self) -> socket:
        begun = monotonic()
        made: socket = super()._new_conn()  # type: ignore[misc]
        try:
            _here.call.left(since=begun)
        except TimeoutError:
            made.close()
            raise
        return made

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        call: Call = _here.call
        left = memoryview(data)
        while left:
            if (seconds := call.left()) < self.timeout:
                self.sock.settimeout(seconds)
            piece, left = left[:_PIECE], left[_PIECE:]
            super().send(piece)  # type: ignore[misc]
            call.moved(len(piece))

    def _reply(self, sock: Any, *args: Any, **more: Any) -> HTTPResponse:
        reply: Any = _Reply(sock, *args, **more)
        file = reply.fp.raw
        file.__class__ = _Arriving  # the socket's own, which it counts to stay open; one of ours besides costs the more
        file.call, file.sock = _here.call, sock
        file.silence_s = file.set_s = sock.gettimeout()
        return cast(HTTPResponse, reply)

    response_class: Any = _reply


class _Reply(HTTPResponse):
    _heard = 0

    def _read_status(self) -> tuple[str, int, str]:
        self._heard += 1
        if self._heard > _MOST_HEARD:
            raise BadStatusLine("100 Continue, without end")
        return super()._read_status()  # type: ignore[misc,no-any-return]

    def begin(self) -> None:
        super().begin()
        if isinstance(arriving := getattr(self.fp, "raw", None), _Arriving):
            arriving.is_body = True


def bound(reply: Response, most: int) -> None:
    """Of the body of a reply (`requests`), whose header has come, no more than *most* bytes are taken: pieces that say
    nothing, and what stands behind the last of them, reach no reader that could count it or give it up. TimeoutError
    is raised then."""
    arriving = getattr(getattr(getattr(reply.raw, "_fp", None), "fp", None), "raw", None)
    if isinstance(arriving, _Arriving):
        arriving.most = most


class _Arriving(SocketIO):
    """What comes in for *call*, which goes on after `during` where the body is read piece by piece. What the reader
    does between two pieces, a slow disk's writing perhaps, does not count then."""

    call: Call
    sock: Any
    silence_s: float
    set_s: float
    came_at = 0.0
    is_body = False
    most = sys.maxsize

    def readinto(self, into: object) -> int:
        seconds = min(self.call.left(self.came_at), self.silence_s)
        if seconds != self.set_s:
            self.sock.settimeout(seconds)
            self.set_s = seconds
        count: int = self.sock.recv_into(into)
        self.most -= count
        if self.most < 0:
            raise TimeoutError("it goes on beyond its end")
        if self.call.by_rate and self.is_body:
            self.came_at = self.call.moved(count)
        return count


# By the names that people know from errors.


class HTTPConnection(_Kept, connection.HTTPConnection):
    pass


class HTTPSConnection(_Kept, connection.HTTPSConnection):
    pass


class HTTPConnectionPool(connectionpool.HTTPConnectionPool):
    ConnectionCls = HTTPConnection


class HTTPSConnectionPool(connectionpool.HTTPSConnectionPool):
    ConnectionCls = HTTPSConnection


_POOLS = {"http": HTTPConnectionPool, "https": HTTPSConnectionPool}


class Adapter(HTTPAdapter):
    """For sessions whose `send` is `during` a call."""

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: Any, **more: object) -> object:
        manager = super().proxy_manager_for(proxy, **more)
        if not str(proxy).lower().startswith("socks"):  # those have connections of their own, and are not offered
            manager.pool_classes_by_scheme = _POOLS
        return manager
