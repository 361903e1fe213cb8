"""A log on disk, or by a pipe, for `domain.explaining`: of any length, no more than its limit in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tpu_studio.domain.explaining import LARGEST, LogText, log_text
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.owncode import in_a_share
from tpu_studio.wire.plainfiles import plainly

_HALF = LARGEST // 2
_PIECE = 1 << 20


def read_log(path: Path) -> LogText:
    """Of a file larger than the limit its first and last half.

    Raises:
        BadInput: ``log-unreadable``, ``log-binary``, ``log-in-a-share``.
    """
    if in_a_share(path):
        raise BadInput("log-in-a-share", file=str(path))
    try:
        if not path.is_file():  # a pipe or a device may never end
            raise IsADirectoryError(0, "it is no file", str(path))
        with open(path, "rb", opener=plainly) as stream:
            first = stream.read(LARGEST)
            size = stream.seek(0, 2)
            if size <= LARGEST:
                return log_text(first)
            stream.seek(-_HALF, 2)
            return log_text(first[:_HALF] + b"\n" + stream.read(_HALF), size=size)
    except OSError as error:
        raise BadInput("log-unreadable", file=str(path), raw=error.strerror or str(error)) from error


def read_stream(read: Callable[[int], bytes]) -> LogText:
    """All that *read* gives until it gives nothing.

    Raises:
        BadInput: ``log-binary``.
    """
    size, first, last = 0, bytearray(), bytearray()
    while piece := read(_PIECE):
        size += len(piece)
        room = LARGEST - len(first)
        first += piece[:room]
        last += piece[room:]
        del last[:-_HALF]
    if size <= LARGEST:
        return log_text(bytes(first))
    return log_text(bytes(first[:_HALF]) + b"\n" + bytes((first[_HALF:] + last)[-_HALF:]), size=size)
