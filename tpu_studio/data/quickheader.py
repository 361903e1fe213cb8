"""Header of a plain JPEG or PNG straight from its bytes, some ten times faster than opening it with Pillow.

Only for the plain case: 8 bits, gray or RGB, upright, whole. None means "ask Pillow", never "broken".
"""

from __future__ import annotations

from dataclasses import dataclass

_PNG = b"\x89PNG\r\n\x1a\n"
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})


@dataclass(frozen=True)
class QuickHeader:
    width: int
    height: int
    mode: str  # RGB or L
    format: str  # JPEG or PNG


def quick_header(data: bytes, *, whole: bool) -> QuickHeader | None:
    """The header in these bytes; with *whole* they are the entire file and must also end as one does."""
    if data[:2] == b"\xff\xd8":
        found = _jpeg(data)
        return found if found and (not whole or data.rfind(b"\xff\xd9", len(data) - 64) >= 0) else None
    if data[:8] == _PNG:
        found = _png(data)
        return found if found and (not whole or data[-8:-4] == b"IEND") else None
    return None


def _jpeg(data: bytes) -> QuickHeader | None:
    place, size = 2, len(data)
    while place + 10 < size:
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
            continue
        length = data[place + 2] << 8 | data[place + 3]
        if marker == 0xE1 and data[place + 4 : place + 8] == b"Exif":
            return None  # may lie on its side
        if marker in _FRAMES:
            bits, components = data[place + 4], data[place + 9]
            height = data[place + 5] << 8 | data[place + 6]
            width = data[place + 7] << 8 | data[place + 8]
            if bits != 8 or components not in (1, 3) or not width or not height:
                return None
            return QuickHeader(width, height, "RGB" if components == 3 else "L", "JPEG")
        if not (0xE0 <= marker <= 0xEF or marker in (0xDB, 0xC4, 0xFE, 0xDD)) or length < 2:
            return None
        if marker == 0xE2 and data[place + 4 : place + 8] == b"MPF\0":
            return None  # several pictures in one file
        place += 2 + length
    return None


def _png(data: bytes) -> QuickHeader | None:
    if data[12:16] != b"IHDR" or len(data) < 33:
        return None
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    mode = {0: "L", 2: "RGB"}.get(data[25])
    end = data.find(b"IDAT")
    if data[24] != 8 or mode is None or end < 0 or not width or not height:
        return None
    before = data[33:end]
    if b"tRNS" in before or b"eXIf" in before or b"acTL" in before:
        return None
    return QuickHeader(width, height, mode, "PNG")
