"""A small HTTP server on 127.0.0.1: a thread for each connection, a largest number of them, and it can hang up on all.

Used by the sign-in (cloud) and by the practice cloud's port.
"""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackServer(ThreadingHTTPServer):
    """Attributes:
    at_once: So many connections; whoever comes when all are taken is hung up on.
    """

    daemon_threads = True

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler], at_once: int) -> None:
        """*port*: 0 = any free one."""
        self.at_once = at_once
        self._open: set[Any] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            full = len(self._open) >= self.at_once
            if not full:
                self._open.add(request)
        if full:
            super().shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Requests in progress break."""
        with self._guard:
            left = list(self._open)
        for connection in left:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed by the other side in this moment
