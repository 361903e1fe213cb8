"""Range and Content-Range as Cloud Storage reads them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

CHUNK = 256 * 1024  # bytes: what a resumable upload keeps are multiples of this, but for its end

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


class Unsatisfiable(ValueError):
    """No byte of the object lies in the range: 416."""


class BadContentRange(ValueError):
    pass


@dataclass(frozen=True)
class ContentRange:
    """What a PUT of a resumable upload carries. ``start`` None: a question, no bytes. ``total`` None: not known yet."""

    start: int | None
    stop: int  # exclusive; 0 for a question
    total: int | None

    @property
    def is_last(self) -> bool:
        return self.total is not None and (self.start is None or self.stop == self.total)


def wanted(header: str, size: int) -> tuple[int, int] | None:
    """The half-open byte range that a Range header asks of *size* bytes; None: all of it (absent or not understood).

    Raises:
        Unsatisfiable: it starts behind the end, or asks for the last 0 bytes.
    """
    found = _RANGE.fullmatch(header.strip().replace(" ", ""))
    if found is None or found[0] == "bytes=-":
        return None
    first, last = found[1], found[2]
    if not first:
        if int(last) == 0 or size == 0:
            raise Unsatisfiable(header)
        return max(0, size - int(last)), size
    start, stop = int(first), min(int(last) + 1, size) if last else size
    if last and int(last) < int(first):
        return None
    if start >= size:
        raise Unsatisfiable(header)
    return start, stop


def carried(header: str) -> ContentRange:
    """Raises: BadContentRange."""
    found = _CONTENT_RANGE.fullmatch(header.strip())
    if found is None:
        raise BadContentRange(header)
    total = None if found[3] == "*" else int(found[3])
    if found[1] is None:
        return ContentRange(None, 0, total)
    start, stop = int(found[1]), int(found[2]) + 1
    if stop <= start or (total is not None and stop > total):
        raise BadContentRange(header)
    return ContentRange(start, stop, total)
