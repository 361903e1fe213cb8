"""Which characters a file's bytes stand for: UTF-8, UTF-16, else Windows-1252 or Latin-1; or that it is no text.

For tables and plain text alike. Files up to `WHOLE` bytes are judged as a whole, larger ones by samples. UTF-8 in which
a few letters are damaged is UTF-8: letters of several bytes do not come about by chance.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from tpu_studio.data.paths import path_error
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.plainfiles import plainly

WHOLE = 32 * 2**20
WESTERN = ("cp1252", "latin-1")  # what a file is read as that says nothing else
_PIECE = 2**20
_WHOLE_EACH = 4
_CONTROLS = bytes(code for code in range(32) if code not in (9, 10, 12, 13, 27)) + b"\x7f"
_C1 = bytes(range(0x80, 0xA0))
_NOT_IN_1252 = b"\x81\x8d\x8f\x90\x9d"
_MAGIC = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"%PDF",
    b"\x1f\x8b",
    b"GIF8",
    b"BZh",
    b"\xfd7zXZ",
    b"\x7fELF",
    b"PAR1",
    b"\x93NUMPY",
    b"SQLite format 3",
)


def detect(path: Path) -> str:
    """``utf-8``, ``utf-8-sig``, ``utf-16`` (marked), ``utf-16-le``, ``utf-16-be``, ``cp1252`` or ``latin-1``.

    Raises:
        DataError: data-empty, data-not-text, data-missing, data-unreadable.
    """
    try:
        size = path.stat().st_size
        with open(path, "rb", opener=plainly) as file:
            head = file.read(min(size, WHOLE))
            pieces = [head]
            if size > WHOLE:
                for step in range(1, 8):
                    file.seek(step * size // 8)
                    pieces.append(file.read(_PIECE))
    except IsADirectoryError as error:
        raise DataError("data-not-a-file", path=str(path)) from error
    except OSError as error:
        raise path_error(path, error) from error
    if not head.strip():
        raise DataError("data-empty", path=str(path))
    encoding = of_bytes(head, whole=size <= WHOLE)
    cut = encoding == "utf-8" and not all(_cut_utf8(piece) or _mostly_utf8(piece) for piece in pieces[1:])
    if cut or encoding == "latin-1":  # the later pieces may tell
        encoding = _western(b"".join(pieces))
    if encoding is None:
        raise DataError("data-not-text", path=str(path), bytes=size)
    return encoding


def of_bytes(head: bytes, *, whole: bool = True) -> str | None:
    """The encoding of these first bytes, or None when they are no text."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return None
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16" if _decodes(head, "utf-16", whole) else None
    if head.startswith(_MAGIC):
        return None
    sample = head[:65536]
    if b"\0" in head:
        return _utf16_without_mark(head, sample, whole)
    if sum(sample.count(code) for code in _CONTROLS) > 0.005 * len(sample) + 1:
        return None
    marked = head.startswith(codecs.BOM_UTF8)
    if _decodes(head, "utf-8", whole) or _mostly_utf8(head):
        return "utf-8-sig" if marked else "utf-8"
    return None if marked else _western(head)


def damaged(path: Path) -> int:
    """How many letters of a file in UTF-8 cannot be read, in its first `WHOLE` bytes. Raises DataError as `detect`."""
    try:
        with open(path, "rb", opener=plainly) as file:
            head = file.read(WHOLE)
    except OSError as error:
        raise path_error(path, error) from error
    return 0 if _decodes(head, "utf-8", False) else _damaged(head)[0]


def _mostly_utf8(data: bytes) -> bool:
    """Whether for each letter that is damaged several of more than one byte are whole."""
    bad, good = _damaged(data)
    return good >= _WHOLE_EACH * bad


def _damaged(data: bytes) -> tuple[int, int]:
    """Letters that are no UTF-8, and those of more than one byte that are."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, False)
    bad = text.count("\ufffd") - data.count("\ufffd".encode())
    return bad, len(text) - len(text.encode("ascii", "ignore")) - bad


def _western(data: bytes) -> str:
    """What Excel writes in Europe has signs (€, “) where Latin-1 has control characters that no text uses."""
    return "cp1252" if data.translate(None, _NOT_IN_1252) != data.translate(None, _C1) else "latin-1"


def _utf16_without_mark(head: bytes, sample: bytes, whole: bool) -> str | None:
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    for encoding, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros > 0.4 * half and others < 0.01 * half and _decodes(head, encoding, whole):
            return encoding
    return None


def _decodes(data: bytes, encoding: str, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(data, whole)
    except UnicodeError:
        return False
    return True


def _cut_utf8(piece: bytes) -> bool:
    """Whether bytes from the middle of a file are UTF-8, apart from a character cut at either end."""
    start = next((index for index in range(min(4, len(piece))) if piece[index] & 0xC0 != 0x80), 0)
    return _decodes(piece[start:], "utf-8", False)
