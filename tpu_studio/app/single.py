"""One window for each TPU_STUDIO_HOME: a second start hands its file to the first and leaves.

A local socket named after the home folder. It lies where only this person can make a name, else another one of this
computer could take it first, be handed what is opened, and keep the window from opening. On Unix a crash leaves the
socket's name behind; it is removed only after a connection to it was refused, so a living first window is never robbed
of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from tpu_studio.wire.homes import make_private

CONNECT_MS = 300
ANSWER_MS = 2000
LONGEST = 100  # bytes of a path that a socket can have, on every system


class FirstWindow(QObject):
    """The listening end. *opened* is called with the path ("" for none) of each later start."""

    def __init__(self, server: QLocalServer, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = server
        server.setParent(self)
        server.newConnection.connect(self._greet)
        self.opened: Callable[[str], None] | None = None
        self._early: list[str] = []

    def listen_with(self, opened: Callable[[str], None]) -> None:
        """Call *opened* from now on, and at once for starts that came before."""
        self.opened = opened
        early, self._early = self._early, []
        for path in early:
            opened(path)

    def close(self) -> None:
        self._server.close()

    def _greet(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.readyRead.connect(lambda s=socket: self._read(s))
            socket.disconnected.connect(socket.deleteLater)
            if socket.bytesAvailable():
                self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            return
        try:
            path = str(json.loads(bytes(socket.readLine().data()))["open"])
        except (ValueError, KeyError, TypeError):
            socket.disconnectFromServer()
            return
        socket.write(b"taken\n")
        socket.flush()
        socket.disconnectFromServer()
        if self.opened:
            self.opened(path)
        else:
            self._early.append(path)


def socket_name(home: Path) -> str | None:
    """A path in a folder of this person's own, a pipe's name on Windows (there Qt sees to it); None: there is none."""
    home = home.expanduser().resolve()
    name = f"tpu-studio-{hashlib.sha256(str(home).encode()).hexdigest()[:16]}"
    if sys.platform == "win32":
        return name
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    beside = [Path(runtime)] if os.path.isabs(runtime) else []
    fitting = (str(folder / name) for folder in (*beside, home, _temporary()) if _is_own(folder))
    return next((path for path in fitting if len(os.fsencode(path)) <= LONGEST), None)


def _temporary() -> Path:
    """For a home whose path is too long for a socket; made if it is not there. Somebody else's is not believed."""
    folder = Path(tempfile.gettempdir()) / f"tpu-studio-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700)
    return folder


def _is_own(folder: Path) -> bool:
    """Whether it is this person's, and nobody else may write into it."""
    try:
        found = os.lstat(folder)  # a link may lead somewhere else the next time
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


class Answer(Enum):
    TAKEN = "taken"
    NOBODY = "nobody"
    SILENT = "silent"  # somebody listens and does not answer: busy or hung; its name is not to be taken from it


def hand_over(home: Path, path: str) -> Answer:
    """Give *path* to a window that is open for *home*."""
    name = socket_name(home)
    if name is None:
        return Answer.NOBODY
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(CONNECT_MS):
        return Answer.NOBODY
    socket.write(json.dumps({"open": path}).encode() + b"\n")
    socket.flush()
    answered = socket.waitForReadyRead(ANSWER_MS) and bytes(socket.readLine().data()) == b"taken\n"
    socket.abort()
    return Answer.TAKEN if answered else Answer.SILENT


def become_first(home: Path, parent: QObject | None = None) -> FirstWindow | None:
    """Listen for later starts; None when the name cannot be had (then the window works without this)."""
    server = QLocalServer()
    server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
    with suppress(OSError):  # a home that cannot be made is told where it is needed
        make_private(home.expanduser())
    name = socket_name(home)
    if name is None:
        return None
    if not server.listen(name):
        QLocalServer.removeServer(name)  # left by a crash: nobody answered in hand_over
        if not server.listen(name):
            return None
    return FirstWindow(server, parent)
