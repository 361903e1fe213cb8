"""One page of a bucket's names: prefix, delimiter, offsets, glob, page tokens.

Order is by UTF-8 bytes; ``startOffset`` is inclusive, ``endOffset`` exclusive; a page counts objects and prefixes
together and has at most 1,000. Names under one common prefix are jumped over, not read.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field

from tpu_studio.practice.storage.globs import Glob
from tpu_studio.practice.storage.store import StoredObject

MOST = 1000
Scan = Callable[[bytes, bytes, int], list[StoredObject]]  # from (inclusive), to (exclusive), at most


class BadPageToken(ValueError):
    pass


@dataclass(frozen=True)
class Query:
    prefix: str = ""
    delimiter: str = ""
    start_offset: str = ""
    end_offset: str = ""
    most: int = MOST
    token: str = ""
    glob: Glob | None = None
    trailing_delimiter: bool = False  # an object whose name ends with the delimiter is listed besides its prefix


@dataclass
class Page:
    items: list[StoredObject] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    next_token: str = ""


def page(scan: Scan, query: Query) -> Page:
    """Raises: BadPageToken."""
    most = min(max(query.most, 1), MOST)
    prefix = query.prefix.encode()
    at = max(prefix, query.start_offset.encode(), _resume(query.token))
    stop = _behind(prefix)
    if query.end_offset:
        stop = min(stop, query.end_offset.encode())
    answer = Page()
    while True:
        batch = scan(at, stop, most + 1)
        if not batch:
            return answer
        for stored in batch:
            name = stored.name.encode()
            if name < at:
                continue  # under a common prefix that has been told already
            common = _common(stored.name, query)
            fits = query.glob is None or query.glob.fits(stored.name if common is None else common)
            shown_too = common == stored.name and query.trailing_delimiter
            if fits and len(answer.items) + len(answer.prefixes) >= most:
                answer.next_token = base64.urlsafe_b64encode(at).decode()
                return answer
            if common is None:
                if fits:
                    answer.items.append(stored)
                at = name + b"\x00"
                continue
            if fits:
                answer.prefixes.append(common)
                if shown_too:
                    answer.items.append(stored)
            at = _behind(common.encode())
        if len(batch) <= most:
            return answer


def _common(name: str, query: Query) -> str | None:
    """The common prefix that stands for *name*, up to and with the delimiter."""
    if not query.delimiter:
        return None
    cut = name.find(query.delimiter, len(query.prefix))
    return None if cut < 0 else name[: cut + len(query.delimiter)]


def _behind(prefix: bytes) -> bytes:
    """The first key behind all that start with *prefix*: no UTF-8 holds the byte 0xff."""
    return prefix + b"\xff"


def _resume(token: str) -> bytes:
    if not token:
        return b""
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadPageToken(token) from error
