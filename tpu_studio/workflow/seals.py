"""Whose word a line of a desktop's events is: its own computer knows it by a seal, never by the name it stands under.

A run's bucket has the events of each desktop under the name of its installation. There a machine writes, too, and
whoever else has its account, under any name. So a line is sealed as it is written, with a key that never leaves the
home: over the run, the place in the file and the line. What comes back from a bucket to a disk that has lost it counts
as said by this computer only where the seal is its own; another computer's words are never asked for one, and count
only where that run was taken over from it.
"""

from __future__ import annotations

import hmac
import re

from tpu_studio.wire.events import SEAL

_MARK = b',"%s":"' % SEAL.encode()
_SEALED = re.compile(rb'(.*),"%s":"([0-9a-f]{64})"\}\n' % SEAL.encode(), re.DOTALL)


def sealed(key: bytes, run: str, at: int, line: bytes) -> bytes:
    """*line*, an encoded event with its newline, with the seal of who has *key*.

    Args:
        at: Where it begins in its file, bytes.
    """
    bare = line.removesuffix(b"}\n")
    return b'%s,"%s":"%s"}\n' % (bare, SEAL.encode(), _seal(key, run, at, bare).encode())


def is_sealed(key: bytes, run: str, at: int, line: bytes) -> bool:
    parts = _SEALED.fullmatch(line) if key else None
    return parts is not None and hmac.compare_digest(parts[2], _seal(key, run, at, parts[1]).encode())


def own(key: bytes, run: str, at: int, data: bytes) -> bytes:
    """Of *data*, which may stand at *at*, as much as who has *key* has written, up to the last such line; what stands
    between two of them (a line that a crash has torn) as blanks, which say nothing."""
    kept, behind = bytearray(), 0
    while (mark := data.find(_MARK, behind)) >= 0:  # only lines that have a seal: the rest may be megabytes of ends
        begin, behind = data.rfind(b"\n", 0, mark) + 1, data.find(b"\n", mark) + 1
        if not behind:
            break
        if is_sealed(key, run, at + begin, line := data[begin:behind]):
            between = begin - len(kept)
            kept += (b" " * (between - 1) + b"\n" if between else b"") + line
    return bytes(kept)


def limits_key(key: bytes, run: str) -> str:
    """Hex; with which who has *key* seals changes of the limits of *run* for its machines (`wire.controls.seal`)."""
    return hmac.new(key, b"limits of %s" % run.encode(), "sha256").hexdigest()


def _seal(key: bytes, run: str, at: int, bare: bytes) -> str:
    return hmac.new(key, b"%s %d %s" % (run.encode(), at, bare), "sha256").hexdigest()
