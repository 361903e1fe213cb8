"""Taking a multipart/related upload apart while it arrives: JSON metadata first, then the media.

Two dialects are on the wire (``reference``: measured with both clients): google-cloud-storage ends lines with CRLF;
the gcloud command writes its boundary in single quotes in the header, without them in the body, and ends lines with a
bare LF. The first line of the body tells which it is, so that a CR which ends the media stays media.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

METADATA_LIMIT = 1 << 20  # bytes of one part's headers, and of the JSON part
TAIL = 80  # bytes looked at behind a boundary: its two dashes, padding, the line's end

_BOUNDARY = re.compile(r"""boundary\s*=\s*("[^"]*"|[^;]*)""", re.IGNORECASE)
_LINE_END = re.compile(rb"(--)?[ \t]*(\r?\n|\Z)")


class BadMultipart(ValueError):
    """The body is not the multipart/related that its Content-Type promises."""


class MultipartBody:
    """One upload's two parts.

    Attributes:
        metadata: The first part's bytes (JSON, at most ``METADATA_LIMIT``).
        media_type: The second part's Content-Type, "" when it has none.

    Raises:
        BadMultipart: from the constructor for the head; from :meth:`media` when the closing boundary is missing.
    """

    def __init__(self, content_type: str, chunks: Iterator[bytes]) -> None:
        named = _BOUNDARY.search(content_type)
        if named is None:
            raise BadMultipart("the Content-Type names no boundary")
        self._chunks = chunks
        self._buffer = b""
        written = named[1].strip()
        quoted = written[1:-1] if len(written) > 1 and written[0] == written[-1] and written[0] in "'\"" else written
        first = self._line()
        boundary = next((b for b in (quoted, written) if b and first.rstrip() == b"--" + b.encode()), None)
        if boundary is None:
            raise BadMultipart("the body does not start with its boundary")
        newline = b"\r\n" if first.endswith(b"\r\n") else b"\n"
        self._delimiter = newline + b"--" + boundary.encode()
        self._headers()
        pieces: list[bytes] = []
        for piece in self._part():
            pieces.append(piece)
            if sum(map(len, pieces)) > METADATA_LIMIT:
                raise BadMultipart("the metadata part is too long")
        self.metadata = b"".join(pieces)
        if self._closed:
            raise BadMultipart("there is no media part")
        self.media_type = self._headers().get("content-type", "")

    def media(self) -> Iterator[bytes]:
        """The second part's bytes as they arrive; whatever follows it is read and dropped."""
        yield from self._part()
        if not self._closed:
            raise BadMultipart("there are more than two parts")
        self._buffer = b""
        for _ in self._chunks:
            pass

    def _fill(self) -> bool:
        for chunk in self._chunks:
            if chunk:
                self._buffer += chunk
                return True
        return False

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > METADATA_LIMIT or not self._fill():
                raise BadMultipart("the body ends before its media")
        line, self._buffer = self._buffer[: end + 1], self._buffer[end + 1 :]
        return line

    def _headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        size = 0
        while line := self._line().strip():
            size += len(line)
            if size > METADATA_LIMIT:
                raise BadMultipart("a part's headers are too long")
            name, _, value = line.decode("utf-8", "replace").partition(":")
            found[name.strip().lower()] = value.strip()
        return found

    def _part(self) -> Iterator[bytes]:
        """Bytes up to the next boundary; ``_closed`` says whether that was the last one."""
        keep = len(self._delimiter) - 1  # a boundary may be cut in two by the chunks
        searched = 0
        while True:
            at = self._buffer.find(self._delimiter, searched)
            if at >= 0:
                after = at + len(self._delimiter)
                while len(self._buffer) < after + TAIL and self._fill():
                    pass
                line_end = _LINE_END.match(self._buffer, after)
                if line_end is None:  # the boundary's text inside the media
                    searched = at + 1
                    continue
                if at:
                    yield self._buffer[:at]
                self._buffer = self._buffer[line_end.end() :]
                self._closed = line_end[1] is not None
                return
            if len(self._buffer) > keep:
                ready = len(self._buffer) - keep
                yield self._buffer[:ready]
                self._buffer = self._buffer[ready:]
            searched = 0
            if not self._fill():
                raise BadMultipart("the closing boundary is missing")
