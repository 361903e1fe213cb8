"""Another user of this computer: programs that run as somebody else, where the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

USER = 54_321  # nobody's number
needs_another_user = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root and setpriv, to be another user",
)


def started(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Python's *program*, as another user; it may use the standard library."""
    as_stranger = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return subprocess.Popen(
        [*as_stranger, sys.executable, "-I", "-S", "-c", program, *arguments],
        cwd="/",
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def told(program: str, *arguments: str) -> str:
    """What it printed."""
    with started(program, *arguments) as running:
        printed, _ = running.communicate(timeout=300)
    return printed


ASK = """
import os, socket, sys
assert os.getuid() == USER
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=250)
got = b""
try:
    line.sendall(sys.argv[2].encode())
    while piece := line.recv(65536):
        got += piece
except ConnectionError:
    pass
print(repr(got))
""".replace("USER", str(USER))
"""Prints all that comes back from port ``argv[1]`` for ``argv[2]``."""


def asked(port: int, request: str) -> str:
    """What a stranger gets for *request*, as bytes written down."""
    return told(ASK, str(port), request).strip()
