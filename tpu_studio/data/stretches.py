"""Some stretches of a large file of lines, that tell what is in it: from places that depend on its size alone, so that
the same file gives the same answer. None begins before the end of the one before, and each holds whole lines.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from tpu_studio.data.watching import Watch
from tpu_studio.wire.plainfiles import plainly

COUNT, SIZE = 8, 2**19  # bytes of each, and what is left of its last line
_MANY = 2**22
_PIECE = 2**16  # bytes, or letters, in which the end of a line is looked for


@dataclass(frozen=True)
class Stretch:
    """*at*: the byte at which it begins; *data*: its lines, in that *encoding*."""

    at: int
    data: bytes
    encoding: str


def read(path: Path, encoding: str, size: int, longest: int, watch: Watch, count: int = COUNT) -> Iterator[Stretch]:
    """*longest*: bytes that are read of the line that one ends in; *count*: 1 is the begin alone. Raises OSError."""
    end, cut, line_end = 0, False, b""
    with open(path, "rb", opener=plainly) as file:
        for number in range(count):
            watch.at(number, count)
            begin = number and number * (size - SIZE) // (count - 1)
            begin -= begin % 2  # two bytes are a letter of UTF-16
            file.seek(max(begin, end))
            while (begin > end or cut) and (rest := _rest_of_line(file, line_end, longest)):
                if rest.endswith(line_end):
                    break
                watch.check()
            at, data = file.tell(), file.read(SIZE)
            line_end = line_end or _line_end(data, encoding)
            data += _rest_of_line(file, line_end, longest)
            end, cut = file.tell(), not data.endswith(line_end)
            yield Stretch(at, data, encoding)
            encoding = _without_mark(data, encoding) if number == 0 else encoding


class Marks:
    """Counts a letter from a file's begin on."""

    def __init__(self, path: Path, letter: str) -> None:
        self._path, self._letter = path, letter
        self._at = self._count = 0

    def before(self, stretch: Stretch, watch: Watch) -> int:
        """How many stand before *stretch*, which lies behind the one that was asked for last. Raises OSError."""
        mark = self._letter.encode(stretch.encoding)
        with open(self._path, "rb", opener=plainly) as file:
            file.seek(self._at)
            while piece := file.read(min(_MANY, stretch.at - self._at)):
                watch.check()
                self._count += piece.count(mark)
                self._at += len(piece)
        return self._count


def whole(path: Path, encoding: str) -> Stretch:
    """All of a small one."""
    with open(path, "rb", opener=plainly) as file:
        return Stretch(0, file.read(), encoding)


def first_line(text: TextIO, longest: int) -> str:
    """The first that there is anything in, without blanks before it; of a longer one about so many letters."""
    while begin := text.read(_PIECE):
        if begin := begin.lstrip():
            line, end, _ = begin.partition("\n")
            return line if end else line + text.readline(longest)
    return ""


def _rest_of_line(file: BinaryIO, line_end: bytes, longest: int) -> bytes:
    """With its end; of a longer one about as much as that."""
    rest = bytearray()
    while len(rest) < longest and (piece := file.read(_PIECE)):
        if (at := _found(line_end, piece)) >= 0:
            behind = at + len(line_end)
            file.seek(behind - len(piece), 1)
            return bytes(rest + piece[:behind])
        rest += piece
    return bytes(rest)


def _line_end(begin: bytes, encoding: str) -> bytes:
    """What lines end with in a file of that *begin*: "\\n", or "\\r" where there is no other."""
    both = [mark.encode(_without_mark(begin, encoding)) for mark in ("\n", "\r")]
    return next((one for one in both if _found(one, begin) >= 0), both[0])


def _found(mark: bytes, piece: bytes) -> int:
    """Where the letter *mark* stands; -1: nowhere. Letters are as wide as it is."""
    at = piece.find(mark)
    while at >= 0 and at % len(mark):
        at = piece.find(mark, at + 1)
    return at


def _without_mark(begin: bytes, encoding: str) -> str:
    """The encoding of what stands behind the *begin* of a file."""
    if encoding == "utf-16":
        return "utf-16-be" if begin.startswith(codecs.BOM_UTF16_BE) else "utf-16-le"
    return "utf-8" if encoding == "utf-8-sig" else encoding
