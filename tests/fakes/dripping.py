"""A server on loopback that answers a byte at a time, and never to the end; between two of them twenty seconds pass on
`Clock`, which the deadlines of calls go by."""

from __future__ import annotations

import socket
import threading
from types import TracebackType

BYTES = 3000
EVERY_S = 20.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Dripping:
    """Attributes:
    says: What is sent at once, before it begins to drip.
    asked: First lines of requests.
    over: The test is.
    """

    def __init__(self, clock: Clock, says: bytes = b"") -> None:
        self._clock, self.says = clock, says
        self.asked: list[str] = []
        self._listens = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listens.getsockname()[1]}"
        self.over = threading.Event()
        self._threads = [threading.Thread(target=self._serve)]

    def __enter__(self) -> Dripping:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.over.set()
        socket.create_connection(self._listens.getsockname()).close()  # it listens no more
        for thread in self._threads:
            thread.join()
        self._listens.close()

    def _serve(self) -> None:
        while True:
            peer, _ = self._listens.accept()
            if self.over.is_set():
                peer.close()
                return
            self._threads.append(threading.Thread(target=self._answer, args=(peer,)))
            self._threads[-1].start()

    def _answer(self, peer: socket.socket) -> None:
        with peer:
            peer.settimeout(10.0)
            try:
                self.drip(peer)
            except OSError:
                pass  # it had enough

    def drip(self, peer: socket.socket) -> None:
        self.hear(peer)
        peer.sendall(self.says)
        for _ in range(BYTES):
            self._clock.now += EVERY_S
            peer.sendall(b" ")
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(65536):  # a body that was still on its way; closed with it unread, the reply would be lost
            pass

    def hear(self, peer: socket.socket) -> bytes:
        """The head of a request. Raises OSError where nobody asks any more."""
        heard = b""
        while b"\r\n\r\n" not in heard:
            if not (part := peer.recv(65536)):
                raise OSError("nobody asks any more")
            heard += part
        self.asked.append(heard.partition(b"\r\n")[0].decode())
        return heard
