"""A small HTTP server on 127.0.0.1 for the person who started it, and for nobody else on this computer.

Used by the sign-in (cloud), the practice cloud's port and its machines' ports. Who connects is looked up first
(`domain.peers`): another user's program is hung up on before a byte of it is read. A thread for each connection, a
largest number of them: when all are taken, the one that has been silent for longest makes room.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tpu_studio.domain import peers

_log = logging.getLogger(__name__)


class LoopbackServer(ThreadingHTTPServer):
    """Attributes:
    at_once: So many connections; whoever comes while each of them has a request in progress is hung up on.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int, handler: type[LoopbackHandler], at_once: int) -> None:
        """*port*: 0 = any free one."""
        self.at_once = at_once
        self._idle: dict[object, None] = {}  # without a request in progress, the longest silent first
        self._busy: set[object] = set()
        self._guard = threading.Lock()
        self._has_told = False
        super().__init__(("127.0.0.1", port), handler)

    def server_bind(self) -> None:
        """The inherited one looks the host's name up, which may take seconds."""
        if sys.platform == "win32":  # where reuse would let another program take the port as well
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def knows(self, client_address: peers.Address) -> bool | None:
        """Whether a program of this person's has connected from there; None: that cannot be told (now)."""
        return peers.is_ours(client_address, ("127.0.0.1", self.server_port))

    def lets_in(self, ours: bool | None) -> bool:
        """*ours*: whether the other end is a program of this person's; None: that cannot be told."""
        return ours is True

    # ------------------------------------------------------------------------------------------- one connection's life

    def process_request(self, request: Any, client_address: object) -> None:
        with self._guard:
            oldest = None
            full = len(self._idle) + len(self._busy) >= self.at_once
            if full and (oldest := next(iter(self._idle), None)) is not None:
                del self._idle[oldest]
            if not full or oldest is not None:
                self._idle[request] = None
        if oldest is not None:
            _break(oldest)
        if full and oldest is None:
            super().shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        ours = self.knows(client_address)
        if self.lets_in(ours):
            super().process_request_thread(request, client_address)
            return
        self.shutdown_request(request)
        if not self._has_told:
            self._has_told = True
            why = "nobody can tell whose program it is" if ours is None else "it is another user's program"
            _log.warning("port %d: a connection was refused, %s", self.server_port, why)

    def begins(self, request: object) -> None:
        """A request has come in on this connection."""
        with self._guard:
            if request in self._idle:
                del self._idle[request]
                self._busy.add(request)

    def rests(self, request: object) -> None:
        """It is answered; the connection waits for the next one."""
        with self._guard:
            if request in self._busy:
                self._busy.discard(request)
                self._idle[request] = None

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._idle.pop(request, None)
            self._busy.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Requests in progress break."""
        with self._guard:
            left = [*self._idle, *self._busy]
        for connection in left:
            _break(connection)


class LoopbackHandler(BaseHTTPRequestHandler):
    """Tells its server when a request is in progress: from its last header to its answer."""

    server: LoopbackServer

    def parse_request(self) -> bool:
        understood = super().parse_request()
        self.server.begins(self.connection)
        return understood

    def handle_one_request(self) -> None:
        super().handle_one_request()
        self.server.rests(self.connection)


def _break(connection: Any) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # closed by the other side in this moment
